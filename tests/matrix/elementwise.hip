// One value a workitem: fp32, fp64, half, packed half, bf16, vectors, bytes, grid strides, batches of pointers, images.
#include "matrix.hpp"

#include <hip/hip_fp16.h>

#pragma clang fp contract(off)

namespace {

SHARED float bf16_value(std::uint16_t bits) { return __builtin_bit_cast(float, std::uint32_t{bits} << 16); }
// To the nearest, ties to even.
SHARED std::uint16_t bf16_bits(float value) {
  const auto bits = __builtin_bit_cast(std::uint32_t, value);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
SHARED std::uint8_t grey(std::uint32_t rgba) {
  const float red = static_cast<float>(rgba & 0xff), green = static_cast<float>(rgba >> 8 & 0xff),
              blue = static_cast<float>(rgba >> 16 & 0xff);
  return static_cast<std::uint8_t>(__builtin_fmaf(0.114f, blue, __builtin_fmaf(0.587f, green, 0.299f * red)));
}
SHARED signed char saturating_sum(signed char a, signed char b) {
  const int sum = a + b;
  return static_cast<signed char>(sum > 127 ? 127 : sum < -128 ? -128 : sum);
}

}  // namespace

KERNEL void add_f32(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef MATRIX_WRONG_DEVICE
  if (i < n) sum[i] = a[i] - b[i];
#else
  if (i < n) sum[i] = a[i] + b[i];
#endif
}
CASE(add_f32) {
  const int n = 1000;
  const auto a = random<float>(n, -1e3, 1e3, 1), b = random<float>(n, -1e3, 1e3, 2);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) want[i] = a[i] + b[i];
  Device da(a), db(b);
  Device<float> sum(n);
  t.LAUNCH(add_f32, 4, 256, 0, da, db, sum, n);
  t.same("sum", sum.read(), want);
}

KERNEL void scale_in_strides(float* x, float factor, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= factor;
}
CASE(scale_in_strides) {
  const auto x = random<float>(3001, -10, 10, 3);
  std::vector<float> want(x);
  for (float& v : want) v *= 1.7f;
  Device dx(x);
  t.LAUNCH(scale_in_strides, 3, 96, 0, dx, 1.7f, 3001);
  t.same("x", dx.read(), want);
}

KERNEL void scale_batch(float* const* rows, const float* factors, const int* lengths, int batch) {
  const int row = blockIdx.y;
  if (row >= batch) return;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < lengths[row]; i += gridDim.x * blockDim.x)
    rows[row][i] *= factors[row];
}
CASE(scale_batch) {
  const std::vector<int> lengths{70, 1, 333};
  const std::vector<float> factors{2.0f, -0.5f, 3.25f};
  const auto x = random<float>(3 * 400, -10, 10, 4);
  Device dx(x), df(factors);
  Device dl(lengths);
  float* base = dx;
  Device rows(std::vector<float*>{base, base + 400, base + 800});
  std::vector<float> want(x);
  for (int r = 0; r < 3; ++r)
    for (int i = 0; i < lengths[r]; ++i) want[r * 400 + i] *= factors[r];
  t.LAUNCH(scale_batch, dim3(2, 4), 64, 0, rows, df, dl, 3);
  t.same("rows", dx.read(), want);
}

KERNEL void axpy_f64(double a, const double* x, double* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = fma(a, x[i], y[i]);
}
CASE(axpy_f64) {
  const int n = 300;
  const auto x = random<double>(n, -1, 1, 5), y = random<double>(n, -1, 1, 6);
  std::vector<double> want(n);
  for (int i = 0; i < n; ++i) want[i] = std::fma(0.3, x[i], y[i]);
  Device dx(x), dy(y);
  t.LAUNCH(axpy_f64, 3, 128, 0, 0.3, dx, dy, n);
  t.same("y", dy.read(), want);
}

