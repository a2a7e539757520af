// Joins the VALU tables of the instruction set that this processor has.
#include "vgpu/isa/valu/tables.hpp"

#include <array>

#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {
namespace {

#define KERNCAP_CALL_PORTABLE(name) valu::portable::name(),
#define KERNCAP_CALL_WIDE(name) valu::wide::name(),
#define KERNCAP_COUNT(name) +1
using Tables = std::array<std::span<const Row>, 0 KERNCAP_VALU_TABLES(KERNCAP_COUNT)>;

Tables pick() {
#if KERNCAP_VALU_WIDE
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt"))
    return {KERNCAP_VALU_TABLES(KERNCAP_CALL_WIDE)};
#endif
  return {KERNCAP_VALU_TABLES(KERNCAP_CALL_PORTABLE)};
}

}  // namespace

std::span<const std::span<const Row>> valu_tables() {
  static const Tables tables = pick();
  return tables;
}

}  // namespace kerncap::vgpu::isa
