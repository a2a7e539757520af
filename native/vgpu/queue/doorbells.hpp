// Doorbells. The page that holds them is ordinary shared memory and a store to it cannot be trapped cheaply, so one
// thread a process looks at the slots of parked queues, ever more seldom while nothing rings (in the end every 4 ms).
// In: parked queues. Out: wake-ups.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

namespace kerncap::vgpu {

class Queue;

class DoorbellWatcher {
 public:
  static DoorbellWatcher& instance();  // never destroyed
  void watch(Queue* queue);
  void forget(Queue* queue);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Queue*> parked_;
  bool started_ = false;
};

}  // namespace kerncap::vgpu
