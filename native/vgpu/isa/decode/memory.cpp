// DS, FLAT/GLOBAL/SCRATCH, MUBUF and MTBUF.
#include "vgpu/isa/decode/fields.hpp"
#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {

namespace {

// Global wave sync, which always has the gds bit.
bool is_gws(unsigned op, bool gfx9) {
  const unsigned first = gfx9 ? 0x98 : 0x18;
  return op >= first && op < first + 6;
}

}  // namespace

void decode_ds(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  d.used = 2;
  const bool gfx9 = d.gfx9();
  const unsigned op = gfx9 ? field(w, 24, 17) : field(w, 25, 18);
  const Row* row = OpcodeTable::get(d.target).find(Format::ds, op);
  if (!d.take(row, Format::ds, op)) return;
  Inst& inst = d.inst();
  inst.gds = gfx9 ? field(w, 16, 16) : field(w, 17, 17);
  // Source: Linux, amdgpu, gfx_v9_0_set_gds_init: no such memory since gfx90a. gfx1100 has some, for graphics queues.
  if (inst.gds && !is_gws(op, gfx9))
    d.unknown(gfx9 ? "gds modifier: the target has no GDS memory" : "gds modifier: compute queues get no GDS memory");
  const bool acc = gfx9 && field(w, 25, 25);
  inst.offset0 = static_cast<std::uint8_t>(field(w, 7, 0));
  inst.offset1 = static_cast<std::uint8_t>(field(w, 15, 8));
  inst.offset = row->flags & kTwoAddress ? 0 : static_cast<std::int32_t>(field(w, 15, 0));
  if (row->dst != Type::none) inst.dst = d.vector_register(field(w1, 31, 24), row->dst, acc);
  if (row->src0 != Type::none) inst.src[0] = d.vector_register(field(w1, 7, 0), row->src0);
  if (row->src1 != Type::none) inst.src[1] = d.vector_register(field(w1, 15, 8), row->src1, acc);
  if (row->src2 != Type::none) inst.src[3] = d.vector_register(field(w1, 23, 16), row->src2, acc);
}

namespace {

// gfx90a marks loads to LDS by a bit, gfx942 gives them opcodes of their own: those stand in the table.
unsigned to_lds_opcode(Decoding& d, unsigned op, bool lds) {
  if (d.target != Target::gfx90a) return op;
  if (!lds) {
    if (op >= 0x26 && op <= 0x2a) d.unknown("global opcode " + std::to_string(op));
    return op;
  }
  if (op < 0x10 || op > 0x14) d.unknown("FLAT lds bit");
  return op + 0x16;
}

}  // namespace

void decode_flat(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  d.used = 2;
  const bool gfx9 = d.gfx9();
  const unsigned segment = gfx9 ? field(w, 15, 14) : field(w, 17, 16);
  const bool lds = d.target == Target::gfx90a && field(w, 13, 13);
  const unsigned op = segment == 2 ? to_lds_opcode(d, field(w, 24, 18), lds) : field(w, 24, 18);
  static constexpr Format formats[] = {Format::flat, Format::scratch, Format::global};
  if (segment == 3) return d.illegal("FLAT segment 3");
  const Format format = formats[segment];
  const Row* row = OpcodeTable::get(d.target).find(format, op);
  if (!d.take(row, format, op)) return;
  Inst& inst = d.inst();
  // The offset is signed but for FLAT, whose top bit is ignored.
  inst.offset = format == Format::flat ? static_cast<std::int32_t>(field(w, 11, 0)) : sign_extend(field(w, 12, 0), 13);
  bool acc = false, scratch_vaddr = false;
  const unsigned saddr = field(w1, 22, 16);
  const unsigned off = gfx9 ? 127 : 124;
  if (gfx9) {
    inst.glc = field(w, 16, 16);
    inst.slc = field(w, 17, 17);
    acc = field(w1, 23, 23);
    if (contains(kGfx940, d.target)) {
      inst.dlc = field(w, 25, 25);               // sc1
      scratch_vaddr = field(w, 13, 13);          // sve
    } else {
      inst.dlc = field(w, 25, 25);               // scc
      if (lds && format != Format::global) d.unknown("FLAT lds bit");
      scratch_vaddr = saddr == off;
    }
  } else {
    inst.slc = field(w, 15, 15);
    inst.glc = field(w, 14, 14);
    inst.dlc = field(w, 13, 13);
    scratch_vaddr = field(w1, 23, 23);
  }
  // gfx9 spells "no saddr" 0x7f; gfx11 uses null, and both leave the field 0 for FLAT.
  const bool has_saddr = format != Format::flat && saddr != off;
  if (has_saddr) inst.src[2] = d.scalar_register(saddr, format == Format::global ? Type::b64 : Type::b32);
  if (row->src0 != Type::none) {
    const bool has_vaddr = format != Format::scratch || scratch_vaddr;
    const Type width = format == Format::scratch || has_saddr ? Type::b32 : Type::b64;
    if (has_vaddr) inst.src[0] = d.vector_register(field(w1, 7, 0), width);
  }
  if (row->src1 != Type::none) inst.src[1] = d.vector_register(field(w1, 15, 8), row->src1, acc);
  const bool writes = row->dst != Type::none && (!(row->flags & kReturns) || inst.glc);
  if (writes) inst.dst = d.vector_register(field(w1, 31, 24), row->dst, acc);
}

