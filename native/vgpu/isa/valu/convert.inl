// Conversions between number types. Source: "CDNA3 ISA", "CDNA4 ISA" and "RDNA3 ISA", chapter Instructions (f32_to_i32 and the like).
#include "vgpu/isa/valu/small_floats.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace convert_ops {

// Floats to integers truncate, saturate, and turn NaN into zero.
template <class I, class T>
inline I to_integer(T v) {
  constexpr T high = static_cast<T>(std::numeric_limits<I>::max());  // rounds up to a power of two for float
  constexpr T low = static_cast<T>(std::numeric_limits<I>::min());
  if (v != v) return 0;
  if (v >= high) return std::numeric_limits<I>::max();
  if (v <= low) return std::numeric_limits<I>::min();
  return static_cast<I>(v);
}

constexpr auto i32_f64 = [](double a) { return to_integer<int32_t>(a); };
constexpr auto u32_f64 = [](double a) { return to_integer<uint32_t>(a); };
constexpr auto i32_f32 = [](float a) {
  const bool inside = a >= -2147483648.0f && a < 2147483648.0f;  // the conversion is undefined elsewhere
  const int32_t r = static_cast<int32_t>(inside ? a : 0.0f);
  return a != a ? 0 : a >= 2147483648.0f ? std::numeric_limits<int32_t>::max() : a < -2147483648.0f ? std::numeric_limits<int32_t>::min() : r;
};
constexpr auto u32_f32 = [](float a) { return to_integer<uint32_t>(a); };
constexpr auto f64_i32 = [](int32_t a) { return static_cast<double>(a); };
constexpr auto f64_u32 = [](uint32_t a) { return static_cast<double>(a); };
constexpr auto f32_i32 = [](int32_t a) { return static_cast<float>(a); };
constexpr auto f32_u32 = [](uint32_t a) { return static_cast<float>(a); };
constexpr auto same = [](float a) { return a; };
constexpr auto f32_f64 = [](double a) { return static_cast<float>(a); };
constexpr auto f64_f32 = [](float a) { return static_cast<double>(a); };
constexpr auto nearest_i32 = [](float a) { return i32_f32(round_down(a + 0.5f)); };
constexpr auto floor_i32 = [](float a) { return i32_f32(round_down(a)); };
constexpr auto off_i4 = [](uint32_t a) {
  return static_cast<float>(static_cast<int32_t>(a << 28) >> 28) * 0.0625f;
};
template <unsigned kByte>
constexpr auto ubyte = [](uint32_t a) { return static_cast<float>(a >> (8 * kByte) & 0xffu); };
constexpr auto f_i16 = [](int32_t a) { return static_cast<float>(a); };
constexpr auto f_u16 = [](uint32_t a) { return static_cast<float>(a); };
constexpr auto i16_f = [](float a) { return std::clamp(i32_f32(a), -32768, 32767); };
constexpr auto u16_f = [](float a) { return static_cast<uint32_t>(std::clamp(i32_f32(a), 0, 65535)); };
constexpr auto i32_i16 = [](int32_t a) { return a; };
constexpr auto u32_u16 = [](uint32_t a) { return a; };

