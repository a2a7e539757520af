// What crosses lanes and registers: EXEC, partial waves, DPP, SDWA, lane reads and writes, VOPD pairs, AccVGPRs.
#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

std::uint32_t lane_number(unsigned l) { return l; }

TEST(ValuLanes, ExecDecidesWhoWrites) {
  Machine m;
  m.set(1, 7);
  m.wave.set_exec(0);
  m.run("v_mov_b32", v(1), {k(9)});
  EXPECT_EQ(m.reg(1, 0), 7u);
  m.wave.set_exec(1ull << 63 | 2);
  m.run("v_mov_b32", v(1), {k(9)});
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(m.reg(1, l), l == 1 || l == 63 ? 9u : 7u) << l;
  m.wave.s[20] = 0x1234;
  m.wave.set_exec(~0ull);
  m.run("v_add_u32", v(1), {s(20), v(1)});
  EXPECT_EQ(m.reg(1, 5), 0x123bu);
}

TEST(ValuLanes, Wave32LeavesTheUpperLanes) {
  Machine m(Target::gfx1100);
  m.set(1, 7);
  m.run("v_mov_b32", v(1), {k(9)});
  EXPECT_EQ(m.reg(1, 31), 9u);
  EXPECT_EQ(m.reg(1, 32), 7u);
}

TEST(ValuLanes, ReadAndWriteLane) {
  Machine m;
  m.set_lanes(10, lane_number);
  m.wave.set_exec(0xff00);
  m.run("v_readfirstlane_b32", s(5), {v(10)});
  EXPECT_EQ(m.wave.s[5], 8u);
  m.wave.set_exec(0);
  m.run("v_readfirstlane_b32", s(5), {v(10)});
  EXPECT_EQ(m.wave.s[5], 0u);
  m.wave.s[6] = 64 + 41;
  m.run("v_readlane_b32", s(5), {v(10), s(6)});
  EXPECT_EQ(m.wave.s[5], 41u);
  m.run("v_writelane_b32", v(10), {k(99), k(3)});
  EXPECT_EQ(m.reg(10, 3), 99u);
  EXPECT_EQ(m.reg(10, 4), 4u);
}

void dpp(Machine& m, std::uint16_t control, bool bound_ctrl = false, std::uint8_t row_mask = 15, std::uint8_t bank_mask = 15,
         bool fetch_inactive = false) {
  m.run("v_mov_b32", v(1), {v(10)}, [=](Inst& i) {
    i.dpp.kind = Dpp::Kind::dpp16;
    i.dpp.control = control;
    i.dpp.bound_ctrl = bound_ctrl;
    i.dpp.row_mask = row_mask;
    i.dpp.bank_mask = bank_mask;
    i.dpp.fetch_inactive = fetch_inactive;
  });
}

TEST(ValuLanes, DppMoves) {
  Machine m;
  m.set_lanes(10, lane_number);
  m.set(1, 1000);
  dpp(m, 0xb1);  // quad_perm:[1,0,3,2]
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(m.reg(1, l), l ^ 1);
  m.set(1, 1000);
  dpp(m, 0x111);  // row_shr:1
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(m.reg(1, l), l % 16 ? l - 1 : 1000u);
  dpp(m, 0x111, true);
  EXPECT_EQ(m.reg(1, 16), 0u);
  dpp(m, 0x102);  // row_shl:2
  EXPECT_EQ(m.reg(1, 13), 15u);
  EXPECT_EQ(m.reg(1, 16), 18u);
  dpp(m, 0x121);  // row_ror:1
  EXPECT_EQ(m.reg(1, 16), 31u);
  EXPECT_EQ(m.reg(1, 17), 16u);
  dpp(m, 0x140);  // row_mirror
  EXPECT_EQ(m.reg(1, 18), 29u);
  dpp(m, 0x141);  // row_half_mirror
  EXPECT_EQ(m.reg(1, 18), 21u);
  m.set(1, 1000);
  dpp(m, 0x142, false, 0xa);  // row_bcast:15 into rows 1 and 3
  EXPECT_EQ(m.reg(1, 0), 1000u);
  EXPECT_EQ(m.reg(1, 16), 15u);
  EXPECT_EQ(m.reg(1, 32), 1000u);
  EXPECT_EQ(m.reg(1, 63), 47u);
  dpp(m, 0x143, false, 0xc);  // row_bcast:31
  EXPECT_EQ(m.reg(1, 40), 31u);
  dpp(m, 0x138);  // wave_shr:1
  EXPECT_EQ(m.reg(1, 32), 31u);
  dpp(m, 0x13c);  // wave_ror:1
  EXPECT_EQ(m.reg(1, 0), 63u);
  m.set(1, 1000);
  dpp(m, 0xe4, false, 15, 2);  // identity, bank 1 only
  EXPECT_EQ(m.reg(1, 3), 1000u);
  EXPECT_EQ(m.reg(1, 4), 4u);
  dpp(m, 0x160);
  EXPECT_STREQ(m.refused, "unknown DPP control");  // row_xmask is gfx11's
}

