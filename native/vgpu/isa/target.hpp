// The gfx targets that the interpreter knows and what differs between them.
// In: a target name from KERNCAP_VGPU. Out: traits used by decode, launch and the topology.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace kerncap::vgpu::isa {

enum class Target : std::uint8_t { gfx90a, gfx942, gfx950, gfx1100, gfx1201 };
enum class Family : std::uint8_t { gfx9, gfx11, gfx12 };

// One bit a target, for rows that exist on some targets only.
using TargetSet = std::uint8_t;
constexpr TargetSet bit(Target t) { return static_cast<TargetSet>(1u << static_cast<unsigned>(t)); }
inline constexpr TargetSet kGfx940 = bit(Target::gfx942) | bit(Target::gfx950);  // what LLVM calls GFX940Insts
inline constexpr TargetSet kGfx950 = bit(Target::gfx950);
inline constexpr TargetSet kGfx9 = bit(Target::gfx90a) | kGfx940;
inline constexpr TargetSet kGfx11 = bit(Target::gfx1100);
inline constexpr TargetSet kGfx12 = bit(Target::gfx1201);
inline constexpr TargetSet kRdna = kGfx11 | kGfx12;
inline constexpr TargetSet kAllTargets = kGfx9 | kRdna;

constexpr bool contains(TargetSet set, Target t) { return set & bit(t); }
constexpr Family family(Target t) {
  return contains(kGfx9, t) ? Family::gfx9 : contains(kGfx11, t) ? Family::gfx11 : Family::gfx12;
}
// All but gfx90a: the hardware sets FLAT_SCRATCH itself and scratch_* is used; gfx90a: SRSRC in user SGPRs.
constexpr bool architected_flat_scratch(Target t) { return t != Target::gfx90a; }
constexpr std::string_view name(Target t) {
  switch (t) {
    case Target::gfx90a: return "gfx90a";
    case Target::gfx942: return "gfx942";
    case Target::gfx950: return "gfx950";
    case Target::gfx1100: return "gfx1100";
    case Target::gfx1201: return "gfx1201";
  }
  return "?";
}
// LDS that a workgroup may have. Source: LLVM, FeatureAddressableLocalMemorySize*, and its allocation granularity.
constexpr std::uint32_t lds_limit(Target t) { return t == Target::gfx950 ? 160 * 1024 : 64 * 1024; }
constexpr std::uint32_t lds_granule(Target t) { return t == Target::gfx950 ? 1280 : 512; }
// The targets that can be asked for by name.
inline constexpr std::array kTargetList{Target::gfx90a, Target::gfx942, Target::gfx950, Target::gfx1100, Target::gfx1201};
constexpr std::optional<Target> target_from_name(std::string_view text) {
  for (Target t : kTargetList)
    if (name(t) == text) return t;
  return std::nullopt;
}

}  // namespace kerncap::vgpu::isa
