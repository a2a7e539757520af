// VOP1, VOP2 and VOPC with their SDWA and DPP forms, and VOPD.
#include "vgpu/isa/decode/fields.hpp"
#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {
namespace {

constexpr unsigned kSdwaMarker = 249, kDpp16Marker = 250, kDpp8Marker = 233, kDpp8FiMarker = 234;

bool is_dpp(const Decoding& d, unsigned encoded) {
  return encoded == kDpp16Marker || (!d.gfx9() && (encoded == kDpp8Marker || encoded == kDpp8FiMarker));
}

bool half_type(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::u16 || t == Type::i16 || t == Type::b16;
}

// 16-bit operands of the short encodings of gfx11 name v0..v127 in seven bits; the eighth selects the high half.
Operand half_register(Decoding& d, Operand op, unsigned op_sel_bit) {
  if (d.gfx9() || op.kind != OperandKind::vgpr || !half_type(op.type)) return op;
  if (op.index & 0x80) d.inst().op_sel = static_cast<std::uint8_t>(d.inst().op_sel | 1u << op_sel_bit);
  op.index = static_cast<std::uint16_t>(op.index & 0x7f);
  return op;
}

Operand vcc(Decoding& d) { return d.scalar_register(kVccLo, Type::mask); }
Operand exec(Decoding& d) { return d.scalar_register(kExecLo, Type::mask); }

// The extra dword of SDWA. Source: "SDWA" in the MI200 and MI300 ISA manuals.
void decode_sdwa(Decoding& d, const Row& row, bool compare) {
  const std::uint32_t s = d.word(d.used++);
  Inst& inst = d.inst();
  Sdwa& sdwa = inst.sdwa;
  sdwa.present = true;
  if (compare) {
    inst.sdst = field(s, 15, 15) ? d.scalar_register(field(s, 14, 8), Type::mask) : vcc(d);
  } else {
    sdwa.dst_sel = static_cast<std::uint8_t>(field(s, 10, 8));
    sdwa.dst_unused = static_cast<std::uint8_t>(field(s, 12, 11));
    inst.clamp = field(s, 13, 13);
    inst.omod = static_cast<std::uint8_t>(field(s, 15, 14));
  }
  sdwa.src_sel[0] = static_cast<std::uint8_t>(field(s, 18, 16));
  sdwa.sext[0] = field(s, 19, 19);
  sdwa.src_sel[1] = static_cast<std::uint8_t>(field(s, 26, 24));
  sdwa.sext[1] = field(s, 27, 27);
  inst.neg = static_cast<std::uint8_t>(field(s, 20, 20) | field(s, 28, 28) << 1);
  inst.abs = static_cast<std::uint8_t>(field(s, 21, 21) | field(s, 29, 29) << 1);
  if (row.src0 != Type::none) inst.src[0] = d.source(field(s, 7, 0) + (field(s, 23, 23) ? 0 : 256), row.src0);
  if (inst.src[1].kind != OperandKind::none && field(s, 31, 31))
    inst.src[1] = d.source(inst.src[1].encoded - 256u, row.src1);
  if (sdwa.dst_sel == 7 || sdwa.dst_unused == 3 || sdwa.src_sel[0] == 7 || sdwa.src_sel[1] == 7)
    d.illegal("SDWA select");
}

// src0 of the short encodings, with whatever extra dword it asks for. Runs after src[1] is set.
void short_source0(Decoding& d, const Row& row, unsigned encoded, bool compare) {
  Inst& inst = d.inst();
  if (d.gfx9() && encoded == kSdwaMarker) return decode_sdwa(d, row, compare);
  if (is_dpp(d, encoded)) {
    if (inst.row->flags & kLiteralK) d.illegal("DPP with a literal");
    encoded = decode_dpp(d, encoded);
  }
  if (row.src0 != Type::none) inst.src[0] = half_register(d, d.source(encoded, row.src0), 0);
}

void decode_vop1(Decoding& d, std::uint32_t w, const OpcodeTable& table) {
  const unsigned op = field(w, 16, 9);
  const Row* row = table.find(Format::vop1, op);
  if (!d.take(row, Format::vop1, op)) return;
  Inst& inst = d.inst();
  short_source0(d, *row, field(w, 8, 0), false);
  const unsigned vdst = field(w, 24, 17);
  if (row->flags & kScalarDst) inst.dst = d.scalar_register(vdst, row->dst);
  else if (row->dst != Type::none) inst.dst = half_register(d, d.vector_register(vdst, row->dst), 3);
  if (d.gfx9() && op == kAccvgprMovOpcode) {
    inst.dst.index = static_cast<std::uint16_t>(inst.dst.index + 256);
    inst.src[0].index = static_cast<std::uint16_t>(inst.src[0].index + 256);
  }
}

void decode_vop2(Decoding& d, std::uint32_t w, const OpcodeTable& table) {
  const unsigned op = field(w, 30, 25);
  const Row* row = table.find(Format::vop2, op);
  if (!d.take(row, Format::vop2, op)) return;
  Inst& inst = d.inst();
  if (row->src1 != Type::none) inst.src[1] = half_register(d, d.vector_register(field(w, 16, 9), row->src1), 1);
  short_source0(d, *row, field(w, 8, 0), false);
  if (row->flags & kLiteralK) d.literal();
  inst.dst = half_register(d, d.vector_register(field(w, 24, 17), row->dst), 3);
  if (row->flags & kVccCarryIn) inst.src[2] = vcc(d);
  if (row->flags & kVccCarryOut) inst.sdst = vcc(d);
}

void decode_vopc(Decoding& d, std::uint32_t w, const OpcodeTable& table) {
  const unsigned op = field(w, 24, 17);
  const Row* row = table.find(Format::vopc, op);
  if (!d.take(row, Format::vopc, op)) return;
  Inst& inst = d.inst();
  inst.sdst = !d.gfx9() && (row->flags & kExecDst) ? exec(d) : vcc(d);
  inst.src[1] = half_register(d, d.vector_register(field(w, 16, 9), row->src1), 1);
  short_source0(d, *row, field(w, 8, 0), true);
}

// One half of VOPD as an Inst with a row of its own.
void vopd_half(Decoding& d, Inst& half, unsigned op, unsigned src0, unsigned vsrc1, unsigned vdst) {
  const Row* row = OpcodeTable::get(d.target).find(Format::vopd, op);
  half.format = Format::vopd;
  half.row = row;
  if (!row || !row->handler) return d.unknown("vopd opcode " + std::to_string(op));
  half.handler = row->handler;
  half.dst = d.vector_register(vdst, row->dst);
  half.src[0] = d.source(src0, row->src0);
  if (row->src1 != Type::none) half.src[1] = d.vector_register(vsrc1, row->src1);
  if (row->flags & kVccCarryIn) half.src[2] = vcc(d);
  if (row->flags & kLiteralK) half.literal = d.literal();
}

}  // namespace

