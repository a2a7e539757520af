#include "intercept/tool.hpp"

#include <unistd.h>

#include "base/log.hpp"
#include "intercept/attach.hpp"
#include "intercept/guard.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/reports.hpp"

namespace kerncap::intercept {
namespace {

std::atomic<Tool*> instance{nullptr};
constexpr auto last_dispatches_limit = std::chrono::seconds(2);  // that the application's end waits for dispatches to end

Clock::duration hold_limit(const Control& control) { return to_duration(3 * control.timeout_s); }

hsa_status_t on_system_event(const hsa_amd_event_t* event, void* data) {
  if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT) {
    Tool& here = *static_cast<Tool*>(data);
    if (here.control.mode == Mode::Profile) here.report_so_far();
    else here.capture().memory_fault(event->memory_fault.virtual_address);
  }
  return HSA_STATUS_ERROR;  // not handled: the runtime or the application reacts as it always does
}

}  // namespace

Tool::Tool(Control wanted)
    : control(std::move(wanted)),
      kernels(KernelSelector(control.kernel, control.match), control.mode == Mode::Attach || control.sequence),
      capture_(new Capture(*this, control)),
      pid_(getpid()) {
  memory.set_hold_limit(hold_limit(control));
}

const Topology& Tool::topology() {
  std::call_once(topology_once_, [this] {
    const Inside inside;
    topology_.load();
  });
  return topology_;
}

void Tool::prepare() {
  capture().prepare();
  const bool attach = control.mode == Mode::Attach;
  const bool captures = attach || (control.mode == Mode::Capture && control.kernel);
  if (captures || control.mode == Mode::Profile) std::call_once(prepared_once_, [this] { watch_faults(); });
  if (attach) watch_requests(*this);
  if (control.mode != Mode::Profile) return;
  const std::scoped_lock lock(timer_mutex_);
  if (timer() == nullptr) timer_.store(new DispatchTimer([this] { report_so_far(); }), std::memory_order_release);
}

void Tool::watch_faults() {
  topology();
  check(hsa().amd.hsa_amd_register_system_event_handler_fn(on_system_event, this), "hsa_amd_register_system_event_handler");
}

void Tool::arm(Control wanted) {
  Capture& last = capture();
  const bool idle = !last.control().kernel;
  if (!idle && !last.over()) {
    throw Error("capture.busy", "another capture of this process is under way", "kerncap trigger PID KERNEL  # when that one has ended");
  }
  last.finish_before_exit();
  memory.set_hold_limit(hold_limit(wanted));
  launches.clear();
  for (QueueState* queue : queues.alive()) {
    queue->waits_for_target = false;
    queue->before_waiting = nullptr;
    queue->after_waiting = nullptr;
  }
  KernelSelector selector(wanted.kernel, wanted.match);
  auto next = std::make_unique<Capture>(*this, std::move(wanted));
  next->prepare();
  for (QueueState* queue : queues.alive()) next->add_queue(*queue);
  queues.restart_counts();
  capture_.store(next.release(), std::memory_order_release);
  kernels.select(std::move(selector));
}

void Tool::disarm() noexcept {
  if (capture().call_off()) report_seen();
}

void Tool::step_aside() noexcept {
  if (control.mode != Mode::Attach) stepped_aside = true;
}

void Tool::report_times() {
  DispatchTimer* const running = timer();
  if (running == nullptr) return;
  write_profile(control.work_dir, running->times(), queues.count(), queues.dispatches(), ended_);
}

void Tool::report_seen() noexcept {
  std::error_code ignored;
  // A request's directory is gone once its capture has been fetched.
  if (getpid() != pid_ || !std::filesystem::exists(capture().control().work_dir, ignored)) return;
  try {
    write_seen(capture().control().work_dir, kernels, launches, queues.count(), queues.dispatches(), capture().conditions_report());
    report_times();
  } catch (const std::exception& error) {
    log::warning(std::string("the list of kernels could not be written: ") + error.what());
  }
}

void Tool::report_so_far() noexcept {
  std::error_code ignored;
  // Who asked is gone: a daemon outlives its command.
  if (reports_failed_ || !std::filesystem::exists(control.work_dir, ignored)) return;
  try {
    report_times();
  } catch (const std::exception& error) {
    if (!reports_failed_.exchange(true)) log::warning(std::string("the times until now could not be written: ") + error.what());
  }
}

void Tool::at_exit() noexcept {
  if (getpid() != pid_ || ended_.exchange(true)) return;
  capture().finish_before_exit();
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
