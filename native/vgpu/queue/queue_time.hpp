// Device timestamps of one queue. By default what a packet takes comes from a cost model (docs/virtual-gpu.md) and is the
// same from run to run; with time=wall timestamps say when the interpreter worked.
// In: when the queue takes a packet and what the packet did. Out: ticks of the GPU's clock. Used by the queue's thread alone.
#pragma once

#include <cstdint>

#include "vgpu/isa/executor.hpp"
#include "vgpu/kfd/model.hpp"

namespace kerncap::vgpu {

// The GPU's constant 100 MHz clock; GET_CLOCK_COUNTERS reports the same.
std::uint64_t gpu_ticks() noexcept;

// The cost model. Never 0: what ends comes after what began.
std::uint64_t dispatch_ticks(const Model& model, const isa::Work& work, std::uint64_t waves);
std::uint64_t copy_ticks(std::uint64_t bytes);
inline constexpr std::uint64_t kBarrierTicks = 1;

// A packet that finds its queue idle starts when it is taken, by the wall clock: never before the application submitted it.
// One that was there when the packet before it ended starts at that end in model time, which the interpreter has passed.
class QueueTime {
 public:
  explicit QueueTime(bool wall) : wall_(wall) {}

  // The queue has nothing to do.
  void idle() { now_ = 0; }
  // A packet is at the head; called again and again until end().
  void begin();
  // The packet waits for a store that somebody else makes.
  void wait() { waited_ = true; }
  // It could not end before this.
  void after(std::uint64_t ticks);
  // It takes so many ticks.
  void spend(std::uint64_t ticks);
  std::uint64_t start() const { return start_; }
  std::uint64_t now() const { return wall_ ? gpu_ticks() : now_; }
  // The packet is done; returns when. No timestamp lies in the future: sleeps when the model is slower than the host.
  std::uint64_t end();

 private:
  const bool wall_;
  bool open_ = false, waited_ = false;
  std::uint64_t start_ = 0, now_ = 0 /* 0: the wall clock's */;
};

}  // namespace kerncap::vgpu
