// Floating-point VALU operations: NaN, signed zeros, denormal and rounding modes, conversions, division sequences.
#include <cmath>
#include <limits>
#include <random>

#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr std::uint32_t kNan = 0x7fc00000u, kSignaling = 0x7f800001u;

TEST(ValuFloat, Arithmetic) {
  Machine m;
  EXPECT_EQ(m.opf("v_add_f32", {1.5f, 2.25f}), 3.75f);
  EXPECT_EQ(m.opf("v_subrev_f32", {1.0f, 5.0f}), 4.0f);
  EXPECT_EQ(m.op("v_add_f32", {f32(kInf), f32(-kInf)}), kNan);  // positive, unlike the host
  EXPECT_EQ(m.op("v_mul_f32", {f32(0.0f), f32(kInf)}), kNan);
  EXPECT_EQ(m.op("v_add_f32", {kSignaling, f32(1.0f)}), 0x7fc00001u);
  EXPECT_EQ(m.op("v_add_f32", {f32(1.0f), 0xffc00000u}), 0xffc00000u);  // a given NaN keeps its sign
  EXPECT_EQ(m.op("v_mul_f32", {0x00000001u, f32(0.5f)}), 0u);           // ties to even
  EXPECT_EQ(m.op("v_mul_f32", {0x00000003u, f32(0.5f)}), 2u);           // denormal results stay
  EXPECT_EQ(m.opf("v_mul_legacy_f32", {0.0f, kInf}), 0.0f);
  // One rounding in fma, two in mad and none contracted.
  const float a = 1.0f + 0x1p-12f;
  EXPECT_EQ(m.opf("v_fma_f32", {a, a, -1.0f}), std::fmaf(a, a, -1.0f));
  Machine g(Target::gfx90a);
  EXPECT_EQ(g.opf("v_mad_f32", {a, a, -1.0f}), 0x1p-11f);
  g.set(1, f32(2.0f));
  EXPECT_EQ(g.opf("v_mac_f32", {3.0f, 4.0f}), 14.0f);
  EXPECT_EQ(m.opd("v_fma_f64", {3.0, 4.0, 5.0}), 17.0);
  EXPECT_EQ(m.opd("v_add_f64", {1e300, -1e300}), 0.0);
  EXPECT_EQ(m.op64("v_mul_f64", {f64(0.0), f64(HUGE_VAL)}), 0x7ff8000000000000ull);
}

TEST(ValuFloat, ModifiersAndClamp) {
  Machine m;
  m.set(10, f32(-3.0f));
  m.set(11, f32(1.0f));
  m.run("v_add_f32", v(1), {v(10), v(11)}, [](Inst& i) { i.abs = 1; i.neg = 2; });
  EXPECT_EQ(as_float(m.reg(1, 40)), 2.0f);
  m.run("v_add_f32", v(1), {v(10), v(11)}, [](Inst& i) { i.clamp = true; });
  EXPECT_EQ(m.reg(1), 0u);
  m.set(10, kNan);
  m.run("v_add_f32", v(1), {v(10), v(11)}, [](Inst& i) { i.clamp = true; });
  EXPECT_EQ(m.reg(1), 0u);
  m.wave.mode.dx10_clamp = false;
  m.run("v_add_f32", v(1), {v(10), v(11)}, [](Inst& i) { i.clamp = true; });
  EXPECT_EQ(m.reg(1), kNan);
  m.run("v_and_b32", v(1), {v(10), v(11)}, [](Inst& i) { i.neg = 1; });
  EXPECT_NE(m.refused, nullptr);
  m.run("v_cndmask_b32", v(1), {k(f32(2.0f)), k(f32(3.0f)), k(0)}, [](Inst& i) { i.neg = 1; });
  EXPECT_EQ(as_float(m.reg(1)), -2.0f);
}

