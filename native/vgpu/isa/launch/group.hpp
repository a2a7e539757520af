// Where the workgroups of a dispatch lie in its grid, and one workgroup in flight with the storage of its waves.
// In: the packet, the kernel. Out: waves that are ready to run. Used by both run loops, launch/ and check/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/launch/kernel.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

// Workgroups that one run loop has in flight at most: no fewer than the biggest of the targets holds (gfx942: 304 compute
// units with 32 waves each), so that a cooperative launch that the runtime accepts can meet at a grid barrier.
inline constexpr std::size_t kMaxResident = 304 * 32;

class Grid {
 public:
  Grid() = default;
  // Of a packet that read_kernel() has accepted: no dimension is 0.
  explicit Grid(const hsa_kernel_dispatch_packet_t& packet);

  // A workgroup's place, and its own size in workitems: smaller at the grid's edge.
  struct Place {
    std::uint32_t id[3], items[3];
  };
  Place place(std::uint64_t number) const;
  // At most 2^64 - 1, which nobody lives to see executed.
  std::uint64_t workgroups() const;
  const std::uint32_t (&groups() const)[3] { return groups_; }

 private:
  std::uint32_t grid_[3] = {}, size_[3] = {}, groups_[3] = {};
};

// What the waves of a dispatch have in common on one host thread.
struct Launch {
  Target target;
  const Dispatch& dispatch;
  const Kernel& kernel;
  Trace* trace;
  AddressCache& memory;
};

struct GroupInFlight {
  Workgroup group;
  std::vector<Wave> waves;
  std::vector<std::uint32_t> registers;
  std::vector<std::byte> scratch;

  // Zeroed storage and initial registers, whatever was here before.
  void start(const Launch& launch, const Grid::Place& place);
  void leave_barrier();
  // Lets the waves go on that wait for a round of the SplitBarrier that is complete.
  void leave_split_barrier();
};

}  // namespace kerncap::vgpu::isa
