// Five kernels over 20 iterations: in place, accumulating, and two whose late iterations change nothing.
#include "pipeline_kernels.hpp"

#include <algorithm>
#include <vector>

namespace {

float* upload(const std::vector<float>& host) {
  float* device = nullptr;
  HIP_CHECK(hipMalloc(&device, host.size() * sizeof(float)));
  HIP_CHECK(hipMemcpy(device, host.data(), host.size() * sizeof(float), hipMemcpyHostToDevice));
  return device;
}

}  // namespace

int main() {
  const int n = 1500, iterations = 20;
  std::vector<float> a(n), b(n), c(n), y(n), x(n), bias(16);
  std::vector<unsigned> bins(32, 0), got_bins(32);
  for (int i = 0; i < n; ++i) {
    a[i] = sample(i);
    b[i] = sample(3 * i);
    x[i] = 1.0f + static_cast<float>(i & 7);
  }
  for (int i = 0; i < 16; ++i) bias[i] = 0.5f * static_cast<float>(i) - 1.0f;
  float *da = upload(a), *db = upload(b), *dc = upload(std::vector<float>(n, 0.0f)), *dy = upload(std::vector<float>(n, 0.0f));
  float *dx = upload(x), *dbias = upload(bias);
  unsigned* dbins;
  HIP_CHECK(hipMalloc(&dbins, 32 * sizeof(unsigned)));
  HIP_CHECK(hipMemset(dbins, 0, 32 * sizeof(unsigned)));

  const dim3 grid((n + 255) / 256), block(256);
  for (int k = 0; k < iterations; ++k) {
    vector_scale<<<grid, block>>>(dx, n);
    bias_relu<<<grid, block>>>(dx, dbias, n);
    vector_add<<<grid, block>>>(da, db, dc, n);
    relu<<<grid, block>>>(dc, dy, n);
    histogram<<<grid, block>>>(dx, dbins, n);
    HIP_CHECK(hipGetLastError());
    for (int i = 0; i < n; ++i) {
      x[i] *= 1.0078125f;
      x[i] = std::max(x[i] + bias[i & 15], 0.0f);
      ++bins[static_cast<int>(x[i]) & 31];
    }
  }
  std::vector<float> got_x(n);
  HIP_CHECK(hipMemcpy(got_x.data(), dx, n * sizeof(float), hipMemcpyDeviceToHost));
  HIP_CHECK(hipMemcpy(c.data(), dc, n * sizeof(float), hipMemcpyDeviceToHost));
  HIP_CHECK(hipMemcpy(y.data(), dy, n * sizeof(float), hipMemcpyDeviceToHost));
  HIP_CHECK(hipMemcpy(got_bins.data(), dbins, 32 * sizeof(unsigned), hipMemcpyDeviceToHost));
  // The compiler may contract multiply and add differently on the two sides only within one kernel; here they are apart.
  bool right = got_x == x && got_bins == bins;
  for (int i = 0; i < n; ++i) right &= c[i] == a[i] + b[i] && y[i] == std::max(c[i], 0.0f);
  return finish(right);
}
