// State that no symbol of the code object's interface names: a static counter and table that earlier dispatches changed, and a class
// with virtual functions, whose table is writable only for the loader.
#include "program.hpp"

#include <new>
#include <vector>

static __device__ int counter = 5;
static __device__ float table[64];

struct Shape {
  virtual __device__ float area(float x) const = 0;
};
struct Square : Shape {
  __device__ float area(float x) const override { return x * x; }
};

__global__ void prepare(char* memory, int* seen) {
  counter += 35;
  *seen = counter;
  for (int i = 0; i < 64; ++i) table[i] = 0.5f * static_cast<float>(i);
  new (memory) Square;
}

__global__ void use(float* y) {
  if (does_nothing) return;
  const int i = static_cast<int>(threadIdx.x);
  if (i == 0) counter += constant(2, 3);
  y[i] = table[i] + 1.0f;
}

__global__ void area(const char* memory, float* y) { y[threadIdx.x] = reinterpret_cast<const Shape*>(memory)->area(3.0f); }

int main() {
  char* memory;
  float* y;
  int* seen;
  HIP_CHECK(hipMalloc(&memory, 64));
  HIP_CHECK(hipMalloc(&y, 64 * sizeof(float)));
  HIP_CHECK(hipMalloc(&seen, sizeof(int)));
  prepare<<<1, 1>>>(memory, seen);
  area<<<1, 64>>>(memory, y);
  use<<<1, 64>>>(y);
  HIP_CHECK(hipGetLastError());
  std::vector<float> got(64);
  HIP_CHECK(hipMemcpy(got.data(), y, 64 * sizeof(float), hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < 64; ++i) right &= got[i] == 0.5f * static_cast<float>(i) + 1.0f;
  return finish(right);
}
