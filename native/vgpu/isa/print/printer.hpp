// Disassembly in LLVM's syntax.
// In: a decoded instruction. Out: one line of text without indentation. Used in stop messages and compared with
// llvm-objdump in tests; never on the way of an instruction that runs.
#pragma once

#include <string>

#include "vgpu/isa/decode/decoder.hpp"

namespace kerncap::vgpu::isa {

// An instruction that was not decoded is printed as far as it is known.
std::string print(const Decoded& decoded, Target target, unsigned wave_size);

}  // namespace kerncap::vgpu::isa
