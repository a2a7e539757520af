// Kernels of intercept_bench.cpp: one that does nothing, one that takes the virtual GPU some 10 us.
#include <hip/hip_runtime.h>

extern "C" __global__ void empty() {}

extern "C" __global__ void brief() {
  for (int i = 0; i < 150; ++i) asm volatile("v_mov_b32 v0, v0");
}
