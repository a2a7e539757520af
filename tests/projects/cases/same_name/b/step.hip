#include "../a/detail.hpp"
#include "detail.hpp"
#include "program.hpp"

__global__ void step_b(const float* in, float* out, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] * constant(factor_of_b * factor_of_a, 1.0f);
}

void launch_b(const float* in, float* out, int n) { step_b<<<(n + 255) / 256, 256>>>(in, out, n); }
