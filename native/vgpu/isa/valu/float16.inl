// f16 arithmetic. Products and sums of two halves are exact enough in f32 (24 >= 2 * 11 + 2 bits) that the second rounding
// changes nothing; fused operations go through f64 for the same reason. Source: "CDNA3 ISA", "RDNA3 ISA".

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace float16_ops {

// A half operand of a fused operation.
struct F16D {
  using Value = double;
  static constexpr Type type = Type::f16;
  static constexpr bool wide = false, half = true, fp = true;
  static double get(const Source& s, std::size_t l) { return static_cast<double>(half_to_float(s.lo[l])); }
  static void put(const Dest& d, std::size_t l, double v) {
    d.lo[l] = double_to_half(v);
  }
};

constexpr auto add = [](float a, float b) { return settle(a + b, a, b); };
constexpr auto sub = [](float a, float b) { return settle(a - b, a, b); };
constexpr auto subrev = [](float a, float b) { return settle(b - a, a, b); };
constexpr auto mul = [](float a, float b) { return settle(a * b, a, b); };
constexpr auto fma = [](double a, double b, double c) { return settle(a * b + c, a, b, c); };
// Two roundings: the product is a half before the addition.
constexpr auto mad = [](float a, float b, float c) {
  return settle(half_to_float(float_to_half(a * b)) + c, a, b, c);
};
constexpr auto ldexp_ = [](float a, int32_t e) { return is_nan(a) ? quiet(a) : scale(a, e); };
constexpr auto rcp = [](float a) { return reciprocal(a); };
constexpr auto sqrt_ = [](float a) { return square_root(a); };
constexpr auto rsq = [](float a) { return reciprocal_root(a); };
constexpr auto log_ = [](float a) { return log2_float(a); };
constexpr auto exp_ = [](float a) { return exp2_float(a); };
constexpr auto sin_ = [](float a) { return sin_float(a); };
constexpr auto cos_ = [](float a) { return cos_float(a); };
constexpr auto floor_ = [](float a) { return round_down(a); };
constexpr auto ceil_ = [](float a) { return round_up(a); };
constexpr auto trunc_ = [](float a) { return round_to_zero(a); };
constexpr auto rndne = [](float a) { return round_even(a); };
constexpr auto fract = [](float a) {
  const float r = settle(a - round_down(a), a);
  return r > 0.99951171875f ? 0.99951171875f : r;  // the largest half below one
};
constexpr auto frexp_exp = [](float a) { return static_cast<int32_t>(frexp_exponent(a)); };
constexpr auto frexp_mant = [](float a) { return frexp_mantissa(a); };
constexpr auto fixup = [](float q, float den, float num) {
  const uint32_t sign = (bits(den) ^ bits(num)) & 0x80000000u;
  if (is_nan(num)) return quiet(num);
  if (is_nan(den)) return quiet(den);
  const bool den_inf = !is_finite(den), num_inf = !is_finite(num);
  if ((den == 0 && num == 0) || (den_inf && num_inf)) return from_bits<float>(0xffc00000u);
  if (den == 0 || num_inf) return from_bits<float>(sign | 0x7f800000u);
  if (den_inf || num == 0) return from_bits<float>(sign);
  return from_bits<float>((bits(q) & 0x7fffffffu) | sign);
};

// Signaling halves: a half converted to float is quiet already, so the IEEE form looks at the bits first.
template <bool kMax, bool kIeee>
inline uint32_t extreme16(uint32_t a, uint32_t b) {
  const auto signaling = [](uint32_t h) { return (h & 0x7c00u) == 0x7c00u && (h & 0x1ffu) && !(h & 0x200u); };
  if (kIeee && signaling(a)) return a | 0x200u;
  if (kIeee && signaling(b)) return b | 0x200u;
  return float_to_half(extreme<kMax, false>(half_to_float(a), half_to_float(b)));
}
template <bool kMax>
void two(Wave& w, const Inst& in) {
  constexpr auto ieee = [](uint32_t a, uint32_t b) { return extreme16<kMax, true>(a, b); };
  constexpr auto other = [](uint32_t a, uint32_t b) { return extreme16<kMax, false>(a, b); };
  if (w.mode.ieee) lanewise<ieee, 0, H16, H16, H16>(w, in);
  else lanewise<other, 0, H16, H16, H16>(w, in);
}
template <bool kInnerMax, bool kOuterMax>
void three(Wave& w, const Inst& in) {
  constexpr auto ieee = [](uint32_t a, uint32_t b, uint32_t c) {
    return extreme16<kOuterMax, true>(extreme16<kInnerMax, true>(a, b), c);
  };
  constexpr auto other = [](uint32_t a, uint32_t b, uint32_t c) {
    return extreme16<kOuterMax, false>(extreme16<kInnerMax, false>(a, b), c);
  };
  if (w.mode.ieee) lanewise<ieee, 0, H16, H16, H16, H16>(w, in);
  else lanewise<other, 0, H16, H16, H16, H16>(w, in);
}
constexpr auto med3 = [](float a, float b, float c) { return median<false>(a, b, c); };

// D = S0 * K + S1, or S0 * S1 + K, with the low half of the literal.
template <auto f, class T, bool kAddendK>
void with_literal(Wave& w, const Inst& in) {
  Inst full = in;
  full.src[2] = in.src[1];
  if (kAddendK) full.op_sel = static_cast<uint8_t>(in.op_sel & 0xb);
  else full.op_sel = static_cast<uint8_t>((in.op_sel & 0x9) | (in.op_sel & 2) << 1);
  Operand& k = full.src[kAddendK ? 2 : 1];
  k = Operand{};
  k.kind = OperandKind::constant;
  k.type = Type::f16;
  k.constant = in.literal & 0xffffu;
  lanewise<f, kRounds, T, T, T, T>(w, full);
}

constexpr Format v1 = Format::vop1, v2 = Format::vop2, v3 = Format::vop3;
constexpr Type h = Type::f16, n = Type::none;

constexpr Row own2(Names names, uint16_t op9, uint16_t op11, Handler handler) {
  return row_own(names, v2, op9, op11, kAllTargets, h, h, h, n, handler, kFloatMods);
}
constexpr Row own3(Names names, uint16_t op9, uint16_t op11, Handler handler, TargetSet targets = kAllTargets) {
  return row_own(names, v3, op9, op11, targets, h, h, h, h, handler, kFloatMods | kKeepsHalf);
}
constexpr Row literal(Names names, uint16_t op9, uint16_t op11, TargetSet targets, Handler handler) {
  return row_own(names, v2, op9, op11, targets, h, h, h, n, handler, kLiteralK | kKeepsHalf);
}

constexpr Row kRows[] = {
    row<rcp, 0, F16, F16>({"v_rcp_f16"}, v1, 0x3d, 0x54, kAllTargets, kApproximate),
    row<sqrt_, 0, F16, F16>({"v_sqrt_f16"}, v1, 0x3e, 0x55, kAllTargets, kApproximate),
    row<rsq, 0, F16, F16>({"v_rsq_f16"}, v1, 0x3f, 0x56, kAllTargets, kApproximate),
    row<log_, 0, F16, F16>({"v_log_f16"}, v1, 0x40, 0x57, kAllTargets, kApproximate),
    row<exp_, 0, F16, F16>({"v_exp_f16"}, v1, 0x41, 0x58, kAllTargets, kApproximate),
    row<frexp_mant, 0, F16, F16>({"v_frexp_mant_f16"}, v1, 0x42, 0x59),
    row<frexp_exp, 0, I16, F16>({"v_frexp_exp_i16_f16"}, v1, 0x43, 0x5a),
    row<floor_, 0, F16, F16>({"v_floor_f16"}, v1, 0x44, 0x5b),
    row<ceil_, 0, F16, F16>({"v_ceil_f16"}, v1, 0x45, 0x5c),
    row<trunc_, 0, F16, F16>({"v_trunc_f16"}, v1, 0x46, 0x5d),
    row<rndne, 0, F16, F16>({"v_rndne_f16"}, v1, 0x47, 0x5e),
    row<fract, 0, F16, F16>({"v_fract_f16"}, v1, 0x48, 0x5f),
    row<sin_, 0, F16, F16>({"v_sin_f16"}, v1, 0x49, 0x60, kAllTargets, kApproximate),
    row<cos_, 0, F16, F16>({"v_cos_f16"}, v1, 0x4a, 0x61, kAllTargets, kApproximate),
    row<add, kRounds, F16, F16, F16>({"v_add_f16"}, v2, 0x1f, 0x32),
    row<sub, kRounds, F16, F16, F16>({"v_sub_f16"}, v2, 0x20, 0x33),
    row<subrev, kRounds, F16, F16, F16>({"v_subrev_f16"}, v2, 0x21, 0x34),
    row<mul, kRounds, F16, F16, F16>({"v_mul_f16"}, v2, 0x22, 0x35),
    row_acc<mad, kRounds, F16, F16, F16>({"v_mac_f16"}, v2, 0x23, kNo, kGfx9, kKeepsHalf),
    literal({"v_madmk_f16"}, 0x24, kNo, kGfx9, &with_literal<mad, F16, false>),
    literal({"v_madak_f16"}, 0x25, kNo, kGfx9, &with_literal<mad, F16, true>),
    row_acc<fma, kRounds, F16D, F16D, F16D>({"v_fmac_f16"}, v2, kNo, 0x36, kRdna),
    literal({"v_fmamk_f16"}, kNo, 0x37, kRdna, &with_literal<fma, F16D, false>),
    literal({"v_fmaak_f16"}, kNo, 0x38, kRdna, &with_literal<fma, F16D, true>),
    own2({"v_max_f16"}, 0x2d, 0x39, &two<true>),
    own2({"v_min_f16"}, 0x2e, 0x3a, &two<false>),
    row<ldexp_, kRounds, F16, F16, I16>({"v_ldexp_f16"}, v2, 0x33, 0x3b),
    row<mad, kRounds, F16, F16, F16, F16>({"v_mad_f16"}, v3, 0x203, kNo, kGfx9, kKeepsHalf),
    row<mad, kRounds, F16, F16, F16, F16>({"v_mad_legacy_f16"}, v3, 0x1ea, kNo, kGfx9),
    row<fma, kRounds, F16D, F16D, F16D, F16D>({"v_fma_f16"}, v3, 0x206, 0x248, kAllTargets, kKeepsHalf),
    row<fma, kRounds, F16D, F16D, F16D, F16D>({"v_fma_legacy_f16"}, v3, 0x1ee, kNo, kGfx9),
    row<fixup, 0, F16, F16, F16, F16>({"v_div_fixup_f16"}, v3, 0x207, 0x254, kAllTargets, kKeepsHalf),
    row<fixup, 0, F16, F16, F16, F16>({"v_div_fixup_legacy_f16"}, v3, 0x1ef, kNo, kGfx9),
    own3({"v_min3_f16"}, 0x1f4, 0x249, &three<false, false>),
    own3({"v_max3_f16"}, 0x1f7, 0x24c, &three<true, true>),
    row<med3, 0, F16, F16, F16, F16>({"v_med3_f16"}, v3, 0x1fa, 0x24f, kAllTargets, kKeepsHalf),
    own3({"v_maxmin_f16"}, kNo, 0x260, &three<true, false>, kRdna),
    own3({"v_minmax_f16"}, kNo, 0x261, &three<false, true>, kRdna),
};

}  // namespace float16_ops

std::span<const Row> float16_rows() { return float16_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
