// f32 arithmetic of VOP1, VOP2, VOP3 and VOPD. Source: "CDNA3 ISA" and "RDNA3 ISA", chapter Instructions.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace float32_ops {

// With kSettles.
constexpr auto add = [](float a, float b) { return a + b; };
constexpr auto sub = [](float a, float b) { return a - b; };
constexpr auto subrev = [](float a, float b) { return b - a; };
constexpr auto mul = [](float a, float b) { return a * b; };
constexpr auto fma = [](float a, float b, float c) { return fused(a, b, c); };
// DX9 rule: zero times anything is zero.
constexpr auto mul_legacy = [](float a, float b) { return choose((a == 0.0f) | (b == 0.0f), 0.0f, settle(a * b, a, b)); };
constexpr auto fma_legacy = [](float a, float b, float c) {
  return choose((a == 0.0f) | (b == 0.0f), c, settle(fused(a, b, c), a, b, c));
};
// Two roundings, and denormals always flushed.
constexpr auto mad = [](float a, float b, float c) {
  const float x = flushed(a), y = flushed(b), z = flushed(c);
  return flushed(settle(flushed(x * y) + z, x, y, z));
};
constexpr auto mad_legacy = [](float a, float b, float c) { return choose((a == 0.0f) | (b == 0.0f), c, mad(a, b, c)); };

constexpr auto floor_ = [](float a) { return choose(is_nan(a), quiet(a), round_down(a)); };
constexpr auto ceil_ = [](float a) { return choose(is_nan(a), quiet(a), round_up(a)); };
constexpr auto trunc_ = [](float a) { return choose(is_nan(a), quiet(a), round_to_zero(a)); };
constexpr auto rndne = [](float a) { return choose(is_nan(a), quiet(a), round_even(a)); };
constexpr auto fract = [](float a) { return fraction(a); };
constexpr auto frexp_exp = [](float a) { return static_cast<int32_t>(frexp_exponent(a)); };
constexpr auto frexp_mant = [](float a) { return frexp_mantissa(a); };
constexpr auto ldexp_ = [](float a, int32_t e) { return is_nan(a) ? quiet(a) : scale(a, e); };
// These units take and make no f32 denormals.
constexpr auto rcp = [](float a) { return flushed(reciprocal(flushed(a))); };
constexpr auto rsq = [](float a) { return reciprocal_root(flushed(a)); };
constexpr auto sqrt_ = [](float a) { return square_root(flushed(a)); };
constexpr auto exp_ = [](float a) { return flushed(exp2_float(flushed(a))); };
constexpr auto log_ = [](float a) { return log2_float(flushed(a)); };
constexpr auto sin_ = [](float a) { return flushed(sin_float(flushed(a))); };
constexpr auto cos_ = [](float a) { return cos_float(flushed(a)); };

constexpr auto cube_id = [](float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return z < 0.0f ? 5.0f : 4.0f;
  if (ay >= ax) return y < 0.0f ? 3.0f : 2.0f;
  return x < 0.0f ? 1.0f : 0.0f;
};
constexpr auto cube_ma = [](float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  return 2.0f * (az >= ax && az >= ay ? z : ay >= ax ? y : x);
};
// The coordinates on the face. Source: "V_CUBESC_F32" and "V_CUBETC_F32" of the ISA manuals.
constexpr auto cube_sc = [](float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  if (az >= ax && az >= ay) return z < 0.0f ? -x : x;
  if (ay >= ax) return x;
  return x < 0.0f ? z : -z;
};
constexpr auto cube_tc = [](float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  if (!(az >= ax && az >= ay) && ay >= ax) return y < 0.0f ? -z : z;
  return -y;
};

// Minimum and maximum depend on the IEEE bit of the wave, looked at once an instruction.
template <bool kMax>
void two(Wave& w, const Inst& in) {
  constexpr auto ieee = [](float a, float b) { return extreme<kMax, true>(a, b); };
  constexpr auto other = [](float a, float b) { return extreme<kMax, false>(a, b); };
  if (w.mode.ieee) lanewise<ieee, 0, F32, F32, F32>(w, in);
  else lanewise<other, 0, F32, F32, F32>(w, in);
}
// Outer of inner of the first two, and the third.
template <bool kInnerMax, bool kOuterMax>
void three(Wave& w, const Inst& in) {
  constexpr auto ieee = [](float a, float b, float c) { return extreme<kOuterMax, true>(extreme<kInnerMax, true>(a, b), c); };
  constexpr auto other = [](float a, float b, float c) { return extreme<kOuterMax, false>(extreme<kInnerMax, false>(a, b), c); };
  if (w.mode.ieee) lanewise<ieee, 0, F32, F32, F32, F32>(w, in);
  else lanewise<other, 0, F32, F32, F32, F32>(w, in);
}
// IEEE 754-2019 minimum and maximum: a NaN wins. Source: "CDNA4 ISA", V_MINIMUM3_F32.
template <bool kMax>
constexpr auto nan_wins3 = [](float a, float b, float c) { return extreme_nan<kMax>(extreme_nan<kMax>(a, b), c); };
inline void middle(Wave& w, const Inst& in) {
  constexpr auto ieee = [](float a, float b, float c) { return median<true>(a, b, c); };
  constexpr auto other = [](float a, float b, float c) { return median<false>(a, b, c); };
  if (w.mode.ieee) lanewise<ieee, 0, F32, F32, F32, F32>(w, in);
  else lanewise<other, 0, F32, F32, F32, F32>(w, in);
}

