// The kernarg segment of a replay: the captured bytes, with hidden arguments kept, rebuilt or refused by name. Pure.
// In: the captured segment, the metadata of the captured and of the replayed kernel. Out: bytes, and which of them differ from
// the captured ones. Called by the runner. Source: LLVM AMDGPUUsage.rst, "Code Object V5 Metadata", ".value_kind".
#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "bundle/code_object.hpp"
#include "replay/capture_info.hpp"

namespace kerncap::replay {

struct KernargRequest {
  const DispatchInfo& capture;
  const KernelDescription& captured;  // of the captured code object
  const KernelDescription& target;    // of the code object that is replayed; the same object for the captured one
  std::uint64_t queue_va = 0;
  std::function<bool(std::uint64_t)> in_closure;  // does the address lie in captured memory?
};

struct Kernarg {
  std::vector<std::byte> bytes;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> rebuilt;  // offset, length of what is not as captured
};

// Where a replay says that the hostcall buffer lies: a page that no process and no GPU has (Linux, vm.mmap_min_addr).
inline constexpr std::uint64_t absent_hostcall_va = 0x8000;
inline bool calls_host(std::uint64_t fault_va) { return fault_va / 0x1000 == absent_hostcall_va / 0x1000; }

// Throws replay.unsupported-hidden-argument, replay.variant-arguments.
Kernarg build_kernarg(const KernargRequest& request);

struct LaunchSizes {
  std::uint32_t group_segment_bytes = 0;
  std::uint32_t private_segment_bytes = 0;
};
// The captured sizes for the captured code object; for a variant its own, plus the dynamic LDS of the captured launch. Throws
// replay.variant-launch when the variant cannot be launched with the captured workgroup.
LaunchSizes launch_sizes(const DispatchInfo& capture, const KernelDescription& captured, const KernelDescription& target);

}  // namespace kerncap::replay
