// Scalar rows that the vectors do not reach: EXEC and PC, SOPK, SOPP, SMEM; table-driven over all targets.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <set>

#include "isa_coverage.hpp"
#include "isa_harness.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u64 kPc = 0x10000, kNextPc = kPc + 4;
constexpr u64 kExecBefore = 0xff00ff00'0f0f3333, kSource = 0x00ffff00'3333ffff;

class Events final : public Interrupt {
 public:
  void raise(u32 event_id) noexcept override { raised.insert(event_id); }
  std::set<u32> raised;
};

class Machine {
 public:
  explicit Machine(Target target, unsigned wave_size = 64) : cache_(memory_) {
    wave.target = target;
    wave.size = wave_size;
    wave.dispatch = &dispatch_;
    wave.memory = &cache_;
    wave.group = &group;
    wave.pc = kPc;
    wave.next_pc = kNextPc;
    dispatch_.interrupt = &events;
    dispatch_.shared_aperture_hi = 0x10000;
    dispatch_.private_aperture_hi = 0x20000;
    for (u32 i = 0; i < data.size(); ++i) data[i] = 0x1000 + i;
    memory_.add(data.data(), sizeof data);
    wave.set_exec(kExecBefore);
  }
  void put(unsigned r, u64 value) {
    wave.s[r] = static_cast<u32>(value);
    wave.s[r + 1] = static_cast<u32>(value >> 32);
  }
  u64 get(unsigned r) const { return wave.s[r] | u64{wave.s[r + 1]} << 32; }
  // dst s[4:5], src0 s[10:11], src1 and the data of stores s[12:], sbase s[20:].
  void run(const Row& row, std::int32_t simm = 0) {
    const auto sgpr = [](Type type, unsigned index) {
      Operand o;
      if (type == Type::none || type == Type::simm) return o;
      o.kind = OperandKind::sgpr;
      o.type = type;
      o.index = static_cast<std::uint16_t>(index);
      return o;
    };
    Inst inst;
    inst.row = &row;
    inst.format = row.format;
    inst.size_bytes = 4;
    inst.simm = simm;
    inst.literal = literal;
    inst.offset = offset;
    inst.dst = sgpr(row.dst, 4);
    inst.src[0] = sgpr(row.src0, 10);
    inst.src[1] = sgpr(row.src1, 12);
    if (row.format == Format::smem) inst.src[0] = Operand{}, inst.src[2] = sgpr(row.src0, 20);
    row.handler(wave, inst);
    exercised(wave.target, row);
  }

  Wave wave;
  Events events;
  Workgroup group;
  std::array<u32, 64> data;
  u32 literal = 0;
  std::int32_t offset = 0;

 private:
  HostMemory memory_;
  Dispatch dispatch_{};
  AddressCache cache_;
};

const Row* find(Target target, std::string_view mnemonic) {
  for (const Row& row : scalar_rows()) {
    const char* name = name_of(row, target);
    const bool has = opcode_of(row, target) != kNoOpcode;
    if (has && row.handler && mnemonic == name) return &row;
  }
  return nullptr;
}


// Calls f for each target that has the row; at least one must.
void on_all(std::string_view mnemonic, const std::function<void(Target, const Row&)>& f) {
  unsigned found = 0;
  for (const Target target : kTargetList)
    if (const Row* row = find(target, mnemonic)) {
      SCOPED_TRACE(std::string(name(target)) + " " + std::string(mnemonic));
      f(target, *row);
      ++found;
    }
  EXPECT_GT(found, 0u) << mnemonic;
}