TEST(ValuFloat, DenormalModes) {
  Machine m;
  m.wave.mode.denorm32 = 0;
  EXPECT_EQ(m.op("v_add_f32", {0x80000001u, 0x80000000u}), 0x80000000u);
  EXPECT_EQ(m.op("v_mul_f32", {0x00800000u, f32(0.5f)}), 0u);
  EXPECT_EQ(m.op("v_fma_f32", {0x00800000u, f32(0.5f), 0x80000003u}), 0u);
  EXPECT_EQ(m.op("v_mov_b32", {3}), 3u);
  m.run("v_cmp_class_f32", Operand{}, {k(1), k(1 << 7)});
  EXPECT_EQ(m.wave.mask(kVccLo), ~0ull);
  m.wave.mode.denorm32 = 1;  // inputs kept, outputs flushed
  EXPECT_EQ(m.op("v_add_f32", {0x00400000u, 0x00400000u}), 0x00800000u);
  EXPECT_EQ(m.op("v_add_f32", {0x00000001u, 0u}), 0u);
  m.wave.mode.denorm32 = 3;
  m.wave.mode.denorm64_16 = 0;
  EXPECT_EQ(m.op64("v_add_f64", {1, 0}), 0u);
  EXPECT_EQ(m.op("v_cvt_f32_f16", {0x0001}), 0u);
  EXPECT_EQ(m.op("v_add_f32", {0x00000001u, 0u}), 1u);
}

TEST(ValuFloat, RoundingModes) {
  Machine m;
  const std::uint32_t one = f32(1.0f), tiny = f32(0x1p-30f);
  EXPECT_EQ(m.op("v_add_f32", {one, tiny}), one);
  m.wave.mode.round32 = 1;
  EXPECT_EQ(m.op("v_add_f32", {one, tiny}), one + 1);
  m.wave.mode.round32 = 3;
  EXPECT_EQ(m.op("v_sub_f32", {one, tiny}), one - 1);
  EXPECT_EQ(m.op64("v_add_f64", {f64(1.0), f64(0x1p-60)}), f64(1.0));
  EXPECT_EQ(m.opf("v_rndne_f32", {2.5f}), 2.0f);
  m.wave.mode.round64_16 = 1;
  EXPECT_EQ(m.op("v_cvt_f16_f32", {f32(1.0f + 0x1p-20f)}), 0x3c01u);
  m.wave.mode.round32 = 0;
  EXPECT_EQ(m.op("v_add_f32", {one, tiny}), one);
  EXPECT_EQ(1.0f + 0x1p-30f, 1.0f);  // the host's own mode came back
}

TEST(ValuFloat, MinMax) {
  Machine m;
  EXPECT_EQ(m.op("v_min_f32", {f32(0.0f), f32(-0.0f)}), 0x80000000u);
  EXPECT_EQ(m.op("v_max_f32", {f32(-0.0f), f32(0.0f)}), 0u);
  EXPECT_EQ(m.op("v_min_f32", {kNan, f32(1.0f)}), f32(1.0f));
  EXPECT_EQ(m.op("v_max_f32", {f32(1.0f), kNan}), f32(1.0f));
  EXPECT_EQ(m.op("v_max_f32", {f32(1.0f), kSignaling}), 0x7fc00001u);
  m.wave.mode.ieee = false;
  EXPECT_EQ(m.op("v_max_f32", {f32(1.0f), kSignaling}), f32(1.0f));
  EXPECT_EQ(m.opf("v_med3_f32", {5.0f, -1.0f, 3.0f}), 3.0f);
  EXPECT_EQ(m.op("v_med3_f32", {kNan, f32(2.0f), f32(1.0f)}), f32(1.0f));
  EXPECT_EQ(m.opf("v_max3_f32", {5.0f, -1.0f, 7.0f}), 7.0f);
  EXPECT_EQ(m.opd("v_min_f64", {2.0, -3.0}), -3.0);
}

