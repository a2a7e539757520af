// Arithmetic written once and compiled twice: for the device by hipcc, for the host by the test. The results must be equal
// to the bit (NaNs are made alike first). No undefined behaviour, so both compilers owe the same answer.
#pragma once

#include <cstdint>

#ifdef __HIP__
#define SWEEP_FN __device__ inline
#else
#define SWEEP_FN inline
#endif

namespace sweep {

// Receives the results of one set of inputs, one after the other.
struct Sink {
  std::uint64_t* out;
  std::uint64_t stride;
  SWEEP_FN void put(std::uint64_t v) {
    *out = v;
    out += stride;
  }
  SWEEP_FN void put(std::uint32_t v) { put(std::uint64_t{v}); }
  SWEEP_FN void put(std::int32_t v) { put(std::uint64_t{static_cast<std::uint32_t>(v)}); }
  SWEEP_FN void put(std::int64_t v) { put(static_cast<std::uint64_t>(v)); }
  SWEEP_FN void put(bool v) { put(std::uint64_t{v}); }
  SWEEP_FN void put(float v) { put(std::uint64_t{v != v ? 0x7fc00000u : __builtin_bit_cast(std::uint32_t, v)}); }
  SWEEP_FN void put(double v) { put(v != v ? std::uint64_t{0x7ff8000000000000} : __builtin_bit_cast(std::uint64_t, v)); }
  SWEEP_FN void put(_Float16 v) { put(std::uint64_t{v != v ? std::uint16_t{0x7e00} : __builtin_bit_cast(std::uint16_t, v)}); }
};

template <class T>
SWEEP_FN T from(std::uint64_t v) {
  return static_cast<T>(v);
}
template <>
SWEEP_FN float from<float>(std::uint64_t v) { return __builtin_bit_cast(float, static_cast<std::uint32_t>(v)); }
template <>
SWEEP_FN double from<double>(std::uint64_t v) { return __builtin_bit_cast(double, v); }
template <>
SWEEP_FN _Float16 from<_Float16>(std::uint64_t v) { return __builtin_bit_cast(_Float16, static_cast<std::uint16_t>(v)); }

// Unsigned type U and its signed partner S.
template <class U, class S>
SWEEP_FN void integers(std::uint64_t x, std::uint64_t y, std::uint64_t z, Sink& s) {
  constexpr unsigned bits = sizeof(U) * 8;
  const U a = from<U>(x), b = from<U>(y), c = from<U>(z);
  const S i = static_cast<S>(a), j = static_cast<S>(b), k = static_cast<S>(c);
  const auto put = [&](auto v) { s.put(static_cast<std::uint64_t>(static_cast<U>(v))); };
  put(a + b), put(a - b), put(static_cast<U>(a) * std::uint64_t{b}), put(std::uint64_t{a} * b + c);
  put(b ? a / b : c), put(b ? a % b : c);
  if (j != 0 && j != S{-1}) put(i / j), put(i % j);
  else put(U{0}), put(U{0});
  put(a & b), put(a | b), put(a ^ b), put(~a), put((a & b) | c), put((a & c) | (b & static_cast<U>(~c))), put(a | b | c), put(a ^ b ^ c);
  put(a << (b % bits)), put(a >> (b % bits)), put(i >> (b % bits)), put((a << 3) + b), put((a + b) << 5), put((a << 4) | b);
  const unsigned r = static_cast<unsigned>(c % bits);
  put(static_cast<U>(a << r) | static_cast<U>(a >> ((bits - r) % bits)));
  put((a >> 3) & 0x1f), put(static_cast<S>(static_cast<S>(static_cast<U>(a << 2)) >> (bits - 5)));
  put(a < b ? a : b), put(a > b ? a : b), put(i < j ? i : j), put(i > j ? i : j);
  put(i < j ? (j < k ? j : (i < k ? k : i)) : (i < k ? i : (j < k ? k : j)));
  s.put(a == b), s.put(a < b), s.put(a <= b), s.put(i < j), s.put(i >= j), s.put(a != c);
  put(a + b < a ? static_cast<U>(~U{0}) : a + b), put(a < b ? U{0} : a - b);
  put(i < 0 ? U{0} - a : a), put(static_cast<U>(static_cast<std::int8_t>(a))), put(static_cast<U>(static_cast<std::int16_t>(b)));
  put(static_cast<U>(static_cast<std::uint8_t>(a >> 4)));
}

SWEEP_FN void bit_tricks(std::uint64_t x, std::uint64_t y, std::uint64_t z, Sink& s) {
  const auto a = static_cast<std::uint32_t>(x), b = static_cast<std::uint32_t>(y), c = static_cast<std::uint32_t>(z);
  s.put(static_cast<std::uint32_t>(__builtin_popcount(a)) + b), s.put(static_cast<std::uint32_t>(__builtin_popcountll(x)));
  s.put(a ? static_cast<std::uint32_t>(__builtin_clz(a)) : 32u), s.put(a ? static_cast<std::uint32_t>(__builtin_ctz(a)) : 32u);
  s.put(x ? static_cast<std::uint32_t>(__builtin_clzll(x)) : 64u), s.put(x ? static_cast<std::uint32_t>(__builtin_ctzll(x)) : 64u);
  s.put(__builtin_bswap32(a)), s.put(x << 13 | x >> 51);
  s.put(static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32));
  s.put(static_cast<std::int32_t>(std::int64_t{static_cast<std::int32_t>(a)} * static_cast<std::int32_t>(b) >> 32));
  s.put(std::uint64_t{a} * b + z), s.put(std::int64_t{static_cast<std::int32_t>(a)} * static_cast<std::int32_t>(b));
  s.put((a & 0xffffff) * (b & 0xffffff) + c), s.put(static_cast<std::uint32_t>((x >> (c & 31))));
  s.put((a & 0xff00ffu) | (b & 0xff00ff00u)), s.put((a >> 24) | (b << 8)), s.put((a & 0xffff) | (b << 16));
  s.put((a >> 16) | (b & 0xffff0000u)), s.put(x + y + z), s.put(x - y), s.put((x << 3) + y), s.put(x * y);
  std::uint32_t table[8];
  for (unsigned i = 0; i < 8; ++i) table[i] = a * (i + 1) ^ b;
  s.put(table[c & 7] + table[a & 7]);
}

