#include "intercept/queues.hpp"

#include <algorithm>

namespace kerncap::intercept {

QueueState& QueueRegistry::add() {
  const std::scoped_lock lock(mutex_);
  states_.push_back(std::make_unique<QueueState>());
  states_.back()->number = created_.fetch_add(1, std::memory_order_relaxed);
  states_.back()->alive = false;  // until its queue exists
  return *states_.back();
}

QueueState* QueueRegistry::find(const hsa_queue_t* queue) {
  const std::scoped_lock lock(mutex_);
  const auto found = std::find_if(states_.begin(), states_.end(),
                                  [&](const auto& state) { return state->alive && state->queue == queue; });
  return found == states_.end() ? nullptr : found->get();
}

void QueueRegistry::give_up(const hsa_queue_t* queue) {
  const std::scoped_lock lock(mutex_);
  for (const auto& state : states_) {
    if (state->queue == queue) state->alive = false;
  }
}

void QueueRegistry::share(QueueState& state) {
  const std::scoped_lock lock(mutex_);
  state.next_shared = shared_.load(std::memory_order_relaxed);
  shared_.store(&state, std::memory_order_release);
}

std::vector<QueueState*> QueueRegistry::alive() {
  const std::scoped_lock lock(mutex_);
  std::vector<QueueState*> list;
  for (const auto& state : states_) {
    if (state->alive) list.push_back(state.get());
  }
  return list;
}

std::uint64_t QueueRegistry::dispatches() {
  const std::scoped_lock lock(mutex_);
  std::uint64_t sum = 0;
  for (const auto& state : states_) sum += state->dispatches.load(std::memory_order_relaxed);
  return sum - counted_from_;
}

std::vector<std::uint64_t> QueueRegistry::kernarg_vas() {
  std::vector<std::uint64_t> list;
  for (const QueueState* state : alive()) list.push_back(state->kernarg_va.load(std::memory_order_relaxed));
  return list;
}

}  // namespace kerncap::intercept
