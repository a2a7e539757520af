// What generated programs are made of, written twice: for the device with the compiler's builtins, for the host in plain C++.
// A program is one source: a struct of values for each workitem, phases that work on one workitem's struct, and operations
// across the lanes of a wave or workgroup between the phases. The host runs each phase for all workitems, then the
// operation over the array of structs. Nothing here is undefined behaviour with -fwrapv and saturating float-to-integer
// conversion (-fno-strict-float-cast-overflow), so both compilers owe the same bits. NaNs are made alike where seen.
#pragma once

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using i16 = short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long;
using i64 = long;
using f16 = _Float16;
using f32 = float;
using f64 = double;
typedef f16 h2 __attribute__((ext_vector_type(2)));
typedef i16 s2 __attribute__((ext_vector_type(2)));
typedef u16 w2 __attribute__((ext_vector_type(2)));
typedef f32 f2 __attribute__((ext_vector_type(2)));
typedef u32 u4 __attribute__((ext_vector_type(4)));
typedef i32 i4 __attribute__((ext_vector_type(4)));
typedef u8 c4 __attribute__((ext_vector_type(4)));
typedef f64 d2 __attribute__((ext_vector_type(2)));

#ifdef __HIP__
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))
#endif
#ifdef __HIP_DEVICE_COMPILE__
#define DEVICE 1
#define FN static inline __device__
#define NOINLINE static __attribute__((noinline)) __device__
#define FN_MEMBER inline __device__
#else
#define DEVICE 0
#define FN static inline
#define NOINLINE static __attribute__((noinline))
#define FN_MEMBER inline
extern "C" double ldexp(double, int);
extern "C" float ldexpf(float, int);
#endif
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx950__)
#define GFX9 1
#else
#define GFX9 0
#endif
#if defined(__gfx1100__) || defined(__gfx1201__)
#define RDNA 1
#else
#define RDNA 0
#endif

// --- bits of values, NaNs made alike
FN u32 bits(f32 v) { return v != v ? 0x7fc00000u : __builtin_bit_cast(u32, v); }
FN u64 bits(f64 v) { return v != v ? 0x7ff8000000000000ull : __builtin_bit_cast(u64, v); }
FN u16 bits(f16 v) { return v != v ? (u16)0x7e00 : __builtin_bit_cast(u16, v); }
FN f32 as_f32(u32 v) { f32 f = __builtin_bit_cast(f32, v); return f != f ? __builtin_bit_cast(f32, 0x7fc00000u) : f; }
FN f64 as_f64(u64 v) { f64 f = __builtin_bit_cast(f64, v); return f != f ? __builtin_bit_cast(f64, 0x7ff8000000000000ull) : f; }
FN f16 as_f16(u16 v) { f16 f = __builtin_bit_cast(f16, v); return f != f ? __builtin_bit_cast(f16, (u16)0x7e00) : f; }

FN u64 put(u8 v) { return v; }
FN u64 put(i8 v) { return (u8)v; }
FN u64 put(i16 v) { return (u16)v; }
FN u64 put(u32 v) { return v; }
FN u64 put(i32 v) { return (u32)v; }
FN u64 put(u64 v) { return v; }
FN u64 put(i64 v) { return (u64)v; }
FN u64 put(f16 v) { return bits(v); }
FN u64 put(f32 v) { return bits(v); }
FN u64 put(f64 v) { return bits(v); }
FN u64 put(h2 v) { return (u64)bits((f16)v.x) | (u64)bits((f16)v.y) << 16; }
FN u64 put(s2 v) { return (u64)(u16)v.x | (u64)(u16)v.y << 16; }
FN u64 put(w2 v) { return (u64)v.x | (u64)v.y << 16; }
FN u64 put(f2 v) { return (u64)bits((f32)v.x) | (u64)bits((f32)v.y) << 32; }
FN u64 put(u4 v) { return ((u64)v.x | (u64)v.y << 32) ^ (((u64)v.z | (u64)v.w << 32) * 0x9e3779b97f4a7c15ull); }
FN u64 put(c4 v) { return (u64)v.x | (u64)v.y << 8 | (u64)v.z << 16 | (u64)v.w << 24; }
FN u64 put(d2 v) { return bits((f64)v.x) ^ (bits((f64)v.y) * 0x9e3779b97f4a7c15ull); }

