// Kernels of vgpu_hsa.cpp: compiled device-only for one target.
#include <hip/hip_runtime.h>

extern "C" __global__ void fill(unsigned* out, unsigned value) { out[threadIdx.x] = value; }

// Private memory with an index that is only known at run time: needs scratch.
extern "C" __global__ void reverse_private(unsigned* out, unsigned value) {
  volatile unsigned local[64];
  for (unsigned i = 0; i < 64; ++i) local[i] = value + i;
  const unsigned thread = __builtin_amdgcn_workgroup_id_x() * 64 + threadIdx.x;
  out[thread] = local[63 - thread % 64];
}

// An encoding that no target has.
extern "C" __global__ void illegal(unsigned* out) {
  asm volatile(".long 0xbfffffff");
  out[0] = 1;
}
