// State of one wavefront and of its workgroup, as the handlers see it.
// Registers are dwords; a VGPR is 64 consecutive dwords, one a lane (lanes 32..63 stay unused in wave32).
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa {

inline constexpr unsigned kLanes = 64;

// Base of the buffer resource that a gfx90a kernel gets for its private segment: an address outside the device's, which
// MUBUF instructions recognise. Private memory itself belongs to the wave (Wave::scratch).
inline constexpr std::uint64_t kPrivateResourceBase = 0xffff'0000'0000;

struct alignas(64) LaneBuffer {
  std::uint32_t lane[kLanes];
};

// MODE register fields. Source: "RDNA3" and "CDNA3" ISA manuals, section on MODE.
struct Mode {
  std::uint8_t round32 = 0, round64_16 = 0;    // 0 nearest even, 1 +inf, 2 -inf, 3 zero
  std::uint8_t denorm32 = 3, denorm64_16 = 3;  // bit 0: inputs kept, bit 1: outputs kept
  bool dx10_clamp = true, ieee = true;
  std::uint32_t other = 0;                     // bits 31:10 as written, for s_getreg
  // Nearest even, denormals kept: one comparison of the four bytes.
  bool plain() const { return std::bit_cast<std::uint32_t>(std::array{round32, round64_16, denorm32, denorm64_16}) == 0x03030000; }
};

class AddressCache;  // memory/address.hpp

// The barrier of gfx12, whose signal and wait are two instructions. The run loops say when a wave has ended.
struct SplitBarrier {
  unsigned members = 0, signalled = 0;
  std::uint64_t round = 0;  // rounds that were completed
  // Whether this is the first signal of its round.
  bool signal() {
    ++signalled;
    const bool first = signalled == 1;
    complete();
    return first;
  }
  void leave() {
    if (members != 0) --members;
    complete();
  }

 private:
  void complete() {
    if (signalled == 0 || signalled < members) return;
    signalled = 0;
    ++round;
  }
};

struct Workgroup {
  std::vector<std::uint8_t> lds;
  std::uint32_t id[3] = {};
  SplitBarrier barrier;
};

struct Wave {
  alignas(64) std::uint32_t s[kScalarRegs] = {};  // indexed by ScalarReg
  std::uint32_t* v = nullptr;   // VGPR r, lane l: v[r * kLanes + l]
  std::uint32_t* a = nullptr;   // AccVGPRs likewise
  unsigned vgprs = 0, agprs = 0;
  Target target = Target::gfx942;
  unsigned size = 64;           // 32 or 64 lanes
  bool scc = false;
  bool stored = false;          // to memory that others see, since the last wait: s_waitcnt has something to order
  Mode mode;
  std::uint64_t pc = 0, next_pc = 0;  // a handler that branches sets next_pc
  Workgroup* group = nullptr;
  unsigned index_in_group = 0;
  const Dispatch* dispatch = nullptr;
  Trace* trace = nullptr;
  AddressCache* memory = nullptr;   // translations of this thread
  std::byte* scratch = nullptr;     // private memory: scratch_lane_bytes for each lane, lane after lane
  std::uint32_t scratch_lane_bytes = 0;
  // VGPR indexing (s_set_gpr_idx_on, gfx9): the run loop shifts VALU operands by m0[7:0] as m0[15:12] says.
  bool gpr_index_on = false;
  std::uint64_t barrier_round = 0;          // of the SplitBarrier, that it has waited for
  std::optional<std::uint32_t> sync_round;  // of the barrier of GlobalSync that it waits at
  // Set by a handler to end the run loop; the loop turns it into an Outcome. A wave that sleeps ends its turn: as a rule it
  // waits for another one.
  enum class State : std::uint8_t { running, asleep, ended, at_barrier, stopped } state = State::running;
  Outcome::Kind stop_kind = Outcome::Kind::completed;
  std::uint64_t fault_va = 0;
  bool fault_write = false, fault_fetch = false;
  std::string stop_text;

  std::uint64_t exec() const { return size == 32 ? s[kExecLo] : s[kExecLo] | std::uint64_t{s[kExecHi]} << 32; }
  void set_exec(std::uint64_t m) {
    s[kExecLo] = static_cast<std::uint32_t>(m);
    if (size == 64) s[kExecHi] = static_cast<std::uint32_t>(m >> 32);
  }
  std::uint32_t* vreg(unsigned index) { return index < 256 ? v + index * kLanes : a + (index - 256) * kLanes; }
  // Lane masks (VCC, VOPC destinations, carries): one SGPR in wave32, an aligned pair in wave64.
  std::uint64_t mask(unsigned sreg) const {
    if (sreg == kNull) return 0;
    return size == 32 ? s[sreg] : s[sreg] | std::uint64_t{s[sreg + 1]} << 32;
  }
  void set_mask(unsigned sreg, std::uint64_t m) {
    if (sreg == kNull) return;
    s[sreg] = static_cast<std::uint32_t>(m);
    if (size == 64) s[sreg + 1] = static_cast<std::uint32_t>(m >> 32);
  }
  void stop(Outcome::Kind kind, std::string text) {
    state = State::stopped;
    stop_kind = kind;
    stop_text = std::move(text);
  }
};

// Scalar operands (SGPR, constant, special): used by every handler.
std::uint64_t read_special(const Wave& wave, const Operand& operand);  // scalar/operands.cpp
inline std::uint32_t read_scalar32(const Wave& wave, const Operand& operand) {
  if (operand.kind == OperandKind::sgpr) return wave.s[operand.index];
  if (operand.kind == OperandKind::constant) return static_cast<std::uint32_t>(operand.constant);
  return static_cast<std::uint32_t>(read_special(wave, operand));
}
inline std::uint64_t read_scalar64(const Wave& wave, const Operand& operand) {
  if (operand.kind == OperandKind::constant) return operand.constant;
  if (operand.kind != OperandKind::sgpr) return read_special(wave, operand);
  if (operand.index == kNull) return 0;
  return wave.s[operand.index] | std::uint64_t{wave.s[operand.index + 1]} << 32;
}
inline void write_scalar32(Wave& wave, const Operand& operand, std::uint32_t value) {
  if (operand.index != kNull) wave.s[operand.index] = value;
}
inline void write_scalar64(Wave& wave, const Operand& operand, std::uint64_t value) {
  if (operand.index == kNull) return;
  wave.s[operand.index] = static_cast<std::uint32_t>(value);
  wave.s[operand.index + 1] = static_cast<std::uint32_t>(value >> 32);
}

}  // namespace kerncap::vgpu::isa