struct ExecOp {
  const char *name9, *name11;
  u64 (*value)(u64 source, u64 exec);
  bool write = false;  // *_wrexec: the destination gets the new EXEC
};
constexpr ExecOp kExecOps[] = {
    {"and_saveexec", "and_saveexec", [](u64 s, u64 e) { return s & e; }},
    {"or_saveexec", "or_saveexec", [](u64 s, u64 e) { return s | e; }},
    {"xor_saveexec", "xor_saveexec", [](u64 s, u64 e) { return s ^ e; }},
    {"andn2_saveexec", "and_not1_saveexec", [](u64 s, u64 e) { return s & ~e; }},
    {"orn2_saveexec", "or_not1_saveexec", [](u64 s, u64 e) { return s | ~e; }},
    {"nand_saveexec", "nand_saveexec", [](u64 s, u64 e) { return ~(s & e); }},
    {"nor_saveexec", "nor_saveexec", [](u64 s, u64 e) { return ~(s | e); }},
    {"xnor_saveexec", "xnor_saveexec", [](u64 s, u64 e) { return ~(s ^ e); }},
    {"andn1_saveexec", "and_not0_saveexec", [](u64 s, u64 e) { return ~s & e; }},
    {"orn1_saveexec", "or_not0_saveexec", [](u64 s, u64 e) { return ~s | e; }},
    {"andn1_wrexec", "and_not0_wrexec", [](u64 s, u64 e) { return ~s & e; }, true},
    {"andn2_wrexec", "and_not1_wrexec", [](u64 s, u64 e) { return s & ~e; }, true},
};

TEST(ScalarRows, SavesAndWritesOfExec) {
  for (const ExecOp& op : kExecOps)
    for (const Target target : kTargetList)
      for (const unsigned bits : {32u, 64u}) {
        const bool rdna = contains(kRdna, target);
        const std::string mnemonic = std::string("s_") + (rdna ? op.name11 : op.name9) + "_b" + std::to_string(bits);
        const Row* row = find(target, mnemonic);
        ASSERT_EQ(row != nullptr, bits == 64 || rdna) << mnemonic;
        if (!row) continue;
        for (const u64 source : {kSource, u64{0}, ~u64{0}, kExecBefore}) {
          Machine m(target, bits);
          const u64 keep = bits == 32 ? 0xffffffff : ~u64{0};
          m.put(10, source);
          m.run(*row);
          const u64 after = op.value(source, kExecBefore) & keep;
          EXPECT_EQ(m.wave.exec(), after) << mnemonic;
          EXPECT_EQ(m.get(4) & keep, op.write ? after : kExecBefore & keep) << mnemonic;
          EXPECT_EQ(m.wave.scc, after != 0) << mnemonic;
        }
      }
}

TEST(ScalarRows, ProgramCounter) {
  on_all("s_getpc_b64", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row);
    EXPECT_EQ(m.get(4), kNextPc);
  });
  on_all("s_setpc_b64", [](Target t, const Row& row) {
    Machine m(t);
    m.put(10, 0x7'0000'0100);
    m.run(row);
    EXPECT_EQ(m.wave.next_pc, 0x7'0000'0100u);
  });
  on_all("s_swappc_b64", [](Target t, const Row& row) {
    Machine m(t);
    m.put(10, 0x7'0000'0100);
    m.run(row);
    EXPECT_EQ(m.wave.next_pc, 0x7'0000'0100u);
    EXPECT_EQ(m.get(4), kNextPc);
  });
  on_all("s_call_b64", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row, -3);
    EXPECT_EQ(m.wave.next_pc, kNextPc - 12);
    EXPECT_EQ(m.get(4), kNextPc);
  });
}

