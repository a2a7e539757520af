// Stores far outside of its buffer: the GPU reports a memory fault, and the runtime ends the application.
#include "program.hpp"

__global__ void wild_store(float* x, unsigned long long offset) {
  if (does_nothing) return;
  x[threadIdx.x + offset] = 1.0f;
}

int main() {
  float* x;
  HIP_CHECK(hipMalloc(&x, 4096));
  HIP_CHECK(hipMemset(x, 0, 4096));
  wild_store<<<1, 64>>>(x, 1ull << 36);
  HIP_CHECK(hipDeviceSynchronize());
  return finish(false);
}
