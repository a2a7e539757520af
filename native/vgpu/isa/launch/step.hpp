// The run loop of one wave.
#pragma once

#include <cstdint>

#include "vgpu/isa/launch/code.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

// Runs until the wave ends, stops, waits at a barrier or has issued `limit` instructions (at most kWaveQuantum).
Work run_wave(Wave& wave, CodeCache& code, std::uint64_t limit);
// Wave instructions before another wave gets its turn: waves of a group may spin on each other through memory. The two
// 32-bit halves of the sum of so many Charge::word() do not meet.
inline constexpr std::uint64_t kWaveQuantum = 20'000;

// Stops the wave at an instruction that cannot be decoded.
void refuse(Wave& wave, const Decoded& error);

// VGPR indexing of gfx9: the instruction with m0[7:0] added to the VGPR numbers that m0[15:12] selects (src0, src1, src2, dst).
// False: a register is out of range.
bool shift_indexed(const Wave& wave, const Inst& inst, Inst& shifted);

}  // namespace kerncap::vgpu::isa
