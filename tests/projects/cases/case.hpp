// Two buffers of small numbers, and the comparison of what a kernel made of them.
#pragma once

#include "program.hpp"

#include <vector>

class Case {
 public:
  static constexpr int count = 1000;

  Case() : first_(count) {
    for (int i = 0; i < count; ++i) first_[static_cast<std::size_t>(i)] = sample(i);
    HIP_CHECK(hipMalloc(&in_, count * sizeof(float)));
    HIP_CHECK(hipMalloc(&out_, count * sizeof(float)));
    HIP_CHECK(hipMemcpy(in_, first_.data(), count * sizeof(float), hipMemcpyHostToDevice));
    HIP_CHECK(hipMemset(out_, 0, count * sizeof(float)));
  }
  float* in() { return in_; }
  float* out() { return out_; }

  template <class F>
  bool result_of_in(F right) {
    return compare(in_, right);
  }
  template <class F>
  bool result_of_out(F right) {
    return compare(out_, right);
  }

 private:
  template <class F>
  bool compare(const float* device, F right) {
    HIP_CHECK(hipGetLastError());
    HIP_CHECK(hipDeviceSynchronize());
    std::vector<float> got(count);
    HIP_CHECK(hipMemcpy(got.data(), device, count * sizeof(float), hipMemcpyDeviceToHost));
    bool all = true;
    for (std::size_t i = 0; i < count; ++i) all &= got[i] == right(first_[i]);
    return all;
  }

  std::vector<float> first_;
  float *in_ = nullptr, *out_ = nullptr;
};
