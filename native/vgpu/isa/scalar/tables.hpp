// The tables of scalar/, one a file, and the handlers that are shared between them.
#pragma once

#include <span>

#include "vgpu/isa/inst.hpp"

namespace kerncap::vgpu::isa::scalar {

std::span<const Row> sop1_rows();
std::span<const Row> sop2_rows();     // SOP2, SOPC
std::span<const Row> float_rows();    // SOP1, SOP2, SOPC on floats: gfx12
std::span<const Row> control_rows();  // SOPP, SOPK
std::span<const Row> smem_rows();

void send_message_return(Wave& wave, const Inst& inst);
std::uint64_t realtime_ticks();

}  // namespace kerncap::vgpu::isa::scalar
