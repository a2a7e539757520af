// Operands and modifiers of memory instructions.
#include "vgpu/isa/print/text.hpp"

namespace kerncap::vgpu::isa::print_detail {

void Text::offset(std::int32_t value) {
  if (value) word("offset:" + std::to_string(value));
}

void Text::cache_policy(const Inst& i) {
  if (target_ == Target::gfx942) {
    if (i.glc) word("sc0");
    if (i.slc) word("nt");
    if (i.dlc) word("sc1");
    return;
  }
  if (i.glc) word("glc");
  if (i.slc) word("slc");
  if (i.dlc) word(target_ == Target::gfx90a ? "scc" : "dlc");
}

// Source: LLVM AMDGPU, "ds_swizzle_b32 offset" syntax.
void Text::swizzle(unsigned value) {
  if (value == 0) return;
  if (value & 0x8000 && value < 0xc000) {
    std::string text = "offset:swizzle(QUAD_PERM";
    for (unsigned k = 0; k < 4; ++k) text += "," + std::to_string(value >> (2 * k) & 3);
    return word(text + ")");
  }
  if (value & 0x8000) return word("offset:" + std::to_string(value));
  const unsigned and_mask = value & 31, or_mask = value >> 5 & 31, xor_mask = value >> 10 & 31;
  const auto is_power = [](unsigned v) { return v != 0 && !(v & (v - 1)); };
  if (and_mask == 31 && or_mask == 0 && is_power(xor_mask)) return word("offset:swizzle(SWAP," + std::to_string(xor_mask) + ")");
  if (and_mask == 31 && or_mask == 0 && xor_mask != 0 && is_power(xor_mask + 1))
    return word("offset:swizzle(REVERSE," + std::to_string(xor_mask + 1) + ")");
  const unsigned group = 32 - and_mask;
  if (group > 1 && is_power(group) && or_mask < group && xor_mask == 0)
    return word("offset:swizzle(BROADCAST," + std::to_string(group) + "," + std::to_string(or_mask) + ")");
  std::string text = "offset:swizzle(BITMASK_PERM,\"";
  for (unsigned b = 16; b != 0; b >>= 1) {
    // What becomes of the bit when it is 0 and when it is 1.
    const unsigned p0 = ((0 & and_mask) | or_mask) ^ xor_mask, p1 = ((31 & and_mask) | or_mask) ^ xor_mask;
    text += p0 & b ? (p1 & b ? '1' : 'i') : (p1 & b ? 'p' : '0');
  }
  word(text + "\")");
}

void Text::memory(const Inst& i) {
  if (i.format == Format::ds) {
    for (const Operand* o : {&i.dst, &i.src[0], &i.src[1], &i.src[3]})
      if (o->kind != OperandKind::none) operand(*o);
    if (i.row->flags & kTwoAddress) {
      if (i.offset0) word("offset0:" + std::to_string(i.offset0));
      if (i.offset1) word("offset1:" + std::to_string(i.offset1));
    } else if (std::string_view(i.row->name) == "ds_swizzle_b32") {
      swizzle(static_cast<unsigned>(i.offset));
    } else {
      offset(i.offset);
    }
    if (i.gds) word("gds");
    return;
  }
  const bool buffer = i.format == Format::mubuf;
  if (buffer && i.src[2].kind == OperandKind::none) {
    // gfx90a's cache operations have the bits, and its assembler does not print them.
    if (target_ != Target::gfx90a) cache_policy(i);
    return;
  }
  if (i.dst.kind != OperandKind::none && !(buffer && i.row->src1 != Type::none)) operand(i.dst);
  if (buffer && i.row->src1 != Type::none) operand(i.src[1]);
  if (i.src[0].kind != OperandKind::none) operand(i.src[0]);
  else item("off");
  if (!buffer && i.row->src1 != Type::none) operand(i.src[1]);
  if (buffer) {
    operand(i.src[2]);
    operand(i.src[3]);
    if (i.idxen) word("idxen");
    if (i.offen) word("offen");
  } else if (i.src[2].kind != OperandKind::none) {
    operand(i.src[2]);
  } else if (i.format != Format::flat) {
    item("off");
  }
  offset(i.offset);
  cache_policy(i);
  if (i.lds) word("lds");
  if (i.tfe) word("tfe");
}

}  // namespace kerncap::vgpu::isa::print_detail
