#include <vector>

#include "program.hpp"

void scale_first(float* data, int n);
void scale_second(float* data, int n);

int main(int count, char**) {
  constexpr int n = 200;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = sample(i);
  float* data;
  HIP_CHECK(hipMalloc(&data, n * 4));
  HIP_CHECK(hipMemcpy(data, in.data(), n * 4, hipMemcpyHostToDevice));
  if (count > 1) {
    scale_first(data, n);
  } else {
    scale_second(data, n);
  }
  HIP_CHECK(hipMemcpy(out.data(), data, n * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && out[i] == in[i] * (count > 1 ? 3.0f : 7.0f);
  return finish(right);
}
