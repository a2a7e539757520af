// One AQL queue and bounded dispatches on it. In: launches, with the barrier packets between them. Out: how they ended, and how
// long they took by the device's clock.
// Called by the runner.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/capture_info.hpp"
#include "replay/device.hpp"

namespace kerncap::replay {

struct Launch {
  std::uint64_t kernel_object_va = 0;
  std::uint64_t kernarg_va = 0;
  std::uint16_t dims = 1;
  std::array<std::uint32_t, 3> grid{1, 1, 1};
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  std::uint32_t group_segment_bytes = 0;
  std::uint32_t private_segment_bytes = 0;
  bool ordered = true;  // waits for everything before it
  std::vector<BarrierInfo> barriers_before;
};

struct DispatchOutcome {
  enum class Kind : std::uint8_t { completed, memory_fault, queue_error, timeout };
  Kind kind = Kind::completed;
  std::uint64_t fault_va = 0;
  std::string text;  // of a fault or an error
  std::size_t step = 0;  // the first launch that did not complete
  std::uint64_t duration_ns = 0;  // from the start of the first to the end of the last
  std::vector<std::uint64_t> step_ns;
};

// After anything but `completed` the queue is dead: nothing of this process may be dispatched or waited for any more.
class Dispatcher {
 public:
  // `packets`: of the largest call of run().
  Dispatcher(const Device& device, std::size_t packets);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  std::uint64_t queue_va() const noexcept { return reinterpret_cast<std::uint64_t>(queue_); }
  // One after the other, `limit` for each.
  DispatchOutcome run(std::span<const Launch> launches, std::chrono::nanoseconds limit);

 private:
  // Written by the runtime's threads.
  struct Events {
    std::atomic<std::uint32_t> queue_status{HSA_STATUS_SUCCESS};
    std::atomic<bool> memory_fault{false};
    std::atomic<std::uint64_t> fault_va{0};
    std::atomic<std::uint32_t> fault_reasons{0};
  };
  // Returns the packet's index.
  std::uint64_t write(const void* packet, std::uint32_t header_and_setup);
  std::uint64_t submit_barrier(const BarrierInfo& barrier);
  std::uint64_t submit(const Launch& launch, hsa_signal_t done);
  DispatchOutcome await(std::size_t count, std::chrono::steady_clock::time_point end) const;
  void measure(DispatchOutcome& outcome, std::size_t count) const;
  bool failed(DispatchOutcome& outcome) const;

  const Device& device_;
  Events events_;
  hsa_queue_t* queue_ = nullptr;
  std::vector<Signal> done_;  // of each launch
  double ns_per_tick_ = 1;
};

}  // namespace kerncap::replay
