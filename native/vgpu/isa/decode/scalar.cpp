// SOP1, SOP2, SOPK, SOPC, SOPP and SMEM.
#include "vgpu/isa/decode/fields.hpp"

namespace kerncap::vgpu::isa {
namespace {

void decode_sop1(Decoding& d, std::uint32_t w, const OpcodeTable& table) {
  const unsigned op = field(w, 15, 8);
  const Row* row = table.find(Format::sop1, op);
  if (!d.take(row, Format::sop1, op)) return;
  if (row->dst != Type::none) d.inst().dst = d.scalar_register(field(w, 22, 16), row->dst);
  if (row->src0 == Type::simm) d.inst().simm = static_cast<std::int32_t>(field(w, 7, 0));
  else if (row->src0 != Type::none) d.inst().src[0] = d.source(field(w, 7, 0), row->src0);
}

void decode_sopc(Decoding& d, std::uint32_t w, const OpcodeTable& table) {
  const unsigned op = field(w, 22, 16);
  const Row* row = table.find(Format::sopc, op);
  if (!d.take(row, Format::sopc, op)) return;
  d.inst().src[0] = d.source(field(w, 7, 0), row->src0);
  if (row->src1 == Type::simm) d.inst().simm = static_cast<std::int32_t>(field(w, 15, 8));
  else d.inst().src[1] = d.source(field(w, 15, 8), row->src1);
}

void decode_sopk(Decoding& d, std::uint32_t w, const OpcodeTable& table) {
  const unsigned op = field(w, 27, 23);
  const Row* row = table.find(Format::sopk, op);
  if (!d.take(row, Format::sopk, op)) return;
  // s_cmpk_*, s_setreg and s_waitcnt_*cnt read the register of the destination field.
  if (row->dst != Type::none) d.inst().dst = d.scalar_register(field(w, 22, 16), row->dst);
  if (row->src0 != Type::none) d.inst().src[0] = d.scalar_register(field(w, 22, 16), row->src0);
  d.inst().simm = static_cast<std::int16_t>(w & 0xffff);
  if (row->flags & kLiteralK) d.literal();
}

void decode_sop2(Decoding& d, std::uint32_t w, const OpcodeTable& table) {
  const unsigned op = field(w, 29, 23);
  const Row* row = table.find(Format::sop2, op);
  if (!d.take(row, Format::sop2, op)) return;
  if (row->dst != Type::none) d.inst().dst = d.scalar_register(field(w, 22, 16), row->dst);
  d.inst().src[0] = d.source(field(w, 7, 0), row->src0);
  d.inst().src[1] = d.source(field(w, 15, 8), row->src1);
  if (row->flags & kLiteralK) d.literal();
}

// Source: "RDNA4 ISA", SMEM. A prefetch has a count where a load has its destination.
void decode_smem12(Decoding& d, const Row& row) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  Inst& inst = d.inst();
  inst.scope = static_cast<std::uint8_t>(field(w, 22, 21));
  inst.temporal = static_cast<std::uint8_t>(field(w, 24, 23));
  inst.offset = sign_extend(field(w1, 23, 0), 24);
  const bool prefetch = row.src1 == Type::simm;
  if (prefetch) inst.simm = static_cast<std::int32_t>(field(w, 12, 6));
  if (prefetch || field(w1, 31, 25) != 124) inst.src[3] = d.scalar_register(field(w1, 31, 25), Type::b32);
}

}  // namespace

void decode_scalar(Decoding& d) {
  const std::uint32_t w = d.word(0);
  const OpcodeTable& table = OpcodeTable::get(d.target);
  switch (w >> 23) {
    case 0b101111101: return decode_sop1(d, w, table);
    case 0b101111110: return decode_sopc(d, w, table);
    case 0b101111111: {
      const unsigned op = field(w, 22, 16);
      if (d.take(table.find(Format::sopp, op), Format::sopp, op)) d.inst().simm = static_cast<std::int16_t>(w & 0xffff);
      return;
    }
    default: return (w >> 28) == 0b1011 ? decode_sopk(d, w, table) : decode_sop2(d, w, table);
  }
}

void decode_smem(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  d.used = 2;
  const bool gfx12 = d.family == Family::gfx12;
  const unsigned op = gfx12 ? field(w, 18, 13) : field(w, 25, 18);
  const Row* row = OpcodeTable::get(d.target).find(Format::smem, op);
  if (!d.take(row, Format::smem, op)) return;
  Inst& inst = d.inst();
  if (row->dst != Type::none) inst.dst = d.scalar_register(field(w, 12, 6), row->dst);
  if (row->src1 != Type::none && row->src1 != Type::simm) inst.src[1] = d.scalar_register(field(w, 12, 6), row->src1);
  if (row->src0 == Type::none && row->src1 != Type::simm) return;
  if (row->src0 != Type::none) inst.src[2] = d.scalar_register(field(w, 5, 0) * 2, row->src0);
  if (gfx12) return decode_smem12(d, *row);
  if (d.gfx9()) {
    inst.glc = field(w, 16, 16);
    const bool immediate = field(w, 17, 17), register_too = field(w, 14, 14);
    if (field(w, 15, 15)) d.unknown("SMEM nv bit");
    if (immediate) inst.offset = sign_extend(field(w1, 20, 0), 21);
    if (register_too) inst.src[3] = d.scalar_register(field(w1, 31, 25), Type::b32);
    else if (!immediate) inst.src[3] = d.scalar_register(field(w1, 6, 0), Type::b32);
  } else {
    inst.glc = field(w, 14, 14);
    inst.dlc = field(w, 13, 13);
    inst.offset = sign_extend(field(w1, 20, 0), 21);
    if (field(w1, 31, 25) != 124) inst.src[3] = d.scalar_register(field(w1, 31, 25), Type::b32);
  }
}

}  // namespace kerncap::vgpu::isa