template <class T> struct Get { static inline
#ifdef __HIP__
__device__
#endif
T at(u64 v) { return (T)v; } };
#ifdef __HIP__
#define GET(T, ...) template <> struct Get<T> { static inline __device__ T at(u64 v) { return __VA_ARGS__; } };
#else
#define GET(T, ...) template <> struct Get<T> { static inline T at(u64 v) { return __VA_ARGS__; } };
#endif
GET(f16, as_f16((u16)v))
GET(f32, as_f32((u32)v))
GET(f64, as_f64(v))
GET(h2, h2{as_f16((u16)v), as_f16((u16)(v >> 16))})
GET(s2, s2{(i16)v, (i16)(v >> 16)})
GET(w2, w2{(u16)v, (u16)(v >> 16)})
GET(f2, f2{as_f32((u32)v), as_f32((u32)(v >> 32))})
GET(u4, u4{(u32)v, (u32)(v >> 32), (u32)(v >> 13), (u32)(v >> 45) ^ (u32)v})
GET(c4, c4{(u8)v, (u8)(v >> 8), (u8)(v >> 16), (u8)(v >> 24)})
GET(d2, d2{as_f64(v), as_f64(v << 7)})

// --- integers
#define BITS(T) (sizeof(T) * 8)
template <class T> FN T shl_(T a, u32 s) { return (T)(a << (s & (BITS(T) - 1))); }
template <class T> FN T shr_(T a, u32 s) { return (T)(a >> (s & (BITS(T) - 1))); }
template <class T> FN T div_(T a, T b) { return b == 0 ? a : ((T)-1 < (T)0 && b == (T)-1) ? (T)(0 - a) : (T)(a / b); }
template <class T> FN T rem_(T a, T b) { return b == 0 ? a : ((T)-1 < (T)0 && b == (T)-1) ? (T)0 : (T)(a % b); }
template <class T> FN T min_(T a, T b) { return a < b ? a : b; }
template <class T> FN T max_(T a, T b) { return a > b ? a : b; }
template <class T> FN T med3_(T a, T b, T c) { return max_(min_(a, b), min_(max_(a, b), c)); }
template <class T> FN T clamp_(T a, T lo, T hi) { return min_(max_(a, lo), hi); }
template <class T> FN T abs_(T a) { return a < 0 ? (T)(0 - a) : a; }
template <class T> FN T addsat(T a, T b) { return __builtin_elementwise_add_sat(a, b); }
template <class T> FN T subsat(T a, T b) { return __builtin_elementwise_sub_sat(a, b); }
template <class T> FN T addov(T a, T b) { T r; bool o = __builtin_add_overflow(a, b, &r); return o ? (T)(r ^ 1) : r; }
template <class T> FN T subov(T a, T b) { T r; bool o = __builtin_sub_overflow(a, b, &r); return o ? (T)(r ^ 2) : r; }
template <class T> FN T mulov(T a, T b) { T r; bool o = __builtin_mul_overflow(a, b, &r); return o ? (T)~r : r; }
FN u32 mulhi_(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
FN i32 mulhi_(i32 a, i32 b) { return (i32)((i64)a * b >> 32); }
FN u64 mulhi_(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
FN i64 mulhi_(i64 a, i64 b) { return (i64)((__int128)a * b >> 64); }
FN u32 clz_(u32 a) { return a ? (u32)__builtin_clz(a) : 32; }
FN u32 clz_(u64 a) { return a ? (u32)__builtin_clzll(a) : 64; }
FN u32 clz_(u16 a) { return a ? (u32)__builtin_clz(a) - 16 : 16; }
FN u32 ctz_(u32 a) { return a ? (u32)__builtin_ctz(a) : 32; }
FN u32 ctz_(u64 a) { return a ? (u32)__builtin_ctzll(a) : 64; }
#ifdef FUZZ_WRONG_HOST  // tests that a difference is found
FN u64 put(u16 v) { return v & 0xfffe; }
#else
FN u64 put(u16 v) { return v; }
#endif
FN u32 pop_(u32 a) { return (u32)__builtin_popcount(a); }
FN u32 pop_(u64 a) { return (u32)__builtin_popcountll(a); }
FN u16 rev_(u16 a) { return __builtin_bitreverse16(a); }
FN u8 rev_(u8 a) { return __builtin_bitreverse8(a); }
FN u32 rev_(u32 a) { return __builtin_bitreverse32(a); }
FN u64 rev_(u64 a) { return __builtin_bitreverse64(a); }
FN u16 swap_(u16 a) { return __builtin_bswap16(a); }
FN u32 swap_(u32 a) { return __builtin_bswap32(a); }
FN u64 swap_(u64 a) { return __builtin_bswap64(a); }
FN u8 rot_(u8 a, u32 s) { return __builtin_rotateleft8(a, (u8)s); }
FN u16 rot_(u16 a, u32 s) { return __builtin_rotateleft16(a, (u16)s); }
FN u32 rot_(u32 a, u32 s) { return __builtin_rotateleft32(a, s); }
FN u64 rot_(u64 a, u32 s) { return __builtin_rotateleft64(a, s); }
template <class T> FN T bsel(T m, T a, T b) { return (T)((a & m) | (b & (T)~m)); }

FN u32 ubfe_ref(u32 a, u32 o, u32 w) { return (a >> (o & 31)) & ((1u << (w & 31)) - 1); }
FN i32 sbfe_ref(i32 a, u32 o, u32 w) {
  w &= 31;
  return w ? (i32)((u32)(a >> (o & 31)) << (32 - w)) >> (32 - w) : 0;
}
FN u32 perm_byte(u64 v, u32 s) {
  if (s >= 13) return 0xff;
  if (s == 12) return 0;
  if (s >= 8) return (v >> (s == 8 ? 15 : s == 9 ? 31 : s == 10 ? 47 : 63)) & 1 ? 0xff : 0;
  return (u32)(v >> (8 * s)) & 0xff;
}
FN u32 perm_ref(u32 a, u32 b, u32 s) {
  const u64 v = (u64)a << 32 | b;
  return perm_byte(v, s & 0xff) | perm_byte(v, s >> 8 & 0xff) << 8 | perm_byte(v, s >> 16 & 0xff) << 16 | perm_byte(v, s >> 24) << 24;
}
FN u32 absdiff(u32 a, u32 b) { return a > b ? a - b : b - a; }
FN u32 sad8_ref(u32 a, u32 b, u32 c) {
  for (u32 i = 0; i < 32; i += 8) c += absdiff(a >> i & 0xff, b >> i & 0xff);
  return c;
}
FN u32 msad8_ref(u32 a, u32 b, u32 c) {  // bytes where the second operand is zero do not count
  for (u32 i = 0; i < 32; i += 8) c += (b >> i & 0xff) ? absdiff(a >> i & 0xff, b >> i & 0xff) : 0;
  return c;
}
FN u32 sad16_ref(u32 a, u32 b, u32 c) { return absdiff(a & 0xffff, b & 0xffff) + absdiff(a >> 16, b >> 16) + c; }
FN u32 lerp_ref(u32 a, u32 b, u32 c) {
  u32 r = 0;
  for (u32 i = 0; i < 32; i += 8) r |= (((a >> i & 0xff) + (b >> i & 0xff) + (c >> i & 1)) >> 1) << i;
  return r;
}
// Sums of four positions; masked: bytes where the reference is zero do not count.
FN u64 qsad_ref(u64 a, u32 b, u64 c, bool masked) {
  u64 r = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 part = (u32)(a >> (8 * i));
    const u32 base = (u32)(c >> (16 * i)) & 0xffff;
    const u32 sum = masked ? msad8_ref(part, b, base) : sad8_ref(part, b, base);
    r |= (u64)(sum & 0xffff) << (16 * i);
  }
  return r;
}
FN i32 sat32(i64 v) { return (i32)clamp_<i64>(v, -2147483648l, 2147483647l); }
FN i32 sdot4_ref(i32 a, i32 b, i32 c, bool sat) {
  i64 r = c;
  for (u32 i = 0; i < 32; i += 8) r += (i32)(i8)(a >> i) * (i32)(i8)(b >> i);
  return sat ? sat32(r) : (i32)r;
}
FN u32 udot4_ref(u32 a, u32 b, u32 c, bool sat) {
  u64 r = c;
  for (u32 i = 0; i < 32; i += 8) r += (a >> i & 0xff) * (b >> i & 0xff);
  return sat ? (u32)min_<u64>(r, 0xffffffffu) : (u32)r;
}
FN i32 sdot8_ref(i32 a, i32 b, i32 c, bool sat) {
  i64 r = c;
  for (u32 i = 0; i < 32; i += 4) r += ((i32)((u32)a << (28 - i)) >> 28) * ((i32)((u32)b << (28 - i)) >> 28);
  return sat ? sat32(r) : (i32)r;
}
FN u32 udot8_ref(u32 a, u32 b, u32 c, bool sat) {
  u64 r = c;
  for (u32 i = 0; i < 32; i += 4) r += (a >> i & 15) * (b >> i & 15);
  return sat ? (u32)min_<u64>(r, 0xffffffffu) : (u32)r;
}
FN i32 sdot2_ref(s2 a, s2 b, i32 c, bool sat) {
  const i64 r = (i64)a.x * b.x + (i64)a.y * b.y + c;
  return sat ? sat32(r) : (i32)r;
}
FN u32 udot2_ref(w2 a, w2 b, u32 c, bool sat) {
  const u64 r = (u64)a.x * b.x + (u64)a.y * b.y + c;
  return sat ? (u32)min_<u64>(r, 0xffffffffu) : (u32)r;
}
FN i32 sudot4_ref(i32 a, i32 b, i32 c, bool sat) {  // first signed, second unsigned
  i64 r = c;
  for (u32 i = 0; i < 32; i += 8) r += (i32)(i8)(a >> i) * (i32)(u8)(b >> i);
  return sat ? sat32(r) : (i32)r;
}
FN u32 sffbh(u32 a) { return (u32)__builtin_clrsb((i32)a); }
#if DEVICE
FN u32 ubfe(u32 a, u32 o, u32 w) { return __builtin_amdgcn_ubfe(a, o, w); }
FN i32 sbfe(i32 a, u32 o, u32 w) { return (i32)__builtin_amdgcn_sbfe(a, o, w); }
FN u32 perm(u32 a, u32 b, u32 s) { return __builtin_amdgcn_perm(a, b, s); }
FN u32 alignbit(u32 a, u32 b, u32 s) { return __builtin_amdgcn_alignbit(a, b, s); }
FN u32 alignbyte(u32 a, u32 b, u32 s) { return __builtin_amdgcn_alignbyte(a, b, s); }
FN u32 sad8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_u8(a, b, c); }
FN u32 sadhi8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_hi_u8(a, b, c); }
FN u32 msad8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_msad_u8(a, b, c); }
FN u32 sad16(u32 a, u32 b, u32 c) { return __builtin_amdgcn_sad_u16(a, b, c); }
FN u32 lerp(u32 a, u32 b, u32 c) { return __builtin_amdgcn_lerp(a, b, c); }
FN u64 qsad(u64 a, u32 b, u64 c) { return __builtin_amdgcn_qsad_pk_u16_u8(a, b, c); }
FN u64 mqsad(u64 a, u32 b, u64 c) { return __builtin_amdgcn_mqsad_pk_u16_u8(a, b, c); }
FN u4 mqsad4(u64 a, u32 b, u4 c) { return __builtin_amdgcn_mqsad_u32_u8(a, b, c); }
#if RDNA
FN i32 sdot4(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sudot4(true, a, true, b, c, false); }
FN i32 sdot4s(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sudot4(true, a, true, b, c, true); }
FN i32 sdot8(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sudot8(true, a, true, b, c, false); }
FN i32 sudot4(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sudot4(true, a, false, b, c, false); }
FN i32 sdot2(s2 a, s2 b, i32 c) { return sdot2_ref(a, b, c, false); }
FN u32 udot2(w2 a, w2 b, u32 c) { return udot2_ref(a, b, c, false); }
#else
FN i32 sdot4(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sdot4(a, b, c, false); }
FN i32 sdot4s(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sdot4(a, b, c, true); }
FN i32 sdot8(i32 a, i32 b, i32 c) { return __builtin_amdgcn_sdot8(a, b, c, true); }
FN i32 sudot4(i32 a, i32 b, i32 c) { return sudot4_ref(a, b, c, false); }
FN i32 sdot2(s2 a, s2 b, i32 c) { return __builtin_amdgcn_sdot2(a, b, c, false); }
FN u32 udot2(w2 a, w2 b, u32 c) { return __builtin_amdgcn_udot2(a, b, c, true); }
#endif
FN u32 udot4(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot4(a, b, c, false); }
FN u32 udot4s(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot4(a, b, c, true); }
FN u32 udot8(u32 a, u32 b, u32 c) { return __builtin_amdgcn_udot8(a, b, c, false); }
#else
FN u32 ubfe(u32 a, u32 o, u32 w) { return ubfe_ref(a, o, w); }
FN i32 sbfe(i32 a, u32 o, u32 w) { return sbfe_ref(a, o, w); }
FN u32 perm(u32 a, u32 b, u32 s) { return perm_ref(a, b, s); }
FN u32 alignbit(u32 a, u32 b, u32 s) { return (u32)(((u64)a << 32 | b) >> (s & 31)); }
FN u32 alignbyte(u32 a, u32 b, u32 s) { return (u32)(((u64)a << 32 | b) >> (8 * (s & 3))); }
FN u32 sad8(u32 a, u32 b, u32 c) { return sad8_ref(a, b, c); }
FN u32 sadhi8(u32 a, u32 b, u32 c) { return (sad8_ref(a, b, 0) << 16) + c; }
FN u32 msad8(u32 a, u32 b, u32 c) { return msad8_ref(a, b, c); }
FN u32 sad16(u32 a, u32 b, u32 c) { return sad16_ref(a, b, c); }
FN u32 lerp(u32 a, u32 b, u32 c) { return lerp_ref(a, b, c); }
FN u64 qsad(u64 a, u32 b, u64 c) { return qsad_ref(a, b, c, false); }
FN u64 mqsad(u64 a, u32 b, u64 c) { return qsad_ref(a, b, c, true); }
FN u4 mqsad4(u64 a, u32 b, u4 c) {
  for (u32 i = 0; i < 4; ++i) c[i] = msad8_ref((u32)(a >> (8 * i)), b, c[i]);
  return c;
}
FN i32 sdot4(i32 a, i32 b, i32 c) { return sdot4_ref(a, b, c, false); }
FN i32 sdot4s(i32 a, i32 b, i32 c) { return sdot4_ref(a, b, c, true); }
#ifdef FUZZ_RDNA
FN i32 sdot8(i32 a, i32 b, i32 c) { return sdot8_ref(a, b, c, false); }
FN u32 udot2(w2 a, w2 b, u32 c) { return udot2_ref(a, b, c, false); }
#else
FN i32 sdot8(i32 a, i32 b, i32 c) { return sdot8_ref(a, b, c, true); }
FN u32 udot2(w2 a, w2 b, u32 c) { return udot2_ref(a, b, c, true); }
#endif
FN i32 sudot4(i32 a, i32 b, i32 c) { return sudot4_ref(a, b, c, false); }
FN i32 sdot2(s2 a, s2 b, i32 c) { return sdot2_ref(a, b, c, false); }
FN u32 udot4(u32 a, u32 b, u32 c) { return udot4_ref(a, b, c, false); }
FN u32 udot4s(u32 a, u32 b, u32 c) { return udot4_ref(a, b, c, true); }
FN u32 udot8(u32 a, u32 b, u32 c) { return udot8_ref(a, b, c, false); }
#endif

