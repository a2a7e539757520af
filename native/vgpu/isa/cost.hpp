// The cost model behind device timestamps: what an instruction is charged. It is a model, documented in docs/virtual-gpu.md,
// and no prediction of hardware. In: a decoded instruction. Out: a Charge that the run loops add up without looking at it.
#pragma once

#include <cstdint>

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa {

// Called by the decoder once an instruction.
Charge charge_of(const Inst& inst, Target target, unsigned wave_size);

}  // namespace kerncap::vgpu::isa
