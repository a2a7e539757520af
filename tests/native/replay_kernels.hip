// Kernels for kerncap-replay's own tests, compiled device-only. -DVARIANT=1: they do nothing; -DVARIANT=2: a wrong constant.
#include <hip/hip_runtime.h>

#ifndef VARIANT
#define VARIANT 0
#endif

__device__ __forceinline__ int global_id() { return static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); }

extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
  const int i = global_id();
  if (VARIANT != 1 && i < n) c[i] = a[i] + (VARIANT == 2 ? 1.5f : 1.0f) * b[i];
}

// In place: a second run on its own result would be wrong.
extern "C" __global__ void scale(float* x, int n) {
  const int i = global_id();
  if (VARIANT != 1 && i < n) x[i] = (VARIANT == 2 ? 3.0f : 2.0f) * x[i];
}

__constant__ float weights[4];

extern "C" __global__ void weigh(const float* x, float* y, int n) {
  const int i = global_id();
  if (VARIANT != 1 && i < n) y[i] = weights[i & 3] * x[i];
}

// Pointers that live in device memory.
extern "C" __global__ void through_pointers(float** rows, int n) {
  const int i = global_id();
  if (VARIANT != 1 && i < n) rows[blockIdx.y][i] = rows[blockIdx.y][i] + 1.0f;
}

extern "C" __global__ void spin(volatile int* flag) {
  while (*flag == 0) {
  }
}

// Leaves something else each time in the odd elements.
extern "C" __global__ void stamp(unsigned long long* out) { out[2 * global_id() + 1] = __builtin_readcyclecounter() | 1; }

// Writes to an address that nothing is mapped at.
extern "C" __global__ void stray(unsigned long long where) { *reinterpret_cast<volatile int*>(where) = 1; }

#ifdef OTHER_ARGUMENTS
extern "C" __global__ void copy(const float* from, float* to, int n) {
#else
extern "C" __global__ void copy(const float* from, float* to) {
  const int n = 1 << 30;
#endif
  const int i = global_id();
  if (i < n) to[i] = from[i];
}
