// Data-parallel primitives: which lane each lane reads, and which lanes write.
// In: the decoded DPP control. Out: a permutation. Called by fetch and commit for instructions with a DPP dword.
#pragma once

#include <array>
#include <cstdint>

#include "vgpu/isa/valu/operands.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::valu {

struct Permutation {
  std::array<std::int8_t, kLanes> from{};  // source lane; negative: reads zero
  std::uint64_t enabled = 0;               // lanes that write (EXEC not applied)
};

Permutation dpp_permutation(const Wave& wave, const Dpp& dpp);
// False for a control value that the target does not have.
bool dpp_control_known(const Dpp& dpp, Target target);

// Source i of a packed instruction that takes DPP (RDNA: mixed multiply-add, floating dot products), its lanes moved.
const std::uint32_t* fetch_moved(Wave& wave, const Inst& inst, unsigned i, LaneBuffer& store);

}  // namespace kerncap::vgpu::isa::valu
