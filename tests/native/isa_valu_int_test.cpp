// Integer VALU operations against values worked out by hand.
#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

TEST(ValuInt, Arithmetic) {
  Machine m;
  EXPECT_EQ(m.op("v_add_u32", {0xffffffff, 2}), 1u);
  EXPECT_EQ(m.op("v_sub_u32", {1, 2}), 0xffffffffu);
  EXPECT_EQ(m.op("v_subrev_u32", {1, 5}), 4u);
  EXPECT_EQ(m.op("v_mul_lo_u32", {0x10001, 0x10001}), 0x00020001u);
  EXPECT_EQ(m.op("v_mul_hi_u32", {0xffffffff, 0xffffffff}), 0xfffffffeu);
  EXPECT_EQ(m.op("v_mul_hi_i32", {0xffffffff, 0xffffffff}), 0u);
  EXPECT_EQ(m.op("v_mul_hi_i32", {0x80000000, 2}), 0xffffffffu);
  EXPECT_EQ(m.op("v_mul_i32_i24", {0x00ffffff, 5}), 0xfffffffbu);
  EXPECT_EQ(m.op("v_mul_u32_u24", {0xff000003, 5}), 15u);
  EXPECT_EQ(m.op("v_mul_hi_u32_u24", {0xffffff, 0xffffff}), 0xffffu);
  EXPECT_EQ(m.op("v_mad_u32_u24", {0x01000002, 3, 10}), 16u);
  EXPECT_EQ(m.op("v_mad_i32_i24", {0x00ffffff, 3, 10}), 7u);
  EXPECT_EQ(m.op("v_min_i32", {0xffffffff, 1}), 0xffffffffu);
  EXPECT_EQ(m.op("v_max_u32", {0xffffffff, 1}), 0xffffffffu);
  EXPECT_EQ(m.op("v_med3_i32", {5, 0xffffffff, 3}), 3u);
  EXPECT_EQ(m.op("v_min3_u32", {5, 0xffffffff, 3}), 3u);
}

TEST(ValuInt, ShiftsMaskTheirAmount) {
  Machine m;
  EXPECT_EQ(m.op("v_lshlrev_b32", {33, 1}), 2u);
  EXPECT_EQ(m.op("v_lshrrev_b32", {63, 0x80000000}), 1u);
  EXPECT_EQ(m.op("v_ashrrev_i32", {4, 0x80000000}), 0xf8000000u);
  EXPECT_EQ(m.op("v_lshl_add_u32", {3, 34, 1}), 13u);
  EXPECT_EQ(m.op("v_add_lshl_u32", {3, 1, 2}), 16u);
  EXPECT_EQ(m.op("v_lshl_or_b32", {3, 4, 1}), 0x31u);
  m.set(10, 65);
  m.set_wide(12, 0x8000000000000001ull);
  m.run("v_lshlrev_b64", v(2), {v(10), v(12)});
  EXPECT_EQ(m.wide(2), 2u);
  m.run("v_ashrrev_i64", v(2), {v(10), v(12)});
  EXPECT_EQ(m.wide(2), 0xc000000000000000ull);
  m.run("v_lshrrev_b64", v(2), {v(10), v(12)});
  EXPECT_EQ(m.wide(2), 0x4000000000000000ull);
  // The destination may overlap the source.
  m.run("v_lshlrev_b64", v(13), {k(4), v(12)});
  EXPECT_EQ(m.wide(13), 0x0000000000000010ull);
}

