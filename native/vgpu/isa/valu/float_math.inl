// Floating-point rules of the hardware that differ from the host's: NaN results, minimum and maximum, transcendentals.
// T is float or double; everything is written for the vectoriser. Included once a variant.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {

template <class T>
using BitsOf = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
template <class T>
constexpr BitsOf<T> bits(T v) { return std::bit_cast<BitsOf<T>>(v); }
template <class T>
constexpr T from_bits(BitsOf<T> b) { return std::bit_cast<T>(b); }
template <class T>
inline constexpr BitsOf<T> kQuietNan = sizeof(T) == 4 ? BitsOf<T>{0x7fc00000u} : static_cast<BitsOf<T>>(0x7ff8000000000000ull);
template <class T>
inline constexpr BitsOf<T> kQuietBit = sizeof(T) == 4 ? BitsOf<T>{0x00400000u} : static_cast<BitsOf<T>>(0x0008000000000000ull);
template <class T>
inline constexpr BitsOf<T> kSignBit = BitsOf<T>{1} << (8 * sizeof(T) - 1);
template <class T>
inline constexpr BitsOf<T> kInfBits = sizeof(T) == 4 ? BitsOf<T>{0x7f800000u} : static_cast<BitsOf<T>>(0x7ff0000000000000ull);

template <class T>
constexpr bool is_nan(T v) { return v != v; }
template <class T>
constexpr bool is_finite(T v) { return (bits(v) & kInfBits<T>) != kInfBits<T>; }
template <class T>
constexpr bool is_signaling(T v) { return (v != v) & ((bits(v) & kQuietBit<T>) == 0); }
template <class T>
constexpr T quiet(T v) { return from_bits<T>(bits(v) | kQuietBit<T>); }
// Choices are made on bits and without short circuits, so that the compiler turns them into vector masks.
template <class T>
constexpr BitsOf<T> mask_if(bool condition) { return BitsOf<T>{0} - static_cast<BitsOf<T>>(condition); }
template <class T>
constexpr T choose(bool condition, T yes, T no) {
  const BitsOf<T> m = mask_if<T>(condition);
  return from_bits<T>((bits(yes) & m) | (bits(no) & ~m));
}
// Clears the denormals of an f32 (the sign stays).
constexpr float flushed(float v) {
  return from_bits<float>(bits(v) & (mask_if<float>((bits(v) & 0x7f800000u) != 0) | 0x80000000u));
}

// The host makes a negative NaN from inf - inf, 0 * inf and the like; the GPU makes a positive one.
template <class T, class... A>
inline T settle(T r, A... a) {
  const bool made_nan = (r != r) & (... & (a == a));
  return choose(made_nan, from_bits<T>(kQuietNan<T>), r);
}

// Source: "Vega ISA" V_MIN_F32 / V_MAX_F32. In IEEE mode a signaling NaN is quieted and returned; a quiet one loses
// against a number. -0 is less than +0.
template <bool kMax, bool kIeee, class T>
inline T extreme(T a, T b) {
  const T equal = from_bits<T>(kMax ? bits(a) & bits(b) : bits(a) | bits(b));
  T r = choose(kMax ? b > a : b < a, b, equal);
  r = choose(kMax ? a > b : a < b, a, r);
  r = choose(is_nan(b), a, r);
  r = choose(is_nan(a), b, r);
  if constexpr (kIeee) {
    r = choose(is_signaling(b), quiet(b), r);
    r = choose(is_signaling(a), quiet(a), r);
  }
  return r;
}
template <bool kMax, class T>
inline T extreme_nan(T a, T b) {
  return choose(is_nan(a), quiet(a), choose(is_nan(b), quiet(b), extreme<kMax, false>(a, b)));
}
template <bool kIeee, class T>
inline T median(T a, T b, T c) {
  const T highest = extreme<true, kIeee>(extreme<true, kIeee>(a, b), c);
  const T lowest = extreme<false, kIeee>(extreme<false, kIeee>(a, b), c);
  const T r = choose(highest == a, extreme<true, kIeee>(b, c),
                     choose(highest == b, extreme<true, kIeee>(a, c), extreme<true, kIeee>(a, b)));
  return choose(is_nan(a) | is_nan(b) | is_nan(c), lowest, r);
}

template <class T>
inline T fused(T a, T b, T c) {
  if constexpr (sizeof(T) == 4) return __builtin_fmaf(a, b, c);
  else return __builtin_fma(a, b, c);
}
template <class T>
inline T round_down(T v) {
  if constexpr (sizeof(T) == 4) return __builtin_floorf(v);
  else return __builtin_floor(v);
}
template <class T>
inline T round_up(T v) {
  if constexpr (sizeof(T) == 4) return __builtin_ceilf(v);
  else return __builtin_ceil(v);
}
template <class T>
inline T round_to_zero(T v) {
  if constexpr (sizeof(T) == 4) return __builtin_truncf(v);
  else return __builtin_trunc(v);
}
// Nearest even: the host's mode, which only RoundingScope changes (its callers do not come here). The compiler has vector
// code for rint and none for roundeven.
template <class T>
inline T round_even(T v) {
  if constexpr (sizeof(T) == 4) return __builtin_rintf(v);
  else return __builtin_rint(v);
}
// x - floor(x), kept below one. Source: "CDNA3 ISA" V_FRACT_F32.
template <class T>
inline T fraction(T v) {
  const T r = settle(v - round_down(v), v);
  constexpr T below_one = sizeof(T) == 4 ? from_bits<T>(static_cast<BitsOf<T>>(0x3f7fffffu))
                                         : from_bits<T>(static_cast<BitsOf<T>>(sizeof(T) == 4 ? 0 : 0x3fefffffffffffffull));
  return r > below_one ? below_one : r;
}

