// More launches than any queue holds, without waiting, the target in the middle: 5001 before it, 10002 after it.
#include "program.hpp"

#include <vector>

__global__ void step(int* p) { p[threadIdx.x] += 1; }

__global__ void times_two(int* p) {
  if (does_nothing) return;
  p[threadIdx.x] *= constant(2, 3);
}

int main() {
  const int steps = 20000, target_step = 5000;
  int* device;
  HIP_CHECK(hipMalloc(&device, 64 * sizeof(int)));
  HIP_CHECK(hipMemset(device, 0, 64 * sizeof(int)));
  for (int i = 0; i < steps; ++i) {
    step<<<1, 64>>>(device);
    if (i == target_step) times_two<<<1, 64>>>(device);
  }
  HIP_CHECK(hipGetLastError());
  std::vector<int> got(64);
  HIP_CHECK(hipMemcpy(got.data(), device, 64 * sizeof(int), hipMemcpyDeviceToHost));
  bool right = true;
  for (const int value : got) right &= value == 2 * (target_step + 1) + steps - target_step - 1;
  return finish(right);
}
