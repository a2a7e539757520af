// Single scalar and memory instructions, from their encodings, with values worked out by hand.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "access_trace.hpp"
#include "isa_coverage.hpp"
#include "isa_harness.hpp"
#include "vgpu/isa/decode/decoder.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/print/printer.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

using Words = std::vector<std::uint32_t>;

// One wave with 16 VGPRs, 1 KiB of LDS, 64 bytes of private memory a lane.
class Machine {
 public:
  explicit Machine(Target target) : registers_(16 * kLanes), scratch_(64 * kLanes), cache_(memory_) {
    wave.target = target;
    wave.size = contains(kRdna, target) ? 32 : 64;
    wave.v = registers_.data();
    wave.vgprs = 16;
    dispatch_.shared_aperture_hi = 0x10000;
    dispatch_.private_aperture_hi = 0x20000;
    wave.dispatch = &dispatch_;
    group_.lds.resize(1024);
    wave.group = &group_;
    wave.memory = &cache_;
    wave.scratch = scratch_.data();
    wave.scratch_lane_bytes = 64;
    wave.set_exec(~std::uint64_t{0});
  }
  // Runs one instruction; the text is what a stop message would name.
  std::string run(const Words& words) {
    const Decoded decoded = decode(wave.target, wave.size, words, 0x1000);
    EXPECT_EQ(decoded.status, Decoded::Status::ok) << decoded.reason;
    EXPECT_EQ(decoded.inst.size_bytes, words.size() * 4);
    if (decoded.status != Decoded::Status::ok) return decoded.reason;
    wave.pc = 0x1000;
    wave.next_pc = wave.pc + decoded.inst.size_bytes;
    wave.state = Wave::State::running;
    check::Described described = check::describe(decode(wave.target, wave.size, words, 0x1000), wave.target, wave.size);
    described.inst = &decoded.inst;
    std::vector<check::Access> accesses;
    check::accesses(wave, described, accesses);
    AccessTrace trace;
    wave.trace = &trace;
    decoded.inst.handler(wave, decoded.inst);
    if (wave.state == Wave::State::running) {
      EXPECT_EQ(difference(trace, accesses), "") << decoded.inst.row->name;
    }
    wave.trace = nullptr;
    exercised(wave.target, *decoded.inst.row);
    return print(decoded, wave.target, wave.size);
  }
  void set64(unsigned reg, std::uint64_t value) {
    wave.s[reg] = static_cast<std::uint32_t>(value);
    wave.s[reg + 1] = static_cast<std::uint32_t>(value >> 32);
  }
  std::uint64_t get64(unsigned reg) const { return wave.s[reg] | std::uint64_t{wave.s[reg + 1]} << 32; }
  std::uint32_t& v(unsigned reg, unsigned lane) { return wave.v[reg * kLanes + lane]; }
  void address(unsigned reg, unsigned lane, const void* at) {
    const auto va = reinterpret_cast<std::uintptr_t>(at);
    v(reg, lane) = static_cast<std::uint32_t>(va);
    v(reg + 1, lane) = static_cast<std::uint32_t>(va >> 32);
  }
  std::uint32_t lds(unsigned at) const {
    std::uint32_t value;
    std::memcpy(&value, group_.lds.data() + at, 4);
    return value;
  }
  void set_lds(unsigned at, std::uint32_t value) { std::memcpy(group_.lds.data() + at, &value, 4); }

  Wave wave;
  HostMemory memory_;

 private:
  std::vector<std::uint32_t> registers_;
  std::vector<std::byte> scratch_;
  Dispatch dispatch_;
  Workgroup group_;
  AddressCache cache_;
};

// SOP2 of gfx9: D = s2, sources s0 and s1.
Words sop2(unsigned op) { return {0x80000000u | op << 23 | 2u << 16 | 1u << 8 | 0u}; }
Words sop1(unsigned op) { return {0xbe800000u | 2u << 16 | op << 8 | 0u}; }

struct Case {
  const char* text;
  unsigned op;
  std::uint32_t a, b;
  bool scc_in;
  std::uint32_t result;
  bool scc;
};

