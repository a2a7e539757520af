// The instruction tables. Each function is defined beside its handlers; the decoder joins them into one look-up a target.
#pragma once

#include <span>

#include "vgpu/isa/inst.hpp"

namespace kerncap::vgpu::isa {

std::span<const Row> scalar_rows();  // SOP1/2/K/C/P, SMEM
std::span<const Row> memory_rows();  // DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF
// Of a row on one target. kNoOpcode: the target does not have it.
std::uint16_t opcode_of(const Row& row, Target target);
const char* name_of(const Row& row, Target target);
// What a MUBUF load does when its lds bit is set (the element goes to LDS), or nullptr when it has no such form.
Handler buffer_to_lds(const Row& row, Target target);
// VALU, one table a file under valu/.
std::span<const std::span<const Row>> valu_tables();  // VOP1, VOP2, VOPC, VOP3, VOP3P, MAI, VOPD
// Conventions of the VALU rows: a row with kVccCarryOut has an sdst (VCC in VOP2 encodings, a field in VOP3: v_add_co_u32,
// v_mad_u64_u32, v_div_scale_f32, ...); with kVccCarryIn src[2] is the lane mask (VCC in VOP2). VOPC: sdst is VCC unless the
// encoding names one. kReadsDst: the handler reads dst itself, no source stands for it. kLiteralK: K is Inst::literal, the
// other sources are src[0] and src[1]. A VOPD half is an Inst of its own with a row of Format::vopd (op11 = its opcode).

// The decoder calls this once for every VALU instruction. Returns why its form (clamp, omod, op_sel, DPP, SDWA, ...) cannot
// be executed, or nullptr; sets Inst::vet. A handler refuses an instruction that was not vetted and would have been refused.
const char* vet_valu(Inst& inst, Target target);
VopdOrder vopd_order(const Inst& x, const Inst& y);
// Handler of a VOPD pair: Inst is the X half, Inst::dual the Y half.
void execute_vopd(Wave& wave, const Inst& inst);

}  // namespace kerncap::vgpu::isa
