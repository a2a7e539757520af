// Compiles one handler table twice: for any x86-64 and, with GCC's target pragma, for AVX2 + FMA + F16C. Everything that
// is inline and shared (headers) comes before the pragma, so no shared symbol carries the wider instructions.
// In: KERNCAP_VALU_TABLE, the file that defines the table. Out: portable::NAME() and wide::NAME().
#include "vgpu/isa/valu/dpp.hpp"
#include "vgpu/isa/valu/operands.hpp"
#include "vgpu/isa/valu/tables.hpp"

#define KERNCAP_VALU_NS portable
#include "vgpu/isa/valu/lanes.inl"
#include "vgpu/isa/valu/float_math.inl"
#include KERNCAP_VALU_TABLE
#undef KERNCAP_VALU_NS

#if KERNCAP_VALU_WIDE
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#define KERNCAP_VALU_NS wide
#include "vgpu/isa/valu/lanes.inl"
#include "vgpu/isa/valu/float_math.inl"
#include KERNCAP_VALU_TABLE
#undef KERNCAP_VALU_NS
#pragma GCC pop_options
#endif