TEST(ValuFloat, ComparisonsWithNan) {
  Machine m;
  const auto mask = [&](const char* name, std::uint32_t a, std::uint32_t b) {
    m.run(name, Operand{}, {k(a), k(b)});
    EXPECT_TRUE(m.wave.mask(kVccLo) == 0 || m.wave.mask(kVccLo) == ~0ull);
    return m.wave.mask(kVccLo) != 0;
  };
  EXPECT_FALSE(mask("v_cmp_eq_f32", kNan, kNan));
  EXPECT_TRUE(mask("v_cmp_neq_f32", kNan, kNan));
  EXPECT_FALSE(mask("v_cmp_lg_f32", kNan, f32(1)));
  EXPECT_TRUE(mask("v_cmp_nlg_f32", kNan, f32(1)));
  EXPECT_TRUE(mask("v_cmp_u_f32", kNan, f32(1)));
  EXPECT_FALSE(mask("v_cmp_o_f32", kNan, f32(1)));
  EXPECT_TRUE(mask("v_cmp_nlt_f32", f32(2), f32(1)));
  EXPECT_TRUE(mask("v_cmp_eq_f32", 0x80000000u, 0u));
  EXPECT_TRUE(mask("v_cmp_ge_f32", f32(2), f32(2)));
  for (auto [bits, expected] : {std::pair{kSignaling, 0u}, {kNan, 1u}, {0xff800000u, 2u}, {f32(-1), 3u}, {0x80000001u, 4u},
                                {0x80000000u, 5u}, {0u, 6u}, {1u, 7u}, {f32(1), 8u}, {0x7f800000u, 9u}}) {
    EXPECT_TRUE(mask("v_cmp_class_f32", bits, 1u << expected)) << bits;
    EXPECT_FALSE(mask("v_cmp_class_f32", bits, 0x3ffu & ~(1u << expected))) << bits;
  }
}

TEST(ValuFloat, RoundingFunctions) {
  Machine m;
  EXPECT_EQ(m.opf("v_floor_f32", {-1.5f}), -2.0f);
  EXPECT_EQ(m.op("v_ceil_f32", {f32(-0.5f)}), 0x80000000u);
  EXPECT_EQ(m.opf("v_trunc_f32", {-1.5f}), -1.0f);
  EXPECT_EQ(m.opf("v_rndne_f32", {3.5f}), 4.0f);
  EXPECT_EQ(m.opf("v_fract_f32", {-0.25f}), 0.75f);
  EXPECT_EQ(m.op("v_fract_f32", {f32(-1e-10f)}), 0x3f7fffffu);
  EXPECT_EQ(m.opd("v_floor_f64", {-1.5}), -2.0);
  EXPECT_EQ(m.op("v_frexp_exp_i32_f32", {f32(8.0f)}), 4u);
  EXPECT_EQ(m.op("v_frexp_exp_i32_f32", {1}), static_cast<std::uint32_t>(-148));
  EXPECT_EQ(m.op("v_frexp_exp_i32_f32", {f32(kInf)}), 0u);
  EXPECT_EQ(m.opf("v_frexp_mant_f32", {-12.0f}), -0.75f);
  EXPECT_EQ(m.opf("v_frexp_mant_f32", {0x1p-149f}), 0.5f);
  EXPECT_EQ(m.op("v_ldexp_f32", {f32(1.0f), static_cast<std::uint32_t>(-149)}), 1u);
  EXPECT_EQ(m.op("v_ldexp_f32", {f32(1.5f), static_cast<std::uint32_t>(-149)}), 2u);
  EXPECT_EQ(m.op("v_ldexp_f32", {f32(1.0f), 1000}), f32(kInf));
}

