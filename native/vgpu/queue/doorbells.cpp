#include "vgpu/queue/doorbells.hpp"

#include <pthread.h>
#include <sys/prctl.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "vgpu/queue/queue.hpp"

namespace kerncap::vgpu {
namespace {

using std::chrono::microseconds;

// How long to sleep between two looks, by the time since the last ring.
constexpr microseconds sleep_after(std::chrono::steady_clock::duration quiet) {
  if (quiet < std::chrono::milliseconds(2)) return microseconds(30);
  if (quiet < std::chrono::milliseconds(50)) return microseconds(200);
  if (quiet < std::chrono::seconds(1)) return microseconds(1000);
  return microseconds(4000);
}

}  // namespace

DoorbellWatcher& DoorbellWatcher::instance() {
  static auto* const watcher = new DoorbellWatcher;
  return *watcher;
}

void DoorbellWatcher::watch(Queue* queue) {
  const std::lock_guard lock(mutex_);
  parked_.push_back(queue);
  if (!started_) {
    started_ = true;
    std::thread([this] { run(); }).detach();  // inherits the blocked signals of the queue thread that calls
  }
  changed_.notify_one();
}

void DoorbellWatcher::forget(Queue* queue) {
  const std::lock_guard lock(mutex_);
  std::erase(parked_, queue);
}

void DoorbellWatcher::run() {
  ::pthread_setname_np(::pthread_self(), "vgpu-doorbells");
  ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  auto last_ring = std::chrono::steady_clock::now();
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return !parked_.empty(); });
      for (Queue* queue : parked_) {
        if (!queue->rung()) continue;
        queue->wake();
        last_ring = std::chrono::steady_clock::now();
      }
    }
    std::this_thread::sleep_for(sleep_after(std::chrono::steady_clock::now() - last_ring));
  }
}

}  // namespace kerncap::vgpu