// Normalised integers: round to nearest even of the clamped product.
constexpr auto snorm16 = [](float a) {
  const float c = a != a ? 0.0f : std::clamp(a, -1.0f, 1.0f);
  return static_cast<int32_t>(round_even(c * 32767.0f));
};
constexpr auto unorm16 = [](float a) {
  const float c = a != a ? 0.0f : std::clamp(a, 0.0f, 1.0f);
  return static_cast<uint32_t>(round_even(c * 65535.0f));
};
constexpr uint32_t pack(uint32_t lo, uint32_t hi) { return (lo & 0xffffu) | hi << 16; }
constexpr auto pk_norm_i16 = [](float a, float b) {
  return pack(static_cast<uint32_t>(snorm16(a)), static_cast<uint32_t>(snorm16(b)));
};
constexpr auto pk_norm_u16 = [](float a, float b) { return pack(unorm16(a), unorm16(b)); };
constexpr auto pk_i16_f32 = [](float a, float b) {
  return pack(static_cast<uint32_t>(i16_f(a)), static_cast<uint32_t>(i16_f(b)));
};
constexpr auto pk_u16_f32 = [](float a, float b) { return pack(u16_f(a), u16_f(b)); };
constexpr auto pk_u8_f32 = [](float a, uint32_t at, uint32_t old) {
  const unsigned shift = 8 * (at & 3);
  return (old & ~(0xffu << shift)) | static_cast<uint32_t>(std::clamp(i32_f32(a), 0, 255)) << shift;
};
constexpr auto pk_f16 = [](float a, float b) { return pack(float_to_half(a), float_to_half(b)); };
// Rounds toward zero whatever the mode.
inline void pk_rtz(Wave& w, const Inst& in) {
  const uint8_t mode = w.mode.round32;
  w.mode.round32 = 3;
  lanewise<pk_f16, kRounds, B32, F32, F32>(w, in);
  w.mode.round32 = mode;
}
// Rounds and flushes as v_cvt_f16_f32 does.
constexpr auto pk_f16_flushed = [](float a, float b) {
  const auto flush = [](uint32_t h) { return h & 0x7c00u ? h : h & 0x8000u; };
  return pack(flush(float_to_half(a)), flush(float_to_half(b)));
};
inline void pk_half(Wave& w, const Inst& in) {
  const uint8_t mode = w.mode.round32;
  w.mode.round32 = w.mode.round64_16;
  if (w.mode.denorm64_16 & 2) lanewise<pk_f16, kRounds, B32, F32, F32>(w, in);
  else lanewise<pk_f16_flushed, kRounds, B32, F32, F32>(w, in);
  w.mode.round32 = mode;
}

// 8-bit floats of gfx942 (from_fp8 is in float_math.inl).
// Nearest even; beyond the largest number is NaN.
template <int kExponent, int kMantissaBits, int kBias8>
inline uint32_t to_fp8(float v) {
  if (!is_finite(v)) return 0x80u;
  const float a = __builtin_fabsf(v);
  if (a == 0.0f) return 0;
  const int e = std::max(biased_exponent(a) - 127, 1 - kBias8);
  const auto steps = static_cast<int32_t>(round_even(scale(a, kMantissaBits - e)));  // mantissa with its hidden bit
  // Exponent field and mantissa in one number: a carry of the rounding moves into the exponent by itself.
  const int32_t code = ((e + kBias8 - 1) << kMantissaBits) + steps;
  if (code == 0) return 0;
  if (code > 0x7f) return 0x80u;
  return static_cast<uint32_t>(code) | (bits(v) >> 31) << 7;
}
constexpr auto f32_fp8 = [](uint32_t a) { return from_fp8<4, 3, 8>(a); };
constexpr auto f32_bf8 = [](uint32_t a) { return from_fp8<5, 2, 16>(a); };
constexpr auto pk_f32_fp8 = [](uint32_t a) {
  return uint64_t{bits(f32_fp8(a >> 8))} << 32 | bits(f32_fp8(a));
};
constexpr auto pk_f32_bf8 = [](uint32_t a) {
  return uint64_t{bits(f32_bf8(a >> 8))} << 32 | bits(f32_bf8(a));
};
constexpr auto pk_fp8_f32 = [](float a, float b) { return to_fp8<4, 3, 8>(a) | to_fp8<4, 3, 8>(b) << 8; };
constexpr auto pk_bf8_f32 = [](float a, float b) { return to_fp8<5, 2, 16>(a) | to_fp8<5, 2, 16>(b) << 8; };

// 8-bit floats of gfx950 and gfx12.
template <small::Format F>
constexpr auto f32_ocp = [](uint32_t a) { return small::value<F>(a & 0xffu); };
template <small::Format F>
constexpr auto pk_f32_ocp = [](uint32_t a) {
  return uint64_t{bits(small::value<F>(a >> 8 & 0xffu))} << 32 | bits(small::value<F>(a & 0xffu));
};
template <small::Format F>
constexpr auto pk_ocp_f32 = [](float a, float b) { return small::code_of<F>(a) | small::code_of<F>(b) << 8; };
template <small::Format F>
inline uint32_t ocp_stochastic(float v, uint32_t seed) { return small::stochastic_code_of<F, 23>(v, seed); }