template <class T>
inline constexpr int kMantissa = sizeof(T) == 4 ? 23 : 52;
template <class T>
inline constexpr int kBias = sizeof(T) == 4 ? 127 : 1023;
template <class T>
constexpr int biased_exponent(T v) {
  return static_cast<int>((bits(v) & ~kSignBit<T>) >> kMantissa<T>);
}
// 2^(e) exactly, e in the normal range.
template <class T>
constexpr T power_of_two(int e) {
  return from_bits<T>(static_cast<BitsOf<T>>(static_cast<BitsOf<T>>(e + kBias<T>) << kMantissa<T>));
}
// Mantissa in [0.5, 1) and the exponent that goes with it; denormals are normalised.
template <class T>
inline int frexp_exponent(T v) {
  if (v == 0 || !is_finite(v)) return 0;
  const bool tiny = biased_exponent(v) == 0;
  const T scaled = tiny ? v * power_of_two<T>(kMantissa<T> + 1) : v;
  return biased_exponent(scaled) - (kBias<T> - 1) - (tiny ? kMantissa<T> + 1 : 0);
}
template <class T>
inline T frexp_mantissa(T v) {
  if (v == 0) return v;
  if (!is_finite(v)) return is_nan(v) ? quiet(v) : v;
  const T scaled = biased_exponent(v) == 0 ? v * power_of_two<T>(kMantissa<T> + 1) : v;
  return from_bits<T>(static_cast<BitsOf<T>>((bits(scaled) & (kSignBit<T> | ((BitsOf<T>{1} << kMantissa<T>) - 1))) |
                                             BitsOf<T>(static_cast<BitsOf<T>>(kBias<T> - 1) << kMantissa<T>)));
}
// v * 2^e with one rounding.
template <class T>
inline T scale(T v, int e) {
  if constexpr (sizeof(T) == 4) {
    const int c = std::clamp(e, -400, 400);  // beyond that a float is an infinity or a zero
    return static_cast<float>(static_cast<double>(v) * power_of_two<double>(c));
  } else {
    return __builtin_scalbn(v, std::clamp(e, -3000, 3000));
  }
}

