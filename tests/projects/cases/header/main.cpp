#include <algorithm>
#include <vector>

#include "launcher.hpp"
#include "program.hpp"

int main() {
  constexpr int n = 200;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = sample(i);
  float* data;
  HIP_CHECK(hipMalloc(&data, n * 4));
  HIP_CHECK(hipMemcpy(data, in.data(), n * 4, hipMemcpyHostToDevice));
  clamp_all(data, n);
  HIP_CHECK(hipMemcpy(out.data(), data, n * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && out[i] == std::min(std::max(in[i], -10.0f), 20.0f);
  return finish(right);
}