TEST(ValuInt, Bits) {
  Machine m;
  EXPECT_EQ(m.op("v_not_b32", {0x0f0f0f0f}), 0xf0f0f0f0u);
  EXPECT_EQ(m.op("v_bfrev_b32", {0x00000013}), 0xc8000000u);
  EXPECT_EQ(m.op("v_ffbh_u32", {0}), 0xffffffffu);
  EXPECT_EQ(m.op("v_ffbh_u32", {0x00010000}), 15u);
  EXPECT_EQ(m.op("v_ffbl_b32", {0x00010000}), 16u);
  EXPECT_EQ(m.op("v_ffbl_b32", {0}), 0xffffffffu);
  EXPECT_EQ(m.op("v_ffbh_i32", {0xffff0000}), 16u);
  EXPECT_EQ(m.op("v_ffbh_i32", {0xffffffff}), 0xffffffffu);
  EXPECT_EQ(m.op("v_bcnt_u32_b32", {0xff, 10}), 18u);
  EXPECT_EQ(m.op("v_bfe_u32", {0xabcd1234, 8, 8}), 0x12u);
  EXPECT_EQ(m.op("v_bfe_u32", {0xabcd1234, 8, 0}), 0u);
  EXPECT_EQ(m.op("v_bfe_i32", {0x0000f000, 12, 4}), 0xffffffffu);
  EXPECT_EQ(m.op("v_bfe_i32", {0x0000f000, 12, 5}), 0xfu);
  EXPECT_EQ(m.op("v_bfe_i32", {0x80000000, 28, 20}), 0xfffffff8u);
  EXPECT_EQ(m.op("v_bfi_b32", {0x0000ffff, 0x12345678, 0x9abcdef0}), 0x9abc5678u);
  EXPECT_EQ(m.op("v_bfm_b32", {4, 8}), 0xf00u);
  EXPECT_EQ(m.op("v_alignbit_b32", {0x00000001, 0x80000000, 31}), 3u);
  EXPECT_EQ(m.op("v_alignbyte_b32", {0x44332211, 0x88776655, 3}), 0x33221188u);
  EXPECT_EQ(m.op("v_perm_b32", {0x77665544, 0x33221100, 0x07000c0d}), 0x770000ffu);
  EXPECT_EQ(m.op("v_perm_b32", {0x80000000, 0x00008000, 0x0b0a0908}), 0xff0000ffu);
  EXPECT_EQ(m.op("v_and_or_b32", {0xf0, 0x3c, 1}), 0x31u);
  EXPECT_EQ(m.op("v_or3_b32", {1, 2, 4}), 7u);
  EXPECT_EQ(m.op("v_xad_u32", {5, 3, 10}), 16u);
  EXPECT_EQ(m.op("v_sad_u8", {0x01020304, 0x04030201, 100}), 108u);
  EXPECT_EQ(m.op("v_lerp_u8", {0x00000001, 0x00000002, 1}), 2u);
}

TEST(ValuInt, ClampSaturates) {
  Machine m;
  const auto clamp = [](Inst& i) { i.clamp = true; };
  EXPECT_EQ(m.op("v_add_u32", {0xfffffff0, 0x20}, clamp), 0xffffffffu);
  EXPECT_EQ(m.op("v_sub_u32", {1, 2}, clamp), 0u);
  EXPECT_EQ(m.op("v_add_i32", {0x7fffffff, 1}, clamp), 0x7fffffffu);
  EXPECT_EQ(m.op("v_sub_i32", {0x80000000, 1}, clamp), 0x80000000u);
  EXPECT_EQ(m.op("v_add_u16", {0xfff0, 0x20}, clamp), 0xffffu);
}

TEST(ValuInt, CarriesFollowExec) {
  Machine m;
  m.wave.set_exec(0x5);
  m.wave.set_mask(kVccLo, ~0ull);
  m.set(1, 7);
  m.set(10, 0xffffffff);
  m.set_lanes(11, [](unsigned l) { return l == 0 ? 1u : 0u; });
  m.run("v_add_co_u32", v(1), {v(10), v(11)});
  EXPECT_EQ(m.wave.mask(kVccLo), 1u);  // lane 2 has no carry, the others do not write theirs
  EXPECT_EQ(m.reg(1, 0), 0u);
  EXPECT_EQ(m.reg(1, 1), 7u);
  EXPECT_EQ(m.reg(1, 2), 0xffffffffu);
  m.set(10, 5);
  m.set(11, 0xffffffff);
  m.run("v_addc_co_u32", v(1), {v(10), v(11), vcc});
  EXPECT_EQ(m.reg(1, 0), 5u);
  EXPECT_EQ(m.reg(1, 2), 4u);
  EXPECT_EQ(m.wave.mask(kVccLo), 5u);
  m.run("v_subb_co_u32", v(1), {v(10), v(10), vcc});
  EXPECT_EQ(m.reg(1, 0), 0xffffffffu);
  EXPECT_EQ(m.wave.mask(kVccLo), 5u);
  m.run("v_subrev_co_u32", v(1), {v(10), v(11)});
  EXPECT_EQ(m.reg(1, 0), 0xfffffffau);
  EXPECT_EQ(m.wave.mask(kVccLo), 0u);
}