TEST(Sop2, ThirtyTwoBits) {
  const Case cases[] = {
      {"s_add_u32", 0, 0xffffffff, 2, false, 1, true},
      {"s_sub_u32", 1, 1, 2, false, 0xffffffff, true},
      {"s_add_i32", 2, 0x7fffffff, 1, false, 0x80000000, true},
      {"s_sub_i32", 3, 0x80000000, 1, false, 0x7fffffff, true},
      {"s_addc_u32", 4, 0xffffffff, 0, true, 0, true},
      {"s_subb_u32", 5, 5, 5, true, 0xffffffff, true},
      {"s_min_i32", 6, 0xffffffff, 1, false, 0xffffffff, true},
      {"s_max_u32", 9, 0xffffffff, 1, false, 0xffffffff, true},
      {"s_cselect_b32", 10, 7, 9, true, 7, true},
      {"s_cselect_b32", 10, 7, 9, false, 9, false},
      {"s_and_b32", 12, 0xf0, 0x0f, true, 0, false},
      {"s_andn2_b32", 18, 0xff, 0x0f, false, 0xf0, true},
      {"s_lshl_b32", 28, 1, 35, false, 8, true},
      {"s_ashr_i32", 32, 0x80000000, 31, false, 0xffffffff, true},
      {"s_bfm_b32", 34, 4, 8, false, 0xf00, false},
      {"s_mul_i32", 36, 0xffffffff, 3, true, 0xfffffffd, true},
      {"s_bfe_u32", 37, 0xabcd1234, 8 | 8 << 16, false, 0x12, true},
      {"s_bfe_i32", 38, 0xabcd1234, 24 | 8 << 16, false, 0xffffffab, true},
      {"s_bfe_i32", 38, 0x0000f000, 12 | 4 << 16, false, 0xffffffff, true},
      {"s_absdiff_i32", 42, 3, 10, false, 7, true},
      {"s_mul_hi_u32", 44, 0x80000000, 6, false, 3, false},
      {"s_mul_hi_i32", 45, 0xffffffff, 5, false, 0xffffffff, false},
      {"s_lshl2_add_u32", 47, 0x40000000, 5, false, 5, true},
      {"s_pack_lh_b32_b16", 51, 0x11112222, 0x33334444, false, 0x33332222, false},
  };
  for (const Case& c : cases) {
    Machine m(Target::gfx942);
    m.wave.s[0] = c.a;
    m.wave.s[1] = c.b;
    m.wave.scc = c.scc_in;
    EXPECT_EQ(m.run(sop2(c.op)), std::string(c.text) + " s2, s0, s1");
    EXPECT_EQ(m.wave.s[2], c.result) << c.text;
    EXPECT_EQ(m.wave.scc, c.scc) << c.text;
  }
}

TEST(Sop1, BitCounts) {
  struct { const char* text; unsigned op; std::uint32_t a, result; } const cases[] = {
      {"s_brev_b32", 8, 0x80000001, 0x80000001}, {"s_bcnt1_i32_b32", 12, 0xf0f0, 8}, {"s_bcnt0_i32_b32", 10, 0xf0f0, 24},
      {"s_ff1_i32_b32", 16, 0x50, 4},            {"s_ff1_i32_b32", 16, 0, ~0u},      {"s_flbit_i32_b32", 18, 0x00800000, 8},
      {"s_flbit_i32", 20, 0xfffffff0, 28},       {"s_flbit_i32", 20, ~0u, ~0u},      {"s_sext_i32_i8", 22, 0x180, 0xffffff80},
      {"s_sext_i32_i16", 23, 0x8000, 0xffff8000}, {"s_abs_i32", 48, 0xfffffffb, 5},  {"s_quadmask_b32", 40, 0x00f00103, 0x25},
  };
  for (const auto& c : cases) {
    Machine m(Target::gfx90a);
    m.wave.s[0] = c.a;
    EXPECT_EQ(m.run(sop1(c.op)), std::string(c.text) + " s2, s0");
    EXPECT_EQ(m.wave.s[2], c.result) << c.text << std::hex << " of " << c.a;
  }
}