TEST(ValuFloat, Conversions) {
  Machine m;
  EXPECT_EQ(m.op("v_cvt_i32_f32", {f32(3e9f)}), 0x7fffffffu);
  EXPECT_EQ(m.op("v_cvt_i32_f32", {f32(-3e9f)}), 0x80000000u);
  EXPECT_EQ(m.op("v_cvt_i32_f32", {kNan}), 0u);
  EXPECT_EQ(m.op("v_cvt_i32_f32", {f32(-1.9f)}), 0xffffffffu);
  EXPECT_EQ(m.op("v_cvt_u32_f32", {f32(4e9f)}), 4000000000u);
  EXPECT_EQ(m.op("v_cvt_u32_f32", {f32(-1.0f)}), 0u);
  EXPECT_EQ(m.op("v_cvt_u32_f32", {f32(5e9f)}), 0xffffffffu);
  EXPECT_EQ(m.op("v_cvt_u32_f32", {kNan}), 0u);
  EXPECT_EQ(m.op("v_cvt_f32_u32", {0xffffffffu}), f32(4294967296.0f));
  EXPECT_EQ(m.op("v_cvt_f32_i32", {0xffffffffu}), f32(-1.0f));
  EXPECT_EQ(m.op("v_cvt_f32_ubyte2", {0x00ab0000u}), f32(171.0f));
  EXPECT_EQ(m.op("v_cvt_f16_f32", {f32(65520.0f)}), 0x7c00u);
  EXPECT_EQ(m.op("v_cvt_f16_f32", {f32(0x1p-24f)}), 1u);
  EXPECT_EQ(m.op("v_cvt_f16_f32", {f32(0x1.8p-24f)}), 2u);
  EXPECT_EQ(m.op("v_cvt_f32_f16", {0xfc00}), f32(-kInf));
  EXPECT_EQ(m.op("v_cvt_pkrtz_f16_f32", {f32(1.0f + 0x1.8p-10f), f32(-1.0f - 0x1.8p-10f)}), 0xbc013c01u);
  m.set_wide(10, f64(-2.5));
  m.run("v_cvt_i32_f64", v(1), {v(10)});
  EXPECT_EQ(m.reg(1), 0xfffffffeu);
  m.set_wide(10, f64(1.0 + 0x1p-24));
  m.run("v_cvt_f32_f64", v(1), {v(10)});
  EXPECT_EQ(m.reg(1), f32(1.0f));
  m.run("v_cvt_f64_i32", v(2), {k(0xfffffffbu)});
  EXPECT_EQ(as_double(m.wide(2)), -5.0);
}

// Stochastic rounding: the byte that op_sel[3:2] names, modifiers of the number, results below the smallest normal one (where
// the seed's place is assumed), and what the format does not hold.
TEST(ValuFloat, StochasticRoundingToEightBits) {
  Machine m;
  for (unsigned byte = 0; byte < 4; ++byte) {
    m.set(1, 0xa1b2c3d4);
    const std::uint32_t mask = 0xffu << 8 * byte;
    const std::uint32_t value = m.op("v_cvt_sr_fp8_f32", {f32(1.0f), 0}, [&](Inst& i) { i.op_sel = static_cast<std::uint8_t>(byte << 2); });
    EXPECT_EQ(value, (0xa1b2c3d4 & ~mask) | 0x40u << 8 * byte);
  }
  const auto fp8 = [&](float v, std::uint32_t seed, const std::function<void(Inst&)>& change = {}) {
    return m.op("v_cvt_sr_fp8_f32", {f32(v), seed}, change) & 0xff;
  };
  const auto bf8 = [&](float v, std::uint32_t seed) { return m.op("v_cvt_sr_bf8_f32", {f32(v), seed}) & 0xff; };
  EXPECT_EQ(fp8(1.0f, 0, [](Inst& i) { i.neg = 1; }), 0xc0u);
  EXPECT_EQ(fp8(-1.0f, 0, [](Inst& i) { i.abs = 1; }), 0x40u);
  EXPECT_EQ(fp8(1.0625f, 0x7fffffff), 0x40u);  // half a step: the seed's top bit decides
  EXPECT_EQ(fp8(1.0625f, 0x80000000), 0x41u);
  EXPECT_EQ(bf8(1.125f, 0x7fffffff), 0x40u);
  EXPECT_EQ(bf8(1.125f, 0x80000000), 0x41u);
  EXPECT_EQ(fp8(0x1.8p-10f, 0), 0x01u);
  EXPECT_EQ(fp8(0x1.8p-10f, 0x80000000), 0x02u);
  EXPECT_EQ(fp8(0x1.8p-8f, 0x80000000), 0x06u);
  EXPECT_EQ(bf8(0x1.8p-17f, 0x80000000), 0x02u);
  EXPECT_EQ(fp8(-0x1p-60f, 0), 0x00u);  // no negative zero
  EXPECT_EQ(fp8(255.0f, 0), 0x7fu);
  EXPECT_EQ(fp8(255.0f, ~0u), 0x80u);
  EXPECT_EQ(fp8(std::numeric_limits<float>::infinity(), 0), 0x80u);
  EXPECT_EQ(bf8(std::numeric_limits<float>::quiet_NaN(), 0), 0x80u);
}

