#include "vgpu/isa/print/text.hpp"

#include <cstdio>

namespace kerncap::vgpu::isa::print_detail {

std::string hex_text(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void Text::item(std::string_view text) {
  out_ += first_ ? " " : ", ";
  first_ = false;
  out_ += text;
}
void Text::hex(std::uint32_t value) { item(hex_text(value)); }
void Text::word(std::string_view text) {
  out_ += ' ';
  out_ += text;
}

std::string Text::scalar_name(unsigned index, unsigned count) const {
  const auto pair = [&](const char* base) {
    return count >= 2 ? std::string(base) : std::string(base) + (index & 1 ? "_hi" : "_lo");
  };
  const auto range = [&](const std::string& prefix, unsigned first) {
    if (count <= 1) return prefix + std::to_string(first);
    return prefix + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
  };
  if (index == kNull) return "null";
  if (index == kM0) return "m0";
  if (index == kVccLo || index == kVccHi) return pair("vcc");
  if (index == kExecLo || index == kExecHi) return pair("exec");
  if (index >= kTtmp0 && index < kM0) return range("ttmp", index - kTtmp0);
  if (family() == Family::gfx9 && (index == kFlatScratchLo || index == kFlatScratchHi)) return pair("flat_scratch");
  if (family() == Family::gfx9 && (index == 104 || index == 105)) return pair("xnack_mask");
  return range("s", index);
}

std::string Text::constant(const Operand& o) const {
  // A literal that could have been an inline constant is printed as one.
  if (o.encoded == 255 && o.type != Type::f64 && static_cast<std::int32_t>(o.constant) >= -16 && static_cast<std::int32_t>(o.constant) <= 64)
    return std::to_string(static_cast<std::int32_t>(o.constant));
  if (o.encoded == 255) return hex_text(o.type == Type::f64 ? o.constant >> 32 : o.constant & 0xffffffff);
  if (o.encoded <= 192) return std::to_string(static_cast<int>(o.encoded) - 128);
  if (o.encoded <= 208) return std::to_string(192 - static_cast<int>(o.encoded));
  static constexpr std::string_view values[] = {"0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494"};
  if (o.encoded == 248) {
    if (o.type == Type::f64 || o.type == Type::f64x4 || o.type == Type::b64) return "0.15915494309189532";
    if (o.type == Type::f16 || o.type == Type::pkf16) return "0.15915494";
  }
  return std::string(values[o.encoded - 240]);
}

bool Text::true16(const Operand& o) const {
  return family() != Family::gfx9 && (o.type == Type::f16 || o.type == Type::bf16 || o.type == Type::u16 ||
                                       o.type == Type::i16 || o.type == Type::b16);
}

std::string Text::name(const Operand& o, unsigned high_half) const {
  const unsigned count = std::max(1u, dwords(o.type, wave_size_));
  switch (o.kind) {
    case OperandKind::sgpr: return scalar_name(o.index, count);
    case OperandKind::constant: return constant(o);
    case OperandKind::vgpr: {
      const std::string prefix = o.index < 256 ? "v" : "a";
      const unsigned first = o.index & 255;
      if (count > 1) return prefix + "[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
      return prefix + std::to_string(first) + (true16(o) ? high_half ? ".h" : ".l" : "");
    }
    case OperandKind::special:
      switch (static_cast<Special>(o.index)) {
        case Special::shared_base: return "src_shared_base";
        case Special::shared_limit: return "src_shared_limit";
        case Special::private_base: return "src_private_base";
        case Special::private_limit: return "src_private_limit";
        case Special::pops_exiting_wave_id: return "src_pops_exiting_wave_id";
        case Special::vccz: return "src_vccz";
        case Special::execz: return "src_execz";
        case Special::scc: return "src_scc";
        case Special::lds_direct: return "src_lds_direct";
      }
      break;
    case OperandKind::none: break;
  }
  return "?";
}

namespace {
// Mixed-precision multiply-add: one operation, whose op_sel_hi says which sources are halves and neg_hi which are absolute.
bool is_mixed(const Inst& i) { return std::string_view(i.row->name).starts_with("v_fma_mix"); }
}  // namespace

void Text::source(const Inst& i, unsigned k) {
  const Operand& o = i.src[k];
  std::string text = name(o, i.op_sel >> k & 1);
  const bool mixed = is_mixed(i), neg = i.neg >> k & 1, abs = (mixed ? i.neg_hi : i.abs) >> k & 1;
  if ((i.format == Format::vop3p && !mixed) || i.format == Format::vop3p_mai) return item(text);
  if (i.sdwa.present && k < 2 && i.sdwa.sext[k]) text = "sext(" + text + ")";
  if (abs) text = "|" + text + "|";
  if (neg) text = o.kind == OperandKind::constant && !abs ? "neg(" + text + ")" : "-" + text;
  item(text);
}

void Text::bits(std::string_view label, unsigned value, unsigned count) {
  std::string text = std::string(label) + ":[";
  for (unsigned b = 0; b < count; ++b) text += (b ? "," : "") + std::to_string(value >> b & 1);
  word(text + "]");
}

namespace {
unsigned source_count(const Inst& i) {
  unsigned n = 0;
  for (unsigned k = 0; k < 3; ++k) n += i.src[k].kind != OperandKind::none;
  return n;
}
}  // namespace

void Text::op_sel(const Inst& i) {
  if (!i.op_sel) return;
  unsigned n = source_count(i);
  const std::string_view row = i.row->name;
  if (row.ends_with("_swap_b32")) {  // v_permlane16_swap_b32: other names for the same bits
    if (i.op_sel & 2) word("bound_ctrl:1");
    if (i.op_sel & 1) word("fi:1");
    return;
  }
  if (row == "v_cndmask_b16") return;  // LLVM names the halves in the registers alone
  if (row.starts_with("v_permlane")) return bits("op_sel", i.op_sel, 2);
  if (family() == Family::gfx12 && row.starts_with("v_cvt_") && (row.find("fp8") != row.npos || row.find("bf8") != row.npos)) {
    // One byte of four: the source's (its number's higher bit comes first) or the destination's.
    if (row.starts_with("v_cvt_f32_")) return word("byte_sel:" + std::to_string((i.op_sel & 1) << 1 | (i.op_sel >> 1 & 1)));
    if (row.starts_with("v_cvt_sr_")) return word("byte_sel:" + std::to_string(i.op_sel >> 2 & 3));
  }
  if (i.row->flags & kReadsDst) n = 3;  // the accumulator counts as src2
  unsigned value = i.op_sel & ((1u << n) - 1);
  value |= static_cast<unsigned>(i.op_sel >> 3 & 1) << n;
  bits("op_sel", value, n + 1);
}

void Text::packed_modifiers(const Inst& i) {
  const unsigned n = source_count(i), mask = (1u << n) - 1;
  const bool mixed = is_mixed(i);
  if (std::string_view(i.row->name).starts_with("v_swmmac")) {
    if (i.op_sel) word("index_key:" + std::to_string(i.op_sel));
  } else if (i.op_sel & mask) {
    bits("op_sel", i.op_sel, n);
  }
  if ((i.op_sel_hi & mask) != (mixed ? 0 : mask)) bits("op_sel_hi", i.op_sel_hi, n);
  if ((i.neg & mask) && !mixed) bits("neg_lo", i.neg, n);
  if ((i.neg_hi & mask) && !mixed) bits("neg_hi", i.neg_hi, n);
  if (i.clamp) word("clamp");
  if (i.dpp.kind != Dpp::Kind::none) dpp(i);
}

void Text::truth_table(const Inst& i) {
  if (i.simm) word("bitop3:" + (i.simm <= 10 ? std::to_string(i.simm) : hex_text(static_cast<std::uint64_t>(i.simm))));
}

void Text::matrix_controls(const Inst& i) {
  const bool small = std::string_view(i.row->name).ends_with("_f8f6f4");  // abid is not the assembler's there
  if (i.dual) {
    if (i.dual->op_sel) bits("op_sel", i.dual->op_sel, 3);
    bits("op_sel_hi", i.dual->op_sel_hi, 3);
  }
  if (i.cbsz) word("cbsz:" + std::to_string(i.cbsz));
  if (i.abid && !small) word("abid:" + std::to_string(i.abid));
  if (!i.blgp) return;
  // The f64 forms from gfx942 on use the field as negations.
  if (contains(kGfx940, target_) && i.row->dst != Type::none && std::string_view(i.row->name).find("_f64_") != std::string_view::npos)
    bits("neg", i.blgp, 3);
  else
    word("blgp:" + std::to_string(i.blgp));
}

void Text::sdwa(const Inst& i) {
  static constexpr std::string_view selects[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD", "?"};
  static constexpr std::string_view unused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
  const auto select = [&](std::string_view label, unsigned v) { word(std::string(label) + std::string(selects[v & 7])); };
  const std::string_view row = i.row->name;
  const bool source_only = row.starts_with("v_cvt_f32_bf8") || row.starts_with("v_cvt_f32_fp8") || row.starts_with("v_cvt_pk_f32_");
  if (i.row->format != Format::vopc && !source_only) {
    select("dst_sel:", i.sdwa.dst_sel);
    word("dst_unused:" + std::string(unused[i.sdwa.dst_unused & 3]));
  }
  if (i.src[0].kind != OperandKind::none) select("src0_sel:", i.sdwa.src_sel[0]);
  if (i.src[1].kind != OperandKind::none) select("src1_sel:", i.sdwa.src_sel[1]);
}

void Text::dpp(const Inst& i) {
  const Dpp& d = i.dpp;
  if (d.kind == Dpp::Kind::dpp8) {
    std::string text = "dpp8:[";
    for (unsigned k = 0; k < 8; ++k) text += (k ? "," : "") + std::to_string(d.lanes8 >> (3 * k) & 7);
    word(text + "]");
    if (d.fetch_inactive) word("fi:1");
    return;
  }
  const unsigned c = d.control, low = c & 15;
  const auto with = [&](std::string_view label) { word(std::string(label) + std::to_string(low)); };
  if (c < 0x100) {
    std::string text = "quad_perm:[";
    for (unsigned k = 0; k < 4; ++k) text += (k ? "," : "") + std::to_string(c >> (2 * k) & 3);
    word(text + "]");
  } else if (c < 0x110) with("row_shl:");
  else if (c < 0x120) with("row_shr:");
  else if (c < 0x130) with("row_ror:");
  else if (c == 0x130) word("wave_shl:1");
  else if (c == 0x134) word("wave_rol:1");
  else if (c == 0x138) word("wave_shr:1");
  else if (c == 0x13c) word("wave_ror:1");
  else if (c == 0x140) word("row_mirror");
  else if (c == 0x141) word("row_half_mirror");
  else if (c == 0x142) word("row_bcast:15");
  else if (c == 0x143) word("row_bcast:31");
  else if (c >= 0x150 && c < 0x160) with(family() == Family::gfx9 ? "row_newbcast:" : "row_share:");
  else if (c >= 0x160 && c < 0x170) with("row_xmask:");
  else word("dpp_ctrl:" + hex_text(c));
  word("row_mask:" + hex_text(d.row_mask));
  word("bank_mask:" + hex_text(d.bank_mask));
  if (d.bound_ctrl) word("bound_ctrl:1");
  if (d.fetch_inactive) word("fi:1");
}

}  // namespace kerncap::vgpu::isa::print_detail
