// Source: "DS_GWS_INIT" and "DS_GWS_BARRIER" of the MI200 ISA manual.
#include "vgpu/isa/memory/global_sync.hpp"

namespace kerncap::vgpu::isa {

void GlobalSync::init(unsigned resource, std::uint32_t others) {
  const std::lock_guard lock(mutex_);
  resources_.at(resource).left = others;
}

bool GlobalSync::arrive(unsigned resource, std::uint32_t others, std::optional<std::uint32_t>& round) {
  const std::lock_guard lock(mutex_);
  Resource& r = resources_.at(resource);
  if (round) {
    if (r.round == *round) return false;
    round.reset();
    return true;
  }
  if (r.left == 0) {
    r.left = others;
    ++r.round;
    return true;
  }
  --r.left;
  round = r.round;
  return false;
}

}  // namespace kerncap::vgpu::isa
