// The VALU handler tables, each in two instruction set variants. Called by tables.cpp, which picks one at run time.
#pragma once

#include <span>

#include "vgpu/isa/inst.hpp"

// A sanitizer build keeps to one variant: the source is the same, and it takes long enough to compile.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define KERNCAP_VALU_WIDE 1
#else
#define KERNCAP_VALU_WIDE 0
#endif

#define KERNCAP_VALU_TABLES(X) \
  X(int32_rows) X(int64_rows) X(int16_rows) X(float32_rows) X(float64_rows) X(float16_rows) X(convert_rows) \
  X(compare_rows) X(divide_rows) X(cross_rows) X(packed_rows) X(matrix_rows) X(sparse_rows) X(wmma_rows) X(wmma12_rows) X(gfx12_rows) \
  X(scaled_rows) X(scaled_matrix_rows)

namespace kerncap::vgpu::isa::valu {
#define KERNCAP_DECLARE(name) std::span<const Row> name();
namespace portable {
KERNCAP_VALU_TABLES(KERNCAP_DECLARE)
}
namespace wide {
KERNCAP_VALU_TABLES(KERNCAP_DECLARE)
}
#undef KERNCAP_DECLARE
}  // namespace kerncap::vgpu::isa::valu
