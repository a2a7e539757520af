// A wave to try VALU instructions on: registers set by lane, instructions built from table rows without the decoder.
// In: a mnemonic and operands. Out: register contents. Used by the isa_valu_* tests.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "isa_coverage.hpp"
#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::test {

inline std::uint32_t f32(float v) { return std::bit_cast<std::uint32_t>(v); }
inline float as_float(std::uint32_t v) { return std::bit_cast<float>(v); }
inline std::uint64_t f64(double v) { return std::bit_cast<std::uint64_t>(v); }
inline double as_double(std::uint64_t v) { return std::bit_cast<double>(v); }

inline Operand v(unsigned index) {
  Operand o;
  o.kind = OperandKind::vgpr;
  o.index = static_cast<std::uint16_t>(index);
  o.encoded = static_cast<std::uint16_t>(256 + index);
  return o;
}
inline Operand s(unsigned index) {
  Operand o;
  o.kind = OperandKind::sgpr;
  o.index = static_cast<std::uint16_t>(index);
  return o;
}
inline Operand k(std::uint64_t bits) {
  Operand o;
  o.kind = OperandKind::constant;
  o.constant = bits;
  return o;
}
inline const Operand vcc = s(kVccLo);

inline const Row* find_row(Target target, std::string_view mnemonic, Format* only = nullptr) {
  for (const auto& table : valu_tables())
    for (const Row& row : table) {
      if (!(row.targets & bit(target)) || (only && row.format != *only)) continue;
      const char* name = name_of(row, target);
      if (opcode_of(row, target) != kNoOpcode && mnemonic == name) return &row;
    }
  return nullptr;
}

class Machine {
 public:
  explicit Machine(Target target = Target::gfx942) : registers_(1024 * kLanes) {
    wave.target = target;
    wave.size = contains(kRdna, target) ? 32 : 64;
    wave.vgprs = 256;
    wave.agprs = 256;
    wave.v = registers_.data();
    wave.a = registers_.data() + 256 * kLanes;
    wave.set_exec(~0ull);
  }
  std::uint32_t& reg(unsigned r, unsigned lane = 0) { return wave.v[r * kLanes + lane]; }
  std::uint32_t& acc(unsigned r, unsigned lane = 0) { return wave.a[r * kLanes + lane]; }
  std::uint64_t wide(unsigned r, unsigned lane = 0) { return std::uint64_t{reg(r + 1, lane)} << 32 | reg(r, lane); }
  void set(unsigned r, std::uint32_t value) {
    for (unsigned l = 0; l < kLanes; ++l) reg(r, l) = value;
  }
  void set_wide(unsigned r, std::uint64_t value) {
    set(r, static_cast<std::uint32_t>(value));
    set(r + 1, static_cast<std::uint32_t>(value >> 32));
  }
  void set_lanes(unsigned r, const std::function<std::uint32_t(unsigned)>& value) {
    for (unsigned l = 0; l < kLanes; ++l) reg(r, l) = value(l);
  }

  Inst build(std::string_view mnemonic, Operand dst, std::initializer_list<Operand> sources) {
    Inst inst;
    inst.row = find_row(wave.target, mnemonic);
    if (!inst.row) {
      ADD_FAILURE() << "no row for " << mnemonic;
      return inst;
    }
    inst.format = inst.row->format;
    inst.handler = inst.row->handler;
    const Type types[] = {inst.row->src0, inst.row->src1, inst.row->src2, Type::none};
    unsigned i = 0;
    for (Operand o : sources) {
      o.type = types[i];
      inst.src[i++] = o;
    }
    dst.type = inst.row->dst;
    inst.dst = dst;
    if (inst.row->flags & (kVccCarryOut | kMaskDst)) inst.sdst = vcc;
    if (inst.format == Format::vop3p) inst.op_sel_hi = 7;
    return inst;
  }
  // Runs it; `change` may set modifiers before it is vetted.
  void run(std::string_view mnemonic, Operand dst, std::initializer_list<Operand> sources,
           const std::function<void(Inst&)>& change = {}) {
    Inst inst = build(mnemonic, dst, sources);
    if (!inst.row) return;
    if (change) change(inst);
    refused = vet_valu(inst, wave.target);
    if (refused) return;
    inst.handler(wave, inst);
    exercised(wave.target, *inst.row);
  }
  // One lane's 32-bit result of an operation on constants held in VGPRs.
  std::uint32_t op(std::string_view mnemonic, std::initializer_list<std::uint32_t> values,
                   const std::function<void(Inst&)>& change = {}) {
    const Operand regs[] = {v(10), v(11), v(12)};
    unsigned i = 0;
    for (std::uint32_t value : values) set(10 + i++, value);
    if (i == 1) run(mnemonic, v(1), {regs[0]}, change);
    else if (i == 2) run(mnemonic, v(1), {regs[0], regs[1]}, change);
    else run(mnemonic, v(1), {regs[0], regs[1], regs[2]}, change);
    EXPECT_EQ(refused, nullptr) << mnemonic;
    return reg(1, wave.size - 1);
  }
  float opf(std::string_view mnemonic, std::initializer_list<float> values) {
    std::vector<std::uint32_t> b;
    for (float x : values) b.push_back(f32(x));
    if (b.size() == 1) return as_float(op(mnemonic, {b[0]}));
    if (b.size() == 2) return as_float(op(mnemonic, {b[0], b[1]}));
    return as_float(op(mnemonic, {b[0], b[1], b[2]}));
  }
  // The same on 64-bit sources (or 32-bit ones where the row says so).
  std::uint64_t op64(std::string_view mnemonic, std::initializer_list<std::uint64_t> values) {
    unsigned i = 0;
    for (std::uint64_t value : values) set_wide(10 + 2 * i++, value);
    if (i == 1) run(mnemonic, v(2), {v(10)});
    else if (i == 2) run(mnemonic, v(2), {v(10), v(12)});
    else run(mnemonic, v(2), {v(10), v(12), v(14)});
    EXPECT_EQ(refused, nullptr) << mnemonic;
    return wide(2, wave.size - 1);
  }
  double opd(std::string_view mnemonic, std::initializer_list<double> values) {
    std::vector<std::uint64_t> b;
    for (double x : values) b.push_back(f64(x));
    if (b.size() == 1) return as_double(op64(mnemonic, {b[0]}));
    if (b.size() == 2) return as_double(op64(mnemonic, {b[0], b[1]}));
    return as_double(op64(mnemonic, {b[0], b[1], b[2]}));
  }

  Wave wave;
  const char* refused = nullptr;

 private:
  std::vector<std::uint32_t> registers_;
};

}  // namespace kerncap::vgpu::isa::test
