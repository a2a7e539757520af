// Threads of the tool's own inside the application. Called by capture.cpp and dispatch_timer.cpp.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <thread>

namespace kerncap::intercept {

// The application's signal handlers must not run on it.
std::thread start_quietly(auto body) {
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  std::thread thread(body);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return thread;
}

}  // namespace kerncap::intercept