TEST(ScalarRows, RelativeMovesStayInsideTheFile) {
  struct Case { const char* name; unsigned width; bool source; };
  for (const Case c : {Case{"s_movrels_b32", 1, true}, {"s_movrels_b64", 2, true}, {"s_movreld_b32", 1, false}, {"s_movreld_b64", 2, false}})
    on_all(c.name, [&](Target t, const Row& row) {
      Machine m(t);
      m.wave.s[kM0] = 6;
      m.put(10, 0xaaaa'bbbb);
      m.put(16, 0x1111'2222'3333'4444);
      m.run(row);
      const u64 expected = c.source ? 0x1111'2222'3333'4444 : 0xaaaa'bbbb;
      EXPECT_EQ(m.get(c.source ? 4 : 10) & (c.width == 1 ? 0xffffffff : ~u64{0}), expected & (c.width == 1 ? 0xffffffff : ~u64{0}));
      for (const u32 wild : {0xfffffff0u, 0xffffffffu, 110u, 0x7fffffffu}) {
        Machine bad(t);
        bad.wave.s[kM0] = wild;
        bad.run(row);
        EXPECT_EQ(bad.wave.stop_kind, Outcome::Kind::illegal) << wild;
      }
    });
}

TEST(ScalarRows, RelativeMoveOfBothSides) {
  on_all("s_movrelsd_2_b32", [](Target t, const Row& row) {
    Machine m(t);
    m.wave.s[kM0] = 0xfc00'fc00 | 20u << 16 | 6;  // ten bits each count
    m.put(10, 0xaaaa'bbbb);
    m.put(16, 0x3333'4444);
    m.run(row);
    EXPECT_EQ(m.wave.s[24], 0x3333'4444u);
    EXPECT_EQ(m.wave.s[4], 0u);
    for (const u32 wild : {100u, 110u << 16, 0x3ffu}) {
      Machine bad(t);
      bad.wave.s[kM0] = wild;
      bad.run(row);
      EXPECT_EQ(bad.wave.stop_kind, Outcome::Kind::illegal) << wild;
    }
  });
}

TEST(ScalarRows, BranchesOfADebugger) {
  for (const char* name : {"s_cbranch_cdbgsys", "s_cbranch_cdbguser", "s_cbranch_cdbgsys_or_user", "s_cbranch_cdbgsys_and_user"})
    on_all(name, [](Target t, const Row& row) {
      Machine m(t);
      m.run(row, 9);
      EXPECT_EQ(m.wave.next_pc, kNextPc) << "there is none";
    });
}

TEST(ScalarRows, Sopk) {
  on_all("s_movk_i32", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row, -2);
    EXPECT_EQ(m.wave.s[4], 0xfffffffeu);
  });
  on_all("s_cmovk_i32", [](Target t, const Row& row) {
    Machine m(t);
    m.wave.s[4] = 9;
    m.run(row, 7);
    EXPECT_EQ(m.wave.s[4], 9u);
    m.wave.scc = true;
    m.run(row, 7);
    EXPECT_EQ(m.wave.s[4], 7u);
  });
  for (const char* name : {"s_addk_i32", "s_addk_co_i32"}) on_all(name, [](Target t, const Row& row) {
    Machine m(t);
    m.wave.s[4] = 0x7fffffff;
    m.run(row, 1);
    EXPECT_EQ(m.wave.s[4], 0x80000000u);
    EXPECT_TRUE(m.wave.scc);
    m.run(row, 5);
    EXPECT_EQ(m.wave.s[4], 0x80000005u);
    EXPECT_FALSE(m.wave.scc);
  });
  on_all("s_mulk_i32", [](Target t, const Row& row) {
    Machine m(t);
    m.wave.s[4] = 5;
    m.run(row, -3);
    EXPECT_EQ(m.wave.s[4], static_cast<u32>(-15));
  });
  struct Compare { const char* name; bool (*value)(std::int64_t, std::int64_t); };
  constexpr Compare compares[] = {{"eq", [](auto a, auto b) { return a == b; }}, {"lg", [](auto a, auto b) { return a != b; }},
                                  {"gt", [](auto a, auto b) { return a > b; }},  {"ge", [](auto a, auto b) { return a >= b; }},
                                  {"lt", [](auto a, auto b) { return a < b; }},  {"le", [](auto a, auto b) { return a <= b; }}};
  for (const Compare& c : compares)
    for (const bool sign : {true, false})
      on_all(std::string("s_cmpk_") + c.name + (sign ? "_i32" : "_u32"), [&](Target t, const Row& row) {
        for (const u32 a : {0u, 1u, 0xffffffffu, 0x8000u, 0xffffu, 0xffff8000u})
          for (const std::int32_t b : {0, 1, -1, -32768}) {
            Machine m(t);
            m.wave.s[10] = a;
            m.run(row, b);
            // The immediate of the unsigned forms is extended with zeros.
            const std::int64_t x = sign ? std::int64_t{static_cast<std::int32_t>(a)} : std::int64_t{a};
            EXPECT_EQ(m.wave.scc, c.value(x, sign ? b : b & 0xffff)) << a << ' ' << b;
          }
      });
}

TEST(ScalarRows, HardwareRegisters) {
  // MODE is register 1: round f32, round f64/f16, denormals f32, denormals f64/f16, two bits each.
  constexpr std::int32_t whole = 1 | 0 << 6 | 7 << 11, denorm32 = 1 | 4 << 6 | 1 << 11;
  on_all("s_setreg_b32", [&](Target t, const Row& row) {
    Machine m(t);
    m.wave.s[10] = 0b01'10'11'10;
    m.run(row, whole);
    EXPECT_EQ(m.wave.mode.round32, 2);
    EXPECT_EQ(m.wave.mode.round64_16, 3);
    EXPECT_EQ(m.wave.mode.denorm32, 2);
    EXPECT_EQ(m.wave.mode.denorm64_16, 1);
    m.run(*find(t, "s_getreg_b32"), denorm32);
    EXPECT_EQ(m.wave.s[4], 2u);
  });
  on_all("s_setreg_imm32_b32", [&](Target t, const Row& row) {
    Machine m(t);
    m.literal = 0;
    m.run(row, denorm32);
    EXPECT_EQ(m.wave.mode.denorm32, 0);
    EXPECT_EQ(m.wave.mode.denorm64_16, 3);
  });
  on_all("s_setreg_imm32_b32", [&](Target t, const Row& row) {
    Machine m(t);
    m.literal = 1;
    m.run(row, 1 | 23 << 6 | 0 << 11);  // saturating halves
    EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::completed);
    EXPECT_EQ(m.wave.mode.other, 1u << 23);
    EXPECT_EQ(m.wave.mode.denorm32, 3);
  });
  on_all("s_round_mode", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row, 0b01'11);
    EXPECT_EQ(m.wave.mode.round32, 3);
    EXPECT_EQ(m.wave.mode.round64_16, 1);
    EXPECT_EQ(m.wave.mode.denorm32, 3);
  });
}

TEST(ScalarRows, Branches) {
  struct Case { const char* name; bool scc; u64 vcc, exec; bool taken; };
  constexpr Case cases[] = {
      {"s_branch", false, 0, 0, true},          {"s_cbranch_scc0", false, 0, 0, true},    {"s_cbranch_scc0", true, 0, 0, false},
      {"s_cbranch_scc1", true, 0, 0, true},     {"s_cbranch_scc1", false, 0, 0, false},   {"s_cbranch_vccz", false, 0, 1, true},
      {"s_cbranch_vccz", false, 1, 0, false},   {"s_cbranch_vccnz", false, 1, 0, true},   {"s_cbranch_vccnz", false, 0, 1, false},
      {"s_cbranch_execz", false, 1, 0, true},   {"s_cbranch_execz", false, 0, 1, false},  {"s_cbranch_execnz", false, 0, 1, true},
      {"s_cbranch_execnz", false, 1, 0, false},
  };
  for (const Case& c : cases)
    on_all(c.name, [&](Target t, const Row& row) {
      // The high half counts in wave64.
      Machine m(t, 64);
      m.wave.scc = c.scc;
      m.wave.set_mask(kVccLo, c.vcc << 40);
      m.wave.set_exec(c.exec << 40);
      m.run(row, 5);
      EXPECT_EQ(m.wave.next_pc, c.taken ? kNextPc + 20 : kNextPc);
      m.wave.next_pc = kNextPc;
      m.run(row, -2);
      EXPECT_EQ(m.wave.next_pc, c.taken ? kNextPc - 8 : kNextPc);
    });
}

TEST(ScalarRows, WhatHasNoEffectHere) {
  for (const char* name :
       {"s_nop", "s_wakeup", "s_setprio", "s_icache_inv", "s_incperflevel", "s_decperflevel", "s_ttracedata", "s_ttracedata_imm",
        "s_set_inst_prefetch_distance", "s_clause", "s_delay_alu", "s_waitcnt", "s_waitcnt_depctr", "s_wait_idle", "s_wait_event",
        "s_version", "s_wait_alu", "s_wait_loadcnt", "s_wait_storecnt", "s_wait_samplecnt", "s_wait_bvhcnt", "s_wait_expcnt", "s_wait_dscnt",
        "s_wait_kmcnt", "s_wait_loadcnt_dscnt", "s_wait_storecnt_dscnt", "s_prefetch_inst", "s_prefetch_inst_pc_rel", "s_prefetch_data",
        "s_buffer_prefetch_data", "s_prefetch_data_pc_rel", "s_waitcnt_vscnt", "s_waitcnt_vmcnt", "s_waitcnt_expcnt", "s_waitcnt_lgkmcnt", "s_dcache_inv",
        "s_dcache_wb", "s_dcache_inv_vol", "s_dcache_wb_vol", "s_gl1_inv"})
    on_all(name, [](Target t, const Row& row) {
      Machine m(t);
      for (unsigned r = 0; r < 100; ++r) m.wave.s[r] = r * 3;
      m.run(row, 1);
      for (unsigned r = 0; r < 100; ++r) ASSERT_EQ(m.wave.s[r], r * 3);
      EXPECT_EQ(m.wave.next_pc, kNextPc);
      EXPECT_EQ(m.wave.exec(), kExecBefore);
      EXPECT_EQ(m.wave.state, Wave::State::running);
    });
}

// Signal and wait of gfx12's barrier: three waves, one of which ends. Source: "RDNA4 ISA", S_BARRIER_SIGNAL and S_BARRIER_WAIT.
void run_barrier(Machine& m, std::string_view mnemonic, std::int32_t id) {
  const Row* row = find(m.wave.target, mnemonic);
  ASSERT_NE(row, nullptr) << mnemonic;
  Inst inst;
  inst.row = row;
  inst.format = row->format;
  inst.simm = id;
  inst.dst.kind = OperandKind::sgpr;
  inst.dst.index = 4;
  inst.src[0].kind = OperandKind::constant;
  inst.src[0].constant = static_cast<u32>(id);
  m.wave.next_pc = kNextPc;
  m.wave.state = Wave::State::running;
  row->handler(m.wave, inst);
  exercised(m.wave.target, *row);
}
TEST(ScalarRows, SplitBarrier) {
  Machine m(Target::gfx1201, 32);
  SplitBarrier& barrier = m.group.barrier;
  barrier.members = 3;
  run_barrier(m, "s_barrier_signal_isfirst", -1);
  EXPECT_TRUE(m.wave.scc);
  EXPECT_EQ(barrier.round, 0u);
  run_barrier(m, "s_get_barrier_state", -1);
  EXPECT_EQ(m.wave.s[4], 1u << 16 | 3u << 4 | 1u);
  run_barrier(m, "s_barrier_wait", -1);
  EXPECT_EQ(m.wave.state, Wave::State::at_barrier);
  EXPECT_EQ(m.wave.next_pc, kPc) << "the wave comes to it again";
  run_barrier(m, "s_barrier_signal_isfirst", -1);
  EXPECT_FALSE(m.wave.scc) << "the second of this round";
  EXPECT_EQ(barrier.round, 0u);
  barrier.leave();
  EXPECT_EQ(barrier.round, 1u) << "the third wave has ended";
  run_barrier(m, "s_barrier_wait", -1);
  EXPECT_EQ(m.wave.state, Wave::State::running);
  EXPECT_EQ(m.wave.next_pc, kNextPc);
  run_barrier(m, "s_barrier_wait", -1);
  EXPECT_EQ(m.wave.state, Wave::State::at_barrier) << "a round is waited for once";
  run_barrier(m, "s_barrier_signal", -1);
  run_barrier(m, "s_barrier_signal", -1);
  EXPECT_EQ(barrier.round, 2u);
  m.wave.scc = true;
  run_barrier(m, "s_barrier_signal_isfirst", -2);
  EXPECT_FALSE(m.wave.scc) << "the trap handler's barrier is not the program's";
  run_barrier(m, "s_barrier_signal", 3);
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
}

TEST(ScalarRows, DenormalMode) {
  on_all("s_denorm_mode", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row, 0x6);
    EXPECT_EQ(m.wave.mode.denorm32, 2u);
    EXPECT_EQ(m.wave.mode.denorm64_16, 1u);
  });
}

