// Matrix instructions through builtins: MFMA (gfx9), WMMA (gfx11), dot products, fp8; operands laid out as the ISA
// manuals say, small whole numbers, so that every order of additions gives the same result.
#include "matrix.hpp"

namespace {

using f32x4 = float __attribute__((ext_vector_type(4)));
using f32x8 = float __attribute__((ext_vector_type(8)));
using f32x16 = float __attribute__((ext_vector_type(16)));
using f64x4 = double __attribute__((ext_vector_type(4)));
using f16x2 = _Float16 __attribute__((ext_vector_type(2)));
using f16x4 = _Float16 __attribute__((ext_vector_type(4)));
using f16x8 = _Float16 __attribute__((ext_vector_type(8)));
using f16x16 = _Float16 __attribute__((ext_vector_type(16)));
using s16x4 = short __attribute__((ext_vector_type(4)));
using s16x8 = short __attribute__((ext_vector_type(8)));
using s16x16 = short __attribute__((ext_vector_type(16)));
using i32x2 = int __attribute__((ext_vector_type(2)));
using i32x4 = int __attribute__((ext_vector_type(4)));
using i32x8 = int __attribute__((ext_vector_type(8)));
using i32x16 = int __attribute__((ext_vector_type(16)));

template <class To, class From>
std::vector<To> as(const std::vector<From>& v) {
  std::vector<To> out(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) out[i] = static_cast<To>(v[i]);
  return out;
}
std::vector<short> bf16(const std::vector<float>& v) {  // whole numbers of at most eight bits fit
  std::vector<short> out(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) out[i] = static_cast<short>(__builtin_bit_cast(std::uint32_t, v[i]) >> 16);
  return out;
}
// c = a b, a: m rows of k, b: k rows of n.
std::vector<float> product_of(const std::vector<float>& a, const std::vector<float>& b, int m, int n, int k) {
  std::vector<float> c(m * n);
  for (int i = 0; i < m * n; ++i)
    for (int j = 0; j < k; ++j) c[i] += a[i / n * k + j] * b[j * n + i % n];
  return c;
}
struct Operands {
  int m, n, k;
  std::vector<float> a, b, c;
  Operands(int rows, int columns, int depth, unsigned seed, int low = -8, int high = 8)
      : m(rows),
        n(columns),
        k(depth),
        a(whole<float>(rows * depth, low, high, seed)),
        b(whole<float>(depth * columns, low, high, seed + 1)),
        c(product_of(a, b, rows, columns, depth)) {}
};

}  // namespace

