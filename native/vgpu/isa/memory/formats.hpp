// Data formats of typed buffer accesses: the layout of an element in memory and what its bits mean.
// In: an instruction with its resource (MUBUF *_format_*) or its own format field (MTBUF). Out: the format. Called by the
// handlers in formats.cpp and by check/, which needs the bytes of an access.
#pragma once

#include <cstdint>

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::memory {

enum class Number : std::uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, real };

struct DataFormat {
  std::uint8_t components = 0;    // 0: no format that is known
  std::uint8_t bits[4] = {};      // of each component, from the lowest bit of the element up
  Number number = Number::uint;
  std::uint32_t bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
};

DataFormat data_format(const Wave& wave, const Inst& inst);

}  // namespace kerncap::vgpu::isa::memory