TEST(ValuInt, WideMultiplyAdd) {
  Machine m;
  m.set(10, 0xffffffff);
  m.set(11, 0xffffffff);
  m.set_wide(12, 0xffffffffffffffffull);
  m.run("v_mad_u64_u32", v(2), {v(10), v(11), v(12)});
  EXPECT_EQ(m.wide(2, 63), 0xfffffffe00000000ull);
  EXPECT_EQ(m.wave.mask(kVccLo), ~0ull);
  m.run("v_mad_i64_i32", v(2), {v(10), v(11), v(12)});
  EXPECT_EQ(m.wide(2), 0u);
  EXPECT_EQ(m.wave.mask(kVccLo), 0u);
  m.run("v_lshl_add_u64", v(2), {v(12), k(3), k(9)});
  EXPECT_EQ(m.wide(2), 1u);
}

TEST(ValuInt, SixteenBitsZeroTheHighHalfOnGfx9AndKeepItOnGfx11) {
  Machine m;
  m.set(1, 0xabcd0000);
  EXPECT_EQ(m.op("v_add_u16", {0x0001ffff, 0x00020002}), 1u);
  m.set(1, 0xabcd0000);
  EXPECT_EQ(m.op("v_mad_u16", {3, 4, 5}), 0xabcd0011u);
  EXPECT_EQ(m.op("v_ashrrev_i16", {1, 0x8000}), 0xc000u);
  Machine n(Target::gfx1100);
  n.set(1, 0xabcd0000);
  EXPECT_EQ(n.op("v_add_nc_u16", {0x0001ffff, 0x00020002}), 0xabcd0001u);
  n.set(1, 0x1111abcd);
  EXPECT_EQ(n.op("v_add_nc_u16", {0x00050001, 0x00020002}, [](Inst& i) { i.op_sel = 0x9; }), 0x0007abcdu);
  n.wave.set_mask(4, 0xffff);
  n.set(1, 0);
  n.set(10, 0x00010002);
  n.set(11, 0x00030004);
  n.run("v_cndmask_b16", v(1), {v(10), v(11), s(4)}, [](Inst& i) { i.op_sel = 0x2; });
  EXPECT_EQ(n.reg(1, 0), 3u);
  EXPECT_EQ(n.reg(1, 31), 2u);
}

TEST(ValuInt, CompareWritesZeroForInactiveLanes) {
  Machine m;
  m.wave.set_exec(0xf0);
  m.wave.set_mask(kVccLo, ~0ull);
  m.set_lanes(10, [](unsigned l) { return l; });
  m.run("v_cmp_gt_u32", Operand{}, {k(6), v(10)});
  EXPECT_EQ(m.wave.mask(kVccLo), 0x30u);
  m.run("v_cmpx_ne_u32", Operand{}, {k(5), v(10)});
  EXPECT_EQ(m.wave.exec(), 0xd0u);
  EXPECT_EQ(m.wave.mask(kVccLo), 0xd0u);
  m.set_wide(10, 1ull << 32);
  m.run("v_cmp_lt_i64", Operand{}, {k(~0ull), v(10)});
  EXPECT_EQ(m.wave.mask(kVccLo), 0xd0u);
  m.wave.set_exec(0);
  m.run("v_cmp_t_u32", Operand{}, {v(10), v(10)});
  EXPECT_EQ(m.wave.mask(kVccLo), 0u);
  Machine n(Target::gfx1100);
  n.wave.set_mask(kVccLo, 0x77);
  n.set_lanes(10, [](unsigned l) { return l; });
  n.run("v_cmpx_gt_u32", Operand{}, {k(4), v(10)});
  EXPECT_EQ(n.wave.exec(), 0xfu);
  EXPECT_EQ(n.wave.mask(kVccLo), 0x77u);
}

TEST(ValuInt, CndmaskAndMbcnt) {
  Machine m;
  m.wave.set_mask(kVccLo, 0x8000000000000001ull);
  m.run("v_cndmask_b32", v(1), {k(5), k(9), vcc});
  EXPECT_EQ(m.reg(1, 0), 9u);
  EXPECT_EQ(m.reg(1, 1), 5u);
  EXPECT_EQ(m.reg(1, 63), 9u);
  m.run("v_mbcnt_lo_u32_b32", v(2), {k(0xffffffff), k(0)});
  m.run("v_mbcnt_hi_u32_b32", v(2), {k(0xffffffff), v(2)});
  for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(m.reg(2, l), l);
}