TEST(ValuFloat, EightBitFloats) {
  Machine m;
  EXPECT_EQ(m.op("v_cvt_f32_fp8", {0x40}), f32(1.0f));   // exponent 8, bias 8
  EXPECT_EQ(m.op("v_cvt_f32_fp8", {0x7f}), f32(240.0f));
  EXPECT_EQ(m.op("v_cvt_f32_fp8", {0x01}), f32(0x1p-10f));
  EXPECT_EQ(m.op("v_cvt_f32_fp8", {0x80}), kNan);
  EXPECT_EQ(m.op("v_cvt_f32_bf8", {0x40}), f32(1.0f));   // exponent 16, bias 16
  EXPECT_EQ(m.op("v_cvt_f32_bf8", {0x7f}), f32(57344.0f));
  m.set(1, 0xaaaabbbb);
  EXPECT_EQ(m.op("v_cvt_pk_fp8_f32", {f32(1.0f), f32(-240.0f)}), 0xaaaaff40u);
  EXPECT_EQ(m.op("v_cvt_pk_fp8_f32", {f32(1e6f), f32(-0.0f)}, [](Inst& i) { i.op_sel = 8; }), 0x0080ff40u);
  for (std::uint32_t code = 0; code < 256; ++code) {  // every code survives the round trip
    const std::uint32_t value = m.op("v_cvt_f32_fp8", {code});
    EXPECT_EQ(m.op("v_cvt_pk_fp8_f32", {value, value}) & 0xffffu, code | code << 8);
    const std::uint32_t wide = m.op("v_cvt_f32_bf8", {code});
    EXPECT_EQ(m.op("v_cvt_pk_bf8_f32", {wide, wide}) & 0xffffu, code | code << 8);
  }
  // Ties go to even: between 1 and 1.125.
  EXPECT_EQ(m.op("v_cvt_pk_fp8_f32", {f32(1.0625f), f32(1.1875f)}) & 0xffffu, 0x4240u);
}

TEST(ValuFloat, Halves) {
  Machine m;
  EXPECT_EQ(m.op("v_add_f16", {0x3c00, 0x4000}), 0x4200u);
  EXPECT_EQ(m.op("v_fma_f16", {0x3c01, 0x3c01, 0xbc02}) & 0xffffu, 0x0010u);  // 2^-20 exactly
  EXPECT_EQ(m.op("v_min_f16", {0x8000, 0x0000}), 0x8000u);
  EXPECT_EQ(m.op("v_rcp_f16", {0x4000}), 0x3800u);
  EXPECT_EQ(m.op("v_pk_add_f16", {0x3c004000, 0x3c003c00}), 0x40004200u);
  EXPECT_EQ(m.op("v_pk_mul_f16", {0x3c004000, 0x42003c00}, [](Inst& i) { i.neg = 1; i.neg_hi = 2; }), 0xc200c000u);
  EXPECT_EQ(m.op("v_pk_fma_f16", {0x3c004000, 0x3c003c00, 0x3c003c00}), 0x40004200u);
  EXPECT_EQ(m.op("v_pack_b32_f16", {0x11112222, 0x33334444}), 0x44442222u);
  m.set(1, 0xdead0000);
  EXPECT_EQ(m.op("v_fma_mixlo_f16", {f32(2.0f), 0x4200, f32(1.0f)}, [](Inst& i) { i.op_sel_hi = 2; }), 0xdead4700u);
  EXPECT_EQ(m.op("v_fma_mix_f32", {0x40000000, f32(3.0f), f32(1.0f)}, [](Inst& i) { i.op_sel = 1; i.op_sel_hi = 1; }),
            f32(7.0f));
  EXPECT_EQ(m.op("v_dot2c_f32_f16", {0, 0}), f32(7.0f));
  Machine n(Target::gfx1100);
  n.set(1, 0x55550000 | 0x3c00);
  EXPECT_EQ(n.op("v_fmac_f16", {0x4000, 0x4200}), 0x55554700u);
}

