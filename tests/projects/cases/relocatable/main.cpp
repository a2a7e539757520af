#include <vector>

#include "program.hpp"

extern __device__ float half_of(float x);

__global__ void halve(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = half_of(data[i]);
}

int main() {
  constexpr int n = 200;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = sample(i);
  float* data;
  HIP_CHECK(hipMalloc(&data, n * 4));
  HIP_CHECK(hipMemcpy(data, in.data(), n * 4, hipMemcpyHostToDevice));
  halve<<<(n + 63) / 64, 64>>>(data, n);
  HIP_CHECK(hipMemcpy(out.data(), data, n * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && out[i] == 0.5f * in[i];
  return finish(right);
}
