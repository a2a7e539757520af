// A variant of vector_add with an instruction that the virtual GPU refuses by name: a semaphore of global wave sync,
// which every target has and no compiler emits.
#include "program.hpp"

__global__ void vector_add(const float* a, const float* b, float* c, int n) {
  asm volatile("s_mov_b32 m0, 0\n\tds_gws_sema_p offset:4 gds" ::: "memory");
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] + b[i];
}

int main() { return finish(false); }