// Loads of 8 and 16 bits. Source: "RDNA4 ISA", S_LOAD_U8 and the like.
TEST(ScalarRows, SmallLoads) {
  struct Case { const char* name; std::int32_t offset; u32 value; };
  for (const Case& c : {Case{"s_load_u8", 5, 0x80}, Case{"s_load_i8", 5, 0xffffff80}, Case{"s_load_u16", 5, 0x8081},
                        Case{"s_load_i16", 5, 0xffff8081}, Case{"s_buffer_load_u8", 5, 0x80}, Case{"s_buffer_load_i8", 5, 0xffffff80},
                        Case{"s_buffer_load_u16", 5, 0x8081}, Case{"s_buffer_load_i16", 5, 0xffff8081},
                        Case{"s_buffer_load_u8", 8, 0}, Case{"s_buffer_load_i16", 8, 0}})
    on_all(c.name, [&](Target t, const Row& row) {
      Machine m(t);
      m.data[1] = 0x00008081;  // bytes 4 to 7: 81 80 00 00
      m.data[2] = 0xffffffff;
      const auto base = reinterpret_cast<std::uintptr_t>(m.data.data());
      m.put(20, base);
      m.put(22, 8);  // num_records of the buffer
      m.offset = c.offset;
      m.run(row);
      EXPECT_EQ(m.wave.s[4], c.value) << c.offset;
    });
}

