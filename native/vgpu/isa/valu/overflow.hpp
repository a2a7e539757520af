// MODE.FP16_OVFL: halves and 8-bit floats that overflow become the largest number.
// In: a wave whose mode has the bit and a VALU instruction. Called by the run loops in place of the instruction's handler.
// Source: "MODE register" of the MI300 and RDNA3 ISA manuals ("clamped to +/- MAX_FP16, while still preserving true INF
// values"): a result that is infinite although no source is. So a division by zero gives the largest number too, which the
// manuals leave open. An infinity to an 8-bit float stays what it is without the bit.
#pragma once

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

inline constexpr std::uint32_t kFp16Overflow = 1u << 23;  // in MODE
inline bool saturates_halves(const Wave& wave) { return (wave.mode.other & kFp16Overflow) != 0; }
void execute_saturating(Wave& wave, const Inst& inst);

}  // namespace kerncap::vgpu::isa