unsigned decode_dpp(Decoding& d, unsigned marker) {
  const std::uint32_t s = d.word(d.used++);
  Inst& inst = d.inst();
  Dpp& dpp = inst.dpp;
  if (marker != kDpp16Marker) {
    dpp.kind = Dpp::Kind::dpp8;
    dpp.lanes8 = field(s, 31, 8);
    dpp.fetch_inactive = marker == kDpp8FiMarker;
    return field(s, 7, 0) + 256;
  }
  dpp.kind = Dpp::Kind::dpp16;
  dpp.control = static_cast<std::uint16_t>(field(s, 16, 8));
  dpp.fetch_inactive = !d.gfx9() && field(s, 18, 18);
  dpp.bound_ctrl = field(s, 19, 19);
  dpp.bank_mask = static_cast<std::uint8_t>(field(s, 27, 24));
  dpp.row_mask = static_cast<std::uint8_t>(field(s, 31, 28));
  // VOP3 has modifiers of its own and leaves these fields unused.
  if (inst.format != Format::vop3 && inst.format != Format::vop3p) {
    inst.neg = static_cast<std::uint8_t>(field(s, 20, 20) | field(s, 22, 22) << 1);
    inst.abs = static_cast<std::uint8_t>(field(s, 21, 21) | field(s, 23, 23) << 1);
  }
  return field(s, 7, 0) + 256;
}

void decode_vector(Decoding& d) {
  const std::uint32_t w = d.word(0);
  const OpcodeTable& table = OpcodeTable::get(d.target);
  if ((w >> 25) == 0b0111111) return decode_vop1(d, w, table);
  if ((w >> 25) == 0b0111110) return decode_vopc(d, w, table);
  decode_vop2(d, w, table);
}

void decode_vopd(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  d.used = 2;
  const unsigned opx = field(w, 25, 22), opy = field(w, 21, 17);
  const unsigned vdstx = field(w1, 31, 24);
  const unsigned vdsty = field(w1, 23, 17) * 2 + (vdstx & 1 ? 0 : 1);  // the parities differ
  vopd_half(d, d.inst(), opx, field(w, 8, 0), field(w, 16, 9), vdstx);
  d.out.dual = std::make_unique<Inst>();
  vopd_half(d, *d.out.dual, opy, field(w1, 8, 0), field(w1, 16, 9), vdsty);
  d.inst().handler = &execute_vopd;
}

}  // namespace kerncap::vgpu::isa
