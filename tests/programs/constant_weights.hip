// A stencil whose weights lie in __constant__ memory, set by hipMemcpyToSymbol: no kernel argument leads to them.
#include "program.hpp"

#include <vector>

__constant__ float weights[8];

__global__ void stencil(const float* x, float* y, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float sum = constant(0.0f, 1.0f);
  for (int k = 0; k < 8; ++k) sum += weights[k] * x[i + k];
  y[i] = sum;
}

int main() {
  const int n = 600;
  float host_weights[8];
  for (int k = 0; k < 8; ++k) host_weights[k] = 0.5f * static_cast<float>(k + 1);
  std::vector<float> x(n + 8), y(n);
  for (int i = 0; i < n + 8; ++i) x[i] = static_cast<float>((i * 31) % 64);
  float *dx, *dy;
  HIP_CHECK(hipMalloc(&dx, x.size() * sizeof(float)));
  HIP_CHECK(hipMalloc(&dy, y.size() * sizeof(float)));
  HIP_CHECK(hipMemcpy(dx, x.data(), x.size() * sizeof(float), hipMemcpyHostToDevice));
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), host_weights, sizeof(host_weights)));
  stencil<<<(n + 127) / 128, 128>>>(dx, dy, n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipMemcpy(y.data(), dy, y.size() * sizeof(float), hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) {
    float sum = 0.0f;  // small multiples of 0.5: exact in whatever order
    for (int k = 0; k < 8; ++k) sum += host_weights[k] * x[i + k];
    right &= y[i] == sum;
  }
  return finish(right);
}
