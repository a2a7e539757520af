#include "intercept/dependents.hpp"

#include <hsa/hsa_ext_amd.h>

#include <algorithm>

#include "intercept/hsa_api.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::size_t first_dependency_at = 8;  // of both kinds of packet
constexpr std::size_t barrier_dependencies = 5;

static_assert(offsetof(hsa_barrier_and_packet_t, dep_signal) == first_dependency_at);
static_assert(offsetof(hsa_amd_barrier_value_packet_t, signal) == first_dependency_at);
static_assert(offsetof(hsa_amd_barrier_value_packet_t, completion_signal) == 56);

}  // namespace

std::span<const hsa_signal_t> dependencies(const Packet& packet) {
  const auto* first = reinterpret_cast<const hsa_signal_t*>(reinterpret_cast<const std::byte*>(&packet) + first_dependency_at);
  const auto type = (packet.header >> HSA_PACKET_HEADER_TYPE) & 0xff;
  if (type == HSA_PACKET_TYPE_BARRIER_AND) return {first, barrier_dependencies};
  const bool barrier_value = type == HSA_PACKET_TYPE_VENDOR_SPECIFIC && packet.body[0] == HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  return {first, barrier_value ? 1u : 0u};
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
