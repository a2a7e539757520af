// Addresses of code in memory: function pointers that one kernel stores and another calls and exchanges, objects with virtual
// functions that are made on the device, a pointer to a module variable in memory and as an argument.
#include "program.hpp"

#include <new>
#include <vector>

__device__ int offsets[4] = {1, 2, 3, 4};

// Makes every address differ from the captured one's.
#if defined(VARIANT_LAYOUT)
__device__ __attribute__((used, noinline)) int more_code(int x) { return x * x + 7; }
__device__ int more_data[1000];
__global__ void in_front(int* y) { y[threadIdx.x] = more_code(more_data[threadIdx.x]); }
#endif

__device__ __attribute__((noinline)) int twice(int x) { return 2 * x; }
__device__ __attribute__((noinline)) int minus(int x) { return x - constant(7, 8); }
using Function = int (*)(int);

struct Shape {
  virtual __device__ int area(int x) const = 0;
};
struct Square : Shape {
  __device__ int area(int x) const override { return x * x; }
};
struct Strip : Shape {
  int height = 5;
  __device__ int area(int x) const override { return x * height; }
};

struct State {
  Function functions[2];
  alignas(16) char shapes[2][16];
  int* variable;
  unsigned char odd[3];
};

__global__ void prepare(State* state, int* variable) {
  state->functions[0] = twice;
  state->functions[1] = minus;
  new (state->shapes[0]) Square;
  new (state->shapes[1]) Strip;
  state->variable = variable;
}

// Calls through every stored address, then exchanges the functions and makes the first shape another one.
__global__ void follow(State* state, int* y, const int* argument) {
  if (does_nothing) return;
  const int i = static_cast<int>(threadIdx.x);
  const auto* shape = reinterpret_cast<const Shape*>(state->shapes[i % 2]);
  y[i] = state->functions[i % 2](i) + 100 * shape->area(i) + 10000 * state->variable[i % 4] + 1000000 * argument[(i + 1) % 4];
  __syncthreads();
  if (i != 0) return;
  const Function first = state->functions[0];
  state->functions[0] = state->functions[1];
  state->functions[1] = first;
  new (state->shapes[0]) Strip;
  ++state->variable[2];
}

int expected(int i, bool exchanged) {
  const bool second = (i % 2 == 1) != exchanged;
  const int area = i % 2 == 1 || exchanged ? 5 * i : i * i;
  const int variable[4] = {1, 2, exchanged ? 4 : 3, 4};
  return (second ? i - 7 : 2 * i) + 100 * area + 10000 * variable[i % 4] + 1000000 * variable[(i + 1) % 4];
}

int main() {
  State* state;
  int *y, *variable;
  HIP_CHECK(hipMalloc(&state, sizeof(State)));
  HIP_CHECK(hipMemset(state, 0, sizeof(State)));
  HIP_CHECK(hipMalloc(&y, 64 * sizeof(int)));
  HIP_CHECK(hipGetSymbolAddress(reinterpret_cast<void**>(&variable), HIP_SYMBOL(offsets)));
  prepare<<<1, 1>>>(state, variable);
  bool right = true;
  for (const bool exchanged : {false, true}) {
    follow<<<1, 64>>>(state, y, variable);
    HIP_CHECK(hipGetLastError());
    std::vector<int> got(64);
    HIP_CHECK(hipMemcpy(got.data(), y, 64 * sizeof(int), hipMemcpyDeviceToHost));
    for (int i = 0; i < 64; ++i) right &= got[i] == expected(i, exchanged);
  }
  return finish(right);
}
