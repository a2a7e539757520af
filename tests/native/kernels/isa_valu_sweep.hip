// The device side of isa_valu_sweep.hpp and the math library's functions, whose results the test bounds.
#include <hip/hip_runtime.h>

#include "isa_valu_sweep.hpp"

#define SWEEP_KERNEL(name, call)                                                                                    \
  extern "C" __global__ void name(const std::uint64_t* in, std::uint64_t* out, int n) {                             \
    const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                            \
    if (i >= n) return;                                                                                             \
    sweep::Sink s{out + i, static_cast<std::uint64_t>(n)};                                                          \
    const std::uint64_t x = in[3 * i], y = in[3 * i + 1], z = in[3 * i + 2];                                        \
    call(x, y, z, s);                                                                                               \
  }

SWEEP_KERNEL(sweep_i8, (sweep::integers<std::uint8_t, std::int8_t>))
SWEEP_KERNEL(sweep_i16, (sweep::integers<std::uint16_t, std::int16_t>))
SWEEP_KERNEL(sweep_i32, (sweep::integers<std::uint32_t, std::int32_t>))
SWEEP_KERNEL(sweep_i64, (sweep::integers<std::uint64_t, std::int64_t>))
SWEEP_KERNEL(sweep_bits, sweep::bit_tricks)
SWEEP_KERNEL(sweep_f32, sweep::floats<float>)
SWEEP_KERNEL(sweep_f64, sweep::floats<double>)
SWEEP_KERNEL(sweep_f16, sweep::halves)

extern "C" __global__ void math_f32(const float* x, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i], a = fabsf(v);
  const float r[] = {sinf(v), cosf(v), expf(v * 0.01f), exp2f(v * 0.01f), logf(a), log2f(a), log10f(a), powf(a, 0.37f),
                     tanhf(v * 0.01f), atanf(v), cbrtf(v), rsqrtf(a), erff(v * 0.01f), sinhf(v * 0.01f), 1.0f / v, hypotf(v, 3.0f)};
  for (int k = 0; k < 16; ++k) out[k * n + i] = r[k];
}
extern "C" __global__ void math_f64(const double* x, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double v = x[i], a = fabs(v);
  const double r[] = {sin(v), cos(v), exp(v * 0.01), exp2(v * 0.01), log(a), log2(a), log10(a), pow(a, 0.37),
                      tanh(v * 0.01), atan(v), cbrt(v), rsqrt(a), erf(v * 0.01), sinh(v * 0.01), 1.0 / v, hypot(v, 3.0)};
  for (int k = 0; k < 16; ++k) out[k * n + i] = r[k];
}
