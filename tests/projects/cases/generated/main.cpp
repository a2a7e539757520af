#include "each_element.hpp"
#include "linked.hpp"
#include "offset.hpp"

__global__ void transform(float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = SIGN * FACTOR * data[i] + OFFSET;
}

int main() {
  return each_element([](float* data, int n) { transform<<<blocks_of(n), 64>>>(data, n); },
                      [](float x) { return -4.0f * x + 6.0f; });
}
