// The one instance of everything that the library keeps. In: a control file and the runtime's tables. Out: registries that the
// hooks fill. Created by entry.cpp, reached by hooks through tool().
#pragma once

#include <atomic>
#include <mutex>

#include "intercept/capture.hpp"
#include "intercept/control.hpp"
#include "intercept/dispatch_timer.hpp"
#include "intercept/kernels.hpp"
#include "intercept/launches.hpp"
#include "intercept/memory.hpp"
#include "intercept/queues.hpp"

namespace kerncap::intercept {

class Tool {
 public:
  explicit Tool(Control wanted);

  // Agents and pools, listed when they are first needed: not all runtimes allow it inside OnLoad.
  const Topology& topology();

  // Null unless the application is profiled and has created a queue.
  DispatchTimer* timer() noexcept { return timer_.load(std::memory_order_acquire); }
  // Called when a queue is created: nothing of HSA may be made under a queue's lock, or before the runtime is whole.
  void prepare();

  Capture& capture() noexcept { return *capture_.load(std::memory_order_acquire); }
  // For a request, from the one thread that takes them: this is captured next. Throws Error("capture.busy") while another capture is armed or under way.
  void arm(Control wanted);
  // Nothing that is not under way yet is captured. What was seen until then is written down.
  void disarm() noexcept;
  // The tool has nothing more to do, unless requests may come.
  void step_aside() noexcept;

  // Writes what was seen, once a process, and never in a forked child.
  void report_seen() noexcept;
  // Of a profile, what there is: now and then, and when a queue or the memory failed, after which no handlers may run.
  void report_so_far() noexcept;
  // The application ends, or the runtime does: a capture that is under way is given its time. Once; nothing is seen afterwards.
  void at_exit() noexcept;

  const Control control;
  MemoryMap memory;
  KernelRegistry kernels;
  QueueRegistry queues;
  LaunchLog launches;
  std::atomic<bool> bookkeeping_failed{false};
  std::atomic<unsigned> calls_starting{0};  // of the application: starting.hpp

 private:
  void report_times();
  void watch_faults();

  std::once_flag prepared_once_;
  std::once_flag topology_once_;
  Topology topology_;
  // One for each request; never freed, since a callback of the runtime may be in it.
  std::atomic<Capture*> capture_;
  std::mutex timer_mutex_;
  std::atomic<DispatchTimer*> timer_{nullptr};
  std::atomic<bool> reports_failed_{false};
  std::atomic<bool> ended_{false};
  int pid_;
};

// Valid from OnLoad on; never destroyed.
Tool& tool();
// Null before OnLoad, and where the control file could not be read.
Tool* tool_if_loaded() noexcept;
void create_tool(Control control);

}  // namespace kerncap::intercept
