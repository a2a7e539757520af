// What the kernel descriptor and the packet say about a launch.
// In: the 64-byte descriptor that kernel_object points to. Out: register counts, the order of initial registers, sizes.
// Source: LLVM AMDGPUUsage, "Kernel Descriptor" and "Initial Kernel Execution State".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

struct Kernel {
  std::uint64_t entry_va = 0;
  std::uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  std::uint16_t properties = 0;
  unsigned wave_size = 64;
  unsigned vgprs = 0, agprs = 0;
  unsigned user_sgprs = 0;
  std::vector<std::uint32_t> preload;  // kernarg dwords that the user SGPRs end with
  std::uint32_t lds_bytes = 0;
  std::uint32_t scratch_lane_bytes = 0;

  unsigned workgroup_size = 1;   // workitems
};

// False: the dispatch cannot run, `outcome` says why.
bool read_kernel(Target target, const Dispatch& dispatch, AddressCache& memory, Kernel& kernel, Outcome& outcome);

// Sets the initial registers of a wave. `items`: the workgroup's own size in each dimension (smaller at the grid's edge).
void initialise_wave(Wave& wave, const Kernel& kernel, const std::uint32_t items[3]);

}  // namespace kerncap::vgpu::isa