TEST(ValuLanes, DppInactiveSources) {
  Machine m;
  m.set_lanes(10, lane_number);
  m.set(1, 1000);
  m.wave.set_exec(0xfffffffffffffffeull);
  dpp(m, 0x111);
  EXPECT_EQ(m.reg(1, 1), 1000u);
  dpp(m, 0x111, true);
  EXPECT_EQ(m.reg(1, 1), 0u);
  Machine n(Target::gfx1100);
  n.set_lanes(10, [](unsigned l) { return l + 5; });
  n.set(1, 1000);
  n.wave.set_exec(0xfffffffe);
  dpp(n, 0x111, false, 15, 15, true);
  EXPECT_EQ(n.reg(1, 1), 5u);
  dpp(n, 0x161);  // row_xmask:1
  EXPECT_EQ(n.reg(1, 3), 7u);
}

TEST(ValuLanes, Sdwa) {
  Machine m;
  m.set(10, 0x11f28344);
  m.set(11, 1);
  m.set(1, 0xaabbccdd);
  const auto form = [&](std::uint8_t dst, std::uint8_t unused, std::uint8_t src, bool sext) {
    m.run("v_add_u32", v(1), {v(10), v(11)}, [=](Inst& i) {
      i.sdwa.present = true;
      i.sdwa.dst_sel = dst;
      i.sdwa.dst_unused = unused;
      i.sdwa.src_sel[0] = src;
      i.sdwa.sext[0] = sext;
    });
    return m.reg(1, 50);
  };
  EXPECT_EQ(form(6, 0, 1, false), 0x84u);
  EXPECT_EQ(form(6, 0, 1, true), 0xffffff84u);
  EXPECT_EQ(form(6, 0, 5, false), 0x11f3u);
  m.set(1, 0xaabbccdd);
  EXPECT_EQ(form(5, 2, 4, false), 0x8345ccddu);
  EXPECT_EQ(form(1, 0, 0, false), 0x00004500u);
  EXPECT_EQ(form(1, 1, 1, false), 0xffff8400u);
}

TEST(ValuLanes, VopdReadsBeforeItWrites) {
  Machine m(Target::gfx1100);
  m.set(1, 10);
  m.set(2, 20);
  Inst x = m.build("v_dual_mov_b32", v(1), {v(2)}), y = m.build("v_dual_mov_b32", v(2), {v(1)});
  ASSERT_EQ(vet_valu(x, Target::gfx1100), nullptr);
  ASSERT_EQ(vet_valu(y, Target::gfx1100), nullptr);
  const auto run = [&](Inst& first, const Inst& second) {
    first.dual = &second;
    first.vopd_order = vopd_order(first, second);
    execute_vopd(m.wave, first);
    return first.vopd_order;
  };
  EXPECT_EQ(run(x, y), VopdOrder::together);
  EXPECT_EQ(m.reg(1), 20u);
  EXPECT_EQ(m.reg(2), 10u);
  Inst other = m.build("v_dual_mov_b32", v(7), {v(1)});
  ASSERT_EQ(vet_valu(other, Target::gfx1100), nullptr);
  EXPECT_EQ(run(x, other), VopdOrder::y_first);
  EXPECT_EQ(m.reg(1), 10u);
  EXPECT_EQ(m.reg(7), 20u);
  EXPECT_EQ(run(other, x), VopdOrder::x_first);
  EXPECT_EQ(m.reg(7), 10u);
  m.set(3, f32(2.0f));
  m.set(4, f32(3.0f));
  m.set(5, f32(1.0f));
  Inst fmac = m.build("v_dual_fmac_f32", v(5), {v(3), v(4)}), mul = m.build("v_dual_mul_f32", v(4), {v(5), v(3)});
  ASSERT_EQ(vet_valu(fmac, Target::gfx1100), nullptr);
  ASSERT_EQ(vet_valu(mul, Target::gfx1100), nullptr);
  EXPECT_EQ(run(fmac, mul), VopdOrder::together);
  EXPECT_EQ(as_float(m.reg(5)), 7.0f);
  EXPECT_EQ(as_float(m.reg(4)), 2.0f);
  Inst k_inst = m.build("v_dual_fmaak_f32", v(6), {v(3), v(3)});
  k_inst.literal = f32(0.5f);
  ASSERT_EQ(vet_valu(k_inst, Target::gfx1100), nullptr);
  k_inst.row->handler(m.wave, k_inst);
  EXPECT_EQ(as_float(m.reg(6)), 4.5f);
}