template <class T>
SWEEP_FN void floats(std::uint64_t x, std::uint64_t y, std::uint64_t z, Sink& s) {
  const T a = from<T>(x), b = from<T>(y), c = from<T>(z);
  s.put(a + b), s.put(a - b), s.put(a * b), s.put(a / b), s.put(-a * b), s.put(T(1) / b);
  if constexpr (sizeof(T) == 4) {
    s.put(__builtin_fmaf(a, b, c)), s.put(__builtin_fmaf(-a, b, -c)), s.put(__builtin_fabsf(a) + b);
    s.put(__builtin_floorf(a)), s.put(__builtin_ceilf(a)), s.put(__builtin_truncf(a)), s.put(__builtin_rintf(a));
    s.put(__builtin_sqrtf(__builtin_fabsf(a) < 0x1p-126f ? 3.0f : a)), s.put(__builtin_copysignf(a, b));  // no denormals: LLVM 17 leaves them to v_sqrt_f32
  } else {
    s.put(__builtin_fma(a, b, c)), s.put(__builtin_fma(-a, b, -c)), s.put(__builtin_fabs(a) + b);
    s.put(__builtin_floor(a)), s.put(__builtin_ceil(a)), s.put(__builtin_trunc(a)), s.put(__builtin_rint(a));
    s.put(__builtin_sqrt(a)), s.put(__builtin_copysign(a, b));
  }
  s.put(a < b ? a : b), s.put(a > b ? a : b), s.put(a < b), s.put(a <= b), s.put(a > b), s.put(a >= b), s.put(a == b), s.put(a != b);
  s.put(!(a < b)), s.put(a != a || b != b), s.put(a < b && b < c), s.put(a * b + c), s.put((a - b) * (b + c)), s.put(a < T(0) ? -a : a);
  const bool fits = a > T(-2e9) && a < T(2e9);
  s.put(fits ? static_cast<std::int32_t>(a) : 0), s.put(a >= T(0) && a < T(4e9) ? static_cast<std::uint32_t>(a) : 0u);
  s.put(a > T(-9e18) && a < T(9e18) ? static_cast<std::int64_t>(a) : std::int64_t{0});
  s.put(a >= T(0) && a < T(1.8e19) ? static_cast<std::uint64_t>(a) : std::uint64_t{0});
  s.put(static_cast<T>(static_cast<std::int32_t>(x))), s.put(static_cast<T>(static_cast<std::uint32_t>(y)));
  s.put(static_cast<T>(static_cast<std::int64_t>(x))), s.put(static_cast<T>(y));
  s.put(static_cast<T>(static_cast<std::uint8_t>(x >> 8))), s.put(static_cast<T>(static_cast<std::int16_t>(x)));
  s.put(static_cast<float>(static_cast<double>(a) * 0.5)), s.put(static_cast<double>(a));
}

SWEEP_FN void halves(std::uint64_t x, std::uint64_t y, std::uint64_t z, Sink& s) {
  const auto a = from<_Float16>(x), b = from<_Float16>(y), c = from<_Float16>(z);
  const _Float16 sum = a + b, difference = a - b, product = a * b;
  s.put(sum), s.put(difference), s.put(product), s.put(a < b), s.put(a >= b), s.put(a != c);
  const _Float16 twice = product + c;
  s.put(twice), s.put(static_cast<float>(a)), s.put(static_cast<_Float16>(from<float>(x)));
  s.put(static_cast<_Float16>(static_cast<std::int16_t>(y))), s.put(a > b ? a : b);
  s.put(static_cast<float>(a) * static_cast<float>(b) + from<float>(z));
  s.put(static_cast<double>(c)), s.put(static_cast<_Float16>(-a));
  // Two at a time.
  typedef _Float16 Half2 __attribute__((vector_size(4)));
  typedef std::uint16_t Short2 __attribute__((vector_size(4)));
  const Half2 p = {a, b}, q = {c, a}, added = p + q, multiplied = p * q;
  s.put(added[0]), s.put(added[1]), s.put(multiplied[0]), s.put(multiplied[1]);
  const Short2 u = {static_cast<std::uint16_t>(x), static_cast<std::uint16_t>(x >> 16)};
  const Short2 v = {static_cast<std::uint16_t>(y), static_cast<std::uint16_t>(y >> 16)};
  const Short2 m = u * v + u, d = u - v, l = u >> 3;
  s.put(std::uint32_t{m[0]} | std::uint32_t{m[1]} << 16), s.put(std::uint32_t{d[0]} | std::uint32_t{d[1]} << 16);
  s.put(std::uint32_t{l[0]} | std::uint32_t{l[1]} << 16);
}

}  // namespace sweep
