// Runs one of twelve instances.
#include <vector>

#include "program.hpp"

namespace rows {
template <int ROWS>
void launch(float* out, const float* in, int columns);
}

int main() {
  constexpr int columns = 200, count = 7;
  std::vector<float> in(count * columns), out(columns);
  for (int i = 0; i < count * columns; ++i) in[i] = sample(i);
  float *device_in, *device_out;
  HIP_CHECK(hipMalloc(&device_in, in.size() * 4));
  HIP_CHECK(hipMalloc(&device_out, out.size() * 4));
  HIP_CHECK(hipMemcpy(device_in, in.data(), in.size() * 4, hipMemcpyHostToDevice));
  rows::launch<count>(device_out, device_in, columns);
  HIP_CHECK(hipMemcpy(out.data(), device_out, out.size() * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < columns; ++i) {
    float sum = 0.0f;
    for (int row = 0; row < count; ++row) sum += in[row * columns + i];
    right = right && out[i] == sum;
  }
  return finish(right);
}
