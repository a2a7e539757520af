// What stands between the C ABI and the tool: no exception leaves a hook, no hook sees calls that the tool itself caused, and the
// application gets exactly what the original call returned.
#pragma once

#include <hsa/hsa.h>

#include <atomic>

namespace kerncap::intercept {

// Set once the tool has nothing more to do (capture ended, another process captures, forked child): every hook passes through.
inline std::atomic<bool> stepped_aside{false};

// Marks that this thread runs tool code.
class Inside {
 public:
  Inside() noexcept { ++depth(); }
  ~Inside() { --depth(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  // True when a hook must pass straight through to the original.
  static bool already() noexcept { return depth() != 0 || stepped_aside.load(std::memory_order_relaxed); }

 private:
  static int& depth() noexcept {
    thread_local int value = 0;
    return value;
  }
};

// Remembers that bookkeeping failed; the capture then says that its closure may be incomplete.
void note_bookkeeping_failure() noexcept;

// Runs the original call, then the bookkeeping when it succeeded. Whatever the bookkeeping does, the original is called once and
// its result is returned unchanged.
template <class Call, class Record>
hsa_status_t observe(Call call, Record record) noexcept {
  if (Inside::already()) return call();
  const Inside inside;
  const hsa_status_t status = call();
  if (status == HSA_STATUS_SUCCESS) {
    try {
      record();
    } catch (...) {
      note_bookkeeping_failure();
    }
  }
  return status;
}

}  // namespace kerncap::intercept
