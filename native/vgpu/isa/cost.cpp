#include "vgpu/isa/cost.hpp"

#include <algorithm>

#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {
namespace {

// LDS and the path to memory take this many bytes a cycle.
constexpr unsigned kBytesPerCycle = 128;
// Transcendental units are a quarter as wide as the others.
constexpr unsigned kTranscendental = 4;
// 64-bit arithmetic: half the rate on gfx9, a sixteenth on gfx11.
constexpr unsigned kWide9 = 2, kWide11 = 16;
// A matrix instruction by the size of its result: 32 x 32 elements (16 dwords a lane or more), or fewer.
constexpr unsigned kLargeMatrix = 64, kSmallMatrix = 32;

bool wide(Type t) { return t == Type::f64 || t == Type::i64 || t == Type::u64; }

unsigned valu_cycles(const Inst& i, Family family, unsigned wave_size) {
  // A SIMD is 16 lanes wide on gfx9 and 32 on gfx11.
  const unsigned pass = wave_size / (family == Family::gfx9 ? 16 : 32);
  const Row& row = *i.row;
  if (i.format == Format::vop3p_mai) return dwords(row.dst, wave_size) >= 16 ? kLargeMatrix : kSmallMatrix;
  if (i.format == Format::vop3p && dwords(row.dst, wave_size) >= 4) return kSmallMatrix;  // WMMA
  if (wide(row.dst) || wide(row.src0)) return pass * (family == Family::gfx9 ? kWide9 : kWide11);
  return row.format == Format::vop1 && (row.flags & kApproximate) ? pass * kTranscendental : pass;
}

// Bytes that a lane of a vector memory instruction reads or writes, in whole dwords.
unsigned lane_bytes(const Inst& i, unsigned wave_size) {
  const Operand& data = i.dst.kind != OperandKind::none ? i.dst : i.src[1];
  const bool twice = (i.row->flags & kTwoAddress) && i.dst.kind == OperandKind::none;
  return std::max(1u, dwords(data.type, wave_size)) * (twice ? 8 : 4);
}

}  // namespace

Charge charge_of(const Inst& i, Target target, unsigned wave_size) {
  Charge charge;
  if (i.row == nullptr) return charge;
  if (i.format >= Format::vop1 && i.format <= Format::vinterp) {
    charge.cycles = valu_cycles(i, family(target), wave_size);
    return charge;
  }
  if (i.format == Format::smem) {
    const Operand& data = i.dst.kind != OperandKind::none ? i.dst : i.src[1];
    charge.bytes = dwords(data.type, wave_size) * 4;
    return charge;
  }
  if (i.format < Format::ds || i.row->src0 == Type::none) return charge;  // scalar, and control of caches
  const unsigned bytes = lane_bytes(i, wave_size) * wave_size;
  charge.cycles = std::max(wave_size / (family(target) == Family::gfx9 ? 16u : 32u), bytes / kBytesPerCycle);
  if (i.format != Format::ds) charge.bytes = bytes;
  return charge;
}

}  // namespace kerncap::vgpu::isa
