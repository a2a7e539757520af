// Global wave sync: barriers across workgroups, 64 of them a GPU. HIP's grid barriers use the first on gfx90a.
// In: ds_gws_* instructions of a queue that has it. Out: who may go on. Owned by the device, called by memory/ds.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

namespace kerncap::vgpu::isa {

class GlobalSync {
 public:
  static constexpr unsigned kResources = 64;
  static constexpr unsigned resource_of(std::uint32_t m0, std::uint32_t offset) { return ((m0 >> 16 & 63) + offset) % kResources; }

  // `others`: waves that a barrier waits for beside the last one.
  void init(unsigned resource, std::uint32_t others);
  // Arrives at a barrier, at the first call, and says whether it is open: if not, call again later. The last wave opens it
  // and sets it up for `others` of the next round. `round` belongs to the wave: empty when it waits at no barrier.
  bool arrive(unsigned resource, std::uint32_t others, std::optional<std::uint32_t>& round);

 private:
  struct Resource {
    std::uint32_t left = 0, round = 0;
  };
  std::mutex mutex_;
  std::array<Resource, kResources> resources_{};
};

}  // namespace kerncap::vgpu::isa
