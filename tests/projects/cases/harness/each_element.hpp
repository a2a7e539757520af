// Runs a kernel in place on 200 floats and compares each with what is expected of it.
#pragma once

#include <vector>

#include "program.hpp"

template <class Launch, class Expected>
int each_element(Launch launch, Expected expected) {
  constexpr int n = 200;
  std::vector<float> in(n), out(n);
  for (int i = 0; i < n; ++i) in[i] = sample(i);
  float* data;
  HIP_CHECK(hipMalloc(&data, n * sizeof(float)));
  HIP_CHECK(hipMemcpy(data, in.data(), n * sizeof(float), hipMemcpyHostToDevice));
  launch(data, n);
  HIP_CHECK(hipMemcpy(out.data(), data, n * sizeof(float), hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && out[i] == expected(in[i]);
  return finish(right);
}

inline int blocks_of(int n) { return (n + 63) / 64; }
