#include <vector>

#include "left/left.hpp"
#include "program.hpp"
#include "right/right.hpp"

__global__ void scale_and_shift(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = left::factor * data[i] + right::offset;
}

int main() {
  constexpr int n = 200;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = sample(i);
  float* data;
  HIP_CHECK(hipMalloc(&data, n * 4));
  HIP_CHECK(hipMemcpy(data, in.data(), n * 4, hipMemcpyHostToDevice));
  scale_and_shift<<<(n + 63) / 64, 64>>>(data, n);
  HIP_CHECK(hipMemcpy(out.data(), data, n * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && out[i] == 3.0f * in[i] + 5.0f;
  return finish(right);
}
