// Instructions that compilers emit only for builtins and intrinsics: matrix products, conversions to 8-bit floats, typed buffers.
// Compiled for every target; the tests compare what comes out with LLVM's disassembler, and all of it has to be executable.
#include <hip/hip_runtime.h>

typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef int i2 __attribute__((ext_vector_type(2)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s2 __attribute__((ext_vector_type(2)));

__device__ f4 load_format(i4 resource, int index, int offset, int soffset, int aux) __asm("llvm.amdgcn.struct.buffer.load.format.v4f32");
__device__ h4 load_format_d16(i4 resource, int index, int offset, int soffset, int aux) __asm("llvm.amdgcn.struct.buffer.load.format.v4f16");
__device__ void store_format(f4 data, i4 resource, int index, int offset, int soffset, int aux) __asm("llvm.amdgcn.struct.buffer.store.format.v4f32");
__device__ float load_typed(i4 resource, int offset, int soffset, int format, int aux) __asm("llvm.amdgcn.raw.tbuffer.load.f32");
__device__ void store_typed(h4 data, i4 resource, int offset, int soffset, int format, int aux) __asm("llvm.amdgcn.raw.tbuffer.store.v4f16");

extern "C" __global__ void buffers(i4 resource, f4* out, h4* halves, float* single) {
  const int l = threadIdx.x;
  out[l] = load_format(resource, l, 4, 0, 0);
  halves[l] = load_format_d16(resource, l, 0, 0, 0);
  store_format(out[l + 64], resource, l, 0, 0, 0);
  single[l] = load_typed(resource, 16 * l, 0, 77, 0) + load_typed(resource, 16 * l, 0, 22, 0);
  store_typed(halves[l + 64], resource, 16 * l, 4, 60, 0);
}

extern "C" __global__ void cube(float* out, const float* in) {
  const float x = in[0], y = in[1], z = in[2];
  out[threadIdx.x] = __builtin_amdgcn_cubesc(x, y, z) + __builtin_amdgcn_cubetc(x, y, z) + __builtin_amdgcn_cubeid(x, y, z) + __builtin_amdgcn_cubema(x, y, z);
}

#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
extern "C" __global__ void doubles(double* d, const double* a, const double* b) {
  const int l = threadIdx.x;
  d[l] = __builtin_amdgcn_mfma_f64_4x4x4f64(a[l], b[l], d[l], 0, 0, 0);
}
extern "C" __global__ void rotated(f16v* d, const float* a, const float* b) {
  const int l = threadIdx.x;
  d[l] = __builtin_amdgcn_mfma_f32_32x32x2f32(a[l], b[l], d[l], 0, 0, 3);
}
#endif
#if defined(__gfx942__) || defined(__gfx950__)
extern "C" __global__ void negated(double* d, const double* a, const double* b) {
  const int l = threadIdx.x;
  d[l] = __builtin_amdgcn_mfma_f64_4x4x4f64(a[l], b[l], d[l], 0, 0, 5);
}
extern "C" __global__ void sparse(i4* d, i16v* e, f4* f, f16v* g, const i2* a, const i4* b, const int* index) {
  const int l = threadIdx.x;
  d[l] = __builtin_amdgcn_smfmac_i32_16x16x64_i8(a[l], b[l], d[l], index[l], 0, 1);
  e[l] = __builtin_amdgcn_smfmac_i32_32x32x32_i8(a[l], b[l], e[l], index[l], 0, 0);
  f[l] = __builtin_amdgcn_smfmac_f32_16x16x64_fp8_bf8(a[l], b[l], f[l], index[l], 1, 0);
  f[l] = __builtin_amdgcn_smfmac_f32_16x16x64_bf8_bf8(a[l], b[l], f[l], index[l], 0, 0);
  g[l] = __builtin_amdgcn_smfmac_f32_32x32x32_fp8_fp8(a[l], b[l], g[l], index[l], 0, 1);
  g[l] = __builtin_amdgcn_smfmac_f32_32x32x32_bf8_fp8(a[l], b[l], g[l], index[l], 0, 0);
}
extern "C" __global__ void stochastic(int* out, const float* in, const int* seed) {
  const int l = threadIdx.x;
  int r = __builtin_amdgcn_cvt_sr_fp8_f32(in[l], seed[l], out[l], 0);
  r = __builtin_amdgcn_cvt_sr_bf8_f32(-in[l + 64], seed[l], r, 2);
  out[l] = __builtin_amdgcn_cvt_sr_fp8_f32(in[l + 128], seed[l], r, 3);
}
#endif
#if defined(__gfx1100__) || defined(__gfx1201__)
extern "C" __global__ void halves(_Float16* out, short* brains, const h2* a, const h2* b, const s2* c, const s2* d) {
  const int l = threadIdx.x;
  out[l] = __builtin_amdgcn_fdot2_f16_f16(a[l], b[l], out[l]);
  brains[l] = __builtin_amdgcn_fdot2_bf16_bf16(c[l], d[l], brains[l]);
}
#endif