TEST(Sop1, SaveExec) {
  Machine m(Target::gfx942);
  m.wave.set_exec(0xff00);
  m.set64(0, 0x0ff0);
  EXPECT_EQ(m.run(sop1(0x20)), "s_and_saveexec_b64 s[2:3], s[0:1]");
  EXPECT_EQ(m.get64(2), 0xff00u);
  EXPECT_EQ(m.wave.exec(), 0x0f00u);
  EXPECT_TRUE(m.wave.scc);
  m.run(sop1(0x23));  // andn2: S & ~EXEC
  EXPECT_EQ(m.wave.exec(), 0x00f0u);
}

TEST(Sop1, ProgramCounter) {
  Machine m(Target::gfx942);
  m.run({0xbe821c00});  // s_getpc_b64 s[2:3]
  EXPECT_EQ(m.get64(2), 0x1004u);
  m.set64(0, 0x5000);
  m.run(sop1(0x1e));  // s_swappc_b64
  EXPECT_EQ(m.get64(2), 0x1004u);
  EXPECT_EQ(m.wave.next_pc, 0x5000u);
}

TEST(Sopp, BranchesCountFromTheNextInstruction) {
  Machine m(Target::gfx942);
  EXPECT_EQ(m.run({0xbf82fffe}), "s_branch 65534");
  EXPECT_EQ(m.wave.next_pc, 0x1004u - 8);
  m.wave.scc = false;
  m.run({0xbf850003});  // s_cbranch_scc1
  EXPECT_EQ(m.wave.next_pc, 0x1004u);
}

TEST(Sopk, ModeFieldsAreLive) {
  Machine m(Target::gfx942);
  EXPECT_EQ(m.run({0xba000901 | 0x14u << 23, 0}), "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0");
  EXPECT_EQ(m.wave.mode.denorm32, 0);
  EXPECT_EQ(m.wave.mode.denorm64_16, 3);
  Machine n(Target::gfx1100);
  n.run({0xbf920003});  // s_denorm_mode 3
  EXPECT_EQ(n.wave.mode.denorm32, 3);
  EXPECT_EQ(n.wave.mode.denorm64_16, 0);
}

TEST(Smem, OffsetIsSignedAndAddressAligned) {
  Machine m(Target::gfx942);
  std::array<std::uint32_t, 4> data{11, 22, 33, 44};
  m.memory_.add(data.data(), sizeof data);
  m.set64(0, reinterpret_cast<std::uintptr_t>(data.data()) + 8);
  EXPECT_EQ(m.run({0xc0060100, 0x001ffffc}), "s_load_dwordx2 s[4:5], s[0:1], -0x4");
  EXPECT_EQ(m.wave.s[4], 22u);
  EXPECT_EQ(m.wave.s[5], 33u);
  m.set64(0, 0x10);
  m.run({0xc0060100, 0});
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::page_fault);
  EXPECT_EQ(m.wave.fault_va, 0x10u);
}

TEST(Global, NegativeOffsetAndExec) {
  for (Target t : kTargetList) {
    Machine m(t);
    std::array<std::uint32_t, 4> data{1, 2, 3, 4};
    m.memory_.add(data.data(), sizeof data);
    m.wave.set_exec(0x2);
    m.address(2, 1, data.data() + 3);
    m.v(4, 0) = m.v(4, 1) = 77;
    const bool rdna = contains(kRdna, t);
    const Words load = contains(kGfx12, t) ? Words{0xee05007c, 0x00000004, 0xfffff802}
                       : rdna              ? Words{0xdc521ff8, 0x047c0002}
                                           : Words{0xdc509ff8, 0x047f0002};
    EXPECT_EQ(m.run(load), std::string("global_load_") + (rdna ? "b32" : "dword") + " v4, v[2:3], off offset:-8");
    EXPECT_EQ(m.v(4, 1), 2u);
    EXPECT_EQ(m.v(4, 0), 77u);
    m.wave.set_exec(0);
    m.address(2, 1, nullptr);
    m.run(load);
    EXPECT_EQ(m.wave.state, Wave::State::running);  // no lane, no fault
  }
}

