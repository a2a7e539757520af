// VFLAT, VGLOBAL, VSCRATCH and VBUFFER: three words on gfx12. Source: "RDNA4 ISA", chapter Microcode Formats.
#include "vgpu/isa/decode/fields.hpp"

namespace kerncap::vgpu::isa {
namespace {

// The cache controls of the second word. An atomic returns the value before when the lowest bit of TH is set.
void cache_controls(Decoding& d, const Row& row) {
  Inst& inst = d.inst();
  inst.scope = static_cast<std::uint8_t>(field(d.word(1), 19, 18));
  inst.temporal = static_cast<std::uint8_t>(field(d.word(1), 22, 20));
  inst.glc = (row.flags & kReturns) && (inst.temporal & 1);
}

}  // namespace

void decode_vflat(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1), w2 = d.word(2);
  d.used = 3;
  static constexpr Format formats[] = {Format::flat, Format::scratch, Format::global};
  const unsigned segment = field(w, 25, 24), op = field(w, 21, 14), saddr = field(w, 6, 0);
  if (segment == 3) return d.illegal("FLAT segment 3");
  const Format format = formats[segment];
  const Row* row = OpcodeTable::get(d.target).find(format, op);
  if (!d.take(row, format, op)) return;
  Inst& inst = d.inst();
  cache_controls(d, *row);
  inst.offset = sign_extend(field(w2, 31, 8), 24);
  const bool has_saddr = format != Format::flat && saddr != 124 && row->src0 != Type::none;
  if (has_saddr) inst.src[2] = d.scalar_register(saddr, format == Format::global ? Type::b64 : Type::b32);
  if (row->src0 != Type::none) {
    const bool has_vaddr = format != Format::scratch || field(w1, 17, 17);
    const Type width = format == Format::scratch || has_saddr ? Type::b32 : Type::b64;
    if (has_vaddr) inst.src[0] = d.vector_register(field(w2, 7, 0), width);
  }
  if (row->src1 != Type::none) inst.src[1] = d.vector_register(field(w1, 30, 23), row->src1);
  const bool writes = row->dst != Type::none && (!(row->flags & kReturns) || inst.glc);
  if (writes) inst.dst = d.vector_register(field(w1, 7, 0), row->dst);
}

void decode_vbuffer(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1), w2 = d.word(2);
  d.used = 3;
  const bool typed = field(w, 21, 21);
  const unsigned op = typed ? field(w, 17, 14) : field(w, 21, 14);
  const Format format = typed ? Format::mtbuf : Format::mubuf;
  if (typed && field(w, 20, 18)) return d.unknown("mtbuf opcode " + std::to_string(field(w, 21, 14)));
  const Row* row = OpcodeTable::get(d.target).find(format, op);
  if (!d.take(row, format, op)) return;
  Inst& inst = d.inst();
  cache_controls(d, *row);
  inst.tfe = field(w, 22, 22);
  if (inst.tfe) d.unknown("tfe modifier");
  inst.offset = sign_extend(field(w2, 31, 8), 24);
  if (inst.offset < 0) d.illegal("negative offset of a buffer");
  inst.offen = field(w1, 30, 30);
  inst.idxen = field(w1, 31, 31);
  if (typed) inst.data_format = static_cast<std::uint8_t>(field(w1, 29, 23));
  if (inst.offen || inst.idxen)
    inst.src[0] = d.vector_register(field(w2, 7, 0), inst.offen && inst.idxen ? Type::b64 : Type::b32);
  if (field(w1, 17, 16)) return d.illegal("resource descriptor out of range");
  inst.src[2] = d.scalar_register(field(w1, 15, 9), Type::b128);
  inst.src[3] = d.scalar_register(field(w, 6, 0), Type::b32);
  if (row->src1 != Type::none) inst.src[1] = d.vector_register(field(w1, 7, 0), row->src1);
  const bool writes = row->dst != Type::none && (!(row->flags & kReturns) || inst.glc);
  if (writes) inst.dst = d.vector_register(field(w1, 7, 0), row->dst);
}

}  // namespace kerncap::vgpu::isa
