#include "intercept/tool.hpp"

#include <unistd.h>

#include "base/log.hpp"
#include "intercept/guard.hpp"
#include "intercept/reports.hpp"

namespace kerncap::intercept {
namespace {

std::atomic<Tool*> instance{nullptr};
constexpr auto last_dispatches_limit = std::chrono::seconds(2);  // that the application's end waits for dispatches to end

}  // namespace

Tool::Tool(Control wanted)
    : control(std::move(wanted)), kernels(KernelSelector(control.kernel, control.match)), capture(*this), pid_(getpid()) {
  memory.set_hold_limit(std::chrono::duration_cast<MemoryMap::Clock::duration>(std::chrono::duration<double>(3 * control.timeout_s)));
}

const Topology& Tool::topology() {
  std::call_once(topology_once_, [this] {
    const Inside inside;
    topology_.load();
  });
  return topology_;
}

void Tool::prepare() {
  capture.prepare();
  if (control.mode != Mode::Profile) return;
  const std::scoped_lock lock(timer_mutex_);
  if (timer() == nullptr) timer_.store(new DispatchTimer([this] { report_times(); }), std::memory_order_release);
}

void Tool::report_times() {
  if (DispatchTimer* const running = timer()) write_profile(control.work_dir, running->times(), queues.count(), queues.dispatches());
}

void Tool::report_seen() noexcept {
  if (getpid() != pid_) return;
  try {
    write_seen(control.work_dir, kernels, launches, queues.count(), queues.dispatches());
    report_times();
  } catch (const std::exception& error) {
    log::warning(std::string("the list of kernels could not be written: ") + error.what());
  }
}

void Tool::at_exit() noexcept {
  if (getpid() != pid_ || ended_.exchange(true)) return;
  capture.finish_before_exit();
  if (timer() != nullptr) timer()->finish(last_dispatches_limit);
  report_seen();
}

Tool& tool() { return *instance.load(std::memory_order_acquire); }

Tool* tool_if_loaded() noexcept { return instance.load(std::memory_order_acquire); }

void create_tool(Control control) { instance.store(new Tool(std::move(control)), std::memory_order_release); }

void note_bookkeeping_failure() noexcept {
  if (Tool* const loaded = tool_if_loaded()) loaded->bookkeeping_failed.store(true, std::memory_order_relaxed);
}

}  // namespace kerncap::intercept
