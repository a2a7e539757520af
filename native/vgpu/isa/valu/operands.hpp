// Fetch and commit: how a VALU handler gets at its lanes. Compiled once, used by every instruction set variant.
// In: a decoded instruction and a wave. Out: pointers to 64 lanes for each source (modifiers, DPP, SDWA and half selects
// applied), and the write of a result under EXEC. Called by the handlers in *.inl.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <utility>

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::valu {

// 64-bit operands use both registers; hi is null otherwise.
struct Source {
  const std::uint32_t* lo = nullptr;
  const std::uint32_t* hi = nullptr;
};
struct Dest {
  std::uint32_t* lo = nullptr;
  std::uint32_t* hi = nullptr;
};
struct Scratch {
  LaneBuffer lo, hi;
};

inline std::uint64_t all_lanes(const Wave& wave) { return wave.size == 32 ? 0xffffffffull : ~0ull; }
constexpr bool is_wide(Type t) { return t == Type::b64 || t == Type::u64 || t == Type::i64 || t == Type::f64; }
constexpr bool is_half(Type t) {
  return t == Type::b16 || t == Type::u16 || t == Type::i16 || t == Type::f16 || t == Type::bf16;
}
constexpr bool is_float(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::f32 || t == Type::f64;
}

// A source with everything applied. keep_denormals: the operation works on bits (class tests) and never flushes.
Source fetch_slow(Wave& wave, const Inst& inst, unsigned i, Type type, Scratch& store, bool keep_denormals);
// The 32 or 64 bits of a source in each lane, nothing applied (packed and matrix operations); register_offset for wide ones.
const std::uint32_t* fetch_raw(Wave& wave, const Operand& operand, unsigned register_offset, LaneBuffer& store);
// The 32 bits of a source that is the same in every lane.
inline std::uint32_t scalar_lane(const Wave& wave, const Operand& operand) {
  if (operand.kind == OperandKind::constant) return static_cast<std::uint32_t>(operand.constant);
  return operand.kind == OperandKind::sgpr ? wave.s[operand.index] : read_scalar32(wave, operand);
}
// Lanes that the instruction writes: EXEC without the lanes that DPP disables.
std::uint64_t write_mask_dpp(const Wave& wave, const Inst& inst);
inline std::uint64_t write_mask(const Wave& wave, const Inst& inst) {
  return inst.vet == Inst::Vet::plain || inst.dpp.kind == Dpp::Kind::none ? wave.exec() : write_mask_dpp(wave, inst);
}
// Lane mask operand of v_cndmask and carries.
inline std::uint64_t read_mask(const Wave& wave, const Operand& operand) {
  if (operand.kind == OperandKind::sgpr) return wave.mask(operand.index);
  if (operand.kind == OperandKind::constant) return operand.constant & all_lanes(wave);
  return wave.size == 32 ? read_scalar32(wave, operand) : read_scalar64(wave, operand);
}
inline void write_mask_dst(Wave& wave, const Operand& operand, std::uint64_t value) {
  wave.set_mask(operand.kind == OperandKind::sgpr ? unsigned{operand.index} : unsigned{kVccLo}, value);
}

// Writes result lanes: clamp, output denormals, destination half, SDWA destination, then the lanes in mask.
void commit(Wave& wave, const Inst& inst, Type type, std::uint64_t mask, Dest result, bool keep_denormals);
// dst[l] = value[l] where mask has l.
void blend(std::uint32_t* dst, const std::uint32_t* value, std::uint64_t mask);

// False, with the wave stopped by name, when the form of the instruction is not implemented and nobody asked before.
bool accepted_slow(Wave& wave, const Inst& inst);
inline bool accepted(Wave& wave, const Inst& inst) {
  return inst.vet != Inst::Vet::none || accepted_slow(wave, inst);
}
// What commit() does to a value on its way to a register, for a result in an SGPR.
std::uint32_t scalar_result(const Wave& wave, const Inst& inst, Type type, std::uint32_t value);
void stop_illegal_register(Wave& wave, const Inst& inst);

// Sets the host's rounding mode for one operation when the wave's differs from nearest even.
class RoundingScope {
 public:
  explicit RoundingScope(std::uint8_t mode) : active_(mode != 0) {
    if (active_) enter(mode);
  }
  ~RoundingScope() {
    if (active_) leave();
  }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  void enter(std::uint8_t mode);
  void leave();
  bool active_;
  int saved_ = 0;
};

}  // namespace kerncap::vgpu::isa::valu
