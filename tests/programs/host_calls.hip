// Kernels with a way to the host: one with an assertion that holds, one that prints.
#include "program.hpp"

#include <cassert>

__global__ void checked(int* y) {
  if (does_nothing) return;
  const int i = static_cast<int>(threadIdx.x);
  y[i] += constant(1, 2);
  assert(y[i] > 0);
}

__global__ void prints(int* y) {
  const int i = static_cast<int>(threadIdx.x);
  y[i] += 1;
  if (i == 3) printf("workitem %d has %d\n", i, y[i]);
}

int main() {
  int* y;
  HIP_CHECK(hipMalloc(&y, 64 * sizeof(int)));
  HIP_CHECK(hipMemset(y, 0, 64 * sizeof(int)));
  checked<<<1, 64>>>(y);
  prints<<<1, 64>>>(y);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  int got[64];
  HIP_CHECK(hipMemcpy(got, y, sizeof got, hipMemcpyDeviceToHost));
  return finish(got[63] == 2);
}
