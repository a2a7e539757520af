// Stores to an address that is mapped nowhere: the runtime reports the fault and ends the process.
#include "program.hpp"

__global__ void stray(int* p) { p[threadIdx.x] = 1; }

int main() {
  int* device;
  HIP_CHECK(hipMalloc(&device, 4096));
  HIP_CHECK(hipMemset(device, 7, 4096));
  HIP_CHECK(hipDeviceSynchronize());
  stray<<<1, 64>>>(reinterpret_cast<int*>(0x123456789000ull));
  HIP_CHECK(hipDeviceSynchronize());
  return finish(false);
}
