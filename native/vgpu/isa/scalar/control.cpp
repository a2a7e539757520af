// SOPP and SOPK: branches, waits, barriers, messages, hardware registers.
#include <time.h>

#include <atomic>
#include <string>

#include "vgpu/isa/scalar/alu.hpp"
#include "vgpu/isa/scalar/tables.hpp"

namespace kerncap::vgpu::isa::scalar {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

void nothing(Wave&, const Inst&) {}
// Waits order memory for other observers. All but the order of a store and a later load is the host's own.
void wait_counters(Wave& w, const Inst&) {
  if (!w.stored) return std::atomic_thread_fence(std::memory_order_acq_rel);
  w.stored = false;
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void jump(Wave& w, const Inst& i) { w.next_pc += static_cast<u64>(i64{i.simm} * 4); }
template <bool (*condition)(const Wave&)>
void jump_if(Wave& w, const Inst& i) {
  if (condition(w)) jump(w, i);
}
bool scc0(const Wave& w) { return !w.scc; }
bool scc1(const Wave& w) { return w.scc; }
bool vccz(const Wave& w) { return w.mask(kVccLo) == 0; }
bool vccnz(const Wave& w) { return w.mask(kVccLo) != 0; }
bool execz(const Wave& w) { return w.exec() == 0; }
bool execnz(const Wave& w) { return w.exec() != 0; }

void call(Wave& w, const Inst& i) {
  write_scalar64(w, i.dst, w.next_pc);
  jump(w, i);
}

void end_program(Wave& w, const Inst&) { w.state = Wave::State::ended; }
void barrier(Wave& w, const Inst&) { w.state = Wave::State::at_barrier; }

// The two halves of a barrier on gfx12. -1 is the workgroup's; 0 is none, and -2 (of trap handlers) does nothing here. A wave
// that waits comes to the instruction again when a round is complete. Source: "RDNA4 ISA", S_BARRIER_SIGNAL, S_BARRIER_WAIT.
constexpr i32 kBarrierNone = 0, kBarrierGroup = -1, kBarrierTrap = -2;
template <bool is_first>
void barrier_signal(Wave& w, const Inst& i) {
  const i32 id = i.src[0].kind == OperandKind::constant ? static_cast<i32>(i.src[0].constant)
                                                        : static_cast<i32>(read_scalar32(w, i.src[0]) & 0x1f);
  if (id == kBarrierNone || id == kBarrierTrap) {
    if constexpr (is_first) w.scc = false;
    return;
  }
  if (id != kBarrierGroup) return w.stop(Outcome::Kind::unimplemented, "barrier " + std::to_string(id));
  const bool first = w.group->barrier.signal();
  if constexpr (is_first) w.scc = first;
}
void barrier_wait(Wave& w, const Inst& i) {
  if (i.simm != kBarrierGroup) return w.stop(Outcome::Kind::unimplemented, "wait for barrier " + std::to_string(i.simm));
  if (w.barrier_round != w.group->barrier.round) {
    w.barrier_round = w.group->barrier.round;
    return;
  }
  w.next_pc = w.pc;
  w.state = Wave::State::at_barrier;
}
void barrier_state(Wave& w, const Inst& i) {
  const bool group = i.src[0].kind == OperandKind::constant && static_cast<i32>(i.src[0].constant) == kBarrierGroup;
  if (!group) return w.stop(Outcome::Kind::unimplemented, "state of another barrier than the workgroup's");
  const SplitBarrier& b = w.group->barrier;
  write_scalar32(w, i.dst, (b.signalled & 0x7f) << 16 | (b.members & 0x7f) << 4 | 1);
}
void sleep(Wave& w, const Inst&) { w.state = Wave::State::asleep; }

void halt(Wave& w, const Inst& i) {
  if (i.simm & 1) w.stop(Outcome::Kind::trapped, "s_sethalt " + std::to_string(i.simm));
}

// Trap ids of the HSA ABI: 2 is llvm.trap, 3 llvm.debugtrap, which does nothing without a debugger.
// Source: LLVM AMDGPUUsage, "Trap Handler ABI".
void trap(Wave& w, const Inst& i) {
  const unsigned id = static_cast<unsigned>(i.simm) & 0xff;
  if (id == 3) return;
  w.stop(Outcome::Kind::trapped, "s_trap " + std::to_string(id));
}

// Message ids. Source: LLVM AMDGPUUsage / SIDefines, "sendmsg".
constexpr unsigned kMsgInterrupt = 1, kMsgDeallocVgprs = 3, kMsgRtnGetDoorbell = 128, kMsgRtnGetRealtime = 131;

void send_message(Wave& w, const Inst& i) {
  const unsigned id = static_cast<unsigned>(i.simm) & 0xff;
  if (id == kMsgInterrupt) {
    if (w.dispatch->interrupt) w.dispatch->interrupt->raise(w.s[kM0] & 0xff);
    return;
  }
  if (id == kMsgDeallocVgprs && contains(kRdna, w.target)) return;
  w.stop(Outcome::Kind::unimplemented, "message " + std::to_string(id));
}

u64 nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000u + static_cast<u64>(now.tv_nsec);
}

// MODE as the register holds it. Source: "MODE register" of the MI300 and RDNA3 ISA manuals.
// gfx12 has no bits for DX10_CLAMP and IEEE.
u32 mode_bits(const Wave& w) {
  const Mode& m = w.mode;
  const int low = m.round32 | m.round64_16 << 2 | m.denorm32 << 4 | m.denorm64_16 << 6;
  const int nan = family(w.target) == Family::gfx12 ? 0 : m.dx10_clamp << 8 | m.ieee << 9;
  return static_cast<u32>(low | nan) | m.other;
}
void set_mode_bits(Wave& w, u32 bits) {
  Mode& m = w.mode;
  m.round32 = bits & 3;
  m.round64_16 = bits >> 2 & 3;
  m.denorm32 = bits >> 4 & 3;
  m.denorm64_16 = bits >> 6 & 3;
  if (family(w.target) != Family::gfx12) {
    m.dx10_clamp = bits >> 8 & 1;
    m.ieee = bits >> 9 & 1;
  }
  m.other = bits & ~0x3ffu;
}

// Hardware register numbers. Source: LLVM SIDefines, "Hwreg"; number 20 is XCC_ID from gfx942 on (gfx9).
constexpr unsigned kHwMode = 1, kHwId = 4, kHwShMemBases = 15, kHwXccId = 20, kHwId1 = 23, kHwId2 = 24, kHwShaderCycles = 29,
                   kHwShaderCyclesHigh = 30;  // gfx12: 64 bits in two registers

bool read_hardware_register(Wave& w, unsigned id, u32& value) {
  const bool gfx9 = family(w.target) == Family::gfx9, gfx12 = family(w.target) == Family::gfx12;
  switch (id) {
    case kHwMode: value = mode_bits(w); return true;
    case kHwId:
      // WAVE_ID and QUEUE position; the virtual GPU runs everything on one compute unit.
      if (!gfx9) break;
      value = w.index_in_group & 0xf;
      return true;
    case kHwShMemBases:
      if (gfx12) break;
      value = w.dispatch->private_aperture_hi >> 16 | (w.dispatch->shared_aperture_hi & 0xffff0000u);
      return true;
    case kHwXccId:
      if (!contains(kGfx940, w.target)) break;
      value = 0;
      return true;
    case kHwId1: if (gfx9) break; value = w.index_in_group & 0x1f; return true;
    case kHwId2: if (gfx9) break; value = 0; return true;
    case kHwShaderCycles:
      if (gfx9) break;
      value = static_cast<u32>(nanoseconds()) & (gfx12 ? ~0u : 0xfffffu);
      return true;
    case kHwShaderCyclesHigh: if (!gfx12) break; value = static_cast<u32>(nanoseconds() >> 32); return true;
    default: break;
  }
  w.stop(Outcome::Kind::unimplemented, "hardware register " + std::to_string(id));
  return false;
}

struct HwField {
  unsigned id, offset, size;
  explicit HwField(i32 simm)
      : id(static_cast<unsigned>(simm) & 0x3f), offset(static_cast<unsigned>(simm) >> 6 & 0x1f),
        size((static_cast<unsigned>(simm) >> 11 & 0x1f) + 1) {}
  u32 mask() const { return size >= 32 ? ~0u : (1u << size) - 1; }
};

void get_register(Wave& w, const Inst& i) {
  const HwField f(i.simm);
  u32 value = 0;
  if (read_hardware_register(w, f.id, value)) write_scalar32(w, i.dst, value >> f.offset & f.mask());
}
void set_field(Wave& w, i32 simm, u32 value) {
  const HwField f(simm);
  if (f.id != kHwMode) return w.stop(Outcome::Kind::unimplemented, "write of hardware register " + std::to_string(f.id));
  const u32 mask = f.mask() << f.offset;
  set_mode_bits(w, (mode_bits(w) & ~mask) | (value << f.offset & mask));
}
void set_register(Wave& w, const Inst& i) { set_field(w, i.simm, read_scalar32(w, i.src[0])); }
void set_register_literal(Wave& w, const Inst& i) { set_field(w, i.simm, i.literal); }
void round_mode(Wave& w, const Inst& i) { set_mode_bits(w, (mode_bits(w) & ~0x0fu) | (static_cast<u32>(i.simm) & 0xf)); }
void denorm_mode(Wave& w, const Inst& i) {
  set_mode_bits(w, (mode_bits(w) & ~0xf0u) | (static_cast<u32>(i.simm) & 0xf) << 4);
}

void gpr_idx_off(Wave& w, const Inst&) { w.gpr_index_on = false; }
void gpr_idx_mode(Wave& w, const Inst& i) { w.s[kM0] = (w.s[kM0] & ~0xf000u) | (static_cast<u32>(i.simm) & 0xf) << 12; }

void mov_k(Wave& w, const Inst& i) { write_scalar32(w, i.dst, static_cast<u32>(i.simm)); }
void cmov_k(Wave& w, const Inst& i) {
  if (w.scc) mov_k(w, i);
}
void add_k(Wave& w, const Inst& i) {
  const u32 a = w.s[i.dst.index], b = static_cast<u32>(i.simm), r = a + b;
  write_scalar32(w, i.dst, r);
  w.scc = ((a ^ r) & (b ^ r)) >> 31;
}
void mul_k(Wave& w, const Inst& i) { write_scalar32(w, i.dst, w.s[i.dst.index] * static_cast<u32>(i.simm)); }
template <auto F>
void compare_signed(Wave& w, const Inst& i) { w.scc = F(static_cast<i32>(read_scalar32(w, i.src[0])), i.simm); }
template <auto F>
void compare_unsigned(Wave& w, const Inst& i) { w.scc = F(read_scalar32(w, i.src[0]), static_cast<u32>(i.simm) & 0xffff); }
constexpr auto eq = [](auto a, auto b) { return a == b; };
constexpr auto lg = [](auto a, auto b) { return a != b; };
constexpr auto gt = [](auto a, auto b) { return a > b; };
constexpr auto ge = [](auto a, auto b) { return a >= b; };
constexpr auto lt = [](auto a, auto b) { return a < b; };
constexpr auto le = [](auto a, auto b) { return a <= b; };

#define SOPP(NAME, OP9, OP11, ...) \
  Row { NAME, nullptr, Format::sopp, OP9, OP11, kAllTargets, Type::none, Type::simm, Type::none, Type::none, __VA_ARGS__ }
// Of gfx12 alone.
#define SOPP12(NAME, OP, ...) \
  Row { NAME, nullptr, Format::sopp, kNoOpcode, OP, kGfx12, Type::none, Type::simm, Type::none, Type::none, __VA_ARGS__ }
#define SOP1_12(NAME, OP, DST, SRC, ...) \
  Row { NAME, nullptr, Format::sop1, kNoOpcode, OP, kGfx12, Type::DST, Type::SRC, Type::none, Type::none, __VA_ARGS__ }
#define SOPK(NAME, OP9, OP11, DST, SRC, ...) \
  Row { NAME, nullptr, Format::sopk, OP9, OP11, kAllTargets, Type::DST, Type::SRC, Type::none, Type::none, __VA_ARGS__ }
constexpr std::uint16_t no = kNoOpcode;

const Row rows[] = {
    SOPP("s_nop", 0x00, 0x00, nothing),
    SOPP("s_endpgm", 0x01, 0x30, end_program, kBranch),
    SOPP("s_branch", 0x02, 0x20, jump, kBranch),
    SOPP("s_wakeup", 0x03, 0x34, nothing),
    SOPP("s_cbranch_scc0", 0x04, 0x21, jump_if<scc0>, kBranch),
    SOPP("s_cbranch_scc1", 0x05, 0x22, jump_if<scc1>, kBranch),
    SOPP("s_cbranch_vccz", 0x06, 0x23, jump_if<vccz>, kBranch),
    SOPP("s_cbranch_vccnz", 0x07, 0x24, jump_if<vccnz>, kBranch),
    SOPP("s_cbranch_execz", 0x08, 0x25, jump_if<execz>, kBranch),
    SOPP("s_cbranch_execnz", 0x09, 0x26, jump_if<execnz>, kBranch),
    SOPP("s_barrier", 0x0a, 0x3d, barrier),
    SOPP("s_setkill", 0x0b, 0x01, nullptr),
    SOPP("s_waitcnt", 0x0c, 0x09, wait_counters),
    SOPP("s_sethalt", 0x0d, 0x02, halt),
    SOPP("s_sleep", 0x0e, 0x03, sleep),
    SOPP("s_setprio", 0x0f, 0x35, nothing),
    SOPP("s_sendmsg", 0x10, 0x36, send_message),
    SOPP("s_sendmsghalt", 0x11, 0x37, nullptr),
    SOPP("s_trap", 0x12, 0x10, trap),
    SOPP("s_icache_inv", 0x13, 0x3c, nothing),
    SOPP("s_incperflevel", 0x14, 0x38, nothing),
    SOPP("s_decperflevel", 0x15, 0x39, nothing),
    SOPP("s_ttracedata", 0x16, 0x3a, nothing),
    SOPP("s_ttracedata_imm", no, 0x3b, nothing),
    // STATUS.COND_DBG_SYS and COND_DBG_USER are a debugger's, and zero without one.
    SOPP("s_cbranch_cdbgsys", 0x17, 0x27, nothing, kBranch),
    SOPP("s_cbranch_cdbguser", 0x18, 0x28, nothing, kBranch),
    SOPP("s_cbranch_cdbgsys_or_user", 0x19, 0x29, nothing, kBranch),
    SOPP("s_cbranch_cdbgsys_and_user", 0x1a, 0x2a, nothing, kBranch),
    SOPP("s_endpgm_saved", 0x1b, 0x31, nullptr),
    SOPP("s_set_gpr_idx_off", 0x1c, no, gpr_idx_off),
    SOPP("s_set_gpr_idx_mode", 0x1d, no, gpr_idx_mode),
    SOPP("s_endpgm_ordered_ps_done", 0x1e, 0x32, nullptr),
    SOPP("s_set_inst_prefetch_distance", no, 0x04, nothing),
    SOPP("s_clause", no, 0x05, nothing),
    SOPP("s_delay_alu", no, 0x07, nothing),
    SOPP("s_waitcnt_depctr", no, 0x08, nothing),
    SOPP("s_wait_idle", no, 0x0a, wait_counters),
    SOPP("s_wait_event", no, 0x0b, wait_counters),
    SOPP("s_round_mode", no, 0x11, round_mode),
    SOPP("s_denorm_mode", no, 0x12, denorm_mode),
    SOPP("s_code_end", no, 0x1f, nullptr),

    SOPP12("s_barrier_wait", 0x14, barrier_wait),
    SOPP12("s_wait_loadcnt", 0x40, wait_counters),
    SOPP12("s_wait_storecnt", 0x41, wait_counters),
    SOPP12("s_wait_samplecnt", 0x42, wait_counters),
    SOPP12("s_wait_bvhcnt", 0x43, wait_counters),
    SOPP12("s_wait_expcnt", 0x44, wait_counters),
    SOPP12("s_wait_dscnt", 0x46, wait_counters),
    SOPP12("s_wait_kmcnt", 0x47, wait_counters),
    SOPP12("s_wait_loadcnt_dscnt", 0x48, wait_counters),
    SOPP12("s_wait_storecnt_dscnt", 0x49, wait_counters),
    SOP1_12("s_barrier_signal", 0x4e, none, i32, barrier_signal<false>),
    SOP1_12("s_barrier_signal_isfirst", 0x4f, none, i32, barrier_signal<true>),
    SOP1_12("s_get_barrier_state", 0x50, b32, i32, barrier_state),
    SOP1_12("s_alloc_vgpr", 0x53, none, b32, nullptr),
    SOP1_12("s_sleep_var", 0x58, none, b32, sleep),

    SOPK("s_movk_i32", 0x00, 0x00, b32, none, mov_k),
    SOPK("s_version", no, 0x01, none, none, nothing),
    SOPK("s_cmovk_i32", 0x01, 0x02, b32, none, cmov_k),
    SOPK("s_cmpk_eq_i32", 0x02, 0x03, none, i32, compare_signed<eq>),
    SOPK("s_cmpk_lg_i32", 0x03, 0x04, none, i32, compare_signed<lg>),
    SOPK("s_cmpk_gt_i32", 0x04, 0x05, none, i32, compare_signed<gt>),
    SOPK("s_cmpk_ge_i32", 0x05, 0x06, none, i32, compare_signed<ge>),
    SOPK("s_cmpk_lt_i32", 0x06, 0x07, none, i32, compare_signed<lt>),
    SOPK("s_cmpk_le_i32", 0x07, 0x08, none, i32, compare_signed<le>),
    SOPK("s_cmpk_eq_u32", 0x08, 0x09, none, u32, compare_unsigned<eq>),
    SOPK("s_cmpk_lg_u32", 0x09, 0x0a, none, u32, compare_unsigned<lg>),
    SOPK("s_cmpk_gt_u32", 0x0a, 0x0b, none, u32, compare_unsigned<gt>),
    SOPK("s_cmpk_ge_u32", 0x0b, 0x0c, none, u32, compare_unsigned<ge>),
    SOPK("s_cmpk_lt_u32", 0x0c, 0x0d, none, u32, compare_unsigned<lt>),
    SOPK("s_cmpk_le_u32", 0x0d, 0x0e, none, u32, compare_unsigned<le>),
    SOPK("s_addk_i32", 0x0e, 0x0f, b32, none, add_k),
    SOPK("s_mulk_i32", 0x0f, 0x10, b32, none, mul_k),
    SOPK("s_cbranch_i_fork", 0x10, no, none, b64, nullptr),
    SOPK("s_getreg_b32", 0x11, 0x11, b32, none, get_register),
    SOPK("s_setreg_b32", 0x12, 0x12, none, b32, set_register),
    SOPK("s_setreg_imm32_b32", 0x14, 0x13, none, none, set_register_literal, kLiteralK),
    SOPK("s_call_b64", 0x15, 0x14, b64, none, call, kBranch),
    SOPK("s_subvector_loop_begin", no, 0x16, b32, none, nullptr),
    SOPK("s_subvector_loop_end", no, 0x17, b32, none, nullptr),
    SOPK("s_waitcnt_vscnt", no, 0x18, none, b32, wait_counters),
    SOPK("s_waitcnt_vmcnt", no, 0x19, none, b32, wait_counters),
    SOPK("s_waitcnt_expcnt", no, 0x1a, none, b32, wait_counters),
    SOPK("s_waitcnt_lgkmcnt", no, 0x1b, none, b32, wait_counters),
};

}  // namespace

// The GPU's constant clock runs at 100 MHz.
std::uint64_t realtime_ticks() { return nanoseconds() / 10; }

void send_message_return(Wave& w, const Inst& i) {
  const unsigned id = static_cast<unsigned>(i.simm) & 0xff;
  std::uint64_t value = 0;
  if (id == kMsgRtnGetRealtime) value = realtime_ticks();
  else if (id != kMsgRtnGetDoorbell) return w.stop(Outcome::Kind::unimplemented, "returning message " + std::to_string(id));
  if (i.dst.type == Type::b64) write_scalar64(w, i.dst, value);
  else write_scalar32(w, i.dst, static_cast<std::uint32_t>(value));
}

std::span<const Row> control_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::scalar