namespace {

void buffer_operands(Decoding& d, const Row& row, bool acc) {
  const std::uint32_t w1 = d.word(1);
  Inst& inst = d.inst();
  if (inst.offen || inst.idxen)
    inst.src[0] = d.vector_register(field(w1, 7, 0), inst.offen && inst.idxen ? Type::b64 : Type::b32);
  inst.src[2] = d.scalar_register(field(w1, 20, 16) * 4, Type::b128);
  inst.src[3] = d.source(field(w1, 31, 24), Type::b32);
  if (row.src1 != Type::none) inst.src[1] = d.vector_register(field(w1, 15, 8), row.src1, acc);
  // Loads and returning atomics write the data registers.
  const bool writes = row.dst != Type::none && !inst.lds && (!(row.flags & kReturns) || inst.glc);
  if (writes) inst.dst = d.vector_register(field(w1, 15, 8), row.dst, acc);
}

}  // namespace

namespace {

// What MUBUF and MTBUF have at the same bits. Returns whether the data is in AccVGPRs.
bool buffer_modifiers(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  Inst& inst = d.inst();
  inst.offset = static_cast<std::int32_t>(field(w, 11, 0));
  inst.glc = field(w, 14, 14);
  if (d.gfx9()) {
    inst.offen = field(w, 12, 12);
    inst.idxen = field(w, 13, 13);
    return field(w1, 23, 23);
  }
  inst.slc = field(w, 12, 12);
  inst.dlc = field(w, 13, 13);
  inst.tfe = field(w1, 21, 21);
  inst.offen = field(w1, 22, 22);
  inst.idxen = field(w1, 23, 23);
  if (inst.tfe) d.unknown("tfe modifier");
  return false;
}

}  // namespace

void decode_mubuf(Decoding& d) {
  const std::uint32_t w = d.word(0);
  d.used = 2;
  const bool gfx9 = d.gfx9();
  const unsigned op = gfx9 ? field(w, 24, 18) : field(w, 25, 18);
  const Row* row = OpcodeTable::get(d.target).find(Format::mubuf, op);
  if (!d.take(row, Format::mubuf, op)) return;
  Inst& inst = d.inst();
  const bool acc = buffer_modifiers(d);
  if (gfx9) {
    inst.slc = field(w, 17, 17);
    inst.lds = field(w, 16, 16);
    inst.dlc = field(w, 15, 15);  // scc of gfx90a, sc1 of gfx942
  }
  if (inst.lds) {
    inst.handler = buffer_to_lds(*row, d.target);
    if (!inst.handler) d.unknown("lds modifier");
  }
  if (row->src0 == Type::none) return;  // cache operations
  buffer_operands(d, *row, acc);
}

void decode_mtbuf(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  d.used = 2;
  const unsigned op = field(w, 18, 15);
  const Row* row = OpcodeTable::get(d.target).find(Format::mtbuf, op);
  if (!d.take(row, Format::mtbuf, op)) return;
  Inst& inst = d.inst();
  const bool acc = buffer_modifiers(d);
  inst.data_format = static_cast<std::uint8_t>(field(w, 25, 19));
  if (d.gfx9()) {
    inst.dlc = field(w1, 21, 21);  // scc of gfx90a, sc1 of gfx942
    inst.slc = field(w1, 22, 22);
  }
  buffer_operands(d, *row, acc);
}

}  // namespace kerncap::vgpu::isa
