// Numbers of 4, 6 and 8 bits as the OCP Microscaling formats define them, from and to wider floats, with a power-of-two scale.
// Included once a variant by the tables that use them. In: codes, or values. Out: values, or codes.
// Source: "CDNA4 ISA", BF8 / FP8 and Smaller Formats and Conversions. What it leaves open (NaN codes, which seed bits count in
// denormal results) is as in ROCm's host implementation of the same conversions (amd_hip_ocp_fp).

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace small {

struct Format {
  int exponent_bits, mantissa_bits, bias;
  uint32_t highest;             // the code of the largest number
  uint32_t infinity, nan;       // what overflow and NaN become; formats without either saturate
  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  constexpr int lowest() const { return 1 - bias; }  // exponent of the smallest normal number
};
inline constexpr Format kFp8{4, 3, 7, 0x7e, 0x7f, 0x7f}, kBf8{5, 2, 15, 0x7b, 0x7c, 0x7e};
inline constexpr Format kFp6{2, 3, 1, 0x1f, 0x1f, 0x1f}, kBf6{3, 2, 3, 0x1f, 0x1f, 0x1f}, kFp4{2, 1, 1, 0x7, 0x7, 0x7};

// The value of a code in the low bits.
template <Format F>
inline float value(uint32_t code) {
  constexpr int sign_bit = F.bits() - 1;
  const uint32_t magnitude = code & ((1u << sign_bit) - 1), sign = (code >> sign_bit & 1u) << 31;
  if (F.nan > F.highest && magnitude > F.highest) {
    if (magnitude == F.infinity && F.infinity != F.nan) return from_bits<float>(kInfBits<float> | sign);
    return from_bits<float>(kQuietNan<float> | sign);
  }
  const int e = static_cast<int>(magnitude >> F.mantissa_bits);
  const auto m = static_cast<int>(magnitude & ((1u << F.mantissa_bits) - 1));
  const float v = static_cast<float>(e == 0 ? m : m + (1 << F.mantissa_bits)) *
                  power_of_two<float>((e == 0 ? 1 : e) - F.bias - F.mantissa_bits);
  return from_bits<float>(bits(v) | sign);
}

// The exponent of a scale operand: the biased exponent of its float; 255 makes everything a NaN.
inline constexpr uint32_t kNanScale = 255;
constexpr uint32_t scale_of(uint32_t float_bits) { return float_bits >> 23 & 0xffu; }

// value(code) * 2^(scale - 127), exact.
template <Format F>
inline double scaled_value(uint32_t code, uint32_t scale) {
  const float v = value<F>(code);
  if (scale == kNanScale) return from_bits<double>(kQuietNan<double> | uint64_t{bits(v) >> 31} << 63);
  return static_cast<double>(v) * power_of_two<double>(static_cast<int>(scale) - 127);
}

// The nearest code, ties to even, of v * 2^-(scale - 127). v: exact in a float.
template <Format F>
inline uint32_t code_of(float v, uint32_t scale = 127) {
  const uint32_t sign = (bits(v) >> 31) << (F.bits() - 1);
  if (is_nan(v) || scale == kNanScale) return sign | F.nan;
  if (!is_finite(v)) return sign | F.infinity;
  if (v == 0) return sign;
  const double a = __builtin_fabs(static_cast<double>(v)) * power_of_two<double>(127 - static_cast<int>(scale));
  const int e = std::max(biased_exponent(a) - kBias<double>, F.lowest());
  // Exponent field and mantissa in one number: a carry of the rounding moves into the exponent by itself.
  const auto steps = static_cast<uint32_t>(__builtin_rint(a * power_of_two<double>(F.mantissa_bits - e)));
  const uint32_t code = (static_cast<uint32_t>(e - F.lowest()) << F.mantissa_bits) + steps;
  return sign | (code > F.highest ? F.infinity : code);
}

// The seed's top bits are added below the last bit that is kept, the rest is cut off. kSource: bits of the source's mantissa;
// v is exact in that type.
template <Format F, int kSource>
inline uint32_t stochastic_code_of(float v, uint32_t seed, uint32_t scale = 127) {
  const uint32_t sign = (bits(v) >> 31) << (F.bits() - 1);
  if (is_nan(v) || scale == kNanScale) return sign | F.nan;
  if (!is_finite(v)) return sign | F.infinity;
  if (v == 0) return sign;
  const uint64_t a = bits(__builtin_fabs(static_cast<double>(v)));
  const int e = static_cast<int>(a >> kMantissa<double>) - kBias<double> - (static_cast<int>(scale) - 127);
  const auto fraction = static_cast<uint32_t>((a & ((uint64_t{1} << kMantissa<double>) - 1)) >> (kMantissa<double> - kSource));
  // A denormal result has no hidden bit: the significand moves down instead.
  const int below = F.lowest() - e;
  const uint32_t significand = below <= 0 ? fraction : below >= 32 ? 0 : (fraction | 1u << kSource) >> below;
  const uint32_t sum = significand + (seed >> (32 - (kSource - F.mantissa_bits)));
  const uint32_t field = below > 0 ? 0 : static_cast<uint32_t>(e - F.lowest() + 1);
  const uint32_t code = (field << F.mantissa_bits) + (sum >> (kSource - F.mantissa_bits));
  return sign | (code > F.highest ? F.infinity : code);
}

// Element e of elements packed without gaps into dwords, `stride` apart.
template <Format F>
inline uint32_t unpack(const uint32_t* packed, std::size_t stride, unsigned e) {
  const unsigned bit = e * F.bits(), at = bit / 32, shift = bit % 32;
  uint64_t two = packed[at * stride];
  if (shift + F.bits() > 32) two |= uint64_t{packed[(at + 1) * stride]} << 32;
  return static_cast<uint32_t>(two >> shift) & ((1u << F.bits()) - 1);
}
// The same into dwords that were zero.
template <Format F>
inline void pack(uint32_t* packed, unsigned e, uint32_t code) {
  const unsigned bit = e * F.bits(), at = bit / 32, shift = bit % 32;
  const uint64_t two = uint64_t{code} << shift;
  packed[at] |= static_cast<uint32_t>(two);
  if (shift + F.bits() > 32) packed[at + 1] |= static_cast<uint32_t>(two >> 32);
}

// The pseudo-random sequence that conversions of several elements take their seeds from. Source: "CDNA4 ISA", V_PRNG_B32.
constexpr uint32_t next_seed(uint32_t v) { return v << 1 ^ (v >> 31 ? 197u : 0u); }

}  // namespace small
}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