KERNEL void mfma_f32_32x32x2(const float* a, const float* b, float* c, int k) {
#if ON_GFX9
  const int lane = threadIdx.x;
  f32x16 sum = {};
  for (int i = 0; i < k; i += 2)
    sum = __builtin_amdgcn_mfma_f32_32x32x2f32(a[lane % 32 * k + i + lane / 32], b[(i + lane / 32) * 32 + lane % 32],
                                               sum, 0, 0, 0);
  for (int i = 0; i < 16; ++i) c[(i / 4 * 8 + lane / 32 * 4 + i % 4) * 32 + lane % 32] = sum[i];
#endif
}
KERNEL void mfma_f16_16x16x16(const _Float16* a, const _Float16* b, float* c, int k) {
#if ON_GFX9
  const int lane = threadIdx.x;
  f32x4 sum = {};
  for (int i = 0; i < k; i += 16) {
    f16x4 left, right;
    for (int j = 0; j < 4; ++j)
      left[j] = a[lane % 16 * k + i + 4 * (lane / 16) + j], right[j] = b[(i + 4 * (lane / 16) + j) * 16 + lane % 16];
    sum = __builtin_amdgcn_mfma_f32_16x16x16f16(left, right, sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) c[(4 * (lane / 16) + i) * 16 + lane % 16] = sum[i];
#endif
}
KERNEL void mfma_bf16_32x32x8(const short* a, const short* b, float* c, int k) {
#if ON_GFX9
  const int lane = threadIdx.x;
  f32x16 sum = {};
  for (int i = 0; i < k; i += 8) {
    s16x4 left, right;
    for (int j = 0; j < 4; ++j)
      left[j] = a[lane % 32 * k + i + 4 * (lane / 32) + j], right[j] = b[(i + 4 * (lane / 32) + j) * 32 + lane % 32];
    sum = __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(left, right, sum, 0, 0, 0);
  }
  for (int i = 0; i < 16; ++i) c[(i / 4 * 8 + lane / 32 * 4 + i % 4) * 32 + lane % 32] = sum[i];
#endif
}
KERNEL void mfma_f64_16x16x4(const double* a, const double* b, double* c, int k) {
#if ON_GFX9
  const int lane = threadIdx.x;
  f64x4 sum = {};
  for (int i = 0; i < k; i += 4)
    sum = __builtin_amdgcn_mfma_f64_16x16x4f64(a[lane % 16 * k + i + lane / 16], b[(i + lane / 16) * 16 + lane % 16],
                                               sum, 0, 0, 0);
  for (int i = 0; i < 4; ++i) c[(lane / 16 + 4 * i) * 16 + lane % 16] = sum[i];
#endif
}
CASE_ON(mfma_floats, "gfx90a gfx942") {
  const Operands f32(32, 32, 12, 100), f16(16, 16, 48, 102), b16(32, 32, 24, 104), f64(16, 16, 12, 106);
  Device a(f32.a), b(f32.b);
  Device ha(as<_Float16>(f16.a)), hb(as<_Float16>(f16.b));
  Device ba(bf16(b16.a)), bb(bf16(b16.b));
  Device da(as<double>(f64.a)), db(as<double>(f64.b));
  Device<float> c(32 * 32), hc(16 * 16), bc(32 * 32);
  Device<double> dc(16 * 16);
  t.LAUNCH(mfma_f32_32x32x2, 1, 64, 0, a, b, c, 12);
  t.LAUNCH(mfma_f16_16x16x16, 1, 64, 0, ha, hb, hc, 48);
  t.LAUNCH(mfma_bf16_32x32x8, 1, 64, 0, ba, bb, bc, 24);
  t.LAUNCH(mfma_f64_16x16x4, 1, 64, 0, da, db, dc, 12);
  t.same("f32", c.read(), f32.c);
  t.same("f16", hc.read(), f16.c);
  t.same("bf16", bc.read(), b16.c);
  t.same("f64", dc.read(), as<double>(f64.c));
}

// Sixteen 4x4 blocks; cbsz and abid broadcast the left block, blgp turns the lanes of the right one.
KERNEL void mfma_4x4(const _Float16* a, float* c) {
#if ON_GFX9
  const int lane = threadIdx.x;
  const f16x4 v = {a[lane], a[lane + 1], a[lane + 2], a[lane + 3]};
  f32x4 sum = {};
  sum = __builtin_amdgcn_mfma_f32_4x4x4f16(v, v, sum, 1, 1, 0);
  sum = __builtin_amdgcn_mfma_f32_4x4x4f16(v, v, sum, 0, 0, 3);
  for (int i = 0; i < 4; ++i) c[i * 64 + lane] = sum[i];
#endif
}
CASE_ON(mfma_4x4, "gfx90a gfx942") {
  const auto a = whole<float>(68, -8, 8, 108);
  std::vector<float> want(256);
  for (int lane = 0; lane < 64; ++lane)
    for (int row = 0; row < 4; ++row) {
      const int block = lane / 4, left = (block / 2 * 2 + 1) * 4 + row, own = block * 4 + row,
                turned = (lane + 16) % 64;
      for (int k = 0; k < 4; ++k) want[row * 64 + lane] += a[left + k] * a[lane + k] + a[own + k] * a[turned + k];
    }
  Device da(as<_Float16>(a));
  Device<float> c(256);
  t.LAUNCH(mfma_4x4, 1, 64, 0, da, c);
  t.same("c", c.read(), want);
}

// Ten accumulators of sixteen registers: AccVGPRs. LLVM 17 cannot select it for gfx942.
KERNEL __launch_bounds__(64) void mfma_many(const f16x4* a, const f16x4* b, float* c, int k) {
#if ON_GFX9 && (__clang_major__ >= 19 || defined(__gfx90a__))
  const int lane = threadIdx.x;
  f32x16 sums[10] = {};
  for (int i = 0; i < k; ++i)
    for (int j = 0; j < 10; ++j)
      sums[j] = __builtin_amdgcn_mfma_f32_32x32x8f16(a[i * 64 + lane], b[(i * 10 + j) * 64 + lane], sums[j], 0, 0, 0);
  for (int j = 0; j < 10; ++j)
    for (int i = 0; i < 16; ++i) c[j * 1024 + (i / 4 * 8 + lane / 32 * 4 + i % 4) * 32 + lane % 32] = sums[j][i];
#endif
}
CASE_ON(mfma_many, "gfx90a gfx942") {
#if __clang_major__ < 19
  if (t.setting().target == "gfx942") return;
#endif
  const int k = 3;
  const auto a = whole<float>(k * 256, -8, 8, 109), b = whole<float>(k * 2560, -8, 8, 110);
  std::vector<float> want(10240);
  for (int j = 0; j < 10; ++j)
    for (int i = 0; i < 1024; ++i)
      for (int step = 0; step < k; ++step)
        for (int e = 0; e < 8; ++e)
          want[j * 1024 + i] += a[(step * 64 + e / 4 * 32 + i / 32) * 4 + e % 4] *
                                b[((step * 10 + j) * 64 + e / 4 * 32 + i % 32) * 4 + e % 4];
  Device da(as<_Float16>(a)), db(as<_Float16>(b));
  Device<float> c(10240);
  const auto vectors = [](_Float16* p) { return reinterpret_cast<f16x4*>(p); };
  t.LAUNCH(mfma_many, 1, 64, 0, vectors(da), vectors(db), c, k);
  t.same("c", c.read(), want);
}

// Rows of a and columns of b, the bytes of a lane side by side; gfx942 takes twice as many.
KERNEL void mfma_bytes(const signed char* a, const signed char* b, int* c, int* wide, int k) {
#if ON_GFX9
  const int lane = threadIdx.x;
  i32x4 sum = {};
#if ON_GFX942
  constexpr int kBytes = 8, kDepth = 32;
#else
  constexpr int kBytes = 4, kDepth = 16;
#endif
  using Word = std::conditional_t<kBytes == 8, long, int>;
  for (int i = 0; i < k; i += kDepth) {
    Word left, right;
    __builtin_memcpy(&left, a + lane % 16 * k + i + lane / 16 * kBytes, kBytes);
    __builtin_memcpy(&right, b + lane % 16 * k + i + lane / 16 * kBytes, kBytes);
#if ON_GFX942
    sum = __builtin_amdgcn_mfma_i32_16x16x32_i8(left, right, sum, 0, 0, 0);
#else
    sum = __builtin_amdgcn_mfma_i32_16x16x16i8(left, right, sum, 0, 0, 0);
#endif
  }
  for (int i = 0; i < 4; ++i) c[(4 * (lane / 16) + i) * 16 + lane % 16] = sum[i];
  i32x16 large = {};
  for (int i = 0; i < k; i += kDepth / 2) {
    Word left, right;
    __builtin_memcpy(&left, a + lane % 32 * k + i + lane / 32 * kBytes, kBytes);
    __builtin_memcpy(&right, b + lane % 32 * k + i + lane / 32 * kBytes, kBytes);
#if ON_GFX942
    large = __builtin_amdgcn_mfma_i32_32x32x16_i8(left, right, large, 0, 0, 0);
#else
    large = __builtin_amdgcn_mfma_i32_32x32x8i8(left, right, large, 0, 0, 0);
#endif
  }
  for (int i = 0; i < 16; ++i) wide[(i / 4 * 8 + lane / 32 * 4 + i % 4) * 32 + lane % 32] = large[i];
#endif
}
CASE_ON(mfma_bytes, "gfx90a gfx942") {
  const int k = 64;
  const auto a = any_bits<signed char>(32 * k, 111), b = any_bits<signed char>(32 * k, 112);
  std::vector<int> want(256), wide(1024);
  for (int i = 0; i < 1024; ++i)
    for (int j = 0; j < k; ++j) wide[i] += a[i / 32 * k + j] * b[i % 32 * k + j];
  for (int i = 0; i < 256; ++i) want[i] = wide[i / 16 * 32 + i % 16];
  Device da(a), db(b);
  Device<int> c(256), large(1024);
  t.LAUNCH(mfma_bytes, 1, 64, 0, da, db, c, large, k);
  t.same("16x16", c.read(), want);
  t.same("32x32", large.read(), wide);
}

namespace {

// fp8 as gfx942 has it: E4M3 and E5M2 with a bias one larger than OCP's, no infinities, no -0.
float fp8(unsigned v, int mantissa_bits) {
  const int sign = v >> 7 & 1, mantissa = v & ((1 << mantissa_bits) - 1), exponent = (v & 0x7f) >> mantissa_bits;
  if (v == 0x80) return std::nanf("");
  const int bias = mantissa_bits == 3 ? 8 : 16;
  const double scale =
      std::ldexp(exponent ? (1 << mantissa_bits) + mantissa : mantissa, std::max(exponent, 1) - bias - mantissa_bits);
  return static_cast<float>(sign ? -scale : scale);
}

}  // namespace

KERNEL void mfma_fp8(const long* a, const long* b, float* c, int k) {
#if ON_GFX942 && !defined(__gfx9_4_generic__)
  const int lane = threadIdx.x;
  f32x4 sum = {};
  for (int i = 0; i < k; ++i) {
    sum = __builtin_amdgcn_mfma_f32_16x16x32_fp8_fp8(a[i * 64 + lane], b[i * 64 + lane], sum, 0, 0, 0);
    sum = __builtin_amdgcn_mfma_f32_16x16x32_bf8_fp8(a[i * 64 + lane], b[i * 64 + lane], sum, 0, 0, 0);
  }
  for (int i = 0; i < 4; ++i) c[(4 * (lane / 16) + i) * 16 + lane % 16] = sum[i];
#endif
}
KERNEL void convert_fp8(const float* x, unsigned* packed, float* back, int n) {
#if ON_GFX942 && !defined(__gfx9_4_generic__)
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = __builtin_amdgcn_cvt_pk_fp8_f32(x[4 * i], x[4 * i + 1], 0, false);
  v = __builtin_amdgcn_cvt_pk_bf8_f32(x[4 * i + 2], x[4 * i + 3], v, true);
  packed[i] = v;
  back[i * 4] = __builtin_amdgcn_cvt_f32_fp8(v, 0), back[i * 4 + 1] = __builtin_amdgcn_cvt_f32_fp8(v, 1);
  back[i * 4 + 2] = __builtin_amdgcn_cvt_f32_bf8(v, 2), back[i * 4 + 3] = __builtin_amdgcn_cvt_f32_bf8(v, 3);
#endif
}
CASE_ON(fp8, "gfx942") {
  if (t.setting().generic) return;  // gfx9-4-generic has none: gfx942 and gfx950 differ in their formats
  const int k = 2;
  // Exponents near the bias, so that sums stay exact: 0x30 to 0x4f and their negatives, in both formats.
  std::vector<unsigned char> a(k * 512), b(k * 512);
  const auto picks = whole<int>(k * 1024, 0, 31, 113), signs = whole<int>(k * 1024, 0, 1, 114);
  for (int i = 0; i < k * 512; ++i) {
    a[i] = static_cast<unsigned char>(0x30 + picks[i] + 128 * signs[i]);
    b[i] = static_cast<unsigned char>(0x30 + picks[k * 512 + i] + 128 * signs[k * 512 + i]);
  }
  std::vector<float> want(256);
  for (int i = 0; i < 256; ++i)
    for (int step = 0; step < k; ++step)
      for (int e = 0; e < 32; ++e) {
        const int left = step * 512 + (e / 8 * 16 + i / 16) * 8 + e % 8,
                  right = step * 512 + (e / 8 * 16 + i % 16) * 8 + e % 8;
        want[i] += (fp8(a[left], 3) + fp8(a[left], 2)) * fp8(b[right], 3);
      }
  Device da(a), db(b);
  Device<float> c(256);
  const auto words = [](unsigned char* p) { return reinterpret_cast<long*>(p); };
  t.LAUNCH(mfma_fp8, 1, 64, 0, words(da), words(db), c, k);
  t.same("products", c.read(), want);
  const int n = 128;
  std::vector<float> x(n * 4), back(n * 4);
  for (int i = 0; i < n * 4; ++i) {
    const unsigned v = i * 37 % 256 == 0x80 ? 0 : i * 37 % 256;
    x[i] = back[i] = fp8(v, i % 4 < 2 ? 3 : 2);
  }
  Device dx(x);
  Device<unsigned> packed(n);
  Device<float> values(n * 4);
  t.LAUNCH(convert_fp8, 2, 64, 0, dx, packed, values, n);
  t.same("there and back", values.read(), back);
}

// The 8-bit floats of OCP: the same codes, the exponent's bias is one less, so values are twice those of gfx942.
KERNEL void wmma_fp8(const i32x2* a, const i32x2* b, float* c) {
#if ON_WAVE32 && ON_GFX12
  const int lane = threadIdx.x % 16, half = threadIdx.x / 16;
  f32x8 sum = {};
  sum = __builtin_amdgcn_wmma_f32_16x16x16_fp8_fp8_w32_gfx12(a[lane * 2 + half], b[lane * 2 + half], sum);
  sum = __builtin_amdgcn_wmma_f32_16x16x16_bf8_fp8_w32_gfx12(a[lane * 2 + half], b[lane * 2 + half], sum);
  for (int i = 0; i < 8; ++i) c[(8 * half + i) * 16 + lane] = sum[i];
#endif
}
KERNEL void convert_fp8_ocp(const float* x, float* back, float* dots, int n) {
#if ON_GFX12
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int v = __builtin_amdgcn_cvt_pk_fp8_f32(x[4 * i], x[4 * i + 1], 0, false);
  v = __builtin_amdgcn_cvt_pk_bf8_f32(x[4 * i + 2], x[4 * i + 3], v, true);
  back[i * 4] = __builtin_amdgcn_cvt_f32_fp8(v, 0), back[i * 4 + 1] = __builtin_amdgcn_cvt_f32_fp8(v, 1);
  back[i * 4 + 2] = __builtin_amdgcn_cvt_f32_bf8(v, 2), back[i * 4 + 3] = __builtin_amdgcn_cvt_f32_bf8(v, 3);
  // Numbers of few bits have neither cut off.
  const int whole = __builtin_amdgcn_cvt_sr_fp8_f32(x[4 * i], 0xffffffffu, 0x38383838, 2);
  dots[i] = __builtin_amdgcn_dot4_f32_fp8_bf8(whole, 0x3c3c3c3c, 0.5f);
#endif
}
CASE_ON(fp8_ocp, "gfx1201") {
  const auto picks = whole<int>(512, 0, 31, 127), signs = whole<int>(512, 0, 1, 128);
  std::vector<unsigned char> a(256), b(256);
  for (int i = 0; i < 256; ++i) {
    a[i] = static_cast<unsigned char>(0x30 + picks[i] + 128 * signs[i]);
    b[i] = static_cast<unsigned char>(0x30 + picks[256 + i] + 128 * signs[256 + i]);
  }
  std::vector<float> want(256);
  for (int i = 0; i < 256; ++i)
    for (int k = 0; k < 16; ++k)
      want[i] += 4 * (fp8(a[i / 16 * 16 + k], 3) + fp8(a[i / 16 * 16 + k], 2)) * fp8(b[i % 16 * 16 + k], 3);
  Device da(a), db(b);
  Device<float> c(256);
  const auto words = [](unsigned char* p) { return reinterpret_cast<i32x2*>(p); };
  if (!t.setting().wave64) {  // refused by name
    t.LAUNCH(wmma_fp8, 1, 32, 0, words(da), words(db), c);
    t.same("products", c.read(), want);
  }
  const int n = 128;
  std::vector<float> x(n * 4), sums(n);
  for (int i = 0; i < n * 4; ++i) {
    const unsigned code = i * 37 % 256;
    x[i] = 2 * (i % 4 < 2 ? fp8((code & 0x7f) == 0x7f ? 0 : code, 3) : fp8((code & 0x7c) == 0x7c ? 0 : code, 2));
    if (i % 4 == 0) sums[i / 4] = x[i] + 3.5f;
  }
  Device dx(x);
  Device<float> values(n * 4), dots(n);
  t.LAUNCH(convert_fp8_ocp, 2, 64, 0, dx, values, dots, n);
  t.same("there and back", values.read(), x);
  t.same("dot products", dots.read(), sums);
}

// Structured sparsity: of four values of b, the index picks two for each pair of a. LLVM 17 stops at it.
KERNEL void smfmac(const f16x4* a, const f16x8* b, const int* index, float* c) {
#if ON_GFX942 && __clang_major__ >= 19
  const int lane = threadIdx.x;
  f32x4 sum = {};
  sum = __builtin_amdgcn_smfmac_f32_16x16x32_f16(a[lane], b[lane], sum, index[lane], 0, 0);
  for (int i = 0; i < 4; ++i) c[(4 * (lane / 16) + i) * 16 + lane % 16] = sum[i];
#endif
}
CASE_ON(smfmac, "gfx942") {
#if __clang_major__ >= 19
  const auto a = whole<float>(256, -8, 8, 115), b = whole<float>(512, -8, 8, 116);
  std::vector<int> index(64);
  static const int pairs[] = {0x4, 0x8, 0xc, 0x9, 0xd, 0xe};  // two different positions, the lower first
  for (int i = 0; i < 64; ++i) index[i] = pairs[i % 6] | pairs[i / 6 % 6] << 4;
  std::vector<float> want(256);
  for (int i = 0; i < 256; ++i)
    for (int group = 0; group < 4; ++group) {
      const int left = group * 16 + i / 16, right = group * 16 + i % 16;
      for (int e = 0; e < 4; ++e) want[i] += a[left * 4 + e] * b[right * 8 + e / 2 * 4 + (index[left] >> (e * 2) & 3)];
    }
  Device da(as<_Float16>(a)), db(as<_Float16>(b));
  Device di(index);
  Device<float> c(256);
  t.LAUNCH(smfmac, 1, 64, 0, reinterpret_cast<f16x4*>(static_cast<_Float16*>(da)),
           reinterpret_cast<f16x8*>(static_cast<_Float16*>(db)), di, c);
  t.same("c", c.read(), want);
#endif
}

// Memory straight into LDS.
KERNEL void load_to_lds(const float* x, float* y) {
#if ON_GFX942 && __clang_major__ >= 19
  __shared__ float lds[256];
  __builtin_amdgcn_global_load_lds((const __attribute__((address_space(1))) void*)(x + threadIdx.x),
                                   (__attribute__((address_space(3))) void*)(lds + threadIdx.x / 64 * 64), 4, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  __syncthreads();
  y[threadIdx.x] = lds[255 - threadIdx.x];
#endif
}
CASE_ON(load_to_lds, "gfx942") {
#if __clang_major__ >= 19
  const auto x = random<float>(256, -1, 1, 117);
  const std::vector<float> want(x.rbegin(), x.rend());
  Device dx(x);
  Device<float> y(256);
  t.LAUNCH(load_to_lds, 1, 256, 0, dx, y);
  t.same("y", y.read(), want);
#endif
}

KERNEL void wmma_floats(const _Float16* a, const _Float16* b, const short* ba, const short* bb, float* c, float* bc,
                        f16x16* hc, int k) {
#if ON_WAVE32 && !ON_GFX12
  const int lane = threadIdx.x % 16, half = threadIdx.x / 16;
  f32x8 sum = {}, sum_b = {};
  f16x16 sum_h = {};
  for (int i = 0; i < k; i += 16) {
    f16x16 left, right;
    s16x16 left_b, right_b;
    for (int j = 0; j < 16; ++j) {
      left[j] = a[lane * k + i + j], right[j] = b[(i + j) * 16 + lane];
      left_b[j] = ba[lane * k + i + j], right_b[j] = bb[(i + j) * 16 + lane];
    }
    sum = __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(left, right, sum);
    sum_b = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(left_b, right_b, sum_b);
    sum_h = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32(left, right, sum_h, true);
  }
  for (int i = 0; i < 8; ++i) c[(2 * i + half) * 16 + lane] = sum[i], bc[(2 * i + half) * 16 + lane] = sum_b[i];
  hc[threadIdx.x] = sum_h;
#endif
}
CASE_ON(wmma_floats, "gfx1100") {
  if (t.setting().wave64) return;  // other builtins, other layouts
  const int k = 32;
  const Operands o(16, 16, k, 118);
  Device a(as<_Float16>(o.a)), b(as<_Float16>(o.b));
  Device ba(bf16(o.a)), bb(bf16(o.b));
  Device<float> c(256), bc(256);
  Device<_Float16> hc(512);
  t.LAUNCH(wmma_floats, 1, 32, 0, a, b, ba, bb, c, bc, reinterpret_cast<f16x16*>(static_cast<_Float16*>(hc)), k);
  t.same("f16", c.read(), o.c);
  t.same("bf16", bc.read(), o.c);
  // The high halves of eight registers hold the result.
  const auto halves = hc.read();
  std::vector<float> got(256);
  for (int i = 0; i < 256; ++i) got[i] = static_cast<float>(halves[(i / 16 % 2 * 16 + i % 16) * 16 + i / 32 * 2 + 1]);
  t.same("f16 sums", got, o.c);
}
// Rows of bytes and nibbles (signed times unsigned) of 16 x 16 matrices, and their products.
struct IntegerOperands {
  std::vector<signed char> a, b;
  std::vector<unsigned char> na, nb;
  std::vector<int> c, nc;
  explicit IntegerOperands(unsigned seed)
      : a(any_bits<signed char>(256, seed)),
        b(any_bits<signed char>(256, seed + 1)),
        na(any_bits<unsigned char>(128, seed + 2)),
        nb(any_bits<unsigned char>(128, seed + 3)),
        c(256),
        nc(256) {
    for (int i = 0; i < 256; ++i)
      for (int k = 0; k < 16; ++k) {
        c[i] += a[i / 16 * 16 + k] * b[i % 16 * 16 + k];
        const int left = na[i / 16 * 8 + k / 2] >> (k % 2 * 4) & 15, right = nb[i % 16 * 8 + k / 2] >> (k % 2 * 4) & 15;
        nc[i] += (left >= 8 ? left - 16 : left) * right;
      }
  }
};
KERNEL void wmma_integers(const i32x4* a, const i32x4* b, const i32x2* na, const i32x2* nb, int* c, int* nc) {
#if ON_WAVE32 && !ON_GFX12
  i32x8 sum = {}, nibbles = {};
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32(true, a[threadIdx.x % 16], true, b[threadIdx.x % 16], sum, false);
  nibbles = __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32(true, na[threadIdx.x % 16], false, nb[threadIdx.x % 16], nibbles,
                                                       true);
  for (int i = 0; i < 8; ++i) {
    c[(2 * i + threadIdx.x / 16) * 16 + threadIdx.x % 16] = sum[i];
    nc[(2 * i + threadIdx.x / 16) * 16 + threadIdx.x % 16] = nibbles[i];
  }
#endif
}
CASE_ON(wmma_integers, "gfx1100") {
  if (t.setting().wave64) return;
  const IntegerOperands o(120);
  Device da(o.a), db(o.b);
  Device dna(o.na), dnb(o.nb);
  Device<int> c(256), nc(256);
  const auto four = [](signed char* p) { return reinterpret_cast<i32x4*>(p); };
  const auto two = [](unsigned char* p) { return reinterpret_cast<i32x2*>(p); };
  t.LAUNCH(wmma_integers, 1, 32, 0, four(da), four(db), two(dna), two(dnb), c, nc);
  t.same("bytes", c.read(), o.c);
  t.same("nibbles", nc.read(), o.nc);
}

// On gfx12 each half of the wave has half of the products: no register holds an operand twice.
KERNEL void wmma_split_floats(const _Float16* a, const _Float16* b, const short* ba, const short* bb, float* c, float* bc,
                              _Float16* hc, int k) {
#if ON_WAVE32 && ON_GFX12
  const int lane = threadIdx.x % 16, first = threadIdx.x / 16 * 8;
  f32x8 sum = {}, sum_b = {};
  f16x8 sum_h = {};
  for (int i = first; i < k; i += 16) {
    f16x8 left, right;
    s16x8 left_b, right_b;
    for (int j = 0; j < 8; ++j) {
      left[j] = a[lane * k + i + j], right[j] = b[(i + j) * 16 + lane];
      left_b[j] = ba[lane * k + i + j], right_b[j] = bb[(i + j) * 16 + lane];
    }
    sum = -__builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(-left, right, -sum);  // the compiler makes modifiers of these signs
    sum_b = __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(left_b, right_b, sum_b);
    sum_h = __builtin_amdgcn_wmma_f16_16x16x16_f16_w32_gfx12(-left, -right, sum_h);
  }
  for (int i = 0; i < 8; ++i) {
    const int at = (first + i) * 16 + lane;
    // A sum of nothing has become -0; asked in integers, which -ffast-math leaves alone. Not of sum[i]: clang would take sum[0].
    const float value = sum[i];
    c[at] = __builtin_bit_cast(unsigned, value) << 1 ? value : 0.0f;
    bc[at] = sum_b[i], hc[at] = sum_h[i];
  }
#endif
}
CASE_ON(wmma_split_floats, "gfx1201") {
  if (t.setting().wave64) return;  // refused by name
  const int k = 32;
  const Operands o(16, 16, k, 125);
  Device a(as<_Float16>(o.a)), b(as<_Float16>(o.b));
  Device ba(bf16(o.a)), bb(bf16(o.b));
  Device<float> c(256), bc(256);
  Device<_Float16> hc(256);
  t.LAUNCH(wmma_split_floats, 1, 32, 0, a, b, ba, bb, c, bc, hc, k);
  t.same("f16", c.read(), o.c);
  t.same("bf16", bc.read(), o.c);
  const auto halves = hc.read();
  t.same("f16 sums", std::vector<float>(halves.begin(), halves.end()), o.c);
}
KERNEL void wmma_split_integers(const i32x2* a, const i32x2* b, const int* na, const int* nb, int* c, int* nc) {
#if ON_WAVE32 && ON_GFX12
  const int lane = threadIdx.x % 16, half = threadIdx.x / 16;
  i32x8 sum = {}, nibbles = {};
  sum = __builtin_amdgcn_wmma_i32_16x16x16_iu8_w32_gfx12(true, a[lane * 2 + half], true, b[lane * 2 + half], sum, false);
  nibbles = __builtin_amdgcn_wmma_i32_16x16x16_iu4_w32_gfx12(true, na[lane * 2 + half], false, nb[lane * 2 + half], nibbles,
                                                             true);
  for (int i = 0; i < 8; ++i) c[(8 * half + i) * 16 + lane] = sum[i], nc[(8 * half + i) * 16 + lane] = nibbles[i];
#endif
}
CASE_ON(wmma_split_integers, "gfx1201") {
  if (t.setting().wave64) return;
  const IntegerOperands o(126);
  Device da(o.a), db(o.b);
  Device dna(o.na), dnb(o.nb);
  Device<int> c(256), nc(256);
  const auto two = [](signed char* p) { return reinterpret_cast<i32x2*>(p); };
  const auto one = [](unsigned char* p) { return reinterpret_cast<int*>(p); };
  t.LAUNCH(wmma_split_integers, 1, 32, 0, two(da), two(db), one(dna), one(dnb), c, nc);
  t.same("bytes", c.read(), o.c);
  t.same("nibbles", nc.read(), o.nc);
}

KERNEL void dot_products(const unsigned* a, const unsigned* b, float* halves, int* bytes, int n) {
#ifdef __HIP_DEVICE_COMPILE__
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  halves[i] =
      __builtin_amdgcn_fdot2(__builtin_bit_cast(f16x2, a[i]), __builtin_bit_cast(f16x2, b[i]), halves[i], false);
  bytes[i * 2] = static_cast<int>(__builtin_amdgcn_udot4(a[i], b[i], 7u, false));
#if ON_RDNA
  bytes[i * 2 + 1] = __builtin_amdgcn_sudot4(true, static_cast<int>(a[i]), true, static_cast<int>(b[i]), -3, false);
#else
  bytes[i * 2 + 1] = __builtin_amdgcn_sdot4(static_cast<int>(a[i]), static_cast<int>(b[i]), -3, false);
#endif
#endif
}
CASE(dot_products) {
  const int n = 100;
  const auto values = whole<float>(n * 4, -30, 30, 124);
  const auto halves = as<_Float16>(values);
  std::vector<unsigned> a(n), b(n);
  std::memcpy(a.data(), halves.data(), n * 4);
  std::memcpy(b.data(), halves.data() + n * 2, n * 4);
  std::vector<float> sums(n, 0.5f), want(n, 0.5f);
  std::vector<int> bytes(n * 2);
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < 2; ++k) want[i] += values[i * 2 + k] * values[n * 2 + i * 2 + k];
    bytes[i * 2] = 7, bytes[i * 2 + 1] = -3;
    for (int k = 0; k < 32; k += 8) {
      bytes[i * 2] += static_cast<int>((a[i] >> k & 255) * (b[i] >> k & 255));
      bytes[i * 2 + 1] += static_cast<signed char>(a[i] >> k) * static_cast<signed char>(b[i] >> k);
    }
  }
  Device da(a), db(b);
  Device ds(sums);
  Device<int> dots(n * 2);
  t.LAUNCH(dot_products, 2, 64, 0, da, db, ds, dots, n);
  t.same("halves", ds.read(), want);
  t.same("bytes", dots.read(), bytes);
}
