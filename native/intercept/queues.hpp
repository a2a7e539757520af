// The application's queues. In: queue creation and destruction, packets. Out: intercept queues in their place, dispatch counts,
// the target handed to the capture. Called by hooks_queue.cpp; held and drained by cut.cpp.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "intercept/signals.hpp"

namespace kerncap::intercept {

using QueueCallback = void (*)(hsa_status_t, hsa_queue_t*, void*);

struct QueueState {
  std::uint64_t number = 0;  // in order of creation
  hsa_queue_t* queue = nullptr;
  hsa_agent_t agent{};
  hsa_queue_type32_t type = HSA_QUEUE_TYPE_MULTI;
  QueueCallback callback = nullptr;  // the application's
  void* callback_data = nullptr;
  std::atomic<std::uint64_t> dispatches{0};
  std::atomic<std::uint64_t> kernarg_va{0};  // of the last dispatch
  std::atomic<bool> profiled{false};  // the application switched profiling on
  std::atomic<bool> alive{true};
  // While a capture is under way: a later packet waits for the captured dispatch, and this signal says that all before it is done.
  std::atomic<bool> waits_for_target{false};
  std::atomic<const Signal*> before_waiting{nullptr};
};

class QueueRegistry {
 public:
  // States are never freed: callbacks of the runtime hold pointers to them.
  QueueState& add();
  QueueState* find(const hsa_queue_t* queue);
  std::vector<QueueState*> alive();
  std::uint64_t count() const { return created_.load(std::memory_order_relaxed); }
  std::uint64_t dispatches();
  // Where the launches that were last seen have their arguments.
  std::vector<std::uint64_t> kernarg_vas();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<QueueState>> states_;
  std::atomic<std::uint64_t> created_{0};
};

}  // namespace kerncap::intercept