TEST(Flat, ApertureGoesToLdsAndScratch) {
  Machine m(Target::gfx942);
  m.wave.set_exec(1);
  m.v(2, 0) = 16;
  m.v(3, 0) = 0x10000;
  m.v(6, 0) = 0xabcdef;
  EXPECT_EQ(m.run({0xdc700004, 0x00000602}), "flat_store_dword v[2:3], v6 offset:4");
  EXPECT_EQ(m.lds(20), 0xabcdefu);
  m.v(3, 0) = 0x20000;
  m.run({0xdc700004, 0x00000602});
  EXPECT_EQ(m.run({0xdc504014, 0x047f0000}), "scratch_load_dword v4, off, off offset:20");
  EXPECT_EQ(m.v(4, 0), 0xabcdefu);
  m.v(2, 0) = 4096;  // beyond the private segment
  m.run({0xdc700004, 0x00000602});
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::aperture_violation);
}

TEST(Flat, CompareSwapReturnsTheOldValue) {
  Machine m(Target::gfx942);
  m.wave.set_exec(1);
  std::uint32_t cell = 5;
  m.memory_.add(&cell, 4);
  m.address(2, 0, &cell);
  m.v(6, 0) = 9;  // new
  m.v(7, 0) = 5;  // expected
  EXPECT_EQ(m.run({0xdd058000, 0x047f0602}), "global_atomic_cmpswap v4, v[2:3], v[6:7], off sc0");
  EXPECT_EQ(cell, 9u);
  EXPECT_EQ(m.v(4, 0), 5u);
}

// Loads and stores may lie anywhere, atomics only on their own alignment, whichever memory they reach.
TEST(Memory, MisalignedAtomicsAreViolations) {
  std::array<std::uint32_t, 2> cells{5, 5};
  const auto* const odd = reinterpret_cast<const std::byte*>(cells.data()) + 2;
  const Words global{0xdd058000, 0x047f0602};                       // global_atomic_cmpswap v4, v[2:3], v[6:7], off sc0
  const Words flat{0xdd050000, 0x04000602};                         // the same, flat
  const Words lds{0xd8000000u | 0x30u << 17, 0x04060802};           // ds_cmpst_rtn_b32 v4, v2, v8, v6
  const auto stops = [&](const Words& words, std::uint32_t low, std::uint32_t high) {
    Machine m(Target::gfx942);
    m.wave.set_exec(2);
    m.memory_.add(cells.data(), sizeof cells);
    m.v(2, 1) = low, m.v(3, 1) = high;
    m.v(6, 1) = 9, m.v(7, 1) = m.v(8, 1) = 5;
    m.run(words);
    EXPECT_EQ(m.v(4, 1), 0u);
    return m.wave.state == Wave::State::stopped && m.wave.stop_kind == Outcome::Kind::aperture_violation;
  };
  const auto at = reinterpret_cast<std::uintptr_t>(odd);
  const auto low = static_cast<std::uint32_t>(at), high = static_cast<std::uint32_t>(at >> 32);
  EXPECT_TRUE(stops(global, low, high));
  EXPECT_TRUE(stops(flat, low, high));
  EXPECT_TRUE(stops(flat, 6, 0x10000)) << "LDS";
  EXPECT_TRUE(stops(flat, 6, 0x20000)) << "private memory";
  EXPECT_TRUE(stops(lds, 6, 0));
  EXPECT_EQ(cells, (std::array<std::uint32_t, 2>{5, 5}));

  Machine m(Target::gfx942);
  m.wave.set_exec(2);
  m.memory_.add(cells.data(), sizeof cells);
  m.address(2, 1, odd);
  EXPECT_EQ(m.run({0xdc508000, 0x047f0002}), "global_load_dword v4, v[2:3], off");
  EXPECT_EQ(m.v(4, 1), 0x00050000u);
  EXPECT_EQ(m.wave.state, Wave::State::running);
}

