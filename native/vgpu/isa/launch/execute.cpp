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
  const hsa_kernel_dispatch_packet_t& p = dispatch_.packet;
  const std::uint32_t grid[3] = {p.grid_size_x, p.grid_size_y, p.grid_size_z};
  const std::uint32_t size[3] = {p.workgroup_size_x, p.workgroup_size_y, p.workgroup_size_z};
  for (unsigned i = 0; i < 3; ++i) {
    grid_[i] = grid[i];
    size_[i] = size[i];
    groups_[i] = (grid[i] + size[i] - 1) / size[i];
  }
  total_ = std::uint64_t{groups_[0]} * groups_[1] * groups_[2];
  // The trace tells loads before from loads after a store: one order, so one thread.
  Worker(*this, trace_ == nullptr ? threads : 1).work();
  if (invited_) WorkerPool::instance().dismiss(*this);
  if (outcome_.kind == Outcome::Kind::completed && cancel_.load(std::memory_order_relaxed)) {
    outcome_.kind = Outcome::Kind::cancelled;
    outcome_.text = "cancelled";
  }
  outcome_.instructions = instructions_.load(std::memory_order_relaxed);
  return outcome_;
}

void Run::help() noexcept { Worker(*this, 1).work(); }

std::optional<std::uint64_t> Run::take() {
  if (!any_left()) return std::nullopt;
  const std::uint64_t number = next_.fetch_add(1, std::memory_order_relaxed);
  return number < total_ ? std::optional(number) : std::nullopt;
}

Run::Place Run::place(std::uint64_t number) const {
  Place at{};
  at.id[0] = static_cast<std::uint32_t>(number % groups_[0]);
  at.id[1] = static_cast<std::uint32_t>(number / groups_[0] % groups_[1]);
  at.id[2] = static_cast<std::uint32_t>(number / groups_[0] / groups_[1]);
  for (unsigned i = 0; i < 3; ++i) at.items[i] = std::min(size_[i], grid_[i] - at.id[i] * size_[i]);
  return at;
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
