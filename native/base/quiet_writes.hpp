// A write of this library's own that fails must not end the program that it is in: a full pipe's reader may be gone (SIGPIPE), a file
// may not grow any more (SIGXFSZ). While an object of this lives, such a write only returns its error.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <time.h>

namespace kerncap {

class QuietWrites {
 public:
  QuietWrites() noexcept {
    sigset_t pending;
    sigpending(&pending);
    sigemptyset(&ours_);
    // One that was pending before is the program's own.
    for (const int number : {SIGPIPE, SIGXFSZ})
      if (sigismember(&pending, number) == 0) sigaddset(&ours_, number);
    pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  }
  ~QuietWrites() {
    const timespec at_once{};
    while (sigtimedwait(&ours_, nullptr, &at_once) > 0) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  QuietWrites(const QuietWrites&) = delete;
  QuietWrites& operator=(const QuietWrites&) = delete;

 private:
  sigset_t ours_;
  sigset_t before_;
};

}  // namespace kerncap