TEST(Ds, CompareOperandsDifferBetweenTargets) {
  for (Target t : {Target::gfx942, Target::gfx1100}) {
    Machine m(t);
    m.wave.set_exec(1);
    m.v(2, 0) = 8;
    m.set_lds(8, 5);
    m.v(8, 0) = 5;  // data0
    m.v(6, 0) = 9;  // data1
    const std::uint32_t first = t == Target::gfx942 ? 0xd8000000u | 0x30u << 17 : 0xd8000000u | 0x30u << 18;
    m.run({first, 0x04060802});
    EXPECT_EQ(m.v(4, 0), 5u);
    // gfx9: data0 is compared with, data1 stored; gfx11 the other way round, so nothing is stored here.
    EXPECT_EQ(m.lds(8), t == Target::gfx942 ? 9u : 5u);
  }
}

TEST(Ds, OutOfRangeReadsZeroAndDropsWrites) {
  Machine m(Target::gfx942);
  m.wave.set_exec(1);
  m.v(2, 0) = 1024;
  m.v(4, 0) = 123;
  m.v(8, 0) = 55;
  m.run({0xd8000000u | 0x0du << 17, 0x00000802});  // ds_write_b32
  m.run({0xd8000000u | 0x36u << 17, 0x04000002});  // ds_read_b32
  EXPECT_EQ(m.v(4, 0), 0u);
  EXPECT_EQ(m.wave.state, Wave::State::running);
}

TEST(Ds, BpermuteReadsZeroFromLanesThatAreOff) {
  Machine m(Target::gfx942);
  m.wave.set_exec(0x5);
  for (unsigned l = 0; l < 64; ++l) m.v(8, l) = 100 + l;
  m.v(2, 0) = 2 * 4;
  m.v(2, 2) = 1 * 4;
  EXPECT_EQ(m.run({0xd8000000u | 0x3fu << 17, 0x04000802}), "ds_bpermute_b32 v4, v2, v8");
  EXPECT_EQ(m.v(4, 0), 102u);
  EXPECT_EQ(m.v(4, 2), 0u);
}

TEST(Ds, TwoAddressesAndStride) {
  Machine m(Target::gfx942);
  m.wave.set_exec(1);
  m.set_lds(4, 7);
  m.set_lds(512, 8);
  m.v(2, 0) = 0;
  EXPECT_EQ(m.run({0xd8000000u | 0x38u << 17 | 0x0200, 0x04000002}), "ds_read2st64_b32 v[4:5], v2 offset1:2");
  EXPECT_EQ(m.v(5, 0), 8u);
  EXPECT_EQ(m.run({0xd8000000u | 0x37u << 17 | 0x0001, 0x04000002}), "ds_read2_b32 v[4:5], v2 offset0:1");
  EXPECT_EQ(m.v(4, 0), 7u);
}

TEST(Ds, SwizzleSwapsWithinGroups) {
  Machine m(Target::gfx942);
  for (unsigned l = 0; l < 64; ++l) m.v(2, l) = l;
  EXPECT_EQ(m.run({0xd8000000u | 0x3du << 17 | 0x041f, 0x04000002}), "ds_swizzle_b32 v4, v2 offset:swizzle(SWAP,1)");
  EXPECT_EQ(m.v(4, 0), 1u);
  EXPECT_EQ(m.v(4, 33), 32u);
}

