#include "vgpu/isa/decode/decoder.hpp"

#include <array>
#include <string_view>

#include "vgpu/isa/cost.hpp"
#include "vgpu/isa/decode/fields.hpp"
#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {
namespace {

std::string_view format_name(Format format) {
  static constexpr std::string_view names[] = {"sop1", "sop2", "sopk", "sopc", "sopp", "smem", "vop1", "vop2",
                                               "vopc", "vop3", "vop3p", "vop3p-mai", "vopd", "vinterp", "ds", "flat",
                                               "global", "scratch", "mubuf", "mtbuf", "mimg"};
  return names[static_cast<unsigned>(format)];
}

std::string hex(unsigned value) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string text;
  do text.insert(text.begin(), digits[value & 15]); while ((value >>= 4) != 0);
  return "0x" + text;
}

// Which decoder takes the word. Source: the "Microcode formats" chapters of the MI200, MI300 and RDNA3 ISA manuals.
void dispatch9(Decoding& d) {
  const std::uint32_t w = d.word(0);
  if ((w >> 31) == 0) return decode_vector(d);
  if ((w >> 30) == 2) return decode_scalar(d);
  switch (w >> 26) {
    case 0b110000: return decode_smem(d);
    case 0b110100: return (w >> 23) == 0b110100111 ? decode_vop3p(d) : decode_vop3(d);
    case 0b110110: return decode_ds(d);
    case 0b110111: return decode_flat(d);
    case 0b111000: return decode_mubuf(d);
    case 0b110101: d.used = 1; return d.unknown("format vintrp");
    case 0b111010: return decode_mtbuf(d);
    case 0b111100: d.used = 2; return d.unknown("format mimg");
    case 0b110001: d.used = 2; return d.unknown("format exp");
    default: return d.illegal("no encoding has these leading bits");
  }
}

void dispatch11(Decoding& d) {
  const std::uint32_t w = d.word(0);
  if ((w >> 31) == 0) return decode_vector(d);
  if ((w >> 30) == 2) return decode_scalar(d);
  switch (w >> 26) {
    case 0b111101: return decode_smem(d);
    case 0b110101: return decode_vop3(d);
    case 0b110010: return decode_vopd(d);
    case 0b110011:
      if ((w >> 24) == 0b11001100) return decode_vop3p(d);
      d.used = 2;
      return d.unknown("format vinterp");
    case 0b110110: return decode_ds(d);
    case 0b110111: return decode_flat(d);
    case 0b111000: return decode_mubuf(d);
    case 0b111010: return decode_mtbuf(d);
    case 0b111100: d.used = 2; return d.unknown("format mimg");
    case 0b111110: d.used = 2; return d.unknown("format exp");
    default: return d.illegal("no encoding has these leading bits");
  }
}

// Source: "RDNA4 ISA", chapter Microcode Formats.
void dispatch12(Decoding& d) {
  const std::uint32_t w = d.word(0);
  if ((w >> 31) == 0) return decode_vector(d);
  if ((w >> 30) == 2) return decode_scalar(d);
  switch (w >> 26) {
    case 0b111101: return decode_smem(d);
    case 0b110101: return decode_vop3(d);
    case 0b110010: return decode_vopd(d);
    case 0b110011:
      if ((w >> 24) == 0xcc) return decode_vop3p(d);
      d.used = (w >> 24) == 0xce ? 1 : 2;
      return d.unknown(d.used == 1 ? "format vdsdir" : "format vinterp");
    case 0b110110: return decode_ds(d);
    case 0b110001: return decode_vbuffer(d);
    case 0b111011: return decode_vflat(d);
    case 0b110100: d.used = 3; return d.unknown("format vimage");
    case 0b111001: d.used = 3; return d.unknown("format vsample");
    case 0b111110: d.used = 2; return d.unknown("format exp");
    default: return d.illegal("no encoding has these leading bits");
  }
}

}  // namespace

OpcodeTable::OpcodeTable(Target target) : family_(isa::family(target)) {
  add(scalar_rows(), target);
  add(memory_rows(), target);
  for (const std::span<const Row> table : valu_tables()) add(table, target);
}

