// One AQL queue and bounded dispatches on it. In: a launch. Out: how it ended, and how long it took by the device's clock.
// Called by the runner.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

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
};

struct DispatchOutcome {
  enum class Kind : std::uint8_t { completed, memory_fault, queue_error, timeout };
  Kind kind = Kind::completed;
  std::uint64_t fault_va = 0;
  std::string text;  // of a fault or an error
  std::uint64_t duration_ns = 0;
};

// After anything but `completed` the queue is dead: nothing of this process may be dispatched or waited for any more.
class Dispatcher {
 public:
  explicit Dispatcher(const Device& device);
  ~Dispatcher();
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;

  std::uint64_t queue_va() const noexcept { return reinterpret_cast<std::uint64_t>(queue_); }
  DispatchOutcome run(const Launch& launch, std::chrono::nanoseconds limit);

 private:
  // Written by the runtime's threads.
  struct Events {
    std::atomic<std::uint32_t> queue_status{HSA_STATUS_SUCCESS};
    std::atomic<bool> memory_fault{false};
    std::atomic<std::uint64_t> fault_va{0};
    std::atomic<std::uint32_t> fault_reasons{0};
  };
  void submit(const Launch& launch);
  bool failed(DispatchOutcome& outcome) const;

  const Device& device_;
  Events events_;
  hsa_queue_t* queue_ = nullptr;
  Signal done_;
  double ns_per_tick_ = 1;
};

}  // namespace kerncap::replay
