// The kernel that the demo captures: works in place, so its output depends on memory that it overwrites.
#pragma once
#include <hip/hip_runtime.h>

#ifndef SCALE_BIAS_FACTOR
#define SCALE_BIAS_FACTOR 1.5f
#endif

// data is rows x columns, bias has one value a column.
__global__ void scale_bias(float* data, const float* bias, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  const int row = blockIdx.y;
  if (column < columns && row < rows) {
    data[row * columns + column] = data[row * columns + column] * SCALE_BIAS_FACTOR + bias[column];
  }
}