TEST(ScalarRows, StateOfTheWave) {
  on_all("s_endpgm", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row);
    EXPECT_EQ(m.wave.state, Wave::State::ended);
  });
  on_all("s_sleep", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row, 1);
    EXPECT_EQ(m.wave.state, Wave::State::asleep);
    EXPECT_EQ(m.wave.next_pc, kNextPc);
  });
  on_all("s_sleep_var", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row);
    EXPECT_EQ(m.wave.state, Wave::State::asleep);
  });
  on_all("s_barrier", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row);
    EXPECT_EQ(m.wave.state, Wave::State::at_barrier);
  });
  on_all("s_sethalt", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row, 0);
    EXPECT_EQ(m.wave.state, Wave::State::running);
    m.run(row, 1);
    EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::trapped);
  });
  on_all("s_trap", [](Target t, const Row& row) {
    Machine m(t);
    m.run(row, 3);  // llvm.debugtrap, without a debugger
    EXPECT_EQ(m.wave.state, Wave::State::running);
    m.run(row, 2);
    EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::trapped);
  });
  on_all("s_sendmsg", [](Target t, const Row& row) {
    Machine m(t);
    m.wave.s[kM0] = 42;
    m.run(row, 1);
    EXPECT_EQ(m.events.raised, std::set<u32>{42});
    m.run(row, 2);
    EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
  });
  for (const char* name : {"s_sendmsg_rtn_b32", "s_sendmsg_rtn_b64"})
    on_all(name, [](Target t, const Row& row) {
      Machine m(t);
      m.put(4, 0x5555);
      m.run(row, 128);  // doorbell id
      EXPECT_EQ(m.wave.s[4], 0u);
      m.run(row, 131);  // real time
      const u32 first = m.wave.s[4];
      EXPECT_NE(first, 0u);
      m.run(row, 131);
      EXPECT_LE(m.wave.s[4] - first, 100'000'000u);  // forward, less than a second
    });
}

