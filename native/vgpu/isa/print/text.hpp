// Pieces of a disassembled instruction. Only for print/.
#pragma once

#include <string>
#include <string_view>

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa::print_detail {

class Text {
 public:
  Text(Target target, unsigned wave_size) : target_(target), wave_size_(wave_size) {}
  Family family() const { return isa::family(target_); }
  std::string str() const { return out_; }

  void add(std::string_view text) { out_ += text; }
  // Operands, comma-separated.
  void item(std::string_view text);
  void operand(const Operand& operand, unsigned high_half = 0) { item(name(operand, high_half)); }
  void source(const Inst& inst, unsigned k);  // with neg, abs, sext
  void hex(std::uint32_t value);
  // Modifiers, space-separated.
  void word(std::string_view text);
  void op_sel(const Inst& inst);
  void packed_modifiers(const Inst& inst);
  void truth_table(const Inst& i);
  void matrix_controls(const Inst& inst);
  void sdwa(const Inst& inst);
  void dpp(const Inst& inst);
  void scalar(const Inst& inst);   // operands of SOP* and SMEM
  void memory(const Inst& inst);   // operands of DS, FLAT, MUBUF, MTBUF

 private:
  std::string name(const Operand& operand, unsigned high_half = 0) const;
  std::string scalar_name(unsigned index, unsigned count) const;
  std::string constant(const Operand& operand) const;
  bool true16(const Operand& operand) const;
  void bits(std::string_view label, unsigned value, unsigned count);
  void program(const Inst& inst);  // SOPP
  void wait_counters(unsigned simm);
  void delay_alu(unsigned simm);
  void dependency_counters(unsigned simm);
  void hardware_register(unsigned simm);
  void message(unsigned id);
  void offset(std::int32_t value);
  void cache_policy(const Inst& inst);
  void temporal_hint(const Inst& inst);  // gfx12
  void prefetch(const Inst& inst);
  void swizzle(unsigned offset);
  void data_format(unsigned format);

  Target target_;
  unsigned wave_size_;
  std::string out_;
  bool first_ = true;
};

std::string hex_text(std::uint64_t value);

}  // namespace kerncap::vgpu::isa::print_detail
