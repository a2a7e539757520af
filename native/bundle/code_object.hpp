// What an AMD GPU code object says about itself: target, kernels, their arguments. In: the bytes of an ELF file, which may
// be hostile. Out: a CodeObject, or bundle.bad-code-object. Called by the tool library (typing the kernarg segment) and
// kerncap-replay (hidden arguments of a variant). Source: LLVM, "User Guide for AMDGPU Backend", code object V3 to V6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kerncap {

struct KernelArgument {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::string value_kind;  // "by_value", "global_buffer", "hidden_block_count_x", ...
  std::string name;        // empty if the compiler left it out
  std::string type_name;   // empty if the compiler left it out
  bool hidden() const noexcept { return value_kind.starts_with("hidden_"); }
};

struct KernelDescription {
  std::string name;    // ".name": mangled
  std::string symbol;  // ".symbol": "<name>.kd"
  std::uint32_t kernarg_bytes = 0;
  std::uint32_t group_segment_bytes = 0;
  std::uint32_t private_segment_bytes = 0;
  std::uint32_t max_workgroup_workitems = 0;
  std::uint32_t wavefront_size = 0;
  std::uint32_t sgprs = 0;
  std::uint32_t vgprs = 0;  // gfx90a and later: with the accumulation registers
  std::uint32_t agprs = 0;
  std::uint32_t sgpr_spills = 0;
  std::uint32_t vgpr_spills = 0;
  bool dynamic_stack = false;
  std::optional<std::array<std::uint32_t, 3>> required_workgroup;
  std::vector<KernelArgument> arguments;  // sorted by offset
};

struct CodeObject {
  std::string isa;  // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  std::vector<KernelDescription> kernels;
  std::uint64_t load_bytes = 0;  // from the lowest to the highest byte of its PT_LOAD segments

  const KernelDescription* find(std::string_view name) const noexcept;         // by mangled name
  const KernelDescription* find_symbol(std::string_view symbol) const noexcept;  // by "<name>.kd"
};

// Offload bundles (compressed or not) are refused with a hint that unbundles them.
CodeObject parse_code_object(std::span<const std::byte> elf);

}  // namespace kerncap
