// Operands of SOP* and SMEM: waits, messages, hardware registers.
// Source: LLVM AMDGPUUsage, "Syntax of AMDGPU instruction operands".
#include "vgpu/isa/print/text.hpp"

namespace kerncap::vgpu::isa::print_detail {

void Text::wait_counters(unsigned simm) {
  const bool gfx9 = family() == Family::gfx9;
  const unsigned vm = gfx9 ? (simm & 15) | (simm >> 14 & 3) << 4 : simm >> 10 & 63;
  const unsigned exp = gfx9 ? simm >> 4 & 7 : simm & 7;
  const unsigned lgkm = gfx9 ? simm >> 8 & 15 : simm >> 4 & 63;
  const bool all_default = vm == 63 && exp == 7 && lgkm == (gfx9 ? 15u : 63u);
  const auto counter = [&](const char* label, unsigned value, unsigned idle) {
    if (value != idle || all_default) word(std::string(label) + "(" + std::to_string(value) + ")");
  };
  counter("vmcnt", vm, 63);
  counter("expcnt", exp, 7);
  counter("lgkmcnt", lgkm, gfx9 ? 15 : 63);
}

void Text::delay_alu(unsigned simm) {
  static constexpr std::string_view ids[] = {"NO_DEP", "VALU_DEP_1", "VALU_DEP_2", "VALU_DEP_3", "VALU_DEP_4", "TRANS32_DEP_1",
                                             "TRANS32_DEP_2", "TRANS32_DEP_3", "FMA_ACCUM_CYCLE_1", "SALU_CYCLE_1",
                                             "SALU_CYCLE_2", "SALU_CYCLE_3"};
  static constexpr std::string_view skips[] = {"SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"};
  const unsigned id0 = simm & 15, skip = simm >> 4 & 7, id1 = simm >> 7 & 15;
  const char* separator = "";
  const auto part = [&](std::string_view label, std::string_view value) {
    word(std::string(separator) + std::string(label) + "(" + std::string(value) + ")");
    separator = "| ";
  };
  const auto id = [&](unsigned v) { return v < std::size(ids) ? ids[v] : "?"; };
  if (id0) part("instid0", id(id0));
  if (skip) part("instskip", skip < std::size(skips) ? skips[skip] : "?");
  if (id1) part("instid1", id(id1));
  if (!*separator) word("0");
}

void Text::dependency_counters(unsigned simm) {
  struct Field { std::string_view name; unsigned shift, width, idle; };
  static constexpr Field fields[] = {{"depctr_hold_cnt", 7, 1, 1}, {"depctr_sa_sdst", 0, 1, 1}, {"depctr_va_vdst", 12, 4, 15},
                                     {"depctr_va_sdst", 9, 3, 7}, {"depctr_va_ssrc", 8, 1, 1}, {"depctr_va_vcc", 1, 1, 1},
                                     {"depctr_vm_vsrc", 2, 3, 7}};
  // Values with unused bits set are written as numbers.
  constexpr unsigned unused = 0x0060;
  if (simm & unused) return hex(simm);
  for (const Field& f : fields) {
    const unsigned value = simm >> f.shift & ((1u << f.width) - 1);
    if (value != f.idle) word(std::string(f.name) + "(" + std::to_string(value) + ")");
  }
}

namespace {

// Source: LLVM, AMDGPUAsmUtils.cpp, the names that gfx12 has and earlier targets have not.
const char* hardware_register_gfx12(unsigned id) {
  switch (id) {
    case 3: return "3";
    case 4: return "HW_REG_STATE_PRIV";
    case 10: return "HW_REG_PERF_SNAPSHOT_DATA";
    case 11: return "HW_REG_PERF_SNAPSHOT_PC_LO";
    case 12: return "HW_REG_PERF_SNAPSHOT_PC_HI";
    case 15: return "HW_REG_PERF_SNAPSHOT_DATA1";
    case 16: return "HW_REG_PERF_SNAPSHOT_DATA2";
    case 17: return "HW_REG_EXCP_FLAG_PRIV";
    case 18: return "HW_REG_EXCP_FLAG_USER";
    case 19: return "HW_REG_TRAP_CTRL";
    case 20: return "HW_REG_SCRATCH_BASE_LO";
    case 21: return "HW_REG_SCRATCH_BASE_HI";
    case 29: return "HW_REG_SHADER_CYCLES_LO";
    case 30: return "HW_REG_SHADER_CYCLES_HI";
    case 31: return "HW_REG_DVGPR_ALLOC_LO";
    case 32: return "HW_REG_DVGPR_ALLOC_HI";
    default: return nullptr;
  }
}

}  // namespace

void Text::hardware_register(unsigned simm) {
  const unsigned id = simm & 63, shift = simm >> 6 & 31, width = (simm >> 11 & 31) + 1;
  std::string name = std::to_string(id);
  const bool gfx9 = family() == Family::gfx9;
  switch (id) {
    case 1: name = "HW_REG_MODE"; break;
    case 2: name = "HW_REG_STATUS"; break;
    case 3: name = "HW_REG_TRAPSTS"; break;
    case 4: if (gfx9) name = "HW_REG_HW_ID"; break;
    case 5: name = "HW_REG_GPR_ALLOC"; break;
    case 6: name = "HW_REG_LDS_ALLOC"; break;
    case 7: name = "HW_REG_IB_STS"; break;
    case 15: name = "HW_REG_SH_MEM_BASES"; break;
    case 20: name = contains(kGfx940, target_) ? "HW_REG_XCC_ID" : gfx9 ? name : "HW_REG_FLAT_SCR_LO"; break;
    case 21: if (!gfx9) name = "HW_REG_FLAT_SCR_HI"; break;
    case 23: if (!gfx9) name = "HW_REG_HW_ID1"; break;
    case 24: if (!gfx9) name = "HW_REG_HW_ID2"; break;
    case 29: if (!gfx9) name = "HW_REG_SHADER_CYCLES"; break;
    default: break;
  }
  if (family() == Family::gfx12)
    if (const char* other = hardware_register_gfx12(id)) name = other;
  if (shift == 0 && width == 32) return item("hwreg(" + name + ")");
  item("hwreg(" + name + ", " + std::to_string(shift) + ", " + std::to_string(width) + ")");
}

void Text::message(unsigned id) {
  std::string name = std::to_string(id);
  if (id == 1) name = "MSG_INTERRUPT";
  if (id == 3 && family() != Family::gfx9) name = "MSG_DEALLOC_VGPRS";
  if (id == 128) name = "MSG_RTN_GET_DOORBELL";
  if (id == 129) name = "MSG_RTN_GET_DDID";
  if (id == 130) name = "MSG_RTN_GET_TMA";
  if (id == 131) name = "MSG_RTN_GET_REALTIME";
  if (id == 132) name = "MSG_RTN_SAVE_WAVE";
  if (id == 133) name = "MSG_RTN_GET_TBA";
  item("sendmsg(" + name + ")");
}

void Text::program(const Inst& i) {
  const std::string_view n = i.row->name;
  const unsigned simm = static_cast<unsigned>(i.simm) & 0xffff;
  const auto is = [&](std::string_view s) { return n == s; };
  if (is("s_waitcnt")) return wait_counters(simm);
  if (is("s_delay_alu")) return delay_alu(simm);
  if (is("s_waitcnt_depctr")) return dependency_counters(simm);
  if (is("s_sendmsg") || is("s_sendmsghalt")) return message(simm & 0xff);
  if (is("s_set_gpr_idx_mode")) {
    std::string text = "gpr_idx(";
    static constexpr std::string_view names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    for (unsigned b = 0; b < 4; ++b)
      if (simm >> b & 1) text += (text.back() == '(' ? "" : ",") + std::string(names[b]);
    return item(text + ")");
  }
  for (std::string_view none : {"s_endpgm", "s_barrier", "s_wakeup", "s_icache_inv", "s_ttracedata", "s_set_gpr_idx_off",
                                "s_endpgm_saved", "s_wait_idle", "s_code_end", "s_endpgm_ordered_ps_done"})
    if (is(none)) {
      if (is("s_endpgm") && simm) item(std::to_string(simm));
      return;
    }
  if (n.starts_with("s_wait_") && n != "s_wait_idle") return hex(simm);
  if (family() == Family::gfx12 && n == "s_denorm_mode") return item(std::to_string(simm));
  for (std::string_view hexadecimal : {"s_clause", "s_round_mode", "s_denorm_mode", "s_set_inst_prefetch_distance",
                                       "s_wait_event", "s_ttracedata_imm"})
    if (is(hexadecimal)) return hex(simm);
  // Branch distances are decimal; other numbers past the inline constants are not.
  item(simm <= 64 || (i.row->flags & kBranch) ? std::to_string(simm) : hex_text(simm));
}

namespace {
std::string signed_hex(std::int32_t value) {
  return value < 0 ? "-" + hex_text(static_cast<std::uint64_t>(-std::int64_t{value})) : hex_text(static_cast<std::uint64_t>(value));
}
}  // namespace

void Text::prefetch(const Inst& i) {
  if (i.src[2].kind != OperandKind::none) operand(i.src[2]);
  item(signed_hex(i.offset));
  operand(i.src[3]);
  item(std::to_string(i.simm));
}

void Text::scalar(const Inst& i) {
  const std::string_view n = i.row->name;
  if (i.format == Format::sopp) return program(i);
  if (i.format == Format::sopk) {
    const unsigned simm = static_cast<unsigned>(i.simm) & 0xffff;
    if (n == "s_getreg_b32") return operand(i.dst), hardware_register(simm);
    if (n == "s_setreg_b32") return hardware_register(simm), operand(i.src[0]);
    if (n == "s_setreg_imm32_b32") return hardware_register(simm), item(i.literal <= 64 ? std::to_string(i.literal) : hex_text(i.literal));
    if (i.dst.kind != OperandKind::none) operand(i.dst);
    if (i.src[0].kind != OperandKind::none) operand(i.src[0]);
    if ((i.row->flags & kBranch) || (n == "s_version" && family() == Family::gfx12)) return item(std::to_string(simm));
    return hex(simm);
  }
  if (i.format == Format::smem) {
    if (i.dst.kind != OperandKind::none) operand(i.dst);
    if (i.src[1].kind != OperandKind::none) operand(i.src[1]);
    if (i.row->src1 == Type::simm) return prefetch(i);
    if (i.src[2].kind == OperandKind::none) return;
    operand(i.src[2]);
    const bool has_register = i.src[3].kind != OperandKind::none;
    const std::string imm = signed_hex(i.offset);
    if (has_register) {
      operand(i.src[3]);
      if (i.offset || family() == Family::gfx12) word("offset:" + imm);
    } else if (i.offset == 0 && family() == Family::gfx11) {
      item("null");
    } else {
      item(imm);
    }
    if (family() == Family::gfx12) return cache_policy(i);
    if (i.glc) word("glc");
    if (i.dlc) word("dlc");
    return;
  }
  if (i.dst.kind != OperandKind::none) operand(i.dst);
  const bool k_second = n == "s_fmamk_f32";
  for (const Operand& o : i.src) {
    if (&o == &i.src[1] && k_second) hex(i.literal);
    if (o.kind != OperandKind::none) operand(o);
  }
  if ((i.row->flags & kLiteralK) && !k_second) hex(i.literal);
  if (i.format == Format::sop1 && i.row->src0 == Type::simm) message(static_cast<unsigned>(i.simm) & 0xff);
  if (n == "s_set_gpr_idx_on") {
    std::string text = "gpr_idx(";
    static constexpr std::string_view names[] = {"SRC0", "SRC1", "SRC2", "DST"};
    for (unsigned b = 0; b < 4; ++b)
      if (i.simm >> b & 1) text += (text.back() == '(' ? "" : ",") + std::string(names[b]);
    item(text + ")");
  }
}

}  // namespace kerncap::vgpu::isa::print_detail
