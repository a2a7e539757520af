// Kernels of vgpu_hsa.cpp: compiled device-only for one target.
#include <hip/hip_runtime.h>

extern "C" __global__ void fill(unsigned* out, unsigned value) { out[threadIdx.x] = value; }

// Once the host says so.
extern "C" __global__ void fill_later(unsigned* out, unsigned value, unsigned* said) {
  while (__atomic_load_n(said, __ATOMIC_ACQUIRE) == 0) {
  }
  out[threadIdx.x] = value;
}

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

// More vector registers than the SIMDs have for a workgroup of 1024.
extern "C" __global__ __launch_bounds__(64) void many_registers(unsigned* out, unsigned value) {
  asm volatile("v_mov_b32 v200, %0" ::"v"(value) : "v200");
  out[threadIdx.x] = value;
}

// Far beyond the workitem's private memory, by a generic address.
extern "C" __global__ void beyond_private(unsigned* out, unsigned value) {
  unsigned cell = value;
  volatile unsigned* p = &cell;
  asm volatile("" : "+v"(p));
  p[1 << 20] = value;
  out[0] = *p;
}

extern "C" __global__ void misaligned_atomic(unsigned* out, unsigned value) {
  atomicAdd(reinterpret_cast<unsigned*>(reinterpret_cast<char*>(out) + 2), value);
}

extern "C" __global__ void trap(unsigned* out, unsigned value) {
  out[0] = value;
  __builtin_trap();
}
