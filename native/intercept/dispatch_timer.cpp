#include "intercept/dispatch_timer.hpp"

#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

#include "base/log.hpp"
#include "intercept/guard.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/threads.hpp"

namespace kerncap::intercept {
namespace {

using std::chrono::milliseconds;

// How often dispatches that nobody waits for are looked at. Their time stamps stay where they are until then.
constexpr milliseconds kLook{2};
// How long one wait for those that the application waits for lasts: whatever comes meanwhile ends it.
constexpr milliseconds kWait{20};
// What is known is written down so often: all that is lost when the application ends without a word. Yet of this thread's time
// a small part, however long it takes.
constexpr milliseconds kReport{10};
constexpr int kReportShare = 50;
// As many signals as one wait watches. When more are pending, those beyond are looked at when it ends.
constexpr std::size_t kMostWatched = 64;
// As many as are taken out in one go: a thread that submits waits for that.
constexpr std::size_t kMostAtOnce = 256;
// So many that are not done are looked past.
constexpr std::size_t kPatience = 64;

}  // namespace

void KernelTimes::add(std::uint64_t ns) noexcept {
  least = timed == 0 ? ns : std::min(least, ns);
  most = std::max(most, ns);
  total += ns;
  ++timed;
  // Welford: exact enough for any number of calls.
  const double value = static_cast<double>(ns), off = value - mean_;
  mean_ += off / static_cast<double>(timed);
  squares += off * (value - mean_);
}

DispatchTimer::DispatchTimer(std::function<void()> report) : report_(std::move(report)) {
  thread_ = start_quietly([this] { run(); });
}

DispatchTimer::Item DispatchTimer::take(bool interrupts) {
  auto& list = free_[interrupts ? 1 : 0];
  if (list.empty()) {
    auto item = std::make_unique<Timed>();
    item->signal = std::make_unique<Signal>(1, interrupts ? Signal::Kind::Interrupt : Signal::Kind::Polled);
    return item;
  }
  Item item = std::move(list.back());
  list.pop_back();
  item->signal->reset(1);
  return item;
}

void DispatchTimer::prepare(const QueueState& queue, std::vector<Packet>& batch, const KernelRegistry& kernels) {
  bool waited_for = false;
  const std::scoped_lock lock(mutex_);
  if (over_) return;
  for (Packet& packet : batch) {
    if (!is_dispatch(packet)) continue;
    const auto dispatch = as_dispatch(packet);
    const KernelEntry* const kernel = kernels.find(dispatch.kernel_object);
    if (kernel == nullptr) continue;  // the runtime's own blit kernels
    ++times_[kernel].calls;
    const hsa_signal_t application = dispatch.completion_signal;
    Item item = take(application.handle != 0);
    item->application = application;
    item->kernel = kernel;
    item->queue = &queue;
    const hsa_signal_t own = item->signal->handle();
    if (application.handle != 0) {
      watched_.push_back(std::move(item));
      waited_for = true;
    } else {
      unwatched_.push_back(std::move(item));
    }
    // Last: a signal in a packet lives as long as the packet.
    set_completion(packet, own);
  }
  news_ = true;
  if (waited_for) wake_->set(0);
}

void DispatchTimer::record(std::vector<Item> done) {
  std::vector<std::optional<std::uint64_t>> took;
  for (const Item& item : done) took.push_back(duration_ns(item->queue->agent, *item->signal));
  if (done.empty()) return;
  const std::scoped_lock lock(mutex_);
  news_ = true;
  for (std::size_t i = 0; i < done.size(); ++i) {
    if (took[i]) times_[done[i]->kernel].add(*took[i]);
    free_[done[i]->application.handle != 0 ? 1 : 0].push_back(std::move(done[i]));
  }
}

bool DispatchTimer::forward() {
  // Taken out under the lock, completed without it: what that wakes may submit the next dispatch at once.
  std::vector<Item> done;
  {
    const std::scoped_lock lock(mutex_);
    const auto first = std::stable_partition(watched_.begin(), watched_.end(), [](const Item& item) { return !item->done(); });
    std::move(first, watched_.end(), std::back_inserter(done));
    watched_.erase(first, watched_.end());
  }
  for (const Item& item : done) complete_for_application(item->application, *item->signal);
  const bool any = !done.empty();
  record(std::move(done));
  return any;
}

void DispatchTimer::collect(std::size_t patience) {
  for (bool more = true; more;) {
    std::vector<Item> done;
    {
      const std::scoped_lock lock(mutex_);
      // A queue starts its packets in order, so they are done nearly so; another queue's may stand behind one that is not.
      std::size_t missed = 0;
      for (Item& item : unwatched_) {
        if (item == nullptr) continue;
        if (item->done()) done.push_back(std::move(item));
        else if (++missed > patience) break;
        if (done.size() == kMostAtOnce) break;
      }
      while (!unwatched_.empty() && unwatched_.front() == nullptr) unwatched_.pop_front();
    }
    more = done.size() == kMostAtOnce;
    record(std::move(done));
  }
}

void DispatchTimer::wait_for_work() {
  std::vector<hsa_signal_t> signals{wake_->handle()};
  {
    const std::scoped_lock lock(mutex_);
    for (std::size_t i = 0; i < std::min(watched_.size(), kMostWatched); ++i) signals.push_back(watched_[i]->signal->handle());
  }
  // A runtime's wait spins first: not for looking now and then.
  if (signals.size() == 1 && wake_->value() > 0) return std::this_thread::sleep_for(kLook);
  std::vector<hsa_signal_condition_t> conditions(signals.size(), HSA_SIGNAL_CONDITION_LT);
  std::vector<hsa_signal_value_t> values(signals.size(), 1);
  hsa().amd.hsa_amd_signal_wait_any_fn(static_cast<std::uint32_t>(signals.size()), signals.data(), conditions.data(), values.data(),
                                       to_ticks(kWait), HSA_WAIT_STATE_BLOCKED, nullptr);
}

void DispatchTimer::run() noexcept {
  const Inside inside;
  // Whatever fails: the application waits for signals that nobody else completes.
  for (bool said = false; !over_.load(std::memory_order_relaxed);) {
    try {
      look_once();
    } catch (const std::exception& error) {
      if (!std::exchange(said, true)) log::error(std::string("not every dispatch is timed: ") + error.what());
      note_bookkeeping_failure();
      std::this_thread::sleep_for(kLook);
    }
  }
}

void DispatchTimer::look_once() {
  wait_for_work();
  wake_->set(1);
  while (forward()) {
  }
  if (Clock::now() - looked_ < kLook) return;
  collect(kPatience);
  looked_ = Clock::now();
  if (looked_ < report_next_ || !news_.exchange(false)) return;
  report_();
  const auto written = Clock::now();
  report_next_ = written + std::max<Clock::duration>(kReport, kReportShare * (written - looked_));
}

void DispatchTimer::drop_signals() {
  wake_.reset();
  for (auto& list : free_) list.clear();
  // Packets that are not done still name these.
  for (Item& item : watched_) static_cast<void>(item.release());
  for (Item& item : unwatched_) static_cast<void>(item.release());
  watched_.clear();
  unwatched_.clear();
}

void DispatchTimer::finish(Clock::duration limit) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (over_.exchange(true)) return;
    wake_->set(0);
  }
  if (thread_.joinable()) thread_.join();
  const Inside inside;
  const auto deadline = Clock::now() + limit;
  try {
    for (;; std::this_thread::sleep_for(kLook)) {
      forward();
      collect(std::numeric_limits<std::size_t>::max());
      const std::scoped_lock lock(mutex_);
      const auto pending = [](const Item& item) { return item != nullptr && item->queue->alive.load(); };
      const bool any = std::any_of(watched_.begin(), watched_.end(), pending) ||
                       std::any_of(unwatched_.begin(), unwatched_.end(), pending);
      if (any && Clock::now() < deadline) continue;
      return drop_signals();
    }
  } catch (const std::exception& error) {
    log::error(std::string("the last dispatches could not be timed: ") + error.what());
  }
}

std::map<const KernelEntry*, KernelTimes> DispatchTimer::times() const {
  const std::scoped_lock lock(mutex_);
  return times_;
}

}  // namespace kerncap::intercept
