// Slow paths of fetch and commit: everything but a plain VGPR under a plain mode.
#include "vgpu/isa/valu/operands.hpp"

#include <cfenv>

#include "vgpu/isa/valu/dpp.hpp"

namespace kerncap::vgpu::isa::valu {
namespace {


// SDWA selection of one dword. Source: "Vega ISA", 13.3.7 SDWA.
std::uint32_t select_sdwa(std::uint32_t value, unsigned select, bool sign_extend) {
  if (select >= 6) return value;
  const unsigned width = select < 4 ? 8 : 16;
  const unsigned shift = select < 4 ? select * 8 : (select - 4) * 16;
  const std::uint32_t part = (value >> shift) & (width == 8 ? 0xffu : 0xffffu);
  if (!sign_extend) return part;
  return width == 8 ? static_cast<std::uint32_t>(static_cast<std::int8_t>(part))
                    : static_cast<std::uint32_t>(static_cast<std::int16_t>(part));
}

bool inputs_kept(const Wave& w, Type type) {
  return (type == Type::f32 || type == Type::bf16 ? w.mode.denorm32 : w.mode.denorm64_16) & 1;
}
bool outputs_kept(const Wave& w, Type type) {
  return (type == Type::f32 || type == Type::bf16 ? w.mode.denorm32 : w.mode.denorm64_16) & 2;
}

// Replaces denormals by a zero of the same sign.
void flush(Type type, std::uint32_t* lo, std::uint32_t* hi) {
  for (unsigned l = 0; l < kLanes; ++l) {
    switch (type) {
      case Type::f32:
        if (!(lo[l] & 0x7f800000u)) lo[l] &= 0x80000000u;
        break;
      case Type::f16:
        if (!(lo[l] & 0x7c00u)) lo[l] &= 0x8000u;
        break;
      case Type::bf16:
        if (!(lo[l] & 0x7f80u)) lo[l] &= 0x8000u;
        break;
      case Type::f64:
        if (!(hi[l] & 0x7ff00000u)) lo[l] = 0, hi[l] &= 0x80000000u;
        break;
      default: break;
    }
  }
}

void clamp_unit(const Wave& w, Type type, std::uint32_t* lo, std::uint32_t* hi) {
  const bool nan_to_zero = w.mode.dx10_clamp;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (type == Type::f32) {
      const float f = std::bit_cast<float>(lo[l]);
      if (f != f) { if (nan_to_zero) lo[l] = 0; }
      else if (!(f > 0.0f)) lo[l] = 0;
      else if (f > 1.0f) lo[l] = 0x3f800000u;
    } else if (type == Type::f64) {
      const double f = std::bit_cast<double>(std::uint64_t{hi[l]} << 32 | lo[l]);
      if (f != f) { if (nan_to_zero) lo[l] = hi[l] = 0; }
      else if (!(f > 0.0)) lo[l] = hi[l] = 0;
      else if (f > 1.0) lo[l] = 0, hi[l] = 0x3ff00000u;
    } else {  // f16
      const std::uint32_t h = lo[l] & 0xffffu;
      if ((h & 0x7fffu) > 0x7c00u) { if (nan_to_zero) lo[l] = 0; }
      else if (h & 0x8000u) lo[l] = 0;
      else if (h > 0x3c00u) lo[l] = 0x3c00u;
    }
  }
}

// The output modifier: 1 doubles, 2 quadruples, 3 halves. Denormals and negative zeros end as zero. Source: "CDNA3 ISA" and
// "RDNA3 ISA", output modifiers.
void scale_output(Type type, unsigned omod, std::uint32_t* lo, std::uint32_t* hi) {
  static constexpr float kFactors[] = {1.0f, 2.0f, 4.0f, 0.5f};
  const float factor = kFactors[omod & 3];
  for (unsigned l = 0; l < kLanes; ++l) {
    if (type == Type::f32) {
      lo[l] = std::bit_cast<std::uint32_t>(std::bit_cast<float>(lo[l]) * factor);
    } else if (type == Type::f64) {
      const auto r = std::bit_cast<std::uint64_t>(std::bit_cast<double>(std::uint64_t{hi[l]} << 32 | lo[l]) * static_cast<double>(factor));
      lo[l] = static_cast<std::uint32_t>(r);
      hi[l] = static_cast<std::uint32_t>(r >> 32);
    } else {
      const auto h = static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(lo[l])));
      lo[l] = std::bit_cast<std::uint16_t>(static_cast<_Float16>(h * factor));
    }
  }
  flush(type, lo, hi);
  const std::uint32_t sign = is_half(type) ? 0x8000u : 0x80000000u;
  for (unsigned l = 0; l < kLanes; ++l) {
    if (type == Type::f64) hi[l] = lo[l] == 0 && hi[l] == sign ? 0 : hi[l];
    else lo[l] = lo[l] == sign ? 0 : lo[l];
  }
}

