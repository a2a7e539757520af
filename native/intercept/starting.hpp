// A call of the application that must not begin in the middle of a snapshot: it starts a copy or makes a queue. It is delayed (bounded)
// while one is taken, and a snapshot that is about to begin waits until the call has ended. Used by hooks_copy.cpp and hooks_queue.cpp.
#pragma once

#include <span>

#include "intercept/guard.hpp"
#include "intercept/tool.hpp"

namespace kerncap::intercept {

class Starting {
 public:
  explicit Starting(Capture::Call call, std::span<const hsa_signal_t> dependencies = {}) noexcept : counted_(!Inside::already()) {
    if (!counted_) return;
    auto& capture = tool().capture();
    for (bool waits = true; waits;) {
      const bool in_vain = !capture.delay(call, dependencies);
      ++tool().calls_starting;
      // A snapshot that begins after this sees the count; one that began before is seen here.
      waits = !in_vain && capture.must_delay(dependencies);
      if (waits) --tool().calls_starting;
    }
  }
  ~Starting() {
    if (counted_) --tool().calls_starting;
  }
  Starting(const Starting&) = delete;
  Starting& operator=(const Starting&) = delete;

 private:
  const bool counted_;
};

}  // namespace kerncap::intercept
