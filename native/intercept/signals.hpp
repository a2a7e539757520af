// HSA signals of the tool's own, and waits that end. In: original entry points. Out: RAII signals, bounded waits.
// Called by capture.cpp, cut.cpp, staging.cpp.
#pragma once

#include <hsa/hsa.h>

#include <chrono>
#include <cstdint>
#include <functional>

namespace kerncap::intercept {

using Clock = std::chrono::steady_clock;

class Signal {
 public:
  explicit Signal(hsa_signal_value_t initial);
  ~Signal();
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;
  hsa_signal_t handle() const { return signal_; }
  hsa_signal_value_t value() const;
  void set(hsa_signal_value_t value) const;

 private:
  hsa_signal_t signal_{};
};

enum class Waited { Done, TimedOut, Stopped };

// Until the signal's value is below 1; `stop` is asked about twenty times a second.
Waited wait_done(const Signal& signal, Clock::time_point deadline, const std::function<bool()>& stop);

// What a packet processor would have done to the application's signal: time stamps, then a decrement that wakes its waiters.
void complete_for_application(hsa_signal_t application, const Signal& own);

}  // namespace kerncap::intercept