// --- floats: results whose zero sign or NaN is the implementation's choice are made alike
template <class T> FN T plain(T v) { return v == 0 ? (T)0 : v; }
FN f32 fmin_(f32 a, f32 b) { return plain(__builtin_fminf(a, b)); }
FN f32 fmax_(f32 a, f32 b) { return plain(__builtin_fmaxf(a, b)); }
FN f64 fmin_(f64 a, f64 b) { return plain(__builtin_fmin(a, b)); }
FN f64 fmax_(f64 a, f64 b) { return plain(__builtin_fmax(a, b)); }
#if DEVICE
FN f16 fmin_(f16 a, f16 b) { return plain((f16)__builtin_fminf16(a, b)); }
FN f16 fmax_(f16 a, f16 b) { return plain((f16)__builtin_fmaxf16(a, b)); }
FN f16 fma_(f16 a, f16 b, f16 c) { return __builtin_fmaf16(a, b, c); }
FN f32 fma_(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
FN f64 fma_(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
FN f16 floor_(f16 a) { return __builtin_floorf16(a); }
FN f16 ceil_(f16 a) { return __builtin_ceilf16(a); }
FN f16 trunc_(f16 a) { return __builtin_truncf16(a); }
FN f16 rint_(f16 a) { return __builtin_rintf16(a); }
FN f16 fabs_(f16 a) { return __builtin_fabsf16(a); }
FN f16 fneg_(f16 a) { return -a; }
FN h2 fma_(h2 a, h2 b, h2 c) { return __builtin_elementwise_fma(a, b, c); }
FN h2 fmin_(h2 a, h2 b) { h2 r = __builtin_elementwise_min(a, b); return h2{plain((f16)r.x), plain((f16)r.y)}; }
FN h2 fmax_(h2 a, h2 b) { h2 r = __builtin_elementwise_max(a, b); return h2{plain((f16)r.x), plain((f16)r.y)}; }
// v_sqrt_f32 flushes denormals, and LLVM 17 leaves it at that.
FN f32 sqrt_(f32 a) { return __builtin_sqrtf(__builtin_fabsf(a) < 0x1p-126f ? 0.0f : a); }
FN f64 sqrt_(f64 a) { return __builtin_sqrt(a); }
#else
FN f16 fmin_(f16 a, f16 b) { return (f16)fmin_((f32)a, (f32)b); }
FN f16 fmax_(f16 a, f16 b) { return (f16)fmax_((f32)a, (f32)b); }
// The product is exact in a double; the sum is rounded to odd, so that the last rounding is the only one.
FN f16 fma_(f16 a, f16 b, f16 c) {
  const f64 p = (f64)a * (f64)b, s = p + (f64)c, t = s - p, e = (p - (s - t)) + ((f64)c - t);
  u64 r = __builtin_bit_cast(u64, s);
  if (e != 0 && e == e && s - s == 0 && !(r & 1)) r += (e > 0) == (s > 0) ? 1 : -1;
  return (f16)__builtin_bit_cast(f64, r);
}
FN f32 fma_(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
FN f64 fma_(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
FN f16 floor_(f16 a) { return (f16)__builtin_floorf((f32)a); }
FN f16 ceil_(f16 a) { return (f16)__builtin_ceilf((f32)a); }
FN f16 trunc_(f16 a) { return (f16)__builtin_truncf((f32)a); }
FN f16 rint_(f16 a) { return (f16)__builtin_rintf((f32)a); }
FN f16 fabs_(f16 a) { return (f16)__builtin_fabsf((f32)a); }
FN f16 fneg_(f16 a) { return (f16)-(f32)a; }
FN h2 fma_(h2 a, h2 b, h2 c) { return h2{fma_((f16)a.x, (f16)b.x, (f16)c.x), fma_((f16)a.y, (f16)b.y, (f16)c.y)}; }
FN h2 fmin_(h2 a, h2 b) { return h2{fmin_((f16)a.x, (f16)b.x), fmin_((f16)a.y, (f16)b.y)}; }
FN h2 fmax_(h2 a, h2 b) { return h2{fmax_((f16)a.x, (f16)b.x), fmax_((f16)a.y, (f16)b.y)}; }
FN f32 sqrt_(f32 a) { return __builtin_sqrtf(__builtin_fabsf(a) < 0x1p-126f ? 0.0f : a); }
FN f64 sqrt_(f64 a) { return __builtin_sqrt(a); }
#endif
FN f32 floor_(f32 a) { return __builtin_floorf(a); }
FN f32 ceil_(f32 a) { return __builtin_ceilf(a); }
FN f32 trunc_(f32 a) { return __builtin_truncf(a); }
FN f32 rint_(f32 a) { return __builtin_rintf(a); }
FN f32 fabs_(f32 a) { return __builtin_fabsf(a); }
FN f32 fneg_(f32 a) { return -a; }
FN f64 floor_(f64 a) { return __builtin_floor(a); }
FN f64 ceil_(f64 a) { return __builtin_ceil(a); }
FN f64 trunc_(f64 a) { return __builtin_trunc(a); }
FN f64 rint_(f64 a) { return __builtin_rint(a); }
FN f64 fabs_(f64 a) { return __builtin_fabs(a); }
FN f64 fneg_(f64 a) { return -a; }
FN f32 sign_(f32 a, f32 b) { return __builtin_copysignf(a, b != b ? 1.0f : b); }
FN f64 sign_(f64 a, f64 b) { return __builtin_copysign(a, b != b ? 1.0 : b); }
FN f32 ldexp_(f32 a, i32 e) { return __builtin_ldexpf(a, clamp_(e, -300, 300)); }
FN f64 ldexp_(f64 a, i32 e) { return __builtin_ldexp(a, clamp_(e, -2200, 2200)); }
template <class T> FN T med3f(T a, T b, T c) { return a != a || b != b || c != c ? (T)0 : med3_(a, b, c); }
FN i32 exponent_ref(f64 a, i32 tiny) {  // of frexp; denormals of the narrower type are normal as doubles
  if (a == 0 || a - a != 0) return 0;
  u64 b = __builtin_bit_cast(u64, a);
  i32 adjust = 0;
  if (tiny && !(b & 0x7ff0000000000000ull)) {
    b = __builtin_bit_cast(u64, a * 0x1p60);
    adjust = 60;
  }
  return (i32)(b >> 52 & 0x7ff) - 1022 - adjust;
}
FN f64 mantissa_ref(f64 a) {
  if (a == 0 || a - a != 0) return a;
  u64 b = __builtin_bit_cast(u64, a);
  if (!(b & 0x7ff0000000000000ull)) b = __builtin_bit_cast(u64, a * 0x1p60);
  return __builtin_bit_cast(f64, (b & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
template <class B> FN bool class_ref(B v, u32 exponent_bits, u32 mantissa_bits, u32 mask) {
  const B m = v & (((B)1 << mantissa_bits) - 1), e = (v >> mantissa_bits) & (((B)1 << exponent_bits) - 1);
  const bool negative = v >> (mantissa_bits + exponent_bits) & 1, top = e == ((B)1 << exponent_bits) - 1;
  const u32 bit = top ? (m ? 1 : negative ? 2 : 9) : e ? (negative ? 3 : 8) : m ? (negative ? 4 : 7) : (negative ? 5 : 6);
  return mask >> bit & 1;
}
#if DEVICE
FN f32 fmed3(f32 a, f32 b, f32 c) { return a != a || b != b || c != c ? 0.0f : plain(__builtin_amdgcn_fmed3f(a, b, c)); }
FN f32 fract(f32 a) { return __builtin_amdgcn_fractf(a); }
FN f64 fract(f64 a) { return __builtin_amdgcn_fract(a); }
FN i32 frexp_e(f32 a) { return __builtin_amdgcn_frexp_expf(a); }
FN i32 frexp_e(f64 a) { return __builtin_amdgcn_frexp_exp(a); }
FN f32 frexp_m(f32 a) { return __builtin_amdgcn_frexp_mantf(a); }
FN f64 frexp_m(f64 a) { return __builtin_amdgcn_frexp_mant(a); }
FN u32 class_(f32 a, u32 m) { return __builtin_amdgcn_classf(as_f32(bits(a)), (i32)(m & 0x3ff)); }
FN u32 class_(f64 a, u32 m) { return __builtin_amdgcn_class(as_f64(bits(a)), (i32)(m & 0x3ff)); }
FN u32 pkrtz(f32 a, f32 b) {
  auto r = __builtin_amdgcn_cvt_pkrtz(a, b);
  return (u32)bits((f16)r.x) | (u32)bits((f16)r.y) << 16;
}
FN u32 pku8(f32 a, u32 at, u32 old) { return __builtin_amdgcn_cvt_pk_u8_f32(a, at, old); }
FN u32 pki16(i32 a, i32 b) { return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pk_i16(a, b)); }
FN u32 pku16(u32 a, u32 b) { return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pk_u16(a, b)); }
FN u32 pkn16(f32 a, f32 b) { return __builtin_bit_cast(u32, __builtin_amdgcn_cvt_pknorm_i16(a, b)); }
#else
FN f32 fmed3(f32 a, f32 b, f32 c) { return a != a || b != b || c != c ? 0.0f : plain(med3_(a, b, c)); }
FN f32 fract(f32 a) { f32 r = a - __builtin_floorf(a); return a != a || a - a != 0 ? as_f32(0x7fc00000u) : r > 0x1.fffffep-1f ? 0x1.fffffep-1f : r; }
FN f64 fract(f64 a) { f64 r = a - __builtin_floor(a); return a != a || a - a != 0 ? as_f64(0x7ff8000000000000ull) : r > 0x1.fffffffffffffp-1 ? 0x1.fffffffffffffp-1 : r; }
FN i32 frexp_e(f32 a) { return exponent_ref((f64)a, 0); }
FN i32 frexp_e(f64 a) { return exponent_ref(a, 1); }
FN f32 frexp_m(f32 a) { return (f32)mantissa_ref((f64)a); }
FN f64 frexp_m(f64 a) { return mantissa_ref(a); }
FN u32 class_(f32 a, u32 m) { return class_ref<u32>(bits(a), 8, 23, m & 0x3ff); }
FN u32 class_(f64 a, u32 m) { return class_ref<u64>(bits(a), 11, 52, m & 0x3ff); }
FN u16 rtz16(f32 a) {
  f16 h = (f16)a;
  if (a != a) return 0x7e00;
  u16 b = __builtin_bit_cast(u16, h);
  if (a - a == 0 && __builtin_fabsf((f32)h) > __builtin_fabsf(a)) b = (u16)(b - 1);
  return b;
}
FN u32 pkrtz(f32 a, f32 b) { return (u32)rtz16(a) | (u32)rtz16(b) << 16; }
FN u32 pku8(f32 a, u32 at, u32 old) {
  const u32 s = 8 * (at & 3), v = a != a || a <= 0 ? 0 : a >= 255 ? 255 : (u32)a;
  return (old & ~(0xffu << s)) | v << s;
}
FN u32 pki16(i32 a, i32 b) { return (u32)(u16)clamp_(a, -32768, 32767) | (u32)(u16)clamp_(b, -32768, 32767) << 16; }
FN u32 pku16(u32 a, u32 b) { return min_(a, 65535u) | min_(b, 65535u) << 16; }
FN u16 norm16(f32 a) { return (u16)(i16)__builtin_rintf((a != a ? 0.0f : a > 1 ? 1.0f : a < -1 ? -1.0f : a) * 32767.0f); }
FN u32 pkn16(f32 a, f32 b) { return (u32)norm16(a) | (u32)norm16(b) << 16; }
#endif

// --- functions that hardware bounds: fields that take them are compared within that bound. tame() keeps away from results
// that are denormal, whose flushing is no matter here.
FN f32 tame(f32 a) { return __builtin_fabsf(a) > 0x1p-100f && __builtin_fabsf(a) < 0x1p100f ? a : 1.0f; }
FN f32 angle(f32 a) { a = tame(a); return __builtin_fabsf(a) < 3.0f ? a : 0.5f; }
#if DEVICE
FN f32 exp2_(f32 a) { return __builtin_elementwise_exp2(a); }
FN f32 log2_(f32 a) { return __builtin_elementwise_log2(a); }
FN f32 exp_(f32 a) { return __builtin_elementwise_exp(a); }
FN f32 log_(f32 a) { return __builtin_elementwise_log(a); }
FN f32 log10_(f32 a) { return __builtin_elementwise_log10(a); }
FN f32 rcp_(f32 a) { return __builtin_amdgcn_rcpf(tame(a)); }
FN f32 rsq_(f32 a) { return __builtin_amdgcn_rsqf(__builtin_fabsf(tame(a))); }
FN f32 root_(f32 a) { return __builtin_amdgcn_sqrtf(__builtin_fabsf(tame(a))); }
FN f32 sin_turns(f32 a) { return __builtin_amdgcn_sinf(angle(a)); }
FN f32 cos_turns(f32 a) { return __builtin_amdgcn_cosf(angle(a)); }
FN f32 sin_(f32 a) { return __builtin_elementwise_sin(angle(a)); }
FN f32 cos_(f32 a) { return __builtin_elementwise_cos(angle(a)); }
#else
extern "C" double exp2(double), log2(double), exp(double), log(double), log10(double), sin(double), cos(double);
FN f32 exp2_(f32 a) { return (f32)exp2((f64)a); }
FN f32 log2_(f32 a) { return (f32)log2((f64)a); }
FN f32 exp_(f32 a) { return (f32)exp((f64)a); }
FN f32 log_(f32 a) { return (f32)log((f64)a); }
FN f32 log10_(f32 a) { return (f32)log10((f64)a); }
FN f32 rcp_(f32 a) { return 1.0f / tame(a); }
FN f32 rsq_(f32 a) { return (f32)(1.0 / __builtin_sqrt((f64)__builtin_fabsf(tame(a)))); }
FN f32 root_(f32 a) { return __builtin_sqrtf(__builtin_fabsf(tame(a))); }
FN f32 sin_turns(f32 a) { return (f32)sin((f64)angle(a) * 6.283185307179586); }
FN f32 cos_turns(f32 a) { return (f32)cos((f64)angle(a) * 6.283185307179586); }
FN f32 sin_(f32 a) { return (f32)sin((f64)angle(a)); }
FN f32 cos_(f32 a) { return (f32)cos((f64)angle(a)); }
#endif

// A number that the compiler does not know, the same in all lanes.
FN u32 opaque(u32 v) {
  u32 zero;
#if DEVICE
  asm volatile("s_mov_b32 %0, 0" : "=s"(zero));
#else
  asm volatile("xorl %0, %0" : "=r"(zero));
#endif
  return v + zero;
}

// --- across lanes
#if DEVICE
// Raw buffers, and elements of four bytes as four integers.
__device__ u32 buffer_load(i4 resource, i32 offset, i32 soffset, i32 aux) __asm("llvm.amdgcn.raw.buffer.load.i32");
__device__ void buffer_store(u32 value, i4 resource, i32 offset, i32 soffset, i32 aux) __asm("llvm.amdgcn.raw.buffer.store.i32");
__device__ i4 typed_load(i4 resource, i32 offset, i32 soffset, i32 format, i32 aux) __asm("llvm.amdgcn.raw.tbuffer.load.v4i32");
FN i4 resource(const void* p, u32 bytes, u32 word3) { return i4{(i32)(u64)p, (i32)((u64)p >> 32), (i32)bytes, (i32)word3}; }
template <i32 kFormat> FN u32 buffer_load_bytes(i4 r, i32 offset, i32, i32) {
  const i4 v = typed_load(r, offset, 0, kFormat, 0);
  return (u32)v.x | (u32)v.y << 8 | (u32)v.z << 16 | (u32)v.w << 24;
}
#define __syncthreads() (__builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"), __builtin_amdgcn_s_barrier(), __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup"))
// The compiler no longer knows which address space it is: flat instructions.
template <class T> FN T* hide(T* p) {
  u64 a = (u64)p;
  asm volatile("" : "+v"(a));
  return (T*)a;
}
#endif
