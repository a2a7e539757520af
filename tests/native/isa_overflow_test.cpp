// MODE.FP16_OVFL: halves and 8-bit floats that overflow become the largest number; infinities of the sources stay.
#include <gtest/gtest.h>

#include "valu_machine.hpp"
#include "vgpu/isa/valu/overflow.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

constexpr Target kTargets[] = {Target::gfx90a, Target::gfx942, Target::gfx950, Target::gfx1100, Target::gfx1201};
constexpr std::uint32_t kMax = 0x7bff, kInfinity = 0x7c00, kNegative = 0x8000;
constexpr std::uint32_t k60000 = 0x7b53, kTwo = 0x4000, kOne = 0x3c00;

// v1 of lane 0 after the instruction, with the mode bit or without; v1 is 0xaaaabbbb before unless `before` says otherwise.
std::uint32_t result(Target target, const char* mnemonic, std::initializer_list<std::uint32_t> sources, bool saturate,
                     const std::function<void(Inst&)>& change = {}, std::uint32_t before = 0xaaaabbbb) {
  Machine m(target);
  m.set(1, before);
  unsigned r = 10;
  for (const std::uint32_t value : sources) m.set(r++, value);
  if (saturate) m.wave.mode.other = kFp16Overflow;
  const Operand regs[] = {v(10), v(11), v(12)};
  Inst in = sources.size() == 1 ? m.build(mnemonic, v(1), {regs[0]})
            : sources.size() == 2 ? m.build(mnemonic, v(1), {regs[0], regs[1]})
                                  : m.build(mnemonic, v(1), {regs[0], regs[1], regs[2]});
  if (change) change(in);
  EXPECT_EQ(vet_valu(in, target), nullptr) << mnemonic;
  execute_saturating(m.wave, in);
  return m.reg(1);
}
std::uint32_t low(Target t, const char* mnemonic, std::initializer_list<std::uint32_t> sources, std::uint32_t before = 0) {
  return result(t, mnemonic, sources, true, {}, before) & 0xffff;
}

TEST(Overflow, SingleHalves) {
  for (const Target t : kTargets) {
    EXPECT_EQ(low(t, "v_add_f16", {k60000, k60000}), kMax);
    EXPECT_EQ(low(t, "v_sub_f16", {k60000 | kNegative, k60000}), kMax | kNegative);
    EXPECT_EQ(low(t, "v_add_f16", {kInfinity, kOne}), kInfinity) << "a true infinity";
    EXPECT_EQ(low(t, "v_mul_f16", {kInfinity | kNegative, kTwo}), kInfinity | kNegative);
    EXPECT_EQ(low(t, "v_add_f16", {kOne, kOne}), kTwo);
    EXPECT_EQ(low(t, "v_fma_f16", {k60000, kTwo, kOne}), kMax);
    EXPECT_EQ(low(t, "v_fma_f16", {k60000, kTwo, kInfinity | kNegative}), kInfinity | kNegative);
    EXPECT_EQ(low(t, "v_cvt_f16_f32", {f32(1e6f)}), kMax);
    EXPECT_EQ(low(t, "v_cvt_f16_f32", {f32(-1e6f)}), kMax | kNegative);
    EXPECT_EQ(low(t, "v_cvt_f16_f32", {0x7f800000}), kInfinity);
    EXPECT_EQ(low(t, "v_cvt_f16_u16", {0xffff}), kMax);
    EXPECT_EQ(low(t, "v_exp_f16", {0x4d00}), kMax) << "2 to the 20";
    EXPECT_GT(low(t, "v_add_f16", {0x7e00, kOne}), kInfinity) << "a NaN stays one";
  }
  const char* accumulate = "v_fmac_f16";
  EXPECT_EQ(low(Target::gfx1100, accumulate, {k60000, kTwo}, kOne), kMax);
  EXPECT_EQ(low(Target::gfx1100, accumulate, {k60000, kTwo}, kInfinity), kInfinity) << "the destination is a source";
  EXPECT_EQ(low(Target::gfx942, "v_mac_f16", {k60000, kTwo}, kOne), kMax);
}

TEST(Overflow, ScalarHalves) {
  const auto scalar = [](std::uint32_t source) {
    Machine m(Target::gfx1201);
    m.wave.mode.other = kFp16Overflow;
    m.set(5, kInfinity);
    m.wave.s[10] = source;
    const Inst in = m.build("v_s_exp_f16", s(5), {s(10)});
    execute_saturating(m.wave, in);
    EXPECT_EQ(m.reg(5), kInfinity) << "the vector register of that number is not touched";
    return m.wave.s[5];
  };
  EXPECT_EQ(scalar(0x4d00), kMax) << "2 to the 20";
  EXPECT_EQ(scalar(kInfinity), kInfinity) << "a true infinity";
  EXPECT_EQ(scalar(kOne), kTwo);
}

TEST(Overflow, TheHalfThatIsWritten) {
  const auto high = [](Inst& i) { i.op_sel = 8; };
  EXPECT_EQ(result(Target::gfx1100, "v_fma_f16", {k60000, kTwo, kOne}, true, high, 0x12347c00), kMax << 16 | kInfinity);
  EXPECT_EQ(result(Target::gfx942, "v_fma_f16", {k60000, kTwo, kOne}, true, high, 0x12347c00), kMax << 16 | kInfinity);
}

