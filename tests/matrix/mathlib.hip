// Functions of the device library: fp32, fp64, half and the fast intrinsics, within the bounds that HIP's documents
// state for them (ulps of the result) plus what the approximate instructions below them may add.
#include "matrix.hpp"

#include <hip/hip_fp16.h>

namespace {

constexpr double kUlp = 0x1p-23, kUlp64 = 0x1p-52;

template <class T>
using Function = T (*)(T);

}  // namespace

constexpr int kFloats = 24;
KERNEL void functions_f32(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float* o = y + i * kFloats;
  o[0] = sinf(v), o[1] = cosf(v), o[2] = expf(v), o[3] = logf(v);
  o[4] = powf(v, 1.7f), o[5] = tanf(v), o[6] = atan2f(v, 2.0f), o[7] = fmodf(v, 3.0f);
  o[8] = cbrtf(v), o[9] = floorf(v) + ceilf(v) + rintf(v) + truncf(v) + roundf(v);
  int exponent;
  o[10] = frexpf(v, &exponent), o[11] = ldexpf(v, 3) + static_cast<float>(exponent);
  o[12] = lgammaf(v), o[13] = tgammaf(v * 0.25f), o[14] = erff(v * 0.2f), o[15] = tanhf(v * 0.3f);
  o[16] = exp2f(v), o[17] = log2f(v), o[18] = log10f(v), o[19] = log1pf(v);
  o[20] = expm1f(v * 0.1f), o[21] = asinf(v * 0.05f), o[22] = hypotf(v, 2.5f);
  float s, c;
  sincosf(v * 1000.0f, &s, &c);
  o[23] = s * c;
}
CASE(functions_f32) {
  const int n = 130;
  const auto x = random<float>(n, 0.1, 19.0, 90);
  Device dx(x);
  Device<float> y(n * kFloats);
  t.LAUNCH(functions_f32, 3, 64, 0, dx, y, n);
  const auto got = y.read();
  static const char* names[] = {"sin",  "cos",       "exp",   "log",   "pow",    "tan",    "atan2", "fmod",
                                "cbrt", "roundings", "frexp", "ldexp", "lgamma", "tgamma", "erf",   "tanh",
                                "exp2", "log2",      "log10", "log1p", "expm1",  "asin",   "hypot", "sincos"};
  // Of the value in ulps, and in absolute terms (near zeros, and the argument's reduction).
  static const Bound bounds[] = {{4, 4}, {4, 4}, {3, 0}, {3, 2}, {6, 0},  {6, 6},  {6, 0}, {0, 0},
                                 {3, 0}, {0, 0}, {0, 0}, {0, 0}, {8, 16}, {16, 0}, {4, 2}, {4, 0},
                                 {3, 0}, {3, 2}, {3, 2}, {3, 0}, {3, 0},  {4, 0},  {4, 0}, {4, 4}};
  for (int f = 0; f < kFloats; ++f) {
    std::vector<float> column(n), want(n);
    for (int i = 0; i < n; ++i) {
      const double v = x[i];
      int exponent;
      const double fraction = std::frexp(v, &exponent), far = static_cast<double>(x[i] * 1000.0f);
      const double all[] = {std::sin(v),
                            std::cos(v),
                            std::exp(v),
                            std::log(v),
                            std::pow(v, static_cast<double>(1.7f)),
                            std::tan(v),
                            std::atan2(v, 2.0),
                            std::fmod(v, 3.0),
                            std::cbrt(v),
                            std::floor(v) + std::ceil(v) + std::rint(v) + std::trunc(v) + std::round(v),
                            fraction,
                            v * 8 + exponent,
                            std::lgamma(v),
                            std::tgamma(v * 0.25),
                            std::erf(static_cast<double>(x[i] * 0.2f)),
                            std::tanh(static_cast<double>(x[i] * 0.3f)),
                            std::exp2(v),
                            std::log2(v),
                            std::log10(v),
                            std::log1p(v),
                            std::expm1(static_cast<double>(x[i] * 0.1f)),
                            std::asin(static_cast<double>(x[i] * 0.05f)),
                            std::hypot(v, 2.5),
                            std::sin(far) * std::cos(far)};
      column[i] = got[i * kFloats + f], want[i] = static_cast<float>(all[f]);
    }
    // Fast: native sin and cos have an absolute error that grows with the argument.
    const double more = t.setting().fast ? f == 5 || f == 23 ? 4000 : 64 : 1;
    t.close(
        names[f], column, want,
        {bounds[f].relative * kUlp * more, std::max(bounds[f].absolute * kUlp, t.setting().fast ? kUlp : 0) * more});
  }
}

