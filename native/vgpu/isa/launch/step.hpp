// The run loop of one wave.
#pragma once

#include <cstdint>

#include "vgpu/isa/launch/code.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

// Runs until the wave ends, stops, waits at a barrier or has issued `limit` instructions. Returns how many it issued.
std::uint64_t run_wave(Wave& wave, CodeCache& code, std::uint64_t limit);

}  // namespace kerncap::vgpu::isa