void OpcodeTable::add(std::span<const Row> rows, Target target) {
  for (const Row& row : rows) {
    const std::uint16_t op = opcode_of(row, target);
    if (op == kNoOpcode) continue;
    auto& slots = by_format_[static_cast<unsigned>(row.format)];
    if (slots.size() <= op) slots.resize(op + 1u);
    slots[op] = &row;
  }
}

const OpcodeTable& OpcodeTable::get(Target target) {
  // Never destroyed: kernels may run while a process exits.
  static const auto& tables = *new std::array{OpcodeTable(Target::gfx90a), OpcodeTable(Target::gfx942), OpcodeTable(Target::gfx950),
                                              OpcodeTable(Target::gfx1100), OpcodeTable(Target::gfx1201)};
  return tables[static_cast<unsigned>(target)];
}

const Row* OpcodeTable::find_vop3(unsigned op) const {
  if (const Row* row = find(Format::vop3, op)) return row;
  const unsigned vop1_base = family_ == Family::gfx9 ? 0x140 : 0x180;
  if (op < 0x100) return find(Format::vopc, op);
  if (op >= vop1_base) return find(Format::vop1, op - vop1_base);
  return find(Format::vop2, op - 0x100);
}

bool Decoding::take(const Row* row, Format format, unsigned op) {
  inst().format = format;
  inst().row = row;
  if (!row) {
    unknown(std::string(format_name(format)) + " opcode " + hex(op));
    return false;
  }
  inst().handler = row->handler;
  if (!row->handler) unknown("not implemented");
  return true;
}

std::uint32_t Decoding::literal() {
  if (!literal_read) {
    literal_read = true;
    inst().literal = word(used++);
  }
  return inst().literal;
}

namespace {

// Sources whose encoding allows more than the instruction does.
void check_vector_sources(Decoding& d) {
  const Inst& inst = d.inst();
  if (inst.row && (inst.row->flags & kScalarSources) && inst.src[0].kind == OperandKind::vgpr)
    d.illegal("the source has to be scalar");
  if (!inst.row || !(inst.row->flags & kVectorSources)) return;
  for (unsigned i = 0; i < 3; ++i) {
    const Operand& source = inst.src[i];
    const bool constant_too = i == 2 && !(inst.row->flags & kReadsDst);
    if (source.kind == OperandKind::none || source.kind == OperandKind::vgpr) continue;
    if (!(constant_too && source.kind == OperandKind::constant)) d.illegal("a source has to be a vector register");
  }
}

}  // namespace

Decoded decode(Target target, unsigned wave_size, std::span<const std::uint32_t> words, std::uint64_t pc) {
  Decoded out;
  Decoding d{target, family(target), wave_size, words, out};
  if (words.empty()) {
    d.fail(Decoded::Status::missing, "no code at this address");
    return out;
  }
  switch (d.family) {
    case Family::gfx9: dispatch9(d); break;
    case Family::gfx11: dispatch11(d); break;
    case Family::gfx12: dispatch12(d); break;
  }
  if (d.used > words.size()) d.fail(Decoded::Status::missing, "the instruction runs past the end of mapped memory");
  Inst& inst = out.inst;
  inst.pc = pc;
  inst.size_bytes = static_cast<std::uint8_t>(d.used * 4);
  for (unsigned i = 0; i < d.used && i < 4; ++i) inst.words[i] = d.word(i);
  d.check_range(inst.dst);
  d.check_range(inst.sdst);
  for (const Operand& operand : inst.src) d.check_range(operand);
  check_vector_sources(d);
  if (out.dual) {
    d.check_range(out.dual->dst);
    for (const Operand& operand : out.dual->src) d.check_range(operand);
    out.dual->pc = pc;
    vet_valu(*out.dual, target);
    out.dual->size_bytes = inst.size_bytes;
    inst.dual = out.dual.get();
    if (d.ok() && inst.format == Format::vopd) inst.vopd_order = vopd_order(inst, *out.dual);
  }
  if (d.ok() && inst.format >= Format::vop1 && inst.format <= Format::vinterp)
    if (const char* why = vet_valu(inst, target)) d.unknown(why);
  inst.charge = charge_of(inst, target, wave_size).word();
  return out;
}

}  // namespace kerncap::vgpu::isa