// gfx12: op_sel names the byte, its first bit counting two.
template <small::Format F>
void ocp_byte(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (in.op_sel & ~3u) return w.stop(Outcome::Kind::unimplemented, "op_sel beyond the byte of a conversion");
  Scratch store;
  LaneBuffer result;
  const Source codes = fetch<U32, 0>(w, in, 0, store);
  const unsigned shift = 8 * ((in.op_sel & 1u) << 1 | (in.op_sel >> 1 & 1u));
  for (std::size_t l = 0; l < w.size; ++l) result.lane[l] = bits(small::value<F>(codes.lo[l] >> shift & 0xffu));
  commit(w, in, Type::f32, write_mask(w, in), {result.lane, nullptr}, true);
}
using Bf16 = Short<Type::bf16, uint32_t>;
constexpr auto f32_bf16 = [](uint32_t a) { return bf16_to_float(a); };
constexpr auto pk_bf16 = [](float a, float b) { return pack(float_to_bf16(a), float_to_bf16(b)); };

// Stochastic rounding: the seed's high bits are added below the last bit that is kept, the rest is cut off. For results below
// the smallest normal number the manual does not say where they are added; here below the last bit of the result as well.
template <int kExponent, int kMantissaBits, int kBias8>
inline uint32_t to_fp8_stochastic(float v, uint32_t seed) {
  if (!is_finite(v)) return 0x80u;
  constexpr int lowest = 1 - kBias8;
  const uint32_t field = bits(v) >> 23 & 0xffu, significand = (bits(v) & 0x7fffffu) | (field ? 0x800000u : 0u);
  const int e = field ? static_cast<int>(field) - 127 : -126;
  const auto dropped = static_cast<unsigned>(23 - kMantissaBits + std::max(0, lowest - e));
  if (dropped >= 32) return 0;
  const uint64_t steps = (uint64_t{significand} + (seed >> (32 - dropped))) >> dropped;
  const auto code = static_cast<uint32_t>(std::max(0, e - lowest) << kMantissaBits) + static_cast<uint32_t>(steps);
  if (code == 0) return 0;
  return code > 0x7f ? 0x80u : code | (bits(v) >> 31) << 7;
}
// op_sel[3:2] chooses the byte of the destination; the others stay.
template <auto convert>
void stochastic(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  Scratch store[2];
  const Source value = fetch<F32, 0>(w, in, 0, store[0]), seed = fetch<U32, 0>(w, in, 1, store[1]);
  const unsigned shift = 8 * (in.op_sel >> 2 & 3u);
  const uint32_t* old = w.vreg(in.dst.index);
  LaneBuffer result;
  for (std::size_t l = 0; l < w.size; ++l)
    result.lane[l] = (old[l] & ~(0xffu << shift)) | convert(F32::get(value, l), U32::get(seed, l)) << shift;
  commit(w, in, Type::b32, write_mask(w, in), {result.lane, nullptr}, true);
}

constexpr Format v1 = Format::vop1, v2 = Format::vop2, v3 = Format::vop3;
constexpr TargetSet k942 = bit(Target::gfx942), kOcp = kGfx950 | kGfx12;
constexpr Type n = Type::none;

