// Operand fields: registers, inline constants and literals, the same numbering on every target.
// Source: "SSRC/SRC0 operand encodings" of the MI200, MI300 and RDNA3 ISA manuals.
#include <bit>

#include "vgpu/isa/decode/fields.hpp"

namespace kerncap::vgpu::isa {
namespace {

bool is_16_bit_float(Type t) { return t == Type::f16 || t == Type::bf16 || t == Type::pkf16; }
bool is_16_bit(Type t) { return is_16_bit_float(t) || t == Type::u16 || t == Type::i16 || t == Type::b16; }
bool is_64_bit(Type t) {
  return t == Type::b64 || t == Type::u64 || t == Type::i64 || t == Type::f64 || t == Type::f64x4;
}

// A literal in a 64-bit operand: the high half of an f64, sign-extended for i64, else zero-extended.
std::uint64_t expand_literal(std::uint32_t literal, Type type) {
  switch (type) {
    case Type::f64: return std::uint64_t{literal} << 32;
    case Type::i64: return static_cast<std::uint64_t>(std::int64_t{static_cast<std::int32_t>(literal)});
    case Type::f16: case Type::bf16: case Type::u16: case Type::i16: case Type::b16: return literal & 0xffff;
    default: return literal;
  }
}

}  // namespace

std::uint64_t inline_integer(std::int32_t value, Type type) {
  const auto wide = static_cast<std::uint64_t>(std::int64_t{value});
  if (is_64_bit(type)) return wide;
  if (is_16_bit(type) && type != Type::pkf16) return wide & 0xffff;
  return wide & 0xffffffff;
}

std::uint64_t inline_float(unsigned encoded, Type type) {
  static constexpr float values[] = {0.5f, -0.5f, 1.0f, -1.0f, 2.0f, -2.0f, 4.0f, -4.0f, 0.15915494f};
  static constexpr std::uint16_t halves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
  const unsigned i = encoded - 240;
  // 1/(2*pi) is rounded for each type by itself.
  if (is_64_bit(type))
    return i == 8 ? 0x3fc45f306dc9c882ull : std::bit_cast<std::uint64_t>(static_cast<double>(values[i]));
  if (type == Type::bf16) return std::bit_cast<std::uint32_t>(values[i]) >> 16;
  if (is_16_bit(type)) return halves[i];
  return std::bit_cast<std::uint32_t>(values[i]);
}

Operand Decoding::scalar_register(unsigned encoded, Type type) {
  Operand op;
  op.kind = OperandKind::sgpr;
  op.type = type;
  op.encoded = static_cast<std::uint16_t>(encoded);
  unsigned index = encoded;
  if (gfx9()) {
    if (encoded == 125) illegal("scalar register 125");
  } else if (encoded == 124 || encoded == 125) {
    index = encoded ^ 1;  // gfx11: 124 is null, 125 is m0
  }
  op.index = static_cast<std::uint16_t>(index);
  return op;
}

Operand Decoding::source(unsigned encoded, Type type) {
  Operand op;
  op.type = type;
  op.encoded = static_cast<std::uint16_t>(encoded);
  if (encoded >= 256) return vector_register(encoded - 256, type);
  if (encoded < 128) return scalar_register(encoded, type);
  op.kind = OperandKind::constant;
  if (encoded <= 192) {
    op.constant = inline_integer(static_cast<std::int32_t>(encoded) - 128, type);
  } else if (encoded <= 208) {
    op.constant = inline_integer(192 - static_cast<std::int32_t>(encoded), type);
  } else if (encoded >= 240 && encoded <= 248) {
    op.constant = inline_float(encoded, type);
  } else if (encoded == 255) {
    op.constant = expand_literal(literal(), type);
  } else {
    op.kind = OperandKind::special;
    Special special{};
    switch (encoded) {
      case 235: special = Special::shared_base; break;
      case 236: special = Special::shared_limit; break;
      case 237: special = Special::private_base; break;
      case 238: special = Special::private_limit; break;
      case 239: special = Special::pops_exiting_wave_id; break;
      case 251: special = Special::vccz; break;
      case 252: special = Special::execz; break;
      case 253: special = Special::scc; break;
      case 254: special = Special::lds_direct; break;
      default: illegal("source operand " + std::to_string(encoded)); break;
    }
    if (special == Special::pops_exiting_wave_id || special == Special::lds_direct)
      unknown("source operand " + std::to_string(encoded));
    op.index = static_cast<std::uint16_t>(special);
  }
  return op;
}

Operand Decoding::vector_register(unsigned index, Type type, bool accumulation) {
  Operand op;
  op.kind = OperandKind::vgpr;
  op.type = type;
  op.index = static_cast<std::uint16_t>(index + (accumulation ? 256 : 0));
  op.encoded = static_cast<std::uint16_t>(index + 256);
  return op;
}

void Decoding::check_range(const Operand& operand) {
  const unsigned count = std::max(1u, dwords(operand.type, wave_size));
  const unsigned end = operand.index + count;
  if (operand.kind == OperandKind::sgpr) {
    // A null operand has any width, but a resource descriptor is read where it stands.
    const bool null = operand.index == kNull && &operand != &inst().src[2];
    if (!null && end > kScalarRegs) illegal("scalar register out of range");
  } else if (operand.kind == OperandKind::vgpr) {
    auto& limit = operand.index < 256 ? inst().vgpr_end : inst().agpr_end;
    const unsigned relative = operand.index < 256 ? end : end - 256;
    if (relative > 256) illegal("vector register out of range");
    limit = std::max(limit, static_cast<std::uint16_t>(relative));
  }
}

}  // namespace kerncap::vgpu::isa