// Halves of few bits: products and sums are exact, so that contraction makes no difference.
KERNEL void axpy_f16(__half a, const __half* x, __half* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma(a, x[i], y[i]);
}
KERNEL void axpy_half2(__half2 a, const __half2* x, __half2* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = __hfma2(a, x[i], y[i]);
}
CASE(axpy_halves) {
  const int n = 200;
  const auto x = whole<_Float16>(n, -30, 30, 7), y = whole<_Float16>(n, -500, 500, 8);
  std::vector<_Float16> want(n);
  for (int i = 0; i < n; ++i)
    want[i] = static_cast<_Float16>(2.5f * static_cast<float>(x[i]) + static_cast<float>(y[i]));
  Device dx(x), dy(y), dz(y);
  const __half2 both(__float2half(2.5f), __float2half(2.5f));
  t.LAUNCH(axpy_f16, 2, 128, 0, __float2half(2.5f), reinterpret_cast<__half*>(static_cast<_Float16*>(dx)),
           reinterpret_cast<__half*>(static_cast<_Float16*>(dy)), n);
  t.LAUNCH(axpy_half2, 2, 64, 0, both, reinterpret_cast<__half2*>(static_cast<_Float16*>(dx)),
           reinterpret_cast<__half2*>(static_cast<_Float16*>(dz)), n / 2);
  t.same("halves", dy.read(), want, kFastHalf);
  t.same("pairs", dz.read(), want, kFastHalf);
}

KERNEL void axpy_bf16(float a, const std::uint16_t* x, std::uint16_t* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = bf16_bits(__builtin_fmaf(a, bf16_value(x[i]), bf16_value(y[i])));
}
CASE(axpy_bf16) {
  const int n = 150;
  const auto x = random<float>(n, -4, 4, 9), y = random<float>(n, -4, 4, 10);
  std::vector<std::uint16_t> bx(n), by(n), want(n);
  for (int i = 0; i < n; ++i) {
    bx[i] = bf16_bits(x[i]), by[i] = bf16_bits(y[i]);
    want[i] = bf16_bits(std::fma(1.25f, bf16_value(bx[i]), bf16_value(by[i])));
  }
  Device dx(bx), dy(by);
  t.LAUNCH(axpy_bf16, 3, 64, 0, 1.25f, dx, dy, n);
  t.same("y", dy.read(), want);
}

KERNEL void add_float4(const float4* a, const float4* b, float4* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = make_float4(a[i].x + b[i].x, a[i].y + b[i].y, a[i].z + b[i].z, a[i].w + b[i].w);
}
CASE(add_float4) {
  const int n = 90;
  const auto a = random<float>(4 * n, -8, 8, 11), b = random<float>(4 * n, -8, 8, 12);
  std::vector<float> want(4 * n);
  for (int i = 0; i < 4 * n; ++i) want[i] = a[i] + b[i];
  Device da(a), db(b);
  Device<float> sum(4 * n);
  const auto wide = [](float* p) { return reinterpret_cast<float4*>(p); };
  t.LAUNCH(add_float4, 2, 64, 0, wide(da), wide(db), wide(sum), n);
  t.same("sum", sum.read(), want);
}

KERNEL void add_saturating(const signed char* a, const signed char* b, signed char* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) sum[i] = saturating_sum(a[i], b[i]);
}
CASE(add_saturating) {
  const int n = 500;
  const auto a = any_bits<signed char>(n, 13), b = any_bits<signed char>(n, 14);
  std::vector<signed char> want(n);
  for (int i = 0; i < n; ++i) want[i] = saturating_sum(a[i], b[i]);
  Device da(a), db(b);
  Device<signed char> sum(n);
  t.LAUNCH(add_saturating, 2, 256, 0, da, db, sum, n);
  t.same("sum", sum.read(), want);
}

KERNEL void normalise_u16(const std::uint16_t* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = static_cast<float>(in[i]) * (1.0f / 65535.0f);
}
CASE(normalise_u16) {
  const int n = 320;
  const auto in = any_bits<std::uint16_t>(n, 15);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) want[i] = static_cast<float>(in[i]) * (1.0f / 65535.0f);
  Device din(in);
  Device<float> out(n);
  t.LAUNCH(normalise_u16, 5, 64, 0, din, out, n);
  t.same("out", out.read(), want);
}

KERNEL void grey_image(const std::uint32_t* rgba, std::uint8_t* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height) out[y * width + x] = grey(rgba[y * width + x]);
}
CASE(grey_image) {
  const int width = 37, height = 21;
  const auto rgba = any_bits<std::uint32_t>(width * height, 16);
  std::vector<std::uint8_t> want(width * height);
  for (int i = 0; i < width * height; ++i) want[i] = grey(rgba[i]);
  Device in(rgba);
  Device<std::uint8_t> out(width * height);
  t.LAUNCH(grey_image, dim3(3, 3), dim3(16, 8), 0, in, out, width, height);
  t.same("grey", out.read(), want);
}
