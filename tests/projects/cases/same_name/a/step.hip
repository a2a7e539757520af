#include "detail.hpp"
#include "program.hpp"

__global__ void step_a(const float* in, float* out, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] * constant(factor_of_a, 1.0f);
}

void launch_a(const float* in, float* out, int n) { step_a<<<(n + 255) / 256, 256>>>(in, out, n); }
