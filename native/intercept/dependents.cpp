#include "intercept/dependents.hpp"

#include <hsa/hsa_ext_amd.h>

#include <algorithm>

#include "intercept/hsa_api.hpp"

namespace kerncap::intercept {

static_assert(offsetof(hsa_amd_barrier_value_packet_t, completion_signal) == 56);

std::span<const hsa_signal_t> dependencies(const Packet& packet) {
  const auto* first = reinterpret_cast<const hsa_signal_t*>(reinterpret_cast<const std::byte*>(&packet) + first_dependency_at);
  if (type_of(packet) == HSA_PACKET_TYPE_BARRIER_AND) return {first, barrier_dependencies};
  return {first, is_barrier_value(packet) ? 1u : 0u};
}

hsa_signal_t completion_of(const Packet& packet) { return as_dispatch(packet).completion_signal; }

void Dependents::add(hsa_signal_t completion) {
  if (completion.handle == 0) return;
  const std::scoped_lock lock(mutex_);
  later_.insert(completion.handle);
}

bool Dependents::depends(std::span<const hsa_signal_t> signals) const {
  const std::scoped_lock lock(mutex_);
  return std::any_of(signals.begin(), signals.end(), [&](hsa_signal_t signal) { return later_.contains(signal.handle); });
}

bool Dependents::blocks(std::span<const hsa_signal_t> signals) const {
  const auto open = [](hsa_signal_t signal) { return hsa().core.hsa_signal_load_scacquire_fn(signal) != 0; };
  const std::scoped_lock lock(mutex_);
  return std::any_of(signals.begin(), signals.end(), [&](hsa_signal_t signal) { return later_.contains(signal.handle) && open(signal); });
}

void Dependents::clear() {
  const std::scoped_lock lock(mutex_);
  later_.clear();
}

}  // namespace kerncap::intercept
