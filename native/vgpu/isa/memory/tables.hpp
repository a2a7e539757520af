// The tables of memory/, one a file.
#pragma once

#include <span>

#include "vgpu/isa/inst.hpp"

namespace kerncap::vgpu::isa::memory {

std::span<const Row> load_store_rows();
std::span<const Row> format_rows();      // MUBUF *_format_*, MTBUF
std::span<const Row> atomic_rows();      // FLAT, GLOBAL, MUBUF
std::span<const Row> ds_atomic_rows();
std::span<const Row> ds_rows();          // two-address forms, permutes, swizzle, append

}  // namespace kerncap::vgpu::isa::memory
