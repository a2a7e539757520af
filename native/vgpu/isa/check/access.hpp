// Which bytes each lane of a memory instruction touches.
// In: an instruction that is about to run and its wave. Out: one Access a lane and address. Called by the memory and race
// checks before the handler runs.
#pragma once

#include <cstdint>
#include <vector>

#include "vgpu/isa/check/described.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::check {

enum class Space : std::uint8_t { global, lds, scratch };

struct Access {
  Space space = Space::global;
  MemoryOp op = MemoryOp::load;
  std::uint8_t lane = 0;
  std::uint16_t bytes = 0;
  std::uint16_t data = 0;        // first register of the data that a store of this access takes (src[1] or src[3])
  std::uint64_t address = 0;     // device address; offset in LDS; offset in the lane's private segment
};

// Appends to `out`, which is cleared first. Parts that a buffer's bounds switch off are left out: they are no accesses.
void accesses(const Wave& wave, const Described& d, std::vector<Access>& out);

inline const char* name(Space s) { return s == Space::global ? "global" : s == Space::lds ? "lds" : "scratch"; }

}  // namespace kerncap::vgpu::isa::check
