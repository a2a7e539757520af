// Instructions that move data across lanes and register files, on every target that has them.
#include "valu_machine.hpp"

#include "vgpu/isa/memory/address.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

constexpr Target kGfx9Targets[] = {Target::gfx90a, Target::gfx942, Target::gfx950};

std::uint32_t numbered(unsigned lane) { return 100 + lane; }

TEST(LaneRows, ReadsAndWritesOfOneLane) {
  for (const Target t : kTargetList) {
    Machine m(t);
    m.set_lanes(10, numbered);
    m.run("v_readlane_b32", s(5), {v(10), k(m.wave.size + 3)});  // the lane number wraps
    EXPECT_EQ(m.wave.s[5], 103u);
    m.wave.set_exec(0x30);
    m.run("v_readfirstlane_b32", s(6), {v(10)});
    EXPECT_EQ(m.wave.s[6], 104u);
    m.wave.set_exec(0);
    m.run("v_readfirstlane_b32", s(6), {v(10)});  // no lane: lane 0
    EXPECT_EQ(m.wave.s[6], 100u);
    m.run("v_writelane_b32", v(10), {k(7), k(2)});  // whatever EXEC says
    EXPECT_EQ(m.reg(10, 2), 7u);
    EXPECT_EQ(m.reg(10, 3), 103u);
  }
}

TEST(LaneRows, CountsOfLanesBelow) {
  for (const Target t : kTargetList) {
    Machine m(t);
    m.set(10, 0xf0f0f0f0);
    m.set(11, 1000);
    m.run("v_mbcnt_lo_u32_b32", v(1), {v(10), v(11)});
    EXPECT_EQ(m.reg(1, 0), 1000u);
    EXPECT_EQ(m.reg(1, 6), 1002u);
    EXPECT_EQ(m.reg(1, 31), 1015u);
    m.run("v_mbcnt_hi_u32_b32", v(2), {v(10), v(1)});
    EXPECT_EQ(m.reg(2, 6), 1002u);
    if (m.wave.size == 64) {
      EXPECT_EQ(m.reg(1, 63), 1016u);
      EXPECT_EQ(m.reg(2, 38), 1018u);
    }
  }
}

TEST(LaneRows, Swaps) {
  for (const Target t : kTargetList) {
    Machine m(t);
    m.set(10, 1);
    m.set(11, 2);
    m.wave.set_exec(0x2);
    m.run("v_swap_b32", v(10), {v(11)});
    EXPECT_EQ(m.reg(10, 1), 2u);
    EXPECT_EQ(m.reg(11, 1), 1u);
    EXPECT_EQ(m.reg(10, 0), 1u);
    EXPECT_EQ(m.reg(11, 2), 2u);
  }
  Machine m(Target::gfx1100);
  m.set(10, 0x11112222);
  m.set(11, 0x33334444);
  m.run("v_swap_b16", v(10), {v(11)}, [](Inst& i) { i.op_sel = 8; });  // the high half of the first
  EXPECT_EQ(m.reg(10), 0x44442222u);
  EXPECT_EQ(m.reg(11), 0x33331111u);
}

TEST(LaneRows, RelativeMovesAndHalvesOfTheWave) {
  Machine m(Target::gfx1100);
  m.set(10, 5);
  m.set(13, 9);
  m.wave.s[kM0] = 3;
  m.run("v_movreld_b32", v(20), {v(10)});
  EXPECT_EQ(m.reg(23), 5u);
  m.run("v_movrelsd_b32", v(30), {v(10)});
  EXPECT_EQ(m.reg(33), 9u);
  m.wave.s[kM0] = 0xfc00'fc00 | 7u << 16 | 3;  // ten bits each count
  m.run("v_movrelsd_2_b32", v(30), {v(10)});
  EXPECT_EQ(m.reg(37), 9u);
  m.set_lanes(10, numbered);
  m.set(1, 0);
  m.run("v_permlane64_b32", v(1), {v(10)});
  EXPECT_EQ(m.reg(1, 0), 0u);  // nothing in wave32
  m.wave.size = 64;
  m.wave.set_exec(~1ull);
  m.run("v_permlane64_b32", v(1), {v(10)});
  EXPECT_EQ(m.reg(1, 0), 0u);
  EXPECT_EQ(m.reg(1, 1), 133u);
  EXPECT_EQ(m.reg(1, 40), 108u);
}