TEST(ValuLanes, PermlaneAndMovrel) {
  Machine m(Target::gfx1100);
  m.set_lanes(10, lane_number);
  m.run("v_permlanex16_b32", v(1), {v(10), k(0x76543210), k(0xfedcba98)});
  for (unsigned l = 0; l < 32; ++l) EXPECT_EQ(m.reg(1, l), l ^ 16);
  m.run("v_permlane16_b32", v(1), {v(10), k(0), k(0)});
  EXPECT_EQ(m.reg(1, 31), 16u);
  m.wave.s[kM0] = 3;
  m.set(13, 77);
  m.run("v_movrels_b32", v(1), {v(10)});
  EXPECT_EQ(m.reg(1), 77u);
  m.wave.s[kM0] = 1000;
  m.run("v_movrels_b32", v(1), {v(10)});
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::illegal);
}

TEST(ValuLanes, AccumulationRegisters) {
  Machine m;
  m.run("v_accvgpr_write_b32", v(3), {k(42)});
  EXPECT_EQ(m.acc(3, 63), 42u);
  EXPECT_EQ(m.reg(3), 0u);
  m.run("v_accvgpr_mov_b32", v(4), {v(3)});
  m.run("v_accvgpr_read_b32", v(5), {v(256 + 4)});
  EXPECT_EQ(m.reg(5, 7), 42u);
}

TEST(ValuLanes, UnvettedFormsStopByName) {
  Machine m;
  Inst inst = m.build("v_xor_b32", v(1), {v(2), v(3)});
  inst.omod = 2;
  inst.handler(m.wave, inst);
  EXPECT_EQ(m.wave.state, Wave::State::stopped);
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
  EXPECT_EQ(m.wave.stop_text, "omod on a result that is no float");
}

// gfx1100: floating dot products and mixed multiply-add take DPP, in their first source; other packed instructions do not.
TEST(ValuLanes, DppOfPackedInstructions) {
  const auto half = [](unsigned v) { return std::uint32_t{std::bit_cast<std::uint16_t>(static_cast<_Float16>(static_cast<float>(v)))}; };
  const auto shifted = [](Inst& i) {
    i.dpp.kind = Dpp::Kind::dpp16;
    i.dpp.control = 0x111;  // row_shr:1
  };
  Machine m(Target::gfx1100);
  m.set_lanes(10, [&](unsigned l) { return half(l) | half(2 * l) << 16; });
  m.set(11, half(1) | half(10) << 16);
  m.set(12, f32(0.5f));
  m.set(20, f32(-1.0f));
  m.run("v_dot2_f32_f16", v(20), {v(10), v(11), v(12)}, shifted);
  for (unsigned l = 0; l < 32; ++l)
    EXPECT_EQ(as_float(m.reg(20, l)), l % 16 ? 21.0f * static_cast<float>(l - 1) + 0.5f : -1.0f) << l;  // no source lane: not written
  m.set_lanes(10, [](unsigned l) { return f32(static_cast<float>(l)); });
  m.set(11, f32(3.0f));
  m.set(21, 0x3c00'3c00);
  m.run("v_fma_mixhi_f16", v(21), {v(10), v(11), v(12)}, [&](Inst& i) {
    shifted(i);
    i.op_sel_hi = 0;
    i.dpp.bound_ctrl = true;  // zero instead
  });
  for (unsigned l = 0; l < 32; ++l) {
    const auto want = static_cast<_Float16>(l % 16 ? 3.0f * static_cast<float>(l - 1) + 0.5f : 0.5f);
    EXPECT_EQ(m.reg(21, l), 0x3c00u | std::uint32_t{std::bit_cast<std::uint16_t>(want)} << 16) << l;
  }
  m.run("v_pk_add_f16", v(20), {v(10), v(11)}, shifted);
  EXPECT_NE(m.refused, nullptr);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
