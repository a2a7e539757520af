// Dispatches that may turn out to be the target, under conditions that are decided only after they ran. In: their packets, in any
// number of queues. Out: the first that the device has come to, one at a time; all others stand in front of their gates until then.
// Called by armed.cpp, from packet callbacks and from the worker.
//
// A queue needs one set of gates for any number of candidates: each is closed again before the next one in that queue can reach it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/json.hpp"
#include "intercept/gates.hpp"
#include "intercept/kernels.hpp"
#include "intercept/packets.hpp"
#include "intercept/queues.hpp"

namespace kerncap::intercept {

// A dispatch that is captured, or may be.
struct Job {
  QueueState* queue = nullptr;
  const KernelEntry* kernel = nullptr;
  Packet packet{};
  std::uint64_t queue_index = 0;
  std::uint64_t match_index = 0;  // among those that match by name and geometry
  Json trigger;                   // the condition that it meets, as far as that is known; null without
  bool trial = false;             // an autotuner's
};

class Candidates {
 public:
  // Makes signals, which must not happen under a queue's lock.
  void add_queue(QueueState& queue);
  // Null: there are no gates for this queue, and it cannot be a candidate.
  Gates* add(Job job);
  std::size_t count() const;
  // Waits at most `limit`. The gate in front of it is closed for the next one.
  std::optional<Job> arrived(Clock::duration limit);
  Gates& gates(QueueState& queue);
  // The candidate of this queue that had arrived is dealt with; its gates are closed again but for the one behind it.
  void done(QueueState& queue);

  // Whether whatever is submitted to this queue now comes after a candidate.
  bool holds_back(QueueState& queue) const;
  // To put around a packet that waits for a candidate of another queue: between them the queue is at rest.
  std::optional<std::pair<Packet, Packet>> marks(QueueState& queue);

  // Nothing waits at its gate any more, and nobody learns of what ended there.
  void open_all() noexcept;

  template <class Visit>
  void each_queue(Visit visit) {
    const std::scoped_lock lock(mutex_);
    for (auto& [queue, line] : lines_) visit(*queue);
  }
  // Gives back the signals that no packet needs any more.
  void drop_signals() noexcept;

 private:
  static constexpr hsa_signal_value_t most_marks = hsa_signal_value_t{1} << 40;
  struct Line {
    std::unique_ptr<Gates> gates = std::make_unique<Gates>();
    // Each mark takes one off: between the two marks of a packet they differ.
    std::unique_ptr<Signal> entered = std::make_unique<Signal>(most_marks, Signal::Kind::Polled);
    std::unique_ptr<Signal> left = std::make_unique<Signal>(most_marks, Signal::Kind::Polled);
    hsa_signal_value_t marked = 0;
    bool used = false;
    bool is_waiting() const { return left->value() > most_marks - marked; }
    std::deque<Job> waiting;
  };
  mutable std::mutex mutex_;
  std::map<QueueState*, Line> lines_;
};

}  // namespace kerncap::intercept
