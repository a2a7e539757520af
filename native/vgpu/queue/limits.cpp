#include "vgpu/queue/limits.hpp"

#include <cstring>

namespace kerncap::vgpu {
namespace {

constexpr std::uint64_t kRsrc1Offset = 48;  // Source: LLVM AMDGPUUsage, "Code Object V3 Kernel Descriptor"

struct Registers {
  std::uint64_t of_simd, unit, granule;  // a lane's share of the register file; what RSRC1 counts; what is handed out
};
// Source: LLVM AMDGPUBaseInfo.cpp: getTotalNumVGPRs, getVGPREncodingGranule, getVGPRAllocGranule.
Registers registers_of(isa::Target target, bool wave32) {
  if (isa::family(target) == isa::Family::gfx9) return {512, 8, 8};
  return wave32 ? Registers{1536, 8, 24} : Registers{768, 4, 12};
}

constexpr std::uint64_t pieces(std::uint64_t whole, std::uint64_t size) { return (whole + size - 1) / size; }

}  // namespace

std::optional<std::string> too_many_vgprs(const Model& model, const std::byte* descriptor, std::uint64_t workitems, bool wave32) {
  std::uint32_t rsrc1 = 0;
  std::memcpy(&rsrc1, descriptor + kRsrc1Offset, sizeof rsrc1);
  const Registers file = registers_of(model.target, wave32);
  const bool wgp_mode = isa::family(model.target) != isa::Family::gfx9 && (rsrc1 >> 29 & 1) != 0;
  const std::uint64_t simds = model.simd_per_cu * (wgp_mode ? 2u : 1u);
  const std::uint64_t waves = pieces(pieces(workitems, wave32 ? 32 : 64), simds);
  const std::uint64_t each = pieces(((rsrc1 & 63) + 1) * file.unit, file.granule) * file.granule;
  if (waves * each <= file.of_simd) return std::nullopt;
  return std::to_string(waves) + " waves of a workgroup of " + std::to_string(workitems) + " workitems on a SIMD, each with " +
         std::to_string(each) + " vector registers, the limit is " + std::to_string(file.of_simd) + " together";
}

}  // namespace kerncap::vgpu