constexpr Row kRows[] = {
    row<i32_f64, 0, I32, F64>({"v_cvt_i32_f64"}, v1, 0x03, 0x03),
    row<f64_i32, 0, F64, I32>({"v_cvt_f64_i32"}, v1, 0x04, 0x04),
    row<f32_i32, kRounds, F32, I32>({"v_cvt_f32_i32"}, v1, 0x05, 0x05),
    row<f32_u32, kRounds, F32, U32>({"v_cvt_f32_u32"}, v1, 0x06, 0x06),
    row<u32_f32, 0, U32, F32>({"v_cvt_u32_f32"}, v1, 0x07, 0x07),
    row<i32_f32, 0, I32, F32>({"v_cvt_i32_f32"}, v1, 0x08, 0x08),
    row<same, kRounds, F16, F32>({"v_cvt_f16_f32"}, v1, 0x0a, 0x0a),
    row<same, 0, F32, F16>({"v_cvt_f32_f16"}, v1, 0x0b, 0x0b),
    row<nearest_i32, 0, I32, F32>({"v_cvt_rpi_i32_f32", "v_cvt_nearest_i32_f32"}, v1, 0x0c, 0x0c),
    row<floor_i32, 0, I32, F32>({"v_cvt_flr_i32_f32", "v_cvt_floor_i32_f32"}, v1, 0x0d, 0x0d),
    row<off_i4, 0, F32, U32>({"v_cvt_off_f32_i4"}, v1, 0x0e, 0x0e),
    row<f32_f64, kRounds, F32, F64>({"v_cvt_f32_f64"}, v1, 0x0f, 0x0f),
    row<f64_f32, 0, F64, F32>({"v_cvt_f64_f32"}, v1, 0x10, 0x10),
    row<ubyte<0>, 0, F32, U32>({"v_cvt_f32_ubyte0"}, v1, 0x11, 0x11),
    row<ubyte<1>, 0, F32, U32>({"v_cvt_f32_ubyte1"}, v1, 0x12, 0x12),
    row<ubyte<2>, 0, F32, U32>({"v_cvt_f32_ubyte2"}, v1, 0x13, 0x13),
    row<ubyte<3>, 0, F32, U32>({"v_cvt_f32_ubyte3"}, v1, 0x14, 0x14),
    row<u32_f64, 0, U32, F64>({"v_cvt_u32_f64"}, v1, 0x15, 0x15),
    row<f64_u32, 0, F64, U32>({"v_cvt_f64_u32"}, v1, 0x16, 0x16),
    row<f_u16, kRounds, F16, U16>({"v_cvt_f16_u16"}, v1, 0x39, 0x50),
    row<f_i16, kRounds, F16, I16>({"v_cvt_f16_i16"}, v1, 0x3a, 0x51),
    row<u16_f, 0, U16, F16>({"v_cvt_u16_f16"}, v1, 0x3b, 0x52),
    row<i16_f, 0, I16, F16>({"v_cvt_i16_f16"}, v1, 0x3c, 0x53),
    row<snorm16, 0, I16, F16>({"v_cvt_norm_i16_f16"}, v1, 0x4d, 0x63),
    row<unorm16, 0, U16, F16>({"v_cvt_norm_u16_f16"}, v1, 0x4e, 0x64),
    row<i32_i16, 0, I32, I16>({"v_cvt_i32_i16"}, v1, kNo, 0x6a, kRdna),
    row<u32_u16, 0, U32, U16>({"v_cvt_u32_u16"}, v1, kNo, 0x6b, kRdna),
    row<f32_fp8, 0, F32, U32>({"v_cvt_f32_fp8"}, v1, 0x54, kNo, k942),
    row<f32_bf8, 0, F32, U32>({"v_cvt_f32_bf8"}, v1, 0x55, kNo, k942),
    row<pk_f32_fp8, 0, B64, U32>({"v_cvt_pk_f32_fp8"}, v1, 0x56, kNo, k942),
    row<pk_f32_bf8, 0, B64, U32>({"v_cvt_pk_f32_bf8"}, v1, 0x57, kNo, k942),
    row<pk_fp8_f32, 0, B16, F32, F32>({"v_cvt_pk_fp8_f32"}, v3, 0x2a2, kNo, k942, kKeepsHalf),
    row<pk_bf8_f32, 0, B16, F32, F32>({"v_cvt_pk_bf8_f32"}, v3, 0x2a3, kNo, k942, kKeepsHalf),

    row<f32_ocp<small::kFp8>, 0, F32, U32>({"v_cvt_f32_fp8"}, v1, 0x54, kNo, kGfx950),
    row<f32_ocp<small::kBf8>, 0, F32, U32>({"v_cvt_f32_bf8"}, v1, 0x55, kNo, kGfx950),
    row<pk_f32_ocp<small::kFp8>, 0, B64, U32>({"v_cvt_pk_f32_fp8"}, v1, 0x56, kNo, kGfx950),
    row<pk_f32_ocp<small::kBf8>, 0, B64, U32>({"v_cvt_pk_f32_bf8"}, v1, 0x57, kNo, kGfx950),
    row_own({"v_cvt_f32_fp8"}, v1, kNo, 0x6c, kGfx12, Type::f32, Type::u32, n, n, &ocp_byte<small::kFp8>, kOwnOpSel),
    row_own({"v_cvt_f32_bf8"}, v1, kNo, 0x6d, kGfx12, Type::f32, Type::u32, n, n, &ocp_byte<small::kBf8>, kOwnOpSel),
    row<pk_f32_ocp<small::kFp8>, 0, B64, B16>({"v_cvt_pk_f32_fp8"}, v1, kNo, 0x6e, kGfx12),
    row<pk_f32_ocp<small::kBf8>, 0, B64, B16>({"v_cvt_pk_f32_bf8"}, v1, kNo, 0x6f, kGfx12),
    row<pk_ocp_f32<small::kFp8>, 0, B16, F32, F32>({"v_cvt_pk_fp8_f32"}, v3, 0x2a2, 0x369, kOcp, kKeepsHalf),
    row<pk_ocp_f32<small::kBf8>, 0, B16, F32, F32>({"v_cvt_pk_bf8_f32"}, v3, 0x2a3, 0x36a, kOcp, kKeepsHalf),
    row_own({"v_cvt_sr_fp8_f32"}, v3, 0x2a4, 0x36b, kOcp, Type::b32, Type::f32, Type::u32, Type::none,
            &stochastic<ocp_stochastic<small::kFp8>>, kReadsDst | kOwnOpSel | kApproximate),
    row_own({"v_cvt_sr_bf8_f32"}, v3, 0x2a5, 0x36c, kOcp, Type::b32, Type::f32, Type::u32, Type::none,
            &stochastic<ocp_stochastic<small::kBf8>>, kReadsDst | kOwnOpSel | kApproximate),
    row<f32_bf16, 0, F32, Bf16>({"v_cvt_f32_bf16"}, v1, 0x5b, kNo, kGfx950),
    row_own({"v_cvt_pk_f16_f32"}, v3, 0x267, kNo, kGfx950, Type::b32, Type::f32, Type::f32, Type::none, &pk_half, kFloatMods),
    row<pk_bf16, 0, B32, F32, F32>({"v_cvt_pk_bf16_f32"}, v3, 0x268, kNo, kGfx950),

    row_own({"v_cvt_sr_fp8_f32"}, v3, 0x2a4, kNo, k942, Type::b32, Type::f32, Type::u32, Type::none,
            &stochastic<to_fp8_stochastic<4, 3, 8>>, kReadsDst | kOwnOpSel | kApproximate),
    row_own({"v_cvt_sr_bf8_f32"}, v3, 0x2a5, kNo, k942, Type::b32, Type::f32, Type::u32, Type::none,
            &stochastic<to_fp8_stochastic<5, 2, 16>>, kReadsDst | kOwnOpSel | kApproximate),
    row_own({"v_cvt_pkrtz_f16_f32"}, v3, 0x296, kNo, kGfx9, Type::b32, Type::f32, Type::f32, Type::none, &pk_rtz, kFloatMods),
    row_own({"v_cvt_pk_rtz_f16_f32"}, v2, kNo, 0x2f, kRdna, Type::b32, Type::f32, Type::f32, Type::none, &pk_rtz, kFloatMods),
    row<pk_u8_f32, 0, B32, F32, U32, U32>({"v_cvt_pk_u8_f32"}, v3, 0x1dd, 0x226),
    row<pk_norm_i16, 0, B32, F32, F32>({"v_cvt_pknorm_i16_f32", "v_cvt_pk_norm_i16_f32"}, v3, 0x294, 0x321),
    row<pk_norm_u16, 0, B32, F32, F32>({"v_cvt_pknorm_u16_f32", "v_cvt_pk_norm_u16_f32"}, v3, 0x295, 0x322),
    row<pk_norm_i16, 0, B32, F16, F16>({"v_cvt_pknorm_i16_f16", "v_cvt_pk_norm_i16_f16"}, v3, 0x299, 0x312),
    row<pk_norm_u16, 0, B32, F16, F16>({"v_cvt_pknorm_u16_f16", "v_cvt_pk_norm_u16_f16"}, v3, 0x29a, 0x313),
    row<pk_i16_f32, 0, B32, F32, F32>({"v_cvt_pk_i16_f32"}, v3, kNo, 0x306, kRdna),
    row<pk_u16_f32, 0, B32, F32, F32>({"v_cvt_pk_u16_f32"}, v3, kNo, 0x307, kRdna),
};

}  // namespace convert_ops

std::span<const Row> convert_rows() { return convert_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
