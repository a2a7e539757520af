// f64 arithmetic of VOP1, VOP2 and VOP3. Source: "CDNA3 ISA" and "RDNA3 ISA", chapter Instructions.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace float64_ops {

constexpr auto add = [](double a, double b) { return settle(a + b, a, b); };
constexpr auto mul = [](double a, double b) { return settle(a * b, a, b); };
constexpr auto fma = [](double a, double b, double c) { return settle(fused(a, b, c), a, b, c); };
constexpr auto floor_ = [](double a) { return choose(is_nan(a), quiet(a), round_down(a)); };
constexpr auto ceil_ = [](double a) { return choose(is_nan(a), quiet(a), round_up(a)); };
constexpr auto trunc_ = [](double a) { return choose(is_nan(a), quiet(a), round_to_zero(a)); };
constexpr auto rndne = [](double a) { return choose(is_nan(a), quiet(a), round_even(a)); };
constexpr auto fract = [](double a) { return fraction(a); };
constexpr auto frexp_exp = [](double a) { return static_cast<int32_t>(frexp_exponent(a)); };
constexpr auto frexp_mant = [](double a) { return frexp_mantissa(a); };
constexpr auto ldexp_ = [](double a, int32_t e) { return is_nan(a) ? quiet(a) : scale(a, e); };
constexpr auto rcp = [](double a) { return reciprocal(a); };
constexpr auto rsq = [](double a) { return reciprocal_root(a); };
constexpr auto sqrt_ = [](double a) { return square_root(a); };

template <bool kMax>
void two(Wave& w, const Inst& in) {
  constexpr auto ieee = [](double a, double b) { return extreme<kMax, true>(a, b); };
  constexpr auto other = [](double a, double b) { return extreme<kMax, false>(a, b); };
  if (w.mode.ieee) lanewise<ieee, 0, F64, F64, F64>(w, in);
  else lanewise<other, 0, F64, F64, F64>(w, in);
}

// The first 1201 fractional bits of 2/pi, most significant first, in words of 32.
constexpr uint32_t kTwoOverPi[38] = {
    0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u, 0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u,
    0xb7246e3au, 0x424dd2e0u, 0x06492eeau, 0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u,
    0xe99c7026u, 0xb45f7e41u, 0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu,
    0xef2f118bu, 0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
    0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu,
};

// 53 bits of 2/pi from a position that S1 and the exponent of S0 choose. Source: "CDNA3 ISA" V_TRIG_PREOP_F64.
constexpr auto trig_preop = [](double a, uint32_t segment) {
  const int e = biased_exponent(a);
  const int shift = static_cast<int>(segment & 31) * 53 + (e > 1077 ? e - 1077 : 0);
  uint64_t r = 0;
  for (int i = shift; i < shift + 53; ++i) {
    const uint32_t bit_value = i < 1201 ? kTwoOverPi[i / 32] >> (31 - i % 32) & 1u : 0u;
    r = r << 1 | bit_value;
  }
  return scale(static_cast<double>(r), -53 - shift + (e >= 1968 ? 128 : 0));
};

constexpr Format v1 = Format::vop1, v2 = Format::vop2, v3 = Format::vop3;
constexpr Type d = Type::f64, n = Type::none;

constexpr Row kRows[] = {
    row<trunc_, 0, F64, F64>({"v_trunc_f64"}, v1, 0x17, 0x17),
    row<ceil_, 0, F64, F64>({"v_ceil_f64"}, v1, 0x18, 0x18),
    row<rndne, 0, F64, F64>({"v_rndne_f64"}, v1, 0x19, 0x19),
    row<floor_, 0, F64, F64>({"v_floor_f64"}, v1, 0x1a, 0x1a),
    row<rcp, 0, F64, F64>({"v_rcp_f64"}, v1, 0x25, 0x2f, kAllTargets, kApproximate),
    row<rsq, 0, F64, F64>({"v_rsq_f64"}, v1, 0x26, 0x31, kAllTargets, kApproximate),
    row<sqrt_, 0, F64, F64>({"v_sqrt_f64"}, v1, 0x28, 0x34, kAllTargets, kApproximate),
    row<frexp_exp, 0, I32, F64>({"v_frexp_exp_i32_f64"}, v1, 0x30, 0x3c),
    row<frexp_mant, 0, F64, F64>({"v_frexp_mant_f64"}, v1, 0x31, 0x3d),
    row<fract, 0, F64, F64>({"v_fract_f64"}, v1, 0x32, 0x3e),
    row_acc<fma, kRounds, F64, F64, F64>({"v_fmac_f64"}, v2, 0x04, kNo, kGfx9),
    row<fma, kRounds, F64, F64, F64, F64>({"v_fma_f64"}, v3, 0x1cc, 0x214),
    row<add, kRounds, F64, F64, F64>({"v_add_f64"}, v3, 0x280, 0x327),
    row<mul, kRounds, F64, F64, F64>({"v_mul_f64"}, v3, 0x281, 0x328),
    row<add, kRounds, F64, F64, F64>({"v_add_f64"}, v2, kNo, 0x02, kGfx12),
    row<mul, kRounds, F64, F64, F64>({"v_mul_f64"}, v2, kNo, 0x06, kGfx12),
    row_own({"v_min_f64"}, v3, 0x282, 0x329, kAllTargets, d, d, d, n, &two<false>, kFloatMods),
    row_own({"v_max_f64"}, v3, 0x283, 0x32a, kAllTargets, d, d, d, n, &two<true>, kFloatMods),
    row<ldexp_, kRounds, F64, F64, I32>({"v_ldexp_f64"}, v3, 0x284, 0x32b),
    row<trig_preop, 0, F64, F64, U32>({"v_trig_preop_f64"}, v3, 0x292, 0x32f),
};

}  // namespace float64_ops

std::span<const Row> float64_rows() { return float64_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
