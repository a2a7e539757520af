#include "program.hpp"

// The other file has a kernel of the very same name, and other code.
namespace {
__global__ void step(const float* in, float* out, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i] * constant(3.0f, 1.0f);
}
}  // namespace

void launch_one(const float* in, float* out, int n) { step<<<(n + 255) / 256, 256>>>(in, out, n); }
