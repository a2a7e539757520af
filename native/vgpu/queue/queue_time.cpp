#include "vgpu/queue/queue_time.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <thread>

namespace kerncap::vgpu {
namespace {

// A dispatch takes this long whatever it does.
constexpr std::uint64_t kDispatchNs = 1000;
// A copy engine: what a packet costs, and its bandwidth.
constexpr std::uint64_t kCopyNs = 1000, kCopyGbS = 32;

std::uint64_t ticks_of(std::uint64_t ns) { return std::max<std::uint64_t>(1, (ns + kNsPerTick - 1) / kNsPerTick); }

}  // namespace

std::uint64_t gpu_ticks() noexcept {
  timespec now = {};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return (static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec)) / kNsPerTick;
}

std::uint64_t dispatch_ticks(const Model& model, const isa::Work& work, std::uint64_t waves) {
  const std::uint64_t simds = std::clamp<std::uint64_t>(waves, 1, model.simd_count);
  const std::uint64_t compute_ns = work.cycles / simds * 1000 / kEngineClockMhz;
  const std::uint64_t memory_ns = work.bytes / model.memory_gb_s;
  return ticks_of(kDispatchNs + std::max(compute_ns, memory_ns));
}

std::uint64_t copy_ticks(std::uint64_t bytes) { return ticks_of(kCopyNs + bytes / kCopyGbS); }

void QueueTime::begin() {
  if (open_) return;
  open_ = true;
  waited_ = false;
  if (now_ == 0) now_ = gpu_ticks();
  start_ = now();
}

void QueueTime::after(std::uint64_t ticks) { now_ = std::max(now_, ticks); }

void QueueTime::spend(std::uint64_t ticks) {
  if (waited_) after(gpu_ticks());
  waited_ = false;
  now_ += ticks;
}

std::uint64_t QueueTime::end() {
  spend(0);
  open_ = false;
  if (wall_) return gpu_ticks();
  for (std::uint64_t wall = gpu_ticks(); wall < now_; wall = gpu_ticks())
    std::this_thread::sleep_for(std::chrono::nanoseconds((now_ - wall) * kNsPerTick));
  return now_;
}

}  // namespace kerncap::vgpu
