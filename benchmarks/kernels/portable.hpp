// One source for a GPU kernel and for the same work on one host thread. A kernel is a row of EACH_THREAD blocks with
// BARRIER between them; on the host a block is a loop over the threads of the workgroup, and a Private value an array.
#pragma once

using uint32 = unsigned;
using half = _Float16;

#ifdef __HIP__
#include <hip/hip_runtime.h>
#define KERNEL(name, threads, ...) extern "C" __global__ __launch_bounds__(threads) void name(__VA_ARGS__)
#define BLOCK_X blockIdx.x
#define BLOCK_Y blockIdx.y
#define SHARED __shared__
#define EACH_THREAD(t, threads) if (const uint32 t = threadIdx.x; true)
#define BARRIER() __syncthreads()
#define DEVICE __device__
template <class T, int threads>
struct Private {
  T value;
  __device__ T& operator[](uint32) { return value; }
};
__device__ inline float reciprocal_root(float x) { return __builtin_amdgcn_rsqf(x); }
__device__ inline float power_of_two(float x) { return __builtin_amdgcn_exp2f(x); }
#else
#include <cmath>
#define KERNEL(name, threads, ...) extern "C" void name([[maybe_unused]] uint32 block_x, [[maybe_unused]] uint32 block_y, __VA_ARGS__)
#define BLOCK_X block_x
#define BLOCK_Y block_y
#define SHARED
#define EACH_THREAD(t, threads) for (uint32 t = 0; t < (threads); ++t)
#define BARRIER()
#define DEVICE
template <class T, int threads>
struct Private {
  T value[threads];
  T& operator[](uint32 t) { return value[t]; }
};
inline float reciprocal_root(float x) { return 1.0f / std::sqrt(x); }
inline float power_of_two(float x) { return std::exp2(x); }
#endif