// SDWA destination: puts the low byte or word of value into the selected part. Source: "Vega ISA", 13.3.7.
std::uint32_t place_sdwa(std::uint32_t old, std::uint32_t value, unsigned select, unsigned unused) {
  if (select >= 6) return value;
  const unsigned width = select < 4 ? 8 : 16;
  const unsigned shift = select < 4 ? select * 8 : (select - 4) * 16;
  const std::uint32_t field = (width == 8 ? 0xffu : 0xffffu) << shift;
  const std::uint32_t placed = (value << shift) & field;
  if (unused == 2) return (old & ~field) | placed;
  if (unused == 1 && (placed >> (shift + width - 1) & 1)) {
    const std::uint32_t above = shift + width >= 32 ? 0 : ~0u << (shift + width);
    return placed | above;
  }
  return placed;
}

// Source kinds beside VGPRs have the same value in every lane.
std::uint64_t scalar_value(const Wave& w, const Operand& o, bool wide) {
  if (o.kind == OperandKind::constant) return o.constant;
  return wide ? read_scalar64(w, o) : read_scalar32(w, o);
}

}  // namespace

const std::uint32_t* fetch_raw(Wave& wave, const Operand& operand, unsigned register_offset, LaneBuffer& store) {
  if (operand.kind == OperandKind::vgpr) return wave.vreg(operand.index + register_offset);
  const std::uint64_t value = scalar_value(wave, operand, register_offset != 0);
  std::fill_n(store.lane, kLanes, static_cast<std::uint32_t>(register_offset ? value >> 32 : value));
  return store.lane;
}

Source fetch_slow(Wave& wave, const Inst& inst, unsigned i, Type type, Scratch& store, bool keep_denormals) {
  const Operand& operand = inst.src[i];
  const bool wide = is_wide(type);
  Source from;
  if (operand.kind == OperandKind::vgpr) {
    from.lo = wave.vreg(operand.index);
    if (wide) from.hi = wave.vreg(operand.index + 1u);
  } else {
    const std::uint64_t value = scalar_value(wave, operand, wide);
    std::fill_n(store.lo.lane, kLanes, static_cast<std::uint32_t>(value));
    if (wide) std::fill_n(store.hi.lane, kLanes, static_cast<std::uint32_t>(value >> 32));
    from = {store.lo.lane, wide ? store.hi.lane : nullptr};
  }
  const bool may_flush = is_float(type) && !keep_denormals && !inputs_kept(wave, type);
  if (inst.vet == Inst::Vet::plain && !may_flush) return from;

  auto own = [&] {  // a private copy to change
    if (from.lo != store.lo.lane) std::copy_n(from.lo, kLanes, store.lo.lane);
    if (wide && from.hi != store.hi.lane) std::copy_n(from.hi, kLanes, store.hi.lane);
    from = {store.lo.lane, wide ? store.hi.lane : nullptr};
  };
  if (inst.dpp.kind != Dpp::Kind::none && i == 0 && operand.kind == OperandKind::vgpr) {
    const Permutation lanes = dpp_permutation(wave, inst.dpp);
    LaneBuffer moved;
    for (unsigned half = 0; half < (wide ? 2u : 1u); ++half) {
      const std::uint32_t* p = half ? from.hi : from.lo;
      for (unsigned l = 0; l < kLanes; ++l) moved.lane[l] = lanes.from[l] < 0 ? 0 : p[lanes.from[l]];
      std::copy_n(moved.lane, kLanes, half ? store.hi.lane : store.lo.lane);
    }
    from = {store.lo.lane, wide ? store.hi.lane : nullptr};
  }
  if (inst.sdwa.present && i < 2 && inst.sdwa.src_sel[i] < 6) {
    own();
    for (auto& value : store.lo.lane) value = select_sdwa(value, inst.sdwa.src_sel[i], inst.sdwa.sext[i]);
  }
  if (is_half(type) && (inst.op_sel >> i & 1) && operand.kind != OperandKind::constant) {
    own();
    for (auto& value : store.lo.lane) value >>= 16;
  }
  if (may_flush) {
    own();
    flush(type, store.lo.lane, store.hi.lane);
  }
  if ((inst.abs | inst.neg) >> i & 1) {
    own();
    const std::uint32_t sign = is_half(type) ? 0x8000u : 0x80000000u;
    std::uint32_t* top = wide ? store.hi.lane : store.lo.lane;
    if (inst.abs >> i & 1)
      for (unsigned l = 0; l < kLanes; ++l) top[l] &= ~sign;
    if (inst.neg >> i & 1)
      for (unsigned l = 0; l < kLanes; ++l) top[l] ^= sign;
  }
  return from;
}

