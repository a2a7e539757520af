#include <vector>

#include "parallel_for.hpp"
#include "program.hpp"

namespace {

struct Axpy {
  float* y;
  const float* x;
  float factor[4];
  __device__ void operator()(int i) const { y[i] += factor[i % 4] * x[i]; }
};

}  // namespace

int main() {
  constexpr int n = 500;
  std::vector<float> x(n), y(n), out(n);
  for (int i = 0; i < n; ++i) x[i] = sample(i), y[i] = sample(3 * i);
  float *device_x, *device_y;
  HIP_CHECK(hipMalloc(&device_x, n * 4));
  HIP_CHECK(hipMalloc(&device_y, n * 4));
  HIP_CHECK(hipMemcpy(device_x, x.data(), n * 4, hipMemcpyHostToDevice));
  HIP_CHECK(hipMemcpy(device_y, y.data(), n * 4, hipMemcpyHostToDevice));
  const Axpy axpy{device_y, device_x, {1.0f, 2.0f, 0.5f, 4.0f}};
  HIP_CHECK(tasks::parallel_for(n, axpy));
  HIP_CHECK(hipMemcpy(out.data(), device_y, n * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && out[i] == y[i] + axpy.factor[i % 4] * x[i];
  return finish(right);
}