constexpr unsigned kArithmetic = kRounds | kSettles;

// D = S0 * K + S1, or S0 * S1 + K with the literal K.
template <auto f, unsigned Traits, bool kAddendK>
void with_literal(Wave& w, const Inst& in) {
  if (!untouched<true, 0>(w, in)) [[unlikely]] {
    Inst full = in;
    full.src[2] = in.src[1];
    Operand& k = full.src[kAddendK ? 2 : 1];
    k = Operand{};
    k.kind = OperandKind::constant;
    k.type = Type::f32;
    k.constant = in.literal;
    return lanewise<f, Traits, F32, F32, F32, F32>(w, full);
  }
  const uint64_t mask = w.exec();
  if (mask == 0) return;
  Scratch store[3];
  Source src[3];
  src[0] = fetch<F32, 0>(w, in, 0, store[0]);
  src[kAddendK ? 1 : 2] = fetch<F32, 0>(w, in, 1, store[1]);
  spread(store[2].lo.lane, in.literal, w);
  src[kAddendK ? 2 : 1] = {store[2].lo.lane, nullptr};
  Target_<F32, 0> out(w, in, mask);
  compute<f, Traits, F32, F32, F32, F32>(w, out.dest, src, std::make_index_sequence<3>{});
  out.finish(w, in, mask);
}

constexpr Format v1 = Format::vop1, v2 = Format::vop2, v3 = Format::vop3, vd = Format::vopd;
constexpr TargetSet k90a = bit(Target::gfx90a);
constexpr Type f = Type::f32, n = Type::none;

constexpr Row own2(Names names, Format format, uint16_t op9, uint16_t op11, Handler h, TargetSet targets = kAllTargets) {
  return row_own(names, format, op9, op11, targets, f, f, f, n, h, kFloatMods);
}
constexpr Row own3(Names names, uint16_t op9, uint16_t op11, Handler h, TargetSet targets = kAllTargets) {
  return row_own(names, v3, op9, op11, targets, f, f, f, f, h, kFloatMods);
}
constexpr Row literal(Names names, Format format, uint16_t op9, uint16_t op11, TargetSet targets, Handler h) {
  return row_own(names, format, op9, op11, targets, f, f, f, n, h, kLiteralK);
}

