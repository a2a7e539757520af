// VOP3 (with VOP3SD and the long forms of VOP1/VOP2/VOPC), VOP3P and the matrix instructions of gfx9.
#include <string_view>

#include "vgpu/isa/decode/fields.hpp"

namespace kerncap::vgpu::isa {
namespace {

Type source_type(const Row& row, unsigned i) {
  const Type types[] = {row.src0, row.src1, row.src2};
  if (i == 2 && (row.flags & kVccCarryIn)) return Type::mask;
  return types[i];
}

// Sources of the long encodings; src0 may ask for DPP on gfx11.
void long_sources(Decoding& d, const Row& row, std::uint32_t w1) {
  Inst& inst = d.inst();
  unsigned encoded[3] = {field(w1, 8, 0), field(w1, 17, 9), field(w1, 26, 18)};
  const bool dpp = !d.gfx9() && (encoded[0] == 250 || encoded[0] == 233 || encoded[0] == 234);
  if (dpp) encoded[0] = decode_dpp(d, encoded[0]);
  for (unsigned i = 0; i < 3; ++i) {
    const Type type = source_type(row, i);
    if (type == Type::none) continue;
    if (d.gfx9() && encoded[i] == 255) return d.illegal("literal in a long encoding");
    inst.src[i] = d.source(encoded[i], type);
  }
}

}  // namespace

void decode_vop3(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  d.used = 2;
  const unsigned op = field(w, 25, 16);
  const Row* row = OpcodeTable::get(d.target).find_vop3(op);
  if (!d.take(row, Format::vop3, op)) return;
  Inst& inst = d.inst();
  inst.clamp = field(w, 15, 15);
  inst.neg = static_cast<std::uint8_t>(field(w1, 31, 29));
  inst.omod = static_cast<std::uint8_t>(field(w1, 28, 27));
  const bool names_sdst = row->flags & kVccCarryOut;
  if (names_sdst) {
    inst.sdst = d.scalar_register(field(w, 14, 8), Type::mask);
  } else {
    inst.abs = static_cast<std::uint8_t>(field(w, 10, 8));
    inst.op_sel = static_cast<std::uint8_t>(field(w, 14, 11));
  }
  if (row->flags & kLiteralK) return d.illegal("fmamk/fmaak has no long form");
  if (d.gfx9() && row->format == Format::vop1 && row->op9 == kAccvgprMovOpcode)
    return d.illegal("v_accvgpr_mov_b32 has no long form");
  if (row->flags & kTruthTable) {
    inst.simm = inst.omod << 6 | inst.abs << 3 | inst.neg;
    inst.omod = inst.abs = inst.neg = 0;
  }
  long_sources(d, *row, w1);
  const unsigned vdst = field(w, 7, 0);
  if (row->format == Format::vopc)
    inst.sdst = d.scalar_register(!d.gfx9() && (row->flags & kExecDst) ? unsigned{kExecLo} : vdst & 0x7f, Type::mask);
  else if (row->flags & kScalarDst)
    inst.dst = d.scalar_register(vdst & 0x7f, row->dst);
  else if (row->dst != Type::none)
    inst.dst = d.vector_register(vdst, row->dst);
}

namespace {

// v_mfma_*_f8f6f4: cbsz and blgp say how many registers A and B have. abid is 1 behind a prefix that loads scales, else 0.
void small_matrix_operands(Decoding& d, bool scaled) {
  static constexpr Type types[] = {Type::b256, Type::b256, Type::b192, Type::b192, Type::b128};
  Inst& inst = d.inst();
  if (inst.cbsz > 4 || inst.blgp > 4) return d.illegal("format of a matrix operand");
  if (inst.abid != (scaled ? 1 : 0)) d.unknown("abid of an f8f6f4 instruction");
  inst.src[0].type = types[inst.cbsz];
  inst.src[1].type = types[inst.blgp];
}

void decode_matrix(Decoding& d, const Row* row, unsigned op, std::uint32_t w, std::uint32_t w1) {
  Inst& inst = d.inst();
  if (!d.take(row, Format::vop3p_mai, op)) return;
  long_sources(d, *row, w1);
  inst.dst = d.vector_register(field(w, 7, 0), row->dst);
  const auto accumulate = [](Operand& o) {
    if (o.kind == OperandKind::vgpr) o.index = static_cast<std::uint16_t>(o.index + 256);
  };
  // Register moves leave the accumulation bits at a default that means nothing.
  const std::string_view name = row->name;
  if (name == "v_accvgpr_read_b32") return accumulate(inst.src[0]);
  if (name == "v_accvgpr_write_b32") return accumulate(inst.dst);
  inst.cbsz = static_cast<std::uint8_t>(field(w, 10, 8));
  inst.abid = static_cast<std::uint8_t>(field(w, 14, 11));
  inst.blgp = static_cast<std::uint8_t>(field(w1, 31, 29));
  if (field(w, 15, 15)) {
    accumulate(inst.dst);
    if (!(row->flags & kReadsDst)) accumulate(inst.src[2]);  // v_smfmac: src2 is the index, a VGPR
  }
  if (field(w1, 27, 27)) accumulate(inst.src[0]);
  if (field(w1, 28, 28)) accumulate(inst.src[1]);
  if (name.ends_with("_f8f6f4")) small_matrix_operands(d, op & kScaledMatrix);
}

// v_mfma_ld_scale_b32 and the matrix instruction behind it: one of 16 bytes. Source: "CDNA4 ISA", MFMA with Block Exponent Scaling.
constexpr unsigned kLoadScale = 0x2c, kMatrixEncoding = 0b110100111;
void decode_scaled_matrix(Decoding& d, const OpcodeTable& table) {
  const std::uint32_t w = d.word(0), w1 = d.word(1), next = d.word(2);
  const unsigned op = field(next, 22, 16) | kScaledMatrix;
  const Row* row = next >> 23 == kMatrixEncoding ? table.find(Format::vop3p_mai, op) : nullptr;
  if (!row) return d.unknown("v_mfma_ld_scale_b32 without an f8f6f4 instruction behind it");
  d.used = 4;
  decode_matrix(d, row, op, next, d.word(3));
  d.out.dual = std::make_unique<Inst>();
  Inst& load = *d.out.dual;
  load.format = Format::vop3p_mai;
  load.row = row;
  load.op_sel = static_cast<std::uint8_t>(field(w, 12, 11));
  load.op_sel_hi = static_cast<std::uint8_t>(field(w1, 28, 27));
  const unsigned encoded[] = {field(w1, 8, 0), field(w1, 17, 9)};
  for (unsigned i = 0; i < 2; ++i) {
    if (encoded[i] == 255) return d.illegal("literal in a long encoding");
    load.src[i] = d.source(encoded[i], Type::b32);
  }
}

}  // namespace

void decode_vop3p(Decoding& d) {
  const std::uint32_t w = d.word(0), w1 = d.word(1);
  d.used = 2;
  const unsigned op = field(w, 22, 16);
  const OpcodeTable& table = OpcodeTable::get(d.target);
  const Row* row = table.find(Format::vop3p, op);
  Inst& inst = d.inst();
  if (!row && op == kLoadScale && d.target == Target::gfx950) return decode_scaled_matrix(d, table);
  if (const Row* matrix = row ? nullptr : table.find(Format::vop3p_mai, op)) return decode_matrix(d, matrix, op, w, w1);
  if (!d.take(row, Format::vop3p, op)) return;
  // Of the layouts, only those of wave32 are known here.
  const std::string_view mnemonic = row->name;
  if (d.wave_size == 64 && (mnemonic.starts_with("v_wmma") || mnemonic.starts_with("v_swmmac")))
    return d.unknown("matrix instruction in a wave of 64");
  inst.clamp = field(w, 15, 15);
  inst.op_sel = static_cast<std::uint8_t>(field(w, 13, 11));
  inst.op_sel_hi = static_cast<std::uint8_t>(field(w1, 28, 27) | field(w, 14, 14) << 2);
  inst.neg = static_cast<std::uint8_t>(field(w1, 31, 29));
  inst.neg_hi = static_cast<std::uint8_t>(field(w, 10, 8));
  long_sources(d, *row, w1);
  inst.dst = d.vector_register(field(w, 7, 0), row->dst);
}

}  // namespace kerncap::vgpu::isa