TEST(ValuFloat, PackedPairsChooseRegisters) {
  Machine m;
  for (unsigned r = 0; r < 6; ++r) m.set(10 + r, f32(static_cast<float>(r + 1)));
  m.run("v_pk_fma_f32", v(2), {v(10), v(12), v(14)});
  EXPECT_EQ(as_float(m.reg(2)), 1.0f * 3.0f + 5.0f);
  EXPECT_EQ(as_float(m.reg(3, 63)), 2.0f * 4.0f + 6.0f);
  m.run("v_pk_add_f32", v(2), {v(10), v(12)}, [](Inst& i) { i.op_sel = 1; i.op_sel_hi = 2; i.neg_hi = 1; });
  EXPECT_EQ(as_float(m.reg(2)), 2.0f + 3.0f);
  EXPECT_EQ(as_float(m.reg(3)), -1.0f + 4.0f);
  m.run("v_pk_mov_b32", v(11), {v(10), v(12)}, [](Inst& i) { i.op_sel = 2; });
  EXPECT_EQ(as_float(m.reg(11)), 1.0f);
  EXPECT_EQ(as_float(m.reg(12)), 4.0f);
}

// The sequences that LLVM emits for an IEEE division. Every result must be the correctly rounded quotient.
float divide(Machine& m, float n, float d) {
  m.set(20, f32(n));
  m.set(21, f32(d));
  m.run("v_div_scale_f32", v(22), {v(21), v(21), v(20)});
  m.run("v_div_scale_f32", v(23), {v(20), v(21), v(20)});
  m.run("v_rcp_f32", v(24), {v(22)});
  const auto minus = [](Inst& i) { i.neg = 1; };
  m.run("v_fma_f32", v(25), {v(22), v(24), k(f32(1.0f))}, minus);
  m.run("v_fma_f32", v(24), {v(25), v(24), v(24)});
  m.run("v_mul_f32", v(25), {v(23), v(24)});
  m.run("v_fma_f32", v(26), {v(22), v(25), v(23)}, minus);
  m.run("v_fma_f32", v(25), {v(26), v(24), v(25)});
  m.run("v_fma_f32", v(26), {v(22), v(25), v(23)}, minus);
  m.run("v_div_fmas_f32", v(24), {v(26), v(24), v(25)});
  m.run("v_div_fixup_f32", v(27), {v(24), v(21), v(20)});
  return as_float(m.reg(27));
}
double divide(Machine& m, double n, double d) {
  m.set_wide(20, f64(n));
  m.set_wide(22, f64(d));
  m.run("v_div_scale_f64", v(24), {v(22), v(22), v(20)});
  m.run("v_rcp_f64", v(26), {v(24)});
  const auto minus = [](Inst& i) { i.neg = 1; };
  for (int step = 0; step < 2; ++step) {
    m.run("v_fma_f64", v(28), {v(24), v(26), k(f64(1.0))}, minus);
    m.run("v_fma_f64", v(26), {v(26), v(28), v(26)});
  }
  m.run("v_div_scale_f64", v(30), {v(20), v(22), v(20)});
  m.run("v_mul_f64", v(32), {v(30), v(26)});
  m.run("v_fma_f64", v(34), {v(24), v(32), v(30)}, minus);
  m.run("v_div_fmas_f64", v(36), {v(34), v(26), v(32)});
  m.run("v_div_fixup_f64", v(38), {v(36), v(22), v(20)});
  return as_double(m.wide(38));
}

