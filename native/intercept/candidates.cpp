#include "intercept/candidates.hpp"

namespace kerncap::intercept {

void Candidates::add_queue(QueueState& queue) {
  Line line;
  const std::scoped_lock lock(mutex_);
  lines_.emplace(&queue, std::move(line));
}

Gates* Candidates::add(Job job) {
  const std::scoped_lock lock(mutex_);
  const auto found = lines_.find(job.queue);
  if (found == lines_.end()) return nullptr;
  Line& line = found->second;
  QueueState& queue = *job.queue;
  line.waiting.push_back(std::move(job));
  line.used = true;
  queue.gated = &line.gates->before;
  return line.gates.get();
}

std::size_t Candidates::count() const {
  const std::scoped_lock lock(mutex_);
  std::size_t sum = 0;
  for (const auto& [queue, line] : lines_) sum += line.waiting.size();
  return sum;
}

std::optional<Job> Candidates::arrived(Clock::duration limit) {
  const Signal* waited = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    Line* first = nullptr;  // of those that were submitted
    for (auto& [queue, line] : lines_) {
      // What the application gave up, or what cannot run any more.
      if (!queue->alive || queue->failed()) line.waiting.clear();
      if (line.waiting.empty()) continue;
      const bool here = line.gates->before.value() < 1;
      if (here && (first == nullptr || line.waiting.front().match_index < first->waiting.front().match_index)) first = &line;
      if (waited == nullptr) waited = &line.gates->before;
    }
    if (first != nullptr) {
      first->gates->before.set(1);
      first->gates->open_rest.set(1);  // which the candidate before this one has left behind
      return first->waiting.front();
    }
  }
  if (waited != nullptr) wait_done(*waited, Clock::now() + limit, [] { return true; }, limit);
  return std::nullopt;
}

Gates& Candidates::gates(QueueState& queue) {
  const std::scoped_lock lock(mutex_);
  return *lines_.at(&queue).gates;
}

void Candidates::done(QueueState& queue) {
  const std::scoped_lock lock(mutex_);
  Line& line = lines_.at(&queue);
  line.waiting.pop_front();
  if (line.waiting.empty()) queue.gated = nullptr;
}

bool Candidates::holds_back(QueueState& queue) const {
  const std::scoped_lock lock(mutex_);
  const auto found = lines_.find(&queue);
  if (found == lines_.end()) return false;
  const Line& line = found->second;
  return !line.waiting.empty() || line.is_waiting();
}

std::optional<std::pair<Packet, Packet>> Candidates::marks(QueueState& queue) {
  const std::scoped_lock lock(mutex_);
  const auto found = lines_.find(&queue);
  if (found == lines_.end()) return std::nullopt;
  Line& line = found->second;
  ++line.marked;
  queue.before_waiting = line.entered.get();
  queue.after_waiting = line.left.get();
  return std::pair(barrier(hsa_signal_t{0}, line.entered->handle()), barrier(hsa_signal_t{0}, line.left->handle()));
}

void Candidates::open_all() noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto& [queue, line] : lines_) {
    line.gates->open_target.set(0);
    line.gates->open_rest.set(0);
  }
}

void Candidates::drop_signals() noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto& [queue, line] : lines_) {
    const bool idle = line.waiting.empty() && (!line.used || line.gates->passed.value() < 1);
    queue->gated = nullptr;
    queue->before_waiting = queue->after_waiting = nullptr;
    if (!idle) static_cast<void>(line.gates.release());
    if (line.is_waiting()) {
      static_cast<void>(line.entered.release());
      static_cast<void>(line.left.release());
    }
  }
  lines_.clear();
}

}  // namespace kerncap::intercept
