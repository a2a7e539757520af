#pragma once

#include "program.hpp"

__global__ inline void shift(const float* in, float* out, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] + constant(5.0f, 6.0f);
}

void launch_shift(const float* in, float* out, int n);