constexpr int kDoubles = 12;
KERNEL void functions_f64(const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double v = x[i];
  double* o = y + i * kDoubles;
  o[0] = sin(v), o[1] = cos(v), o[2] = exp(v), o[3] = log(v), o[4] = pow(v, 1.7), o[5] = sqrt(v) / (1 + v);
  o[6] = fma(v, v, 1.0) - floor(v), o[7] = erf(v * 0.2), o[8] = atan(v), o[9] = cbrt(v), o[10] = tanh(v * 0.3),
  o[11] = fmod(v * 100, 7.0);
}
CASE(functions_f64) {
  const int n = 100;
  const auto x = random<double>(n, 0.1, 19.0, 91);
  std::vector<double> want(n * kDoubles);
  for (int i = 0; i < n; ++i) {
    const double v = x[i];
    const double all[] = {std::sin(v),
                          std::cos(v),
                          std::exp(v),
                          std::log(v),
                          std::pow(v, 1.7),
                          std::sqrt(v) / (1 + v),
                          std::fma(v, v, 1.0) - std::floor(v),
                          std::erf(v * 0.2),
                          std::atan(v),
                          std::cbrt(v),
                          std::tanh(v * 0.3),
                          std::fmod(v * 100, 7.0)};
    std::copy(all, all + kDoubles, &want[i * kDoubles]);
  }
  Device dx(x);
  Device<double> y(n * kDoubles);
  t.LAUNCH(functions_f64, 2, 64, 0, dx, y, n);
  t.close("y", y.read(), want, {8 * kUlp64, 8 * kUlp64});
}

KERNEL void fast_functions(const float* x, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float* o = y + i * 6;
  o[0] = __sinf(v) + __cosf(v), o[1] = __expf(v), o[2] = __logf(v), o[3] = __fdividef(v, 3.0f) + __frcp_rn(v);
  o[4] = __saturatef(v) + fminf(fmaxf(v, -2.0f), 2.0f) + __fsqrt_rn(v), o[5] = rsqrtf(v) + __powf(v, 0.5f);
}
CASE(fast_functions) {
  const int n = 120;
  const auto x = random<float>(n, 0.05, 6.0, 92);
  std::vector<float> want(n * 6);
  for (int i = 0; i < n; ++i) {
    const double v = x[i];
    const double all[] = {std::sin(v) + std::cos(v),
                          std::exp(v),
                          std::log(v),
                          v / 3 + 1 / v,
                          std::min(v, 1.0) + std::min(v, 2.0) + std::sqrt(v),
                          1 / std::sqrt(v) + std::sqrt(v)};
    for (int k = 0; k < 6; ++k) want[i * 6 + k] = static_cast<float>(all[k]);
  }
  Device dx(x);
  Device<float> y(n * 6);
  t.LAUNCH(fast_functions, 2, 64, 0, dx, y, n);
  t.close("y", y.read(), want, {16 * kUlp, 16 * kUlp});
}

// Division and square root are correctly rounded: equal to the bit, denormals, zeros and infinities too.
KERNEL void rounded_f32(const float* a, const float* b, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i * 2] = a[i] / b[i], out[i * 2 + 1] = sqrtf(fabsf(a[i]));
}
KERNEL void rounded_f64(const double* a, const double* b, double* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i * 2] = a[i] / b[i], out[i * 2 + 1] = sqrt(fabs(a[i]));
}
template <class T>
std::vector<T> rounded(const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> want(a.size() * 2);
  for (std::size_t i = 0; i < a.size(); ++i) want[i * 2] = a[i] / b[i], want[i * 2 + 1] = std::sqrt(std::abs(a[i]));
  return want;
}
template <class T>
bool plain(T v) {
  return std::isnormal(v) && std::abs(v) < std::sqrt(std::numeric_limits<T>::max()) &&
         std::abs(v) > std::sqrt(std::numeric_limits<T>::min());
}
template <class T>
std::vector<T> operands(std::size_t n, unsigned seed, bool only_plain) {
  auto v = any_bits<T>(n, seed);
  for (T& e : v)
    if (only_plain && !plain(e)) e = static_cast<T>(1.5);
  if (!only_plain)
    v[0] = 0, v[1] = std::numeric_limits<T>::infinity(), v[2] = std::numeric_limits<T>::denorm_min(), v[3] = -v[1],
    v[4] = 1;
  return v;
}
CASE(rounded) {
  const int n = 500;
  const bool tame = t.setting().fast || t.setting().flush;
  const auto a = operands<float>(n, 93, tame), b = operands<float>(n, 94, tame);
  const auto c = operands<double>(n, 95, tame), d = operands<double>(n, 96, tame);
  Device da(a), db(b);
  Device dc(c), dd(d);
  Device<float> f(n * 2);
  Device<double> g(n * 2);
  t.LAUNCH(rounded_f32, 4, 128, 0, da, db, f, n);
  t.LAUNCH(rounded_f64, 4, 128, 0, dc, dd, g, n);
  t.same("floats", f.read(), rounded(a, b));
  t.same("doubles", g.read(), rounded(c, d));
}

