#include "each_element.hpp"
#include "left/left.hpp"
#include "right/right.hpp"

__global__ void scale_and_shift(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = left::factor * data[i] + right::offset;
}

int main() {
  return each_element([](float* data, int n) { scale_and_shift<<<blocks_of(n), 64>>>(data, n); },
                      [](float x) { return 3.0f * x + 5.0f; });
}
