// A dispatch from its packet to its Outcome.
#include <algorithm>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/launch/run.hpp"
#include "vgpu/isa/launch/worker.hpp"

namespace kerncap::vgpu::isa {

Outcome Run::go(unsigned threads) {
  {
    AddressCache memory(memory_);
    if (!read_kernel(target_, dispatch_, memory, kernel_, outcome_)) return outcome_;
  }
  grid_ = Grid(dispatch_.packet);
  total_ = grid_.workgroups();
  // The trace tells loads before from loads after a store: one order, so one thread.
  Worker(*this, trace_ == nullptr ? threads : 1).work();
  if (invited_) WorkerPool::instance().dismiss(*this);
  if (outcome_.kind == Outcome::Kind::completed && cancel_.load(std::memory_order_relaxed)) {
    outcome_.kind = Outcome::Kind::cancelled;
    outcome_.text = "cancelled";
  }
  outcome_.work = work_;
  return outcome_;
}

void Run::help() noexcept { Worker(*this, 1).work(); }

std::optional<std::uint64_t> Run::take() {
  if (!any_left()) return std::nullopt;
  const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  return number < total_ ? std::optional(number) : std::nullopt;
}

void Run::invite_helpers(unsigned threads) {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  if (next >= total_) return;
  invited_ = true;
  WorkerPool::instance().invite(*this, static_cast<unsigned>(std::min<std::uint64_t>(threads - 1, total_ - next)));
}

void Run::stop(Outcome why) {
  const std::lock_guard lock(stopping_);
  if (stopped_.load(std::memory_order_relaxed)) return;
  outcome_ = std::move(why);
  stopped_.store(true, std::memory_order_relaxed);
}

Outcome execute(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace,
                const std::atomic<bool>& cancel, unsigned threads) {
  return Run(target, dispatch, memory, trace, cancel).go(threads);
}

}  // namespace kerncap::vgpu::isa