std::uint64_t write_mask_dpp(const Wave& wave, const Inst& inst) {
  return wave.exec() & dpp_permutation(wave, inst.dpp).enabled;
}

void blend(std::uint32_t* dst, const std::uint32_t* value, std::uint64_t mask) {
  // Four lanes a step, each with its bit of the mask: the compiler makes one vector comparison of it.
  using Vector = std::uint32_t __attribute__((vector_size(16), aligned(4), may_alias));
  constexpr Vector kBit = {1, 2, 4, 8};
  for (unsigned l = 0; mask != 0; l += 4, mask >>= 4) {
    const auto four = static_cast<std::uint32_t>(mask & 0xf);
    if (four == 0) continue;
    auto& to = *reinterpret_cast<Vector*>(dst + l);
    const auto from = *reinterpret_cast<const Vector*>(value + l);
    const auto take = reinterpret_cast<Vector>((Vector{four, four, four, four} & kBit) != 0);
    to = (to & ~take) | (from & take);
  }
}

namespace {

// Output denormals, output modifier, clamp.
void finish_float(const Wave& wave, const Inst& inst, Type type, bool keep_denormals, Dest result) {
  if (!keep_denormals && !outputs_kept(wave, type)) flush(type, result.lo, result.hi);
  // Kept denormals and the IEEE mode switch the output modifier off.
  if (inst.omod && !outputs_kept(wave, type) && !wave.mode.ieee) scale_output(type, inst.omod, result.lo, result.hi);
  if (inst.clamp) clamp_unit(wave, type, result.lo, result.hi);
}

}  // namespace

void commit(Wave& wave, const Inst& inst, Type type, std::uint64_t mask, Dest result, bool keep_denormals) {
  if (is_float(type)) finish_float(wave, inst, type, keep_denormals, result);
  std::uint32_t* dst = wave.vreg(inst.dst.index);
  if (inst.sdwa.present && inst.sdwa.dst_sel < 6) {
    for (unsigned l = 0; l < kLanes; ++l)
      result.lo[l] = place_sdwa(dst[l], result.lo[l], inst.sdwa.dst_sel, inst.sdwa.dst_unused);
  } else if (is_half(type) && !inst.sdwa.present) {
    const bool high = (inst.op_sel & 8) && !(inst.row->flags & kOwnOpSel);
    const bool keeps = high || contains(kRdna, wave.target) || (inst.row->flags & kKeepsHalf);
    for (unsigned l = 0; l < kLanes; ++l) {
      const std::uint32_t value = result.lo[l] & 0xffffu;
      result.lo[l] = high ? (dst[l] & 0xffffu) | value << 16 : keeps ? (dst[l] & 0xffff0000u) | value : value;
    }
  } else if (is_half(type)) {
    for (unsigned l = 0; l < kLanes; ++l) result.lo[l] &= 0xffffu;
  }
  blend(dst, result.lo, mask);
  if (is_wide(type)) blend(wave.vreg(inst.dst.index + 1u), result.hi, mask);
}

std::uint32_t scalar_result(const Wave& wave, const Inst& inst, Type type, std::uint32_t value) {
  LaneBuffer one;
  std::fill_n(one.lane, kLanes, value);
  finish_float(wave, inst, type, false, {one.lane, nullptr});
  return one.lane[0];
}

bool accepted_slow(Wave& wave, const Inst& inst) {
  Inst copy = inst;
  const char* why = vet_valu(copy, wave.target);
  if (!why) return true;
  wave.stop(Outcome::Kind::unimplemented, why);
  return false;
}

void stop_illegal_register(Wave& wave, const Inst&) {
  wave.stop(Outcome::Kind::illegal, "register index out of range");
}

void RoundingScope::enter(std::uint8_t mode) {
  saved_ = std::fegetround();
  constexpr int kModes[4] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  std::fesetround(kModes[mode & 3]);
}
void RoundingScope::leave() { std::fesetround(saved_); }


}  // namespace kerncap::vgpu::isa::valu
