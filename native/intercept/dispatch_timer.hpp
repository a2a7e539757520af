// Times every dispatch of the application by the GPU's own clock, for `kerncap profile`.
// In: batches of packets on their way into a queue. Out: calls and times of each kernel.
//
// Each dispatch gets a completion signal of the tool's. One that the application gave a signal of its own is completed for it
// by the tool's thread, with the time stamps, as soon as the dispatch is done; the others are looked at now and then, so that
// a dispatch nobody waits for costs a signal from a list and nothing else. Called by hooks_queue.cpp and tool.cpp.
#pragma once

#include <hsa/hsa.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "intercept/kernels.hpp"
#include "intercept/packets.hpp"
#include "intercept/queues.hpp"
#include "intercept/signals.hpp"

namespace kerncap::intercept {

// Times in ns. `timed` may be less than `calls`: the rest was not done at the end, or has no time stamps.
struct KernelTimes {
  std::uint64_t calls = 0, timed = 0, total = 0, least = 0, most = 0;
  double squares = 0;  // sum of (time - mean)^2
  void add(std::uint64_t ns) noexcept;

 private:
  double mean_ = 0;
};

class DispatchTimer {
 public:
  // `report`, which throws nothing, is called by the thread, a hundred times a second while there is something new.
  explicit DispatchTimer(std::function<void()> report);

  // Puts the tool's signals into the packets of one batch. Runs under the runtime's lock of the queue.
  void prepare(const QueueState& queue, std::vector<Packet>& batch, const KernelRegistry& kernels);

  // Looks at everything once more, for at most `limit`, ends the thread and gives back the signals that no packet needs any
  // more. Called before the runtime is gone; nothing is timed from then on.
  void finish(Clock::duration limit) noexcept;

  std::map<const KernelEntry*, KernelTimes> times() const;

 private:
  struct Timed {
    std::unique_ptr<Signal> signal;
    hsa_signal_t application{};
    const KernelEntry* kernel = nullptr;
    const QueueState* queue = nullptr;
    bool done() const { return signal->value() < 1; }
  };
  using Item = std::unique_ptr<Timed>;

  void run() noexcept;
  void look_once();
  // Completes what is done for the application; true when there was something.
  bool forward();
  // `patience`: how many that are not done are looked past.
  void collect(std::size_t patience);
  void wait_for_work();
  Item take(bool interrupts);
  void record(std::vector<Item> done);
  void drop_signals();

  mutable std::mutex mutex_;
  std::deque<Item> unwatched_;  // nobody waits for these; null once taken out
  std::vector<Item> watched_;   // the application does
  std::vector<Item> free_[2];   // without and with interrupts
  std::map<const KernelEntry*, KernelTimes> times_;
  std::unique_ptr<Signal> wake_ = std::make_unique<Signal>(1);  // null once all is over
  const std::function<void()> report_;
  Clock::time_point looked_ = Clock::now(), report_next_ = looked_;  // the thread's
  std::atomic<bool> news_{false};  // since the last report
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace kerncap::intercept
