#pragma once

#include <hip/hip_runtime.h>

static __global__ void clamp_kernel(float* data, float low, float high, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = fminf(fmaxf(data[i], low), high);
}
