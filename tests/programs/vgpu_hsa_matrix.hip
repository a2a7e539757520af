// The kernel of vgpu_hsa.cpp's section `dispatch`, its value made by a matrix instruction of gfx950: ones times ones, 128 of them.
#include <hip/hip_runtime.h>

using Words = int __attribute__((ext_vector_type(8)));
using Floats = float __attribute__((ext_vector_type(4)));

extern "C" __global__ void fill(unsigned* out, unsigned value) {
  const Words ones = {0x22222222, 0x22222222, 0x22222222, 0x22222222, 0, 0, 0, 0};  // fp4
  const Floats sums = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(ones, ones, Floats{0, 0, 0, 0}, 4, 4, 0, 127, 0, 126);
  out[threadIdx.x] = value + static_cast<unsigned>(sums[threadIdx.x % 4]) - 64;  // half of 128: the scale of B is 2^-1
}
