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
constexpr bool is_signaling(T v) { return v != v && !(bits(v) & kQuietBit<T>); }
template <class T>
constexpr T quiet(T v) { return from_bits<T>(bits(v) | kQuietBit<T>); }
// Clears the denormals of an f32 (the sign stays).
constexpr float flushed(float v) { return (bits(v) & 0x7f800000u) ? v : from_bits<float>(bits(v) & 0x80000000u); }

// The host makes a negative NaN from inf - inf, 0 * inf and the like; the GPU makes a positive one.
template <class T, class... A>
inline T settle(T r, A... a) {
  const bool had_nan = (is_nan(a) || ...);
  return is_nan(r) && !had_nan ? from_bits<T>(kQuietNan<T>) : r;
}

// Source: "Vega ISA" V_MIN_F32 / V_MAX_F32. In IEEE mode a signaling NaN is quieted and returned; a quiet one loses
// against a number. -0 is less than +0.
template <bool kMax, bool kIeee, class T>
inline T extreme(T a, T b) {
  const bool a_wins = kMax ? a > b : a < b;
  const bool b_wins = kMax ? b > a : b < a;
  const T equal = from_bits<T>(kMax ? bits(a) & bits(b) : bits(a) | bits(b));
  T r = a_wins ? a : b_wins ? b : equal;
  r = is_nan(b) ? a : r;
  r = is_nan(a) ? b : r;
  if constexpr (kIeee) {
    r = is_signaling(b) ? quiet(b) : r;
    r = is_signaling(a) ? quiet(a) : r;
  }
  return r;
}
template <bool kIeee, class T>
inline T median(T a, T b, T c) {
  const T highest = extreme<true, kIeee>(extreme<true, kIeee>(a, b), c);
  const T lowest = extreme<false, kIeee>(extreme<false, kIeee>(a, b), c);
  const T r = highest == a ? extreme<true, kIeee>(b, c) : highest == b ? extreme<true, kIeee>(a, c) : extreme<true, kIeee>(a, b);
  return is_nan(a) || is_nan(b) || is_nan(c) ? lowest : r;
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
// Nearest even whatever the host's rounding mode.
template <class T>
inline T round_even(T v) {
  if constexpr (sizeof(T) == 4) return __builtin_roundevenf(v);
  else return __builtin_roundeven(v);
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
template <class T>
constexpr bool is_finite(T v) { return (bits(v) & kInfBits<T>) != kInfBits<T>; }
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
  const double n = __builtin_roundeven(x);
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
  return p * power_of_two<double>(static_cast<int>(n));
}
inline float exp2_float(float v) {
  if (is_nan(v)) return quiet(v);
  if (v >= 128.0f) return std::numeric_limits<float>::infinity();
  if (v < -160.0f) return 0.0f;
  return static_cast<float>(exp2_double(static_cast<double>(v)));
}
inline double log2_double(double x) {  // x positive, finite and normal
  int e = biased_exponent(x) - 1023;
  double m = from_bits<double>((bits(x) & 0xfffffffffffffull) | 0x3ff0000000000000ull);
  if (m > 1.41421356237309504880) m *= 0.5, ++e;
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
  return __builtin_fma(s * p, 2.88539008177792681472, static_cast<double>(e));
}
inline float log2_float(float v) {
  if (is_nan(v)) return quiet(v);
  if (v == 0.0f) return -std::numeric_limits<float>::infinity();
  if (v < 0.0f) return from_bits<float>(kQuietNan<float>);
  if (!is_finite(v)) return v;
  return static_cast<float>(log2_double(static_cast<double>(v)));
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
  if (!is_finite(v)) return is_nan(v) ? quiet(v) : from_bits<float>(kQuietNan<float>);
  const double x = static_cast<double>(v);
  const double r = x - __builtin_roundeven(x);
  const double a = __builtin_fabs(r);
  return static_cast<float>(__builtin_copysign(sin_turn(a > 0.25 ? 0.5 - a : a), x == 0.0 ? x : r));
}
inline float cos_float(float v) {
  if (!is_finite(v)) return is_nan(v) ? quiet(v) : from_bits<float>(kQuietNan<float>);
  const double x = static_cast<double>(v);
  return static_cast<float>(sin_turn(0.25 - __builtin_fabs(x - __builtin_roundeven(x))));
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

// 8-bit floats of gfx942: no infinities, no negative zero; 0x80 is NaN. Source: "CDNA3 ISA", 8-bit float formats.
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
inline float bf16_to_float(uint32_t h) { return from_bits<float>(h << 16); }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