TEST(Overflow, LanesThatAreNotWritten) {
  Machine m(Target::gfx942);
  m.wave.mode.other = kFp16Overflow;
  m.set(1, kInfinity);
  m.set(10, k60000);
  m.wave.set_exec(2);
  Inst in = m.build("v_add_f16", v(1), {v(10), v(10)});
  ASSERT_EQ(vet_valu(in, Target::gfx942), nullptr);
  execute_saturating(m.wave, in);
  EXPECT_EQ(m.reg(1, 0), kInfinity);
  EXPECT_EQ(m.reg(1, 1), kMax);
}

TEST(Overflow, PackedHalves) {
  for (const Target t : kTargets) {
    // Low: an infinity of the first source; high: an overflow.
    EXPECT_EQ(result(t, "v_pk_mul_f16", {k60000 << 16 | kInfinity, kTwo << 16 | kTwo}, true), kMax << 16 | kInfinity);
    EXPECT_EQ(result(t, "v_pk_fma_f16", {k60000 << 16 | kOne, kTwo << 16 | kOne, kOne << 16 | kOne}, true), kMax << 16 | kTwo);
    // op_sel takes the other half of the first source: no infinity is looked at.
    EXPECT_EQ(result(t, "v_pk_mul_f16", {k60000 << 16 | kInfinity, kTwo << 16 | kTwo}, true, [](Inst& i) { i.op_sel = 1; }), kMax << 16 | kMax);
    EXPECT_EQ(result(t, "v_pk_fmac_f16", {k60000 << 16 | k60000, kTwo << 16 | kTwo}, true, {}, kInfinity << 16), kInfinity << 16 | kMax);
  }
}

TEST(Overflow, MixedPrecision) {
  for (const Target t : kTargets) {
    const auto floats = [](Inst& i) { i.op_sel_hi = 0; };
    EXPECT_EQ(result(t, "v_fma_mixlo_f16", {f32(1e5f), f32(2.0f), f32(1.0f)}, true, floats, 0x12340000), 0x12340000 | kMax);
    EXPECT_EQ(result(t, "v_fma_mixhi_f16", {f32(1e5f), f32(-2.0f), f32(1.0f)}, true, floats, kInfinity), (kMax | kNegative) << 16 | kInfinity);
    EXPECT_EQ(result(t, "v_fma_mixlo_f16", {0x7f800000, f32(2.0f), f32(1.0f)}, true, floats, 0), kInfinity);
    EXPECT_EQ(result(t, "v_fma_mixlo_f16", {f32(1e5f), f32(2.0f), kInfinity}, true, [](Inst& i) { i.op_sel_hi = 4; }, 0), kInfinity);
  }
}

TEST(Overflow, EightBitFloats) {
  const Target t = Target::gfx942;
  EXPECT_EQ(result(t, "v_cvt_pk_fp8_f32", {f32(1000.0f), f32(-1000.0f)}, true), 0xaaaaff7f);
  EXPECT_EQ(result(t, "v_cvt_pk_bf8_f32", {f32(1.0f), f32(-1e9f)}, true, [](Inst& i) { i.op_sel = 8; }), 0xff40bbbb);
  EXPECT_EQ(result(t, "v_cvt_pk_fp8_f32", {0x7f800000, f32(1.0f)}, true), 0xaaaa4080) << "an infinity is not a number there";
  EXPECT_EQ(result(t, "v_cvt_sr_fp8_f32", {f32(-1000.0f), 0}, true, [](Inst& i) { i.op_sel = 8; }), 0xaaffbbbb);
}

TEST(Overflow, EightBitFloatsOfOcp) {
  for (const Target t : {Target::gfx950, Target::gfx1201}) {
    EXPECT_EQ(result(t, "v_cvt_pk_fp8_f32", {f32(1000.0f), f32(-1000.0f)}, true), 0xaaaafe7e);
    EXPECT_EQ(result(t, "v_cvt_pk_bf8_f32", {f32(1.0f), f32(-1e9f)}, true, [](Inst& i) { i.op_sel = 8; }), 0xfb3cbbbb);
    EXPECT_EQ(result(t, "v_cvt_pk_bf8_f32", {0x7f800000, f32(1.0f)}, true), 0xaaaa3c7cu) << "a true infinity";
    EXPECT_EQ(result(t, "v_cvt_sr_fp8_f32", {f32(-1000.0f), 0}, true, [](Inst& i) { i.op_sel = 8; }), 0xaafebbbb);
  }
}

TEST(Overflow, ConversionsWithoutARule) {
  Machine m(Target::gfx950);
  m.wave.mode.other = kFp16Overflow;
  Inst in = m.build("v_cvt_scalef32_pk_fp8_f32", v(1), {v(10), v(11), v(12)});
  execute_saturating(m.wave, in);
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
}

TEST(Overflow, WhatHasNoHalves) {
  Machine m(Target::gfx942);
  m.wave.mode.other = kFp16Overflow;
  m.set(10, 0x7c00);
  Inst in = m.build("v_mov_b32", v(1), {v(10)});
  ASSERT_EQ(vet_valu(in, Target::gfx942), nullptr);
  execute_saturating(m.wave, in);
  EXPECT_EQ(m.reg(1), 0x7c00u);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