TEST(ValuInt, DotProducts) {
  Machine m;
  EXPECT_EQ(m.op("v_dot4_i32_i8", {0xff020304, 0x01010101, 100}), 108u);
  EXPECT_EQ(m.op("v_dot4_u32_u8", {0xff020304, 0x01010101, 100}), 364u);
  m.set(1, 10);
  EXPECT_EQ(m.op("v_dot4c_i32_i8", {0xff020304, 0x01010101}), 18u);
  Machine n(Target::gfx1100);
  EXPECT_EQ(n.op("v_dot4_i32_iu8", {0xff020304, 0x01010101, 0}, [](Inst& i) { i.neg = 1; }), 8u);
  EXPECT_EQ(n.op("v_dot4_i32_iu8", {0xff020304, 0x01010101, 0}), 264u);
}

TEST(ValuInt, Packed) {
  Machine m;
  EXPECT_EQ(m.op("v_pk_add_u16", {0x0001ffff, 0x00020003}), 0x00030002u);
  EXPECT_EQ(m.op("v_pk_add_u16", {0x0001ffff, 0x00020003}, [](Inst& i) { i.clamp = true; }), 0x0003ffffu);
  EXPECT_EQ(m.op("v_pk_lshlrev_b16", {0x00110001, 0x80010003}), 0x00020006u);
  EXPECT_EQ(m.op("v_pk_add_u16", {0x00050007, 0x00010002}, [](Inst& i) { i.op_sel = 1; i.op_sel_hi = 2; }), 0x00080007u);
}

// op_sel chooses the halves of 16-bit elements, as in packed arithmetic.
TEST(ValuInt, DotProductsOfChosenHalves) {
  Machine m;
  EXPECT_EQ(m.op("v_dot2_u32_u16", {0x00020003, 0x00050007, 1}), 32u);
  const auto swap_first = [](Inst& i) { i.op_sel = 1, i.op_sel_hi = 2; };
  EXPECT_EQ(m.op("v_dot2_u32_u16", {0x00020003, 0x00050007, 1}, swap_first), 30u);
  const auto low_twice = [](Inst& i) { i.op_sel_hi = 0; };
  EXPECT_EQ(m.op("v_dot2_i32_i16", {0x0002ffff, 0x00050007, 1}, low_twice), 0xfffffff3u);
  EXPECT_EQ(m.op("v_dot4_u32_u8", {0x04030201, 0x01010101, 0}, [](Inst& i) { i.op_sel_hi = 0; }), 10u);
}

// Source: "CDNA3 ISA" V_QSAD_PK_U16_U8, V_MQSAD_PK_U16_U8, V_MQSAD_U32_U8.
TEST(ValuInt, SumsAtFourPositions) {
  for (const Target target : kTargetList) {
    Machine m(target);
    m.set_wide(10, 0x0807060504030201ull);
    m.set(12, 0x04030201);
    m.set_wide(14, 0xffff000300020001ull);
    m.run("v_qsad_pk_u16_u8", v(2), {v(10), v(12), v(14)});
    EXPECT_EQ(m.wide(2), 0x000b000b00060001ull);  // sums 0, 4, 8, 12; the last wraps
    m.run("v_qsad_pk_u16_u8", v(2), {v(10), v(12), v(14)}, [](Inst& i) { i.clamp = true; });
    EXPECT_EQ(m.wide(2), 0xffff000b00060001ull);
    m.set(12, 0x04000001);  // two bytes of the reference are zero
    m.run("v_mqsad_pk_u16_u8", v(2), {v(10), v(12), v(14)});
    EXPECT_EQ(m.wide(2), 0x0005000700040001ull);
    for (unsigned i = 0; i < 4; ++i) m.set(20 + i, 100 * i);
    m.wave.set_exec(2);
    m.set(4, 7);
    m.run("v_mqsad_u32_u8", v(4), {v(10), v(12), v(20)});
    EXPECT_EQ(m.reg(4, 0), 7u);
    for (unsigned i = 0; i < 4; ++i) EXPECT_EQ(m.reg(4 + i, 1), 102 * i);
  }
}

// gfx11 names the half of a register that holds a shift amount.
TEST(ValuInt, AlignmentByAHalf) {
  Machine m(Target::gfx1100);
  EXPECT_EQ(m.op("v_alignbit_b32", {0x11223344, 0x55667788, 0x00080010}), 0x33445566u);
  EXPECT_EQ(m.op("v_alignbit_b32", {0x11223344, 0x55667788, 0x00080010}, [](Inst& i) { i.op_sel = 4; }), 0x44556677u);
  EXPECT_EQ(m.op("v_alignbyte_b32", {0x11223344, 0x55667788, 0x00030001}, [](Inst& i) { i.op_sel = 4; }), 0x22334455u);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