TEST(LaneRows, AccumulationRegisters) {
  for (const Target t : kGfx9Targets) {
    Machine m(t);
    m.wave.set_exec(1);
    m.run("v_accvgpr_write_b32", v(3), {k(42)});
    EXPECT_EQ(m.acc(3, 0), 42u);
    EXPECT_EQ(m.acc(3, 1), 0u);
    m.run("v_accvgpr_mov_b32", v(4), {v(3)});
    m.run("v_accvgpr_read_b32", v(5), {v(4)});
    EXPECT_EQ(m.reg(5, 0), 42u);
  }
}

TEST(LaneRows, MixedFma) {
  for (const Target t : kTargetList) {
    Machine m(t);
    m.set(10, 0x40003c00);  // 2 and 1
    m.set(11, f32(3.0f));
    m.set(1, 0xaaaabbbb);
    // op_sel_hi: halves; op_sel: the high one. Source 1 and 2 are f32.
    const auto high = [](Inst& i) { i.op_sel_hi = 1, i.op_sel = 1; };
    m.run("v_fma_mix_f32", v(2), {v(10), v(11), k(f32(0.5f))}, high);
    EXPECT_EQ(as_float(m.reg(2)), 6.5f);
    m.run("v_fma_mixhi_f16", v(1), {v(10), v(11), k(f32(0.5f))}, high);
    EXPECT_EQ(m.reg(1), 0x4680bbbbu);
    m.run("v_fma_mixlo_f16", v(1), {v(10), v(11), k(f32(0.0f))}, high);
    EXPECT_EQ(m.reg(1), 0x46804600u);
  }
}

TEST(LaneRows, NothingHappens) {
  for (const Target t : kTargetList) {
    Machine m(t);
    m.set(0, 3);
    m.run("v_nop", Operand{}, {});
    m.run(contains(kRdna, t) ? "v_pipeflush" : "v_clrexcp", Operand{}, {});
    EXPECT_EQ(m.reg(0), 3u);
    EXPECT_EQ(m.wave.state, Wave::State::running);
  }
}

// LDS permutes on v10 (byte address of the lane) and v11 (data); no LDS is touched.
void run_ds(Machine& m, std::string_view name, std::uint32_t offset) {
  for (const Row& row : memory_rows()) {
    if (name != row.name || !(row.targets & bit(m.wave.target))) continue;
    Inst inst;
    inst.row = &row;
    inst.format = Format::ds;
    inst.offset = static_cast<std::int32_t>(offset);
    inst.src[0] = v(10);
    inst.src[1] = v(11);
    inst.dst = v(1);
    row.handler(m.wave, inst);
    exercised(m.wave.target, row);
    return;
  }
  ADD_FAILURE() << name;
}

TEST(LaneRows, LdsPermutes) {
  for (const Target t : kTargetList) {
    Machine m(t);
    m.set_lanes(11, numbered);
    m.set_lanes(10, [](unsigned l) { return 4 * (l + 1); });
    run_ds(m, "ds_bpermute_b32", 0);
    EXPECT_EQ(m.reg(1, 5), 106u);
    EXPECT_EQ(m.reg(1, m.wave.size - 1), 100u);  // wraps
    if (contains(kGfx12, t)) {
      const std::uint64_t exec = m.wave.exec();
      m.wave.set_exec(1);
      run_ds(m, "ds_bpermute_fi_b32", 0);
      EXPECT_EQ(m.reg(1, 0), 101u) << "a lane that is off is read";
      m.wave.set_exec(exec);
    }
    run_ds(m, "ds_bpermute_b32", 8);
    EXPECT_EQ(m.reg(1, 5), 108u);
    run_ds(m, "ds_permute_b32", 0);
    EXPECT_EQ(m.reg(1, 6), 105u);
    EXPECT_EQ(m.reg(1, 0), 100 + m.wave.size - 1);
    m.wave.set_exec(0x3);
    m.set(1, 9);
    run_ds(m, "ds_permute_b32", 0);  // lane 0 sends to 1, lane 1 to 2, which is off; nobody sends to 0
    EXPECT_EQ(m.reg(1, 0), 0u);
    EXPECT_EQ(m.reg(1, 1), 100u);
    EXPECT_EQ(m.reg(1, 2), 9u);
    m.wave.set_exec(~0ull);
    m.set_lanes(10, numbered);
    run_ds(m, "ds_swizzle_b32", 0x8000 | 0b00'01'10'11);  // quads reversed
    EXPECT_EQ(m.reg(1, 4), 107u);
    EXPECT_EQ(m.reg(1, 7), 104u);
    run_ds(m, "ds_swizzle_b32", 0x7c1f);  // xor 31
    EXPECT_EQ(m.reg(1, 3), 128u);
  }
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