// Transcendentals in double arithmetic, rounded once to float: below 0.51 ULP of the exact value, and the same on every host.
inline double exp2_double(double x) {
  // Adding 1.5 * 2^52 leaves the nearest integer in the low bits of the mantissa.
  const double shifted = x + 6755399441055744.0, n = shifted - 6755399441055744.0;
  const double t = (x - n) * 0.69314718055994530942;
  // exp(t), |t| <= 0.3466: Taylor to t^11, error below 1e-14.
  double p = 1.0 / 39916800;
  p = __builtin_fma(p, t, 1.0 / 3628800);
  p = __builtin_fma(p, t, 1.0 / 362880);
  p = __builtin_fma(p, t, 1.0 / 40320);
  p = __builtin_fma(p, t, 1.0 / 5040);
  p = __builtin_fma(p, t, 1.0 / 720);
  p = __builtin_fma(p, t, 1.0 / 120);
  p = __builtin_fma(p, t, 1.0 / 24);
  p = __builtin_fma(p, t, 1.0 / 6);
  p = __builtin_fma(p, t, 0.5);
  p = __builtin_fma(p, t, 1.0);
  p = __builtin_fma(p, t, 1.0);
  return from_bits<double>(bits(p) + (bits(shifted) << 52));
}
inline float exp2_float(float v) {
  // 2^129 and 2^-160 are an infinity and a zero as floats.
  const float high = choose(v > 129.0f, 129.0f, v), inside = choose(v < -160.0f, -160.0f, high);
  const auto r = static_cast<float>(exp2_double(static_cast<double>(choose(v == v, inside, 0.0f))));
  return choose(is_nan(v), quiet(v), r);
}
inline double log2_double(double x) {  // x positive, finite and normal
  const double whole = from_bits<double>((bits(x) & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  const bool upper = whole > 1.41421356237309504880;
  const double m = whole * choose(upper, 0.5, 1.0);
  // The exponent as a double, without a conversion of 64-bit integers: below 2^52 it is the mantissa of 2^52 + e.
  const double e = from_bits<double>((bits(x) >> 52 & 0x7ffu) | 0x4330000000000000ull) - (4503599627370496.0 + 1023.0) +
                   choose(upper, 1.0, 0.0);
  const double s = (m - 1.0) / (m + 1.0), s2 = s * s;
  // 2 atanh(s) / ln 2, |s| <= 0.1716: terms to s^17, error below 1e-14 of the result.
  double p = 1.0 / 17;
  p = __builtin_fma(p, s2, 1.0 / 15);
  p = __builtin_fma(p, s2, 1.0 / 13);
  p = __builtin_fma(p, s2, 1.0 / 11);
  p = __builtin_fma(p, s2, 1.0 / 9);
  p = __builtin_fma(p, s2, 1.0 / 7);
  p = __builtin_fma(p, s2, 1.0 / 5);
  p = __builtin_fma(p, s2, 1.0 / 3);
  p = __builtin_fma(p, s2, 1.0);
  return __builtin_fma(s * p, 2.88539008177792681472, e);
}
inline float log2_float(float v) {
  const bool ordinary = (v > 0.0f) & is_finite(v);
  const auto r = static_cast<float>(log2_double(static_cast<double>(choose(ordinary, v, 1.0f))));
  const float negative = from_bits<float>(kQuietNan<float>), infinity = std::numeric_limits<float>::infinity();
  // Positive infinity stays, zeros make negative infinity, negative numbers a NaN.
  const float other = choose(v == 0.0f, -infinity, choose(v < 0.0f, negative, choose(is_nan(v), quiet(v), v)));
  return choose(ordinary, r, other);
}
// sin(2 pi r), |r| <= 0.25: Taylor to t^17.
inline double sin_turn(double r) {
  const double t = r * 6.28318530717958647693, t2 = t * t;
  double p = 1.0 / 355687428096000;
  p = __builtin_fma(p, t2, -1.0 / 1307674368000);
  p = __builtin_fma(p, t2, 1.0 / 6227020800);
  p = __builtin_fma(p, t2, -1.0 / 39916800);
  p = __builtin_fma(p, t2, 1.0 / 362880);
  p = __builtin_fma(p, t2, -1.0 / 5040);
  p = __builtin_fma(p, t2, 1.0 / 120);
  p = __builtin_fma(p, t2, -1.0 / 6);
  p = __builtin_fma(p, t2, 1.0);
  return t * p;
}
// The argument counts full turns.
inline float sin_float(float v) {
  const auto x = static_cast<double>(choose(is_finite(v), v, 0.0f));
  const double r = x - __builtin_rint(x), a = __builtin_fabs(r);
  const double magnitude = sin_turn(choose(a > 0.25, 0.5 - a, a));
  const auto result = static_cast<float>(__builtin_copysign(magnitude, choose(x == 0.0, x, r)));
  return choose(is_finite(v), result, choose(is_nan(v), quiet(v), from_bits<float>(kQuietNan<float>)));
}
inline float cos_float(float v) {
  const auto x = static_cast<double>(choose(is_finite(v), v, 0.0f));
  const auto result = static_cast<float>(sin_turn(0.25 - __builtin_fabs(x - __builtin_rint(x))));
  return choose(is_finite(v), result, choose(is_nan(v), quiet(v), from_bits<float>(kQuietNan<float>)));
}
template <class T>
inline T reciprocal(T v) { return settle(T{1} / v, v); }
template <class T>
inline T square_root(T v) {
  if constexpr (sizeof(T) == 4) return settle(__builtin_sqrtf(v), v);
  else return settle(__builtin_sqrt(v), v);
}
template <class T>
inline T reciprocal_root(T v) {
  if constexpr (sizeof(T) == 4)
    return settle(static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(v))), v);
  else
    return settle(1.0 / __builtin_sqrt(v), v);
}

// 8-bit floats of gfx942 (those of gfx950: small_floats.inl): no infinities, no negative zero; 0x80 is NaN. Source: "CDNA3 ISA", 8-bit float formats.
template <int kExponent, int kMantissaBits, int kBias8>
inline float from_fp8(uint32_t v) {
  v &= 0xffu;
  if (v == 0x80u) return from_bits<float>(kQuietNan<float>);
  const int e = static_cast<int>(v >> kMantissaBits) & ((1 << kExponent) - 1);
  const int m = static_cast<int>(v & ((1u << kMantissaBits) - 1));
  const float magnitude = e == 0 ? static_cast<float>(m) * power_of_two<float>(1 - kBias8 - kMantissaBits)
                                 : static_cast<float>(m + (1 << kMantissaBits)) * power_of_two<float>(e - kBias8 - kMantissaBits);
  return v & 0x80u ? -magnitude : magnitude;
}
// A double to a half with one rounding: through a float rounded to odd, which has more than two bits to spare.
inline uint32_t double_to_half(double v) {
  const auto f = static_cast<float>(v);
  const auto back = static_cast<double>(f);
  const uint32_t too_far = __builtin_fabs(back) > __builtin_fabs(v), inexact = (back != v) & (v == v);
  return float_to_half(from_bits<float>((bits(f) - too_far) | inexact));
}

inline float bf16_to_float(uint32_t h) { return from_bits<float>(h << 16); }
inline uint32_t float_to_bf16(float v) {
  return is_nan(v) ? bits(v) >> 16 | 0x40u : (bits(v) + 0x7fffu + (bits(v) >> 16 & 1u)) >> 16;
}

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
