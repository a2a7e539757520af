// HSA signals of the tool's own, and waits that end. In: original entry points. Out: RAII signals, bounded waits.
// Called by capture.cpp, capture_worker.cpp, cut.cpp, dispatch_timer.cpp, staging.cpp.
#pragma once

#include <hsa/hsa.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

namespace kerncap::intercept {

using Clock = std::chrono::steady_clock;

inline Clock::duration to_duration(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

inline double to_seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }

class Signal {
 public:
  // Polled: raises no interrupt; for a signal that is only looked at.
  enum class Kind { Interrupt, Polled };
  explicit Signal(hsa_signal_value_t initial, Kind kind = Kind::Interrupt);
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  hsa_signal_t handle() const { return signal_; }
  hsa_signal_value_t value() const;
  void set(hsa_signal_value_t value) const;
  // For another dispatch: the value, and no time stamps.
  void reset(hsa_signal_value_t value) const;

 private:
  hsa_signal_t signal_{};
};

enum class Waited { Done, TimedOut, Stopped };

// Until the signal's value is below 1; `stop` is asked again and again, as often as `slice` says.
Waited wait_done(const Signal& signal, Clock::time_point deadline, const std::function<bool()>& stop,
                 Clock::duration slice = std::chrono::milliseconds(50));

std::uint64_t to_ticks(Clock::duration duration);  // of HSA's waits

// Of the dispatch on this agent that completed the signal; nothing when it has no time stamps.
std::optional<std::uint64_t> duration_ns(hsa_agent_t agent, const Signal& signal);

// From the start of one dispatch to the end of another.
std::optional<std::uint64_t> duration_ns(hsa_agent_t agent, const Signal& first, const Signal& last);

// What a packet processor would have done to the application's signal: time stamps, then a decrement that wakes its waiters.
void complete_for_application(hsa_signal_t application, const Signal& own);

}  // namespace kerncap::intercept