constexpr Row kRows[] = {
    row<fract, 0, F32, F32>({"v_fract_f32"}, v1, 0x1b, 0x20),
    row<trunc_, 0, F32, F32>({"v_trunc_f32"}, v1, 0x1c, 0x21),
    row<ceil_, 0, F32, F32>({"v_ceil_f32"}, v1, 0x1d, 0x22),
    row<rndne, 0, F32, F32>({"v_rndne_f32"}, v1, 0x1e, 0x23),
    row<floor_, 0, F32, F32>({"v_floor_f32"}, v1, 0x1f, 0x24),
    row<exp_, 0, F32, F32>({"v_exp_f32"}, v1, 0x20, 0x25, kAllTargets, kApproximate),
    row<log_, 0, F32, F32>({"v_log_f32"}, v1, 0x21, 0x27, kAllTargets, kApproximate),
    row<exp_, 0, F32, F32>({"v_exp_legacy_f32"}, v1, 0x4b, kNo, kGfx9, kApproximate),
    row<log_, 0, F32, F32>({"v_log_legacy_f32"}, v1, 0x4c, kNo, kGfx9, kApproximate),
    row<rcp, 0, F32, F32>({"v_rcp_f32"}, v1, 0x22, 0x2a, kAllTargets, kApproximate),
    row<rcp, 0, F32, F32>({"v_rcp_iflag_f32"}, v1, 0x23, 0x2b, kAllTargets, kApproximate),
    row<rsq, 0, F32, F32>({"v_rsq_f32"}, v1, 0x24, 0x2e, kAllTargets, kApproximate),
    row<sqrt_, 0, F32, F32>({"v_sqrt_f32"}, v1, 0x27, 0x33, kAllTargets, kApproximate),
    row<sin_, 0, F32, F32>({"v_sin_f32"}, v1, 0x29, 0x35, kAllTargets, kApproximate),
    row<cos_, 0, F32, F32>({"v_cos_f32"}, v1, 0x2a, 0x36, kAllTargets, kApproximate),
    row<frexp_exp, 0, I32, F32>({"v_frexp_exp_i32_f32"}, v1, 0x33, 0x3f),
    row<frexp_mant, 0, F32, F32>({"v_frexp_mant_f32"}, v1, 0x34, 0x40),

    row<add, kArithmetic, F32, F32, F32>({"v_add_f32"}, v2, 0x01, 0x03),
    row<sub, kArithmetic, F32, F32, F32>({"v_sub_f32"}, v2, 0x02, 0x04),
    row<subrev, kArithmetic, F32, F32, F32>({"v_subrev_f32"}, v2, 0x03, 0x05),
    row<mul, kArithmetic, F32, F32, F32>({"v_mul_f32"}, v2, 0x05, 0x08),
    row<mul_legacy, kRounds, F32, F32, F32>({"v_mul_legacy_f32"}, v3, 0x2a1, kNo, kGfx9),
    row<mul_legacy, kRounds, F32, F32, F32>({"v_mul_dx9_zero_f32"}, v2, kNo, 0x07, kRdna),
    own2({"v_min_f32"}, v2, 0x0a, 0x0f, &two<false>),
    own2({"v_max_f32"}, v2, 0x0b, 0x10, &two<true>),
    row_acc<mad, kRounds, F32, F32, F32>({"v_mac_f32"}, v2, 0x16, kNo, k90a),
    literal({"v_madmk_f32"}, v2, 0x17, kNo, k90a, &with_literal<mad, kRounds, false>),
    literal({"v_madak_f32"}, v2, 0x18, kNo, k90a, &with_literal<mad, kRounds, true>),
    literal({"v_fmamk_f32"}, v2, 0x17, 0x2c, kGfx940 | kRdna, &with_literal<fma, kArithmetic, false>),
    literal({"v_fmaak_f32"}, v2, 0x18, 0x2d, kGfx940 | kRdna, &with_literal<fma, kArithmetic, true>),
    row_acc<fma, kArithmetic, F32, F32, F32>({"v_fmac_f32"}, v2, 0x3b, 0x2b),
    row_acc<fma_legacy, kRounds, F32, F32, F32>({"v_fmac_dx9_zero_f32"}, v2, kNo, 0x06, kGfx11),

    row<mad_legacy, kRounds, F32, F32, F32, F32>({"v_mad_legacy_f32"}, v3, 0x1c0, kNo, k90a),
    row<mad, kRounds, F32, F32, F32, F32>({"v_mad_f32"}, v3, 0x1c1, kNo, k90a),
    row<fma, kArithmetic, F32, F32, F32, F32>({"v_fma_f32"}, v3, 0x1cb, 0x213),
    row<fma_legacy, kRounds, F32, F32, F32, F32>({"v_fma_dx9_zero_f32"}, v3, kNo, 0x209, kRdna),
    row<cube_id, 0, F32, F32, F32, F32>({"v_cubeid_f32"}, v3, 0x1c4, 0x20c),
    row<cube_sc, 0, F32, F32, F32, F32>({"v_cubesc_f32"}, v3, 0x1c5, 0x20d),
    row<cube_tc, 0, F32, F32, F32, F32>({"v_cubetc_f32"}, v3, 0x1c6, 0x20e),
    row<cube_ma, 0, F32, F32, F32, F32>({"v_cubema_f32"}, v3, 0x1c7, 0x20f),
    own3({"v_min3_f32"}, 0x1d0, 0x219, &three<false, false>),
    own3({"v_max3_f32"}, 0x1d3, 0x21c, &three<true, true>),
    own3({"v_med3_f32"}, 0x1d6, 0x21f, &middle),
    own3({"v_maxmin_f32"}, kNo, 0x25e, &three<true, false>, kRdna),
    own3({"v_minmax_f32"}, kNo, 0x25f, &three<false, true>, kRdna),
    row<nan_wins3<false>, 0, F32, F32, F32, F32>({"v_minimum3_f32"}, v3, 0x2a8, kNo, kGfx950),
    row<nan_wins3<true>, 0, F32, F32, F32, F32>({"v_maximum3_f32"}, v3, 0x2a9, kNo, kGfx950),
    row<ldexp_, kRounds, F32, F32, I32>({"v_ldexp_f32"}, v3, 0x288, 0x31c),

    row_acc<fma, kArithmetic, F32, F32, F32>({"v_dual_fmac_f32"}, vd, kNo, 0, kRdna),
    literal({"v_dual_fmaak_f32"}, vd, kNo, 1, kRdna, &with_literal<fma, kArithmetic, true>),
    literal({"v_dual_fmamk_f32"}, vd, kNo, 2, kRdna, &with_literal<fma, kArithmetic, false>),
    row<mul, kArithmetic, F32, F32, F32>({"v_dual_mul_f32"}, vd, kNo, 3, kRdna),
    row<add, kArithmetic, F32, F32, F32>({"v_dual_add_f32"}, vd, kNo, 4, kRdna),
    row<sub, kArithmetic, F32, F32, F32>({"v_dual_sub_f32"}, vd, kNo, 5, kRdna),
    row<subrev, kArithmetic, F32, F32, F32>({"v_dual_subrev_f32"}, vd, kNo, 6, kRdna),
    row<mul_legacy, kRounds, F32, F32, F32>({"v_dual_mul_dx9_zero_f32"}, vd, kNo, 7, kRdna),
    own2({"v_dual_max_f32"}, vd, kNo, 10, &two<true>, kGfx11),
    own2({"v_dual_min_f32"}, vd, kNo, 11, &two<false>, kGfx11),
};

}  // namespace float32_ops

std::span<const Row> float32_rows() { return float32_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