KERNEL void functions_f16(const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const __half v = x[i];
  __half* o = y + i * 8;
  o[0] = __hadd(v, v), o[1] = __hmul(v, v), o[2] = __hdiv(__float2half(1.0f), v), o[3] = hfloor(v);
  o[4] = hsqrt(v), o[5] = __hgt(v, __float2half(2.0f)) ? v : __float2half(2.0f), o[6] = hsin(v), o[7] = hexp2(v);
}
CASE(functions_f16) {
  const int n = 100;
  const auto x = random<_Float16>(n, 0.25, 3.0, 97);
  std::vector<_Float16> want(n * 8);
  for (int i = 0; i < n; ++i) {
    const auto v = static_cast<double>(x[i]);
    const double all[] = {v + v,       v * v,       1 / v, std::floor(v), std::sqrt(v), std::max(v, 2.0),
                          std::sin(v), std::exp2(v)};
    for (int k = 0; k < 8; ++k) want[i * 8 + k] = static_cast<_Float16>(all[k]);
  }
  Device dx(x);
  Device<_Float16> y(n * 8);
  const auto halves = [](_Float16* p) { return reinterpret_cast<__half*>(p); };
  t.LAUNCH(functions_f16, 2, 64, 0, halves(dx), halves(y), n);
  t.close("y", y.read(), want, {0x1p-9, 0x1p-12});
}

// A body of mass in a field of others: rsqrt, fused sums, vectors of four.
KERNEL void forces(const float4* bodies, float4* out, int n) {
  __shared__ float4 tile[64];
  const int i = blockIdx.x * 64 + threadIdx.x;
  const float4 mine = bodies[i];
  float x = 0, y = 0, z = 0;
  for (int from = 0; from < n; from += 64) {
    tile[threadIdx.x] = bodies[from + threadIdx.x];
    __syncthreads();
#pragma unroll 4
    for (int j = 0; j < 64; ++j) {
      const float dx = tile[j].x - mine.x, dy = tile[j].y - mine.y, dz = tile[j].z - mine.z;
      const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f),
                  weight = tile[j].w * inverse * inverse * inverse;
      x += dx * weight, y += dy * weight, z += dz * weight;
    }
    __syncthreads();
  }
  out[i] = make_float4(x, y, z, 0);
}
CASE(forces) {
  const int n = 192;
  const auto bodies = random<float>(n * 4, 0.1, 1.0, 98);
  std::vector<float> want(n * 4);
  for (int i = 0; i < n; ++i) {
    double sums[3] = {};
    for (int j = 0; j < n; ++j) {
      double d[3], square = 0.01;
      for (int k = 0; k < 3; ++k)
        d[k] = static_cast<double>(bodies[j * 4 + k]) - bodies[i * 4 + k], square += d[k] * d[k];
      for (int k = 0; k < 3; ++k) sums[k] += d[k] * bodies[j * 4 + 3] / (square * std::sqrt(square));
    }
    for (int k = 0; k < 3; ++k) want[i * 4 + k] = static_cast<float>(sums[k]);
  }
  Device db(bodies);
  Device<float> out(n * 4);
  t.LAUNCH(forces, 3, 64, 0, reinterpret_cast<float4*>(static_cast<float*>(db)),
           reinterpret_cast<float4*>(static_cast<float*>(out)), n);
  t.close("forces", out.read(), want, {3e-5, 1e-3});
}