TEST(ValuFloat, DivisionIsCorrectlyRounded) {
  Machine m;
  std::mt19937 random(7);
  unsigned wrong = 0;
  const auto check = [&](float n, float d) {
    const float want = n / d, got = divide(m, n, d);
    if (std::isnan(want) ? !std::isnan(got) : f32(want) != f32(got)) {
      if (++wrong < 10) ADD_FAILURE() << std::hexfloat << n << " / " << d << " = " << got << ", want " << want;
    }
  };
  const std::uint32_t special[] = {0, 1, 2, 0x007fffff, 0x00800000, 0x00800001, 0x0b800000, 0x3effffff, 0x3f800000, 0x3f800001,
                                   0x7e800000, 0x7effffff, 0x7f000000, 0x7f7fffff, 0x7f800000, kNan, 0x80000000, 0xbf800000};
  for (std::uint32_t a : special)
    for (std::uint32_t b : special) check(as_float(a), as_float(b));
  for (int i = 0; i < 20000; ++i) check(as_float(static_cast<std::uint32_t>(random())), as_float(static_cast<std::uint32_t>(random())));
  for (int i = 0; i < 5000; ++i)  // quotients around the denormals
    check(as_float(random() % 0x04000000u), as_float(0x3f000000u + static_cast<std::uint32_t>(random() % 0x08000000u)));
  EXPECT_EQ(wrong, 0u);
}

TEST(ValuFloat, DoubleDivisionIsCorrectlyRounded) {
  Machine m;
  std::mt19937_64 random(7);
  unsigned wrong = 0;
  const auto check = [&](double n, double d) {
    const double want = n / d, got = divide(m, n, d);
    if (std::isnan(want) ? !std::isnan(got) : f64(want) != f64(got)) {
      if (++wrong < 10) ADD_FAILURE() << std::hexfloat << n << " / " << d << " = " << got << ", want " << want;
    }
  };
  const double special[] = {0.0, 0x1p-1074, 0x1p-1022, 0x1.8p-1022, 1.0, 3.0, 0x1p1022, 0x1.8p1022, 0x1.fffffffffffffp1023, HUGE_VAL, -1.0};
  for (double a : special)
    for (double b : special) check(a, b);
  for (int i = 0; i < 5000; ++i) check(as_double(random()), as_double(random()));
  for (int i = 0; i < 2000; ++i)  // quotients around the denormals
    check(as_double(random() % (1ull << 58)), as_double(0x3ff0000000000000ull + random() % (1ull << 58)));
  EXPECT_EQ(wrong, 0u);
}

// ULP distance to the exact value, from double arithmetic of the host's library.
double ulps(float got, double exact) {
  const float rounded = static_cast<float>(exact);
  const double step = std::max(std::ldexp(1.0, std::ilogb(rounded == 0.0f ? 0x1p-149f : rounded) - 23), 0x1p-149);
  return std::abs(static_cast<double>(got) - exact) / step;
}