// V#: raw buffer of 12 bytes.
TEST(Mubuf, BoundsAreSemantics) {
  for (Target t : kTargetList) {
    Machine m(t);
    std::array<std::uint32_t, 8> data{1, 2, 3, 4, 5, 6, 7, 8};
    m.memory_.add(data.data(), sizeof data);
    const auto base = reinterpret_cast<std::uintptr_t>(data.data());
    m.set64(4, base);
    const bool rdna = contains(kRdna, t), gfx12 = contains(kGfx12, t);
    m.wave.s[6] = 12;
    m.wave.s[7] = rdna ? 3u << 28 : 0;
    m.wave.set_exec(0x3);
    m.v(1, 0) = 4;
    m.v(1, 1) = 0x80000000;
    const Words load = gfx12  ? Words{0xc405407c, 0x40800804, 1}
                       : rdna ? Words{0xe0540000, 0x80410401}
                              : Words{0xe0541000, 0x80010401};
    EXPECT_EQ(m.run(load), std::string("buffer_load_") + (rdna ? "b64" : "dwordx2") + " v[4:5], v1, s[4:7], " + (gfx12 ? "null offen" : "0 offen"));
    EXPECT_EQ(m.v(4, 0), 2u);
    EXPECT_EQ(m.v(5, 0), 3u);
    EXPECT_EQ(m.v(4, 1), 0u);
    EXPECT_EQ(m.wave.state, Wave::State::running);
    m.v(1, 0) = 8;  // the second dword is out of range
    m.run(load);
    EXPECT_EQ(m.v(4, 0), 3u);
    EXPECT_EQ(m.v(5, 0), 0u);
    const Words store = gfx12  ? Words{0xc406c07c, 0x40800804, 1}
                        : rdna ? Words{0xe06c0000, 0x80410401}
                               : Words{0xe0741000, 0x80010401};
    m.v(4, 0) = 30;
    m.v(5, 0) = 40;
    m.run(store);
    EXPECT_EQ(data[2], 30u);
    EXPECT_EQ(data[3], 4u);
  }
}

// Source: "CDNA3 ISA" and LLVM AMDGPUUsage, loads to LDS: m0 + offset + 4 * lane; the offset counts on both sides.
TEST(Mubuf, LoadsToLds) {
  for (Target t : {Target::gfx90a, Target::gfx942, Target::gfx950}) {
    Machine m(t);
    std::array<std::uint32_t, 8> data{0x80, 2, 0xfffffff0, 4, 5, 6, 7, 8};
    m.memory_.add(data.data(), sizeof data);
    m.set64(4, reinterpret_cast<std::uintptr_t>(data.data()));
    m.wave.s[6] = 16;
    m.wave.s[7] = 0;
    m.wave.s[kM0] = 16;
    m.wave.set_exec(0xd);
    m.v(1, 0) = 4;
    m.v(1, 2) = 0;
    m.v(1, 3) = 12;  // with the offset out of range: zero
    m.set_lds(24, 77);
    m.set_lds(32, 77);
    EXPECT_EQ(m.run({0xe0511004, 0x80010001}), "buffer_load_dword v1, s[4:7], 0 offen offset:4 lds");
    EXPECT_EQ(m.lds(20), 0xfffffff0u);
    EXPECT_EQ(m.lds(24), 77u) << "lane 1 is off";
    EXPECT_EQ(m.lds(28), 2u);
    EXPECT_EQ(m.lds(32), 0u);
    EXPECT_EQ(m.run({0xe0451004, 0x80010001}), "buffer_load_sbyte v1, s[4:7], 0 offen offset:4 lds");
    EXPECT_EQ(m.lds(20), 0xfffffff0u);
    m.v(1, 0) = 0xfffffffc;  // offsets do not wrap: out of range
    m.run({0xe0451004, 0x80010001});
    EXPECT_EQ(m.lds(20), 0u);
  }
  // 128-bit loads have such a form on gfx950 only.
  EXPECT_EQ(decode(Target::gfx950, 64, Words{0xe05d1004, 0x80010001}, 0).status, Decoded::Status::ok);
  EXPECT_EQ(decode(Target::gfx942, 64, Words{0xe05d1004, 0x80010001}, 0).status, Decoded::Status::unknown);
}

