// Decoder: words of a code object to Inst.
// In: a target, up to four words and the address they come from. Out: an Inst with its row and handler, or the reason why
// there is none. Called by launch/ once an address, by the printer and by tests.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa {

struct Decoded {
  enum class Status : std::uint8_t {
    ok,
    unknown,  // an opcode, field or modifier that no table has: Outcome::unimplemented
    illegal,  // an encoding the target does not have, or a register out of range
    missing,  // no code there, or not all of it
  };
  Status status = Status::ok;
  std::string reason;           // empty when ok
  Inst inst;                    // size_bytes is right whenever the format was recognised
  std::unique_ptr<Inst> dual;   // inst.dual points to it
};

// `words` holds what is readable from `pc` on (four words when possible). `wave_size` decides how many SGPRs a mask takes.
Decoded decode(Target target, unsigned wave_size, std::span<const std::uint32_t> words, std::uint64_t pc);

}  // namespace kerncap::vgpu::isa
