// A consistent cut: while a snapshot is taken, the other queues of the process have ended what they had and start nothing, and
// copies wait. Everything here is bounded; what could not be held is named.
// In: queues. Out: reasons why the cut is not consistent (none: it is). Called by capture_worker.cpp.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "intercept/memory.hpp"
#include "intercept/queues.hpp"
#include "intercept/signals.hpp"

namespace kerncap::intercept {

class Cut {
 public:
  // All that the application has under way beside the target comes to rest, and stays so until release(). `limit` for each step.
  // Calls that come now must be delayed already. Again and again, each time for another target.
  void begin(QueueRegistry& queues, const QueueState& target, const std::atomic<unsigned>& starting, const Topology& topology,
             Clock::duration limit);
  void release() noexcept;
  // Gives back the signals that no packet needs any more. After release().
  void drop_signals() noexcept;
  bool holding() const { return !rounds_.empty() && rounds_.back().gate->value() > 0; }
  std::vector<std::string> reasons;

 private:
  struct Round {
    std::unique_ptr<Signal> gate;
    std::vector<std::unique_ptr<Signal>> drained, passed;  // the first and the second barrier of each queue
  };
  // Waits for calls that start copies or make queues and did not see yet that they must wait. Before hold(): a queue may come of one.
  void await_starting_calls(const std::atomic<unsigned>& starting, Clock::duration limit);
  // Puts two barriers into every other queue: one that says when everything before it is done, one that waits for release().
  void hold(QueueRegistry& queues, const QueueState& target, Clock::duration limit);
  // Waits for copies that the runtime has queued before: a copy on the same engine ends after them.
  void drain_copies(const Topology& topology, Clock::duration limit);
  void await_rest(const std::vector<const QueueState*>& waiting, const Round& round, Clock::time_point deadline);

  std::vector<Round> rounds_;  // one for each begin(), until all its barriers have been
};

}  // namespace kerncap::intercept