// gfx90a has a bit for what has an opcode of its own on gfx942.
TEST(Global, LoadsToLds) {
  for (Target t : {Target::gfx90a, Target::gfx942, Target::gfx950}) {
    Machine m(t);
    std::array<std::uint32_t, 4> data{1, 2, 3, 4};
    m.memory_.add(data.data(), sizeof data);
    m.wave.set_exec(3);
    m.address(0, 0, &data[2]);
    m.address(0, 1, &data[1]);
    m.wave.s[kM0] = 100;
    const Words load = t == Target::gfx90a ? Words{0xdc50a000, 0x007f0000} : Words{0xdca88000, 0x007f0000};
    EXPECT_EQ(m.run(load), "global_load_lds_dword v[0:1], off");
    EXPECT_EQ(m.lds(100), 3u);
    EXPECT_EQ(m.lds(104), 2u);
  }
  EXPECT_EQ(decode(Target::gfx90a, 64, Words{0xdca88000, 0x007f0000}, 0).status, Decoded::Status::unknown);
  EXPECT_EQ(decode(Target::gfx90a, 64, Words{0xdc54a000, 0x007f0000}, 0).status, Decoded::Status::unknown);
}

// Source: LLVM, FeatureMemoryAtomicFAddF32DenormalSupport; LDS obeys the mode.
TEST(Atomics, DenormalsOfAnAddition) {
  const std::uint32_t tiny = 0x00000003, sign_tiny = 0x80000001;
  for (Target t : kTargetList) {
    Machine m(t);
    std::uint32_t cell = tiny;
    m.memory_.add(&cell, sizeof cell);
    m.wave.set_exec(1);
    m.address(0, 0, &cell);
    m.v(4, 0) = sign_tiny;
    m.run(contains(kGfx12, t)  ? Words{0xee15807c, 0x02000000, 0}
          : contains(kRdna, t) ? Words{0xdd5a0000, 0x007c0400}
                               : Words{0xdd348000, 0x007f0400});
    EXPECT_EQ(cell, contains(kGfx940 | kGfx12, t) ? 2u : 0u) << name(t);
    m.v(0, 0) = 8;
    m.v(1, 0) = sign_tiny;
    const Words add = contains(kRdna, t) ? Words{0xd8540000, 0x00000100} : Words{0xd82a0000, 0x00000100};
    m.set_lds(8, tiny);
    m.run(add);
    EXPECT_EQ(m.lds(8), 2u);
    m.wave.mode.denorm32 = 0;
    m.set_lds(8, tiny);
    m.run(add);
    EXPECT_EQ(m.lds(8), 0u);
  }
}

TEST(Decode, UnknownStopsByName) {
  const Decoded opcode = decode(Target::gfx942, 64, Words{0x80000000u | 0x5fu << 23}, 0);
  EXPECT_EQ(opcode.status, Decoded::Status::unknown);
  EXPECT_NE(opcode.reason.find("sop2 opcode 0x5f"), std::string::npos) << opcode.reason;
  const Decoded gds = decode(Target::gfx942, 64, Words{0xd8000000u | 0x36u << 17 | 1u << 16, 0x04000002}, 0);
  EXPECT_EQ(gds.status, Decoded::Status::unknown);
  EXPECT_NE(gds.reason.find("gds"), std::string::npos);
  const Decoded gws = decode(Target::gfx1100, 32, Words{0xd8000000u | 0x1du << 18 | 1u << 17 | 4, 0x00000002}, 0);
  EXPECT_EQ(gws.status, Decoded::Status::ok);
  EXPECT_EQ(print(gws, Target::gfx1100, 32), "ds_gws_barrier v2 offset:4 gds");
  const Decoded semaphore = decode(Target::gfx1100, 32, Words{0xd8000000u | 0x1cu << 18 | 1u << 17 | 4, 0}, 0);
  EXPECT_EQ(semaphore.status, Decoded::Status::unknown);
  EXPECT_EQ(print(semaphore, Target::gfx1100, 32), "ds_gws_sema_p offset:4 gds");
  EXPECT_EQ(decode(Target::gfx942, 64, Words{0xc0060100}, 0).status, Decoded::Status::missing);  // cut short
  EXPECT_EQ(decode(Target::gfx942, 64, Words{0xc0121f00, 0}, 0).status, Decoded::Status::illegal);  // s[124:139]
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