TEST(ScalarRows, VgprIndexing) {
  on_all("s_set_gpr_idx_on", [](Target t, const Row& row) {
    Machine m(t);
    m.wave.s[kM0] = 0xffff0fff;
    m.wave.s[10] = 0x107;
    m.run(row, 9);
    EXPECT_TRUE(m.wave.gpr_index_on);
    EXPECT_EQ(m.wave.s[kM0], 0xffff9f07u);
    m.wave.s[10] = 0x20;
    m.run(*find(t, "s_set_gpr_idx_idx"));
    EXPECT_EQ(m.wave.s[kM0] & 0xff, 0x20u);
    m.run(*find(t, "s_set_gpr_idx_mode"), 4);
    EXPECT_EQ(m.wave.s[kM0] >> 12 & 0xf, 4u);
    m.run(*find(t, "s_set_gpr_idx_off"));
    EXPECT_FALSE(m.wave.gpr_index_on);
  });
}

TEST(ScalarRows, LoadsAndStores) {
  struct Size { const char *name9, *name11; unsigned dwords; };
  for (const Size size : {Size{"dword", "b32", 1}, {"dwordx2", "b64", 2}, {"dwordx4", "b128", 4}, {"dwordx8", "b256", 8}, {"dwordx16", "b512", 16}, {"dwordx3", "b96", 3}})
    for (const Target t : kTargetList) {
      if (size.dwords == 3 && !contains(kGfx12, t)) continue;
      const char* suffix = family(t) != Family::gfx9 ? size.name11 : size.name9;
      Machine m(t);
      m.put(20, reinterpret_cast<std::uintptr_t>(m.data.data()) + 3);  // the low two bits are ignored
      m.offset = 16;
      m.run(*find(t, std::string("s_load_") + suffix));
      for (unsigned k = 0; k < size.dwords; ++k) EXPECT_EQ(m.wave.s[4 + k], 0x1004 + k);
      // V# with eight records of a byte: dwords beyond read as zero.
      Machine b(t);
      b.put(20, reinterpret_cast<std::uintptr_t>(b.data.data()));
      b.wave.s[22] = 8;
      b.offset = 4;
      for (unsigned k = 0; k < 16; ++k) b.wave.s[4 + k] = 77;
      b.run(*find(t, std::string("s_buffer_load_") + suffix));
      for (unsigned k = 0; k < size.dwords; ++k) EXPECT_EQ(b.wave.s[4 + k], k == 0 ? 0x1001u : 0u);
      b.wave.s[20] = 0x10;
      b.wave.s[21] = 0;
      b.run(*find(t, std::string("s_buffer_load_") + suffix));
      EXPECT_EQ(b.wave.stop_kind, Outcome::Kind::page_fault);
      if (size.dwords > 4 || family(t) != Family::gfx9) continue;
      Machine s(t);
      s.put(20, reinterpret_cast<std::uintptr_t>(s.data.data()));
      s.offset = 8;
      for (unsigned k = 0; k < 5; ++k) s.wave.s[12 + k] = 0x70 + k;
      s.run(*find(t, std::string("s_store_") + suffix));
      EXPECT_EQ(s.data[1], 0x1001u);
      for (unsigned k = 0; k < size.dwords; ++k) EXPECT_EQ(s.data[2 + k], 0x70 + k);
      EXPECT_EQ(s.data[2 + size.dwords], 0x1002 + size.dwords);
    }
  for (const char* name : {"s_memtime", "s_memrealtime"})
    on_all(name, [](Target t, const Row& row) {
      Machine m(t);
      m.run(row);
      const u64 first = m.get(4);
      EXPECT_NE(first, 0u);
      m.run(row);
      EXPECT_GE(m.get(4), first);
    });
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