TEST(ValuFloat, TranscendentalsStayWithinOneUlp) {
  Machine m;
  std::mt19937 random(3);
  std::uniform_real_distribution<float> wide_range(-120.0f, 120.0f), turns(-4.0f, 4.0f);
  for (int i = 0; i < 4000; ++i) {
    const float x = wide_range(random), y = std::exp2(wide_range(random)), t = turns(random);
    EXPECT_LT(ulps(m.opf("v_exp_f32", {x}), std::exp2(static_cast<double>(x))), 0.6) << x;
    if (y != 1.0f) {
      EXPECT_LT(ulps(m.opf("v_log_f32", {y}), std::log2(static_cast<double>(y))), 0.6) << y;
    }
    EXPECT_LT(ulps(m.opf("v_rcp_f32", {y}), 1.0 / static_cast<double>(y)), 0.6) << y;
    EXPECT_LT(ulps(m.opf("v_rsq_f32", {y}), 1.0 / std::sqrt(static_cast<double>(y))), 0.6) << y;
    EXPECT_LT(ulps(m.opf("v_sqrt_f32", {y}), std::sqrt(static_cast<double>(y))), 0.6) << y;
    EXPECT_NEAR(m.opf("v_sin_f32", {t}), std::sin(6.283185307179586 * static_cast<double>(t)), 1e-7) << t;
    EXPECT_NEAR(m.opf("v_cos_f32", {t}), std::cos(6.283185307179586 * static_cast<double>(t)), 1e-7) << t;
  }
  EXPECT_EQ(m.opf("v_exp_f32", {3.0f}), 8.0f);
  EXPECT_EQ(m.op("v_exp_f32", {f32(-kInf)}), 0u);
  EXPECT_EQ(m.op("v_log_f32", {f32(0.0f)}), f32(-kInf));
  EXPECT_EQ(m.op("v_log_f32", {f32(-1.0f)}), kNan);
  EXPECT_EQ(m.op("v_log_f32", {f32(1.0f)}), 0u);
  EXPECT_EQ(m.opf("v_log_f32", {0.125f}), -3.0f);
  EXPECT_EQ(m.op("v_rcp_f32", {f32(-0.0f)}), f32(-kInf));
  EXPECT_EQ(m.op("v_sin_f32", {f32(-0.0f)}), 0x80000000u);
  EXPECT_EQ(m.opf("v_sin_f32", {0.25f}), 1.0f);
  EXPECT_EQ(m.opf("v_cos_f32", {0.5f}), -1.0f);
  EXPECT_EQ(m.op("v_sin_f32", {f32(kInf)}), kNan);
}

TEST(ValuFloat, TrigPreop) {
  Machine m;
  m.set_wide(10, f64(1.0));
  m.run("v_trig_preop_f64", v(2), {v(10), k(0)});
  // The first 53 bits of 2/pi.
  EXPECT_DOUBLE_EQ(as_double(m.wide(2)), 0.63661977236758134308);
  m.run("v_trig_preop_f64", v(4), {v(10), k(1)});
  EXPECT_LT(as_double(m.wide(4)), 0x1p-53);
  EXPECT_GT(as_double(m.wide(4)), 0.0);
}

// Source: "CDNA3 ISA" and "RDNA3 ISA", output modifiers: not with IEEE mode or kept denormals, and no negative zero.
TEST(ValuFloat, OutputModifiers) {
  Machine m;
  const auto with = [](unsigned omod) { return [omod](Inst& i) { i.omod = static_cast<std::uint8_t>(omod); }; };
  EXPECT_EQ(m.op("v_add_f32", {f32(1.0f), f32(2.0f)}, with(1)), f32(3.0f));
  m.wave.mode.ieee = false;
  EXPECT_EQ(m.op("v_add_f32", {f32(1.0f), f32(2.0f)}, with(1)), f32(3.0f));
  m.wave.mode.denorm32 = m.wave.mode.denorm64_16 = 0;
  EXPECT_EQ(m.op("v_add_f32", {f32(1.0f), f32(2.0f)}, with(1)), f32(6.0f));
  EXPECT_EQ(m.op("v_add_f32", {f32(1.0f), f32(2.0f)}, with(2)), f32(12.0f));
  EXPECT_EQ(m.op("v_add_f32", {f32(1.0f), f32(2.0f)}, with(3)), f32(1.5f));
  EXPECT_EQ(m.op("v_mul_f32", {f32(-1.0f), f32(0.0f)}, with(1)), 0u);
  EXPECT_EQ(m.op("v_max_f32", {f32(0x1p-126f), f32(0x1p-126f)}, with(3)), 0u);
  EXPECT_EQ(m.op("v_add_f32", {f32(1.0f), f32(-0.25f)}, [](Inst& i) { i.omod = 1, i.clamp = true; }), f32(1.0f));
  EXPECT_EQ(m.op("v_add_f16", {0x3c00, 0x4000}, with(2)) & 0xffff, 0x4a00u);
  m.set_wide(10, f64(1.5));
  m.run("v_add_f64", v(2), {v(10), v(10)}, with(3));
  EXPECT_EQ(as_double(m.wide(2)), 1.5);
  m.run("v_add_u32", v(2), {v(10), v(10)}, with(1));
  EXPECT_NE(m.refused, nullptr);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
