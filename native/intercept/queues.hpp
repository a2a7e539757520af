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
  std::atomic<hsa_status_t> error{HSA_STATUS_SUCCESS};  // another one: it runs nothing any more
  // While a capture is under way: a later packet waits for the captured dispatch, and this signal says that all before it is done.
  std::atomic<bool> waits_for_target{false};
  std::atomic<const Signal*> before_waiting{nullptr};
  // Where it can go on before the capture is over: this one is decremented behind each packet that waits, as `before_waiting` is
  // in front of it.
  std::atomic<const Signal*> after_waiting{nullptr};
  // Its next dispatch may be the target too, and stands in front of its gate once this is done.
  std::atomic<const Signal*> gated{nullptr};
  const QueueState* next_shared = nullptr;

  bool failed() const { return error != HSA_STATUS_SUCCESS; }
  // Nothing runs, and nothing will until a candidate has been let go.
  bool at_rest() const {
    if (failed()) return true;
    const auto done = [](const Signal* signal) { return signal != nullptr && signal->value() < 1; };
    const Signal* const after = after_waiting;
    if (after == nullptr) return done(gated) || done(before_waiting);
    return done(gated) || after->value() > before_waiting.load()->value();
  }
};

class QueueRegistry {
 public:
  // States are never freed: callbacks of the runtime hold pointers to them.
  QueueState& add();
  QueueState* find(const hsa_queue_t* queue);
  std::vector<QueueState*> alive();
  // Before a queue is destroyed: when this returns, nobody is using it nor will.
  void give_up(const hsa_queue_t* queue);
  // A queue that many own, of whom none takes it away by destroying it. Found without a lock, since forked children look, too.
  void share(QueueState& state);
  template <class Fits>
  const QueueState* find_shared(Fits fits) const {
    const QueueState* state = shared_.load(std::memory_order_acquire);
    while (state != nullptr && !fits(*state)) state = state->next_shared;
    return state;
  }
  // Unless the queue has been given up; it lives until `use` returns, which must not wait.
  template <class Use>
  void while_alive(const QueueState& state, Use use) {
    const std::scoped_lock lock(mutex_);
    if (state.alive) use();
  }
  std::uint64_t count() const { return created_.load(std::memory_order_relaxed); }
  // Since the start, or since the counts were last restarted.
  std::uint64_t dispatches();
  void restart_counts() { counted_from_ += dispatches(); }
  // Where the launches that were last seen have their arguments.
  std::vector<std::uint64_t> kernarg_vas();

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<QueueState>> states_;
  std::atomic<const QueueState*> shared_{nullptr};
  std::atomic<std::uint64_t> counted_from_{0};
  std::atomic<std::uint64_t> created_{0};
};

}  // namespace kerncap::intercept
