// The instruction tables. Each function is defined beside its handlers; the decoder joins them into one look-up a target.
#pragma once

#include <span>

#include "vgpu/isa/inst.hpp"

namespace kerncap::vgpu::isa {

std::span<const Row> scalar_rows();  // SOP1/2/K/C/P, SMEM
std::span<const Row> memory_rows();  // DS, FLAT, GLOBAL, SCRATCH, MUBUF
// VALU, one table a file under valu/.
std::span<const std::span<const Row>> valu_tables();  // VOP1, VOP2, VOPC, VOP3, VOP3P, MAI

}  // namespace kerncap::vgpu::isa
