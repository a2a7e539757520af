#include "vgpu/isa/print/printer.hpp"

#include <string_view>

#include "vgpu/isa/print/text.hpp"
#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {
namespace {

using print_detail::Text;

// Rows whose mnemonic LLVM prints without _e32/_e64.
bool bare_name(std::string_view name, Target target) {
  if (name == "v_pk_fmac_f16") return contains(kRdna, target);
  for (std::string_view bare : {"v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32", "v_nop", "v_accvgpr_mov_b32", "v_swap_b32",
                                "v_permlane64_b32", "v_swaprel_b32", "v_pipeflush", "v_dot2acc_f32_f16"})
    if (name == bare) return true;
  return false;
}

std::string mnemonic(const Inst& i, Target target) {
  std::string name = name_of(*i.row, target);
  const bool short_row = i.row->format == Format::vop1 || i.row->format == Format::vop2 || i.row->format == Format::vopc;
  if (!short_row || (i.row->flags & kLiteralK)) {
    if ((i.format == Format::vop3 || i.format == Format::vop3p) && i.dpp.kind != Dpp::Kind::none) name += "_e64_dpp";
    return name;
  }
  if (bare_name(name, target) && i.dpp.kind == Dpp::Kind::none && !i.sdwa.present) return name == "v_nop" && i.format == Format::vop3 ? name + "_e64" : name;
  if (i.sdwa.present) return name + "_sdwa";
  if (i.format == Format::vop3) return name + (i.dpp.kind != Dpp::Kind::none ? "_e64_dpp" : "_e64");
  if (i.dpp.kind != Dpp::Kind::none) return name + "_dpp";
  return name + "_e32";
}

void vector_operands(Text& t, const Inst& i) {
  const bool scalar_write = i.row->flags & kScalarDst;
  Operand dst = i.dst;
  if (i.format == Format::vop3p && dst.type == Type::f16) dst.type = Type::b32;  // v_fma_mixlo_f16: the half is in the name
  if (dst.kind != OperandKind::none) t.operand(dst, scalar_write ? 0 : i.op_sel >> 3 & 1);
  const bool compare = i.row->format == Format::vopc;
  // From gfx11 on, v_cmpx writes EXEC alone and does not name it.
  const bool exec_only = compare && (i.row->flags & kExecDst) && t.family() != Family::gfx9;
  if (i.sdst.kind != OperandKind::none && !exec_only) t.operand(i.sdst);
  const unsigned sources = i.row->flags & kLiteralK ? 2 : 3;
  const bool madmk = std::string_view(i.row->name).find("mk_") != std::string_view::npos;
  for (unsigned k = 0; k < sources; ++k) {
    if (k == 1 && (i.row->flags & kLiteralK) && madmk) t.hex(i.literal);
    if (k == 2 && i.format == Format::vopd) break;  // v_dual_cndmask_b32 does not name VCC
    if (i.src[k].kind != OperandKind::none) t.source(i, k);
  }
  if ((i.row->flags & kLiteralK) && !madmk) t.hex(i.literal);
  if (i.format == Format::vop3p_mai && i.dual)
    for (unsigned k = 0; k < 2; ++k) t.source(*i.dual, k);
}

std::string half_of_vopd(const Inst& half, Target target, unsigned wave_size) {
  if (!half.row) return "unknown instruction";
  Text t(target, wave_size);
  t.add(name_of(*half.row, target));
  vector_operands(t, half);
  return t.str();
}

void vector_modifiers(Text& t, const Inst& i) {
  if (i.format == Format::vop3p_mai) return t.matrix_controls(i);
  if (i.format == Format::vop3p) return t.packed_modifiers(i);
  if (i.row->flags & kTruthTable) t.truth_table(i);
  if (i.format == Format::vop3) t.op_sel(i);
  if (i.clamp) t.word("clamp");
  static constexpr std::string_view omods[] = {"", "mul:2", "mul:4", "div:2"};
  if (i.omod) t.word(omods[i.omod & 3]);
  if (i.sdwa.present) t.sdwa(i);
  if (i.dpp.kind != Dpp::Kind::none) t.dpp(i);
}

std::string print_vector(const Inst& i, Target target, unsigned wave_size) {
  if (i.format == Format::vopd && i.dual)
    return half_of_vopd(i, target, wave_size) + " :: " + half_of_vopd(*i.dual, target, wave_size);
  Text t(target, wave_size);
  t.add(mnemonic(i, target));
  vector_operands(t, i);
  vector_modifiers(t, i);
  return t.str();
}

}  // namespace

std::string print(const Decoded& decoded, Target target, unsigned wave_size) {
  const Inst& i = decoded.inst;
  if (!i.row) return decoded.reason.empty() ? "unknown instruction" : decoded.reason;
  if (i.format >= Format::vop1 && i.format <= Format::vinterp) return print_vector(i, target, wave_size);
  Text t(target, wave_size);
  t.add(name_of(*i.row, target));
  if (i.format <= Format::smem) t.scalar(i);
  else t.memory(i);
  return t.str();
}

}  // namespace kerncap::vgpu::isa
