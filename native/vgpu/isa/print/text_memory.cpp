// Operands and modifiers of memory instructions.
#include "vgpu/isa/print/text.hpp"

namespace kerncap::vgpu::isa::print_detail {

void Text::offset(std::int32_t value) {
  if (value) word("offset:" + std::to_string(value));
}

// Source: LLVM, AMDGPUInstPrinter::printTH.
void Text::temporal_hint(const Inst& i) {
  const unsigned th = i.temporal;
  if (th == 0) return;
  if (i.row->flags & kReturns) {
    if (th >= 4 && i.scope >= 2) return word(th & 2 ? "th:TH_ATOMIC_CASCADE_NT" : "th:TH_ATOMIC_CASCADE_RT");
    static constexpr std::string_view atomics[] = {"", "RETURN", "NT", "NT_RETURN"};
    return word("th:TH_ATOMIC_" + (th < 4 ? std::string(atomics[th]) : hex_text(th)));
  }
  const bool store = std::string_view(i.row->name).find("store") != std::string_view::npos;
  static constexpr std::string_view hints[] = {"RT", "NT", "HT", "", "NT_RT", "RT_NT", "NT_HT", ""};
  const std::string prefix = store ? "th:TH_STORE_" : "th:TH_LOAD_";
  if (th == 3) return word(prefix + (i.scope == 3 ? "BYPASS" : store ? "WB" : "LU"));
  if (th == 7) return word(store ? prefix + "NT_WB" : "th:0x7");
  word(prefix + std::string(hints[th]));
}

void Text::cache_policy(const Inst& i) {
  if (family() == Family::gfx12) {
    static constexpr std::string_view scopes[] = {"", "scope:SCOPE_SE", "scope:SCOPE_DEV", "scope:SCOPE_SYS"};
    temporal_hint(i);
    if (i.scope) word(scopes[i.scope]);
    return;
  }
  if (contains(kGfx940, target_)) {
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

// The format of MTBUF. Source: LLVM AMDGPU, symbolic formats; the default (8-bit unorm) is not printed.
void Text::data_format(unsigned format) {
  static constexpr std::string_view layouts[] = {"INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2",
                                                 "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
  static constexpr std::string_view numbers[] = {"UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT"};
  if (family() == Family::gfx9) {
    const unsigned layout = format & 15, number = format >> 4;
    std::string text;
    if (layout != 1) text = "BUF_DATA_FORMAT_" + std::string(layouts[layout]);
    if (number != 0) text += (text.empty() ? "" : ",") + ("BUF_NUM_FORMAT_" + std::string(numbers[number]));
    if (!text.empty()) word("format:[" + text + "]");
    return;
  }
  if (format == 1) return;
  if (format == 0) return word("format:[BUF_FMT_INVALID]");
  // Runs of number formats (a bit each), layout by layout.
  static constexpr std::uint8_t runs[][2] = {{1, 0x3f}, {2, 0xbf}, {3, 0x3f}, {4, 0xb0}, {5, 0xbf}, {6, 0x80}, {7, 0x80},
                                             {8, 0x33}, {9, 0x3f}, {10, 0x3f}, {11, 0xb0}, {12, 0xbf}, {13, 0xb0}, {14, 0xb0}};
  unsigned at = 0;
  for (const auto& [layout, has] : runs)
    for (unsigned n = 0; n < 8; ++n)
      if ((has >> n & 1) && ++at == format)
        return word("format:[BUF_FMT_" + std::string(layouts[layout]) + "_" + std::string(numbers[n]) + "]");
  word("format:" + std::to_string(format));
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
  const bool typed = i.format == Format::mtbuf, buffer = typed || i.format == Format::mubuf;
  const bool control = i.row->dst == Type::none && i.row->src0 == Type::none && i.row->src1 == Type::none;
  if (control || (buffer && i.src[2].kind == OperandKind::none)) {
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
    if (typed) data_format(i.data_format);
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
