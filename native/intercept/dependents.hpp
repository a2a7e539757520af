// Work that waits for the captured dispatch. In: packets and copies that the application submits while a capture is under way.
// Out: which of them cannot start before the target has ended: a queue whose next packet is one is at rest, and a copy that is
// one must not reach a copy engine, where it would block the snapshot's own copies behind it. Called by capture.cpp.
#pragma once

#include <hsa/hsa.h>

#include <cstdint>
#include <mutex>
#include <set>
#include <span>

#include "intercept/packets.hpp"

namespace kerncap::intercept {

// Signals that a packet waits for: of a barrier-AND packet, or of ROCr's barrier-value packet.
std::span<const hsa_signal_t> dependencies(const Packet& packet);
hsa_signal_t completion_of(const Packet& packet);

class Dependents {
 public:
  // From now on this signal, and whatever add() is given, completes only after the target.
  void add(hsa_signal_t completion);
  bool depends(std::span<const hsa_signal_t> signals) const;
  // The same, of signals that have not come yet.
  bool blocks(std::span<const hsa_signal_t> signals) const;
  void clear();

 private:
  mutable std::mutex mutex_;
  std::set<std::uint64_t> later_;
};

}  // namespace kerncap::intercept
