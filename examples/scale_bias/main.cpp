// Runs scale_bias a few times on a small matrix and checks the result on the CPU.
#include <cmath>
#include <cstdio>
#include <vector>

#include "scale_bias.hpp"

#define CHECK(call)                                                                       \
  do {                                                                                    \
    const hipError_t status = (call);                                                     \
    if (status != hipSuccess) {                                                           \
      std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(status));                 \
      return 1;                                                                           \
    }                                                                                     \
  } while (0)

int main() {
  const int rows = 64, columns = 200, steps = 3;
  std::vector<float> data(rows * columns), bias(columns);
  for (int i = 0; i < rows * columns; ++i) data[i] = 0.01f * static_cast<float>(i % 977);
  for (int i = 0; i < columns; ++i) bias[i] = static_cast<float>(i) - 100.0f;
  std::vector<float> expected = data;

  float *device_data = nullptr, *device_bias = nullptr;
  CHECK(hipMalloc(&device_data, data.size() * sizeof(float)));
  CHECK(hipMalloc(&device_bias, bias.size() * sizeof(float)));
  CHECK(hipMemcpy(device_data, data.data(), data.size() * sizeof(float), hipMemcpyHostToDevice));
  CHECK(hipMemcpy(device_bias, bias.data(), bias.size() * sizeof(float), hipMemcpyHostToDevice));
  for (int step = 0; step < steps; ++step) {
    scale_bias<<<dim3((columns + 63) / 64, rows), dim3(64)>>>(device_data, device_bias, rows, columns);
    CHECK(hipGetLastError());
  }
  CHECK(hipMemcpy(data.data(), device_data, data.size() * sizeof(float), hipMemcpyDeviceToHost));
  CHECK(hipFree(device_data));
  CHECK(hipFree(device_bias));

  for (int step = 0; step < steps; ++step) {
    for (int i = 0; i < rows * columns; ++i) expected[i] = expected[i] * SCALE_BIAS_FACTOR + bias[i % columns];
  }
  for (int i = 0; i < rows * columns; ++i) {
    if (std::fabs(data[i] - expected[i]) > 1e-4f * (1.0f + std::fabs(expected[i]))) {
      std::fprintf(stderr, "wrong at %d: %g, expected %g\n", i, data[i], expected[i]);
      return 1;
    }
  }
  std::printf("scale_bias: %d steps on %d x %d values, right\n", steps, rows, columns);
  return 0;
}
