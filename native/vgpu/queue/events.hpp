// KFD events: what threads of the application sleep on. In: ioctls of the application, raises of the command processors
// and of page faults. Out: wake-ups. One lock for all; waits are real blocking waits.
// Source: amdgpu kfd_events.c for event ages, auto-reset and the ranges of ids.
#pragma once

#include <linux/kfd_ioctl.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace kerncap::vgpu {

class Events {
 public:
  static constexpr std::uint32_t kSignalLimit = 4096;
  static constexpr std::chrono::milliseconds kRepeatWait{1};

  // 0: no id left.
  std::uint32_t create(std::uint32_t type, bool auto_reset);
  bool destroy(std::uint32_t id);
  bool set(std::uint32_t id);
  bool reset(std::uint32_t id);
  // Fills ages and exception data of what is ready; returns KFD_IOC_WAIT_RESULT_*. A thread that asks again what was answered, with
  // nothing raised since, gets the same answer after kRepeatWait or the next raise: HSA runtime 6.4 else spins here while kernels
  // run, as it forgets the age of an event that stands behind one which two of its signals share (Runtime::AsyncEventsLoop).
  std::uint32_t wait(std::span<kfd_event_data> events, bool all, std::uint32_t timeout_ms);

  enum class Denied : std::uint8_t { not_present, read_only, no_execute };
  // Every event of the type learns of it, as on hardware.
  void raise_memory_fault(std::uint32_t gpu_id, std::uint64_t va, Denied why);
  void raise_gpu_hang(std::uint32_t gpu_id);

 private:
  struct Event {
    std::uint32_t type = 0;
    bool auto_reset = false, signaled = false, destroyed = false;
    unsigned waiters = 0;
    std::uint64_t age = 1;
    kfd_hsa_memory_exception_data memory = {};
    kfd_hsa_hw_exception_data hardware = {};
  };
  struct Waiter {
    std::shared_ptr<Event> event;
    bool activated = false, by_age = false;
    std::uint64_t age = 0;
    bool ready() const { return activated || event->age != age; }
  };
  // A wait that ages alone made ready: the events, the ages that were asked with, and how many raises there had been.
  struct Question {
    std::vector<std::pair<const Event*, std::uint64_t>> ages;
    std::uint64_t raises = 0;
    bool operator==(const Question&) const = default;
  };
  void raise(Event& event);
  void rest_if_repeated(std::unique_lock<std::mutex>& lock, std::span<const Waiter> waiters);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::uint32_t, std::shared_ptr<Event>> events_;
  std::uint64_t raises_ = 0;
  std::uint32_t next_signal_ = 1, next_other_ = kSignalLimit + 1;
};

}  // namespace kerncap::vgpu
