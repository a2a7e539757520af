// Work on many chunks by several threads with a bounded number of buffers, results taken in order. In: a number of tasks,
// slots (buffers), a produce and a consume function. Out: consume(i, slot) called for i = 0, 1, ... on the calling thread.
// Called by the transfer of memory to and from the device.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace kerncap::replay {

// Task i uses slot i % slots.size(): produce(i, slot) on one of `workers` threads, then consume(i, slot). The first exception
// of either ends everything and is thrown again here.
template <typename Slot, typename Produce, typename Consume>
void run_ordered(std::size_t tasks, unsigned workers, std::span<Slot> slots, const Produce& produce, const Consume& consume) {
  std::mutex mutex;
  std::condition_variable changed;
  std::size_t next = 0;      // first task that no worker has
  std::size_t consumed = 0;  // tasks that are finished, and so slots that are free again
  std::vector<bool> ready(slots.size(), false);
  std::exception_ptr failure;

  const auto work = [&] {
    for (;;) {
      std::size_t task = 0;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return failure || next >= tasks || next < consumed + slots.size(); });
        if (failure || next >= tasks) return;
        task = next++;
      }
      std::exception_ptr own_failure;
      try {
        produce(task, slots[task % slots.size()]);
      } catch (...) {
        own_failure = std::current_exception();
      }
      {
        const std::lock_guard lock(mutex);
        if (own_failure && !failure) failure = own_failure;
        ready[task % slots.size()] = true;
      }
      changed.notify_all();
    }
  };

  std::vector<std::jthread> threads;
  for (unsigned i = 0; i < workers && i < tasks; ++i) threads.emplace_back(work);
  for (std::size_t task = 0; task < tasks; ++task) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return failure || ready[task % slots.size()]; });
      if (failure) break;
    }
    try {
      consume(task, slots[task % slots.size()]);
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
    {
      const std::lock_guard lock(mutex);
      ready[task % slots.size()] = false;
      ++consumed;
      if (failure) break;
    }
    changed.notify_all();
  }
  changed.notify_all();
  threads.clear();  // joins
  if (failure) std::rethrow_exception(failure);
}

}  // namespace kerncap::replay
