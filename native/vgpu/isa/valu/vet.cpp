// Which forms of an instruction are implemented: asked once an instruction, before it first runs.
#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/valu/dpp.hpp"
#include "vgpu/isa/valu/operands.hpp"

namespace kerncap::vgpu::isa {
namespace {

bool takes_sign_modifiers(Type t) { return valu::is_float(t) || t == Type::pkf16 || t == Type::pkf32; }

Type source_type(const Row& row, unsigned i) { return i == 0 ? row.src0 : i == 1 ? row.src1 : i == 2 ? row.src2 : Type::none; }

const char* refuse_vop3p(const Inst& inst, const Row& row, Target target) {
  if (inst.dpp.kind != Dpp::Kind::none && !(row.flags & kPackedDpp)) return "DPP on a packed instruction that does not take it";
  if (!valu::dpp_control_known(inst.dpp, target)) return "unknown DPP control";
  if (inst.clamp && !(row.flags & kIntClamp) && !takes_sign_modifiers(row.dst)) return "clamp is not implemented here";
  for (unsigned i = 0; i < 3; ++i)
    if (((inst.neg | inst.neg_hi) >> i & 1) && !takes_sign_modifiers(source_type(row, i)) && !(row.flags & kOwnOpSel))
      return "neg modifier on an integer operand is not implemented";
  return nullptr;
}

}  // namespace

const char* vet_valu(Inst& inst, Target target) {
  inst.vet = Inst::Vet::modified;
  if (inst.format == Format::vopd) {
    inst.vet = Inst::Vet::plain;
    return nullptr;
  }
  if (!inst.row) return "no table row";
  const Row& row = *inst.row;
  if (inst.omod && !valu::is_float(row.dst)) return "omod on a result that is no float";
  if (inst.format == Format::vop3p || inst.format == Format::vop3p_mai) return refuse_vop3p(inst, row, target);

  const bool special_forms = inst.dpp.kind != Dpp::Kind::none || inst.sdwa.present;
  if ((row.flags & kOwnOperands) && (special_forms || inst.neg || inst.abs)) return "this operand form is not implemented";
  if (inst.dpp.kind != Dpp::Kind::none && !valu::dpp_control_known(inst.dpp, target)) return "unknown DPP control";
  if (inst.clamp && !valu::is_float(row.dst) && !(row.flags & kIntClamp)) return "clamp is not implemented here";
  if (inst.sdwa.present && inst.sdwa.dst_unused > 2) return "reserved SDWA dst_unused";
  for (unsigned i = 0; i < 3; ++i) {
    const Type t = source_type(row, i);
    if (((inst.neg | inst.abs) >> i & 1) && !takes_sign_modifiers(t)) return "neg or abs on an integer operand";
    if ((inst.op_sel >> i & 1) && !valu::is_half(t) && !(row.flags & kOwnOpSel)) return "op_sel on a 32-bit operand";
  }
  if ((inst.op_sel & 8) && !valu::is_half(row.dst) && !(row.flags & kOwnOpSel)) return "op_sel on a 32-bit result";
  const bool modified = special_forms || inst.neg || inst.abs || inst.op_sel || inst.clamp || inst.omod;
  inst.vet = modified ? Inst::Vet::modified : Inst::Vet::plain;
  return nullptr;
}

}  // namespace kerncap::vgpu::isa
