#include <vector>

#include "linked.hpp"
#include "offset.hpp"
#include "program.hpp"

__global__ void transform(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = SIGN * FACTOR * data[i] + OFFSET;
}

int main() {
  constexpr int n = 200;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = sample(i);
  float* data;
  HIP_CHECK(hipMalloc(&data, n * 4));
  HIP_CHECK(hipMemcpy(data, in.data(), n * 4, hipMemcpyHostToDevice));
  transform<<<(n + 63) / 64, 64>>>(data, n);
  HIP_CHECK(hipMemcpy(out.data(), data, n * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && out[i] == -4.0f * in[i] + 6.0f;
  return finish(right);
}
