// What all threads of one dispatch share: the launch, the next workgroup, and what stopped it.
// In: an AQL dispatch. Out: workgroup numbers for workers, each once, in ascending order; the Outcome. Called by worker.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/launch/group.hpp"
#include "vgpu/isa/launch/kernel.hpp"
#include "vgpu/isa/launch/pool.hpp"

namespace kerncap::vgpu::isa {

class Run final : public Helper {
 public:
  Run(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace, const std::atomic<bool>& cancel)
      : target_(target), dispatch_(dispatch), memory_(memory), trace_(trace), cancel_(cancel) {}

  // Executes the whole dispatch, on this thread and up to threads - 1 of the pool.
  Outcome go(unsigned threads);
  void help() noexcept override;

  Target target() const { return target_; }
  const Dispatch& dispatch() const { return dispatch_; }
  const Memory& memory() const { return memory_; }
  Trace* trace() const { return trace_; }
  const Kernel& kernel() const { return kernel_; }
  const Grid& grid() const { return grid_; }

  // The next workgroup that no worker has; empty when there is none.
  std::optional<std::uint64_t> take();
  bool any_left() const { return next_.load(std::memory_order_relaxed) < total_; }
  // At most once, by the thread that called go().
  void invite_helpers(unsigned threads);

  // Ends all workers; of several reasons the first counts.
  void stop(Outcome why);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed) || cancel_.load(std::memory_order_relaxed); }
  void count(const Work& work) {
    const std::lock_guard lock(stopping_);
    work_.add(work);
  }

 private:
  const Target target_;
  const Dispatch& dispatch_;
  const Memory& memory_;
  Trace* const trace_;
  const std::atomic<bool>& cancel_;
  Kernel kernel_;
  Grid grid_;
  std::uint64_t total_ = 0;
  bool invited_ = false;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<bool> stopped_{false};
  std::mutex stopping_;
  Outcome outcome_;  // with stopping_ held
  Work work_;        // likewise
};

}  // namespace kerncap::vgpu::isa
