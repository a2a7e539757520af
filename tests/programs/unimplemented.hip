// A variant of vector_add with an instruction that the virtual GPU refuses by name: a barrier in global wave sync memory,
// which every target has and no compiler emits for a kernel of one dispatch.
#include "program.hpp"

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  // An even register: gfx90a and gfx942 align it.
  asm volatile("s_mov_b32 m0, 0\n\tv_mov_b32 v2, %0\n\tds_gws_barrier v2 offset:4 gds" ::"s"(n) : "memory", "v2");
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] + b[i];
}

int main() { return finish(false); }
