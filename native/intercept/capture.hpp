// The capture of one dispatch. In: the target's packet, met in a packet callback. Out: capture/ in the work directory, or an
// error there. begin() puts barriers around the target and returns at once; one worker thread does everything else:
//
//   queue:   ... barrier(signals `before`) | barrier(waits `open_target`) | target(signals `after`) | barrier(waits `open_rest`, signals `passed`) ...
//   worker:  wait before, hold other queues, pre-state, open target, wait after, post-state, complete the application's signal,
//            open rest, seal
//
// Of a sequence (sequence.hpp) the target is the first dispatch; the others follow, and the last two barriers come behind them.
//
// Whatever fails, the gates are opened and the application goes on. The worker: capture_worker.cpp, capture_facts.cpp. Under conditions
// that are decided only after a dispatch ran, all this is done with each one that matches, until one meets them: armed.cpp.
// Called by hooks_queue.cpp and entry.cpp.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_api_trace.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "base/error.hpp"
#include "intercept/candidates.hpp"
#include "intercept/conditions.hpp"
#include "intercept/control.hpp"
#include "intercept/cut.hpp"
#include "intercept/dependents.hpp"
#include "intercept/gates.hpp"
#include "intercept/held_state.hpp"
#include "intercept/kernels.hpp"
#include "intercept/manifest.hpp"
#include "intercept/memory.hpp"
#include "intercept/packets.hpp"
#include "intercept/queues.hpp"
#include "intercept/sequence.hpp"
#include "intercept/signals.hpp"

namespace kerncap::intercept {

class Tool;

// The hint of a time-out.
std::string longer(const Control& control);
void remove_quietly(const std::filesystem::path& path) noexcept;

class Capture {
 public:
  Capture(Tool& tool, Control control);
  const Control& control() const noexcept { return control_; }

  // What begin() needs and must not create under a queue's lock. Called when a queue is created, or a request comes.
  void prepare();
  void add_queue(QueueState& queue);

  struct Wanted {
    std::uint64_t match_index = 0;  // among those that match by name and geometry
    Json trigger;                   // the condition that it meets; null without conditions
  };
  // For the dispatch that is meant: the n-th of a matching kernel with the launch geometry that was asked for, of those that meet
  // the conditions. Where these are decided later: for every one that may meet them. `queue_index`: which dispatch of its queue it is.
  std::optional<Wanted> wants(const KernelEntry& kernel, const Packet& packet, std::uint64_t queue_index) noexcept;
  // What was asked of the dispatches under `--when`; null when nothing was.
  Json conditions_report() const { return conditions_.report(); }

  // Writes the target between its barriers and starts the worker. False: not captured, the packet is the caller's.
  bool begin(QueueState& queue, const KernelEntry& kernel, const Packet& packet, std::uint64_t queue_index, Wanted wanted,
             hsa_amd_queue_intercept_packet_writer writer) noexcept;

  // True from the target's submission until the application may go on.
  bool under_way() const noexcept {
    const auto phase = phase_.load();
    return phase == Phase::Waiting || phase == Phase::Snapshot || phase == Phase::Running;
  }
  // Packets that are submitted meanwhile: handed on, with a marker in front of the first that waits for the target.
  void pass_on(QueueState& queue, std::span<const Packet> packets, hsa_amd_queue_intercept_packet_writer writer) noexcept;

  // Called before the application learns of it, which may end the process: what is being captured is sealed first.
  void queue_failed(hsa_status_t status) noexcept;
  void memory_fault(std::uint64_t va) noexcept;
  enum class Call { Copy, Queue };
  // Called before the application starts a copy or makes a queue: waits (bounded) while a snapshot is taken, and from the target's
  // submission on when the copy depends on it. False: it waited in vain.
  bool delay(Call call, std::span<const hsa_signal_t> dependencies) noexcept;
  bool must_delay(std::span<const hsa_signal_t> dependencies) noexcept;
  // Nothing is begun from now on. False: too late, or there is nothing to call off.
  bool call_off() noexcept;
  // It has ended, with or without a capture.
  bool over() noexcept;
  // Waits for a capture that is under way; none begins from then on. Gives back the signals that no packet needs any more.
  void finish_before_exit() noexcept;

 private:
  static constexpr auto delay_limit = std::chrono::seconds(30);  // that a call of the application is delayed at most
  enum class Phase { Armed, Waiting, Snapshot, Running, Sealing, Over };

  std::optional<Wanted> meets(const KernelEntry& kernel, const void* kernarg, std::uint64_t match_index) noexcept;
  // armed.cpp
  void refuse(const Error& error) noexcept;
  bool enlist(Job job, hsa_amd_queue_intercept_packet_writer writer);
  void pass_watched(QueueState& queue, std::span<const Packet> packets, hsa_amd_queue_intercept_packet_writer writer) noexcept;
  void write_marked(QueueState& queue, const Packet& packet, hsa_amd_queue_intercept_packet_writer writer) noexcept;
  bool delay_watched(Call call, std::span<const hsa_signal_t> dependencies) noexcept;
  bool watch();  // true: captured
  std::optional<Job> next_candidate();
  bool look(Job job);
  Json decide(const CaptureFacts& facts, Snapshot& snapshot);
  std::vector<LookedAt> look_at_floats(const CaptureFacts& facts, Snapshot& snapshot);
  bool claim();
  void release_candidate() noexcept;
  void let_all_go() noexcept;

  static void write_gated(const Packet& target, const Gates& gates, hsa_amd_queue_intercept_packet_writer writer) noexcept;
  void run() noexcept;
  void take();
  CaptureFacts describe_target();
  void describe_code(DispatchFacts& facts) const;
  void describe_later(CaptureFacts& facts) const;
  std::filesystem::path partial() const;  // what is not sealed yet
  void start_partial(CaptureFacts& facts) const;
  std::vector<Allocation> closure_of(CaptureFacts& facts) const;
  std::vector<std::byte> kernarg_of(const DispatchFacts& facts, Snapshot& snapshot) const;
  void read_kernarg(CaptureFacts& facts, Snapshot& snapshot) const;
  void await_steps(CaptureFacts& facts, Snapshot& snapshot, Clock::time_point deadline);
  void rest_others(std::optional<MemoryMap::Hold>& hold);
  void poll_snapshot(const CaptureFacts& facts, const std::optional<MemoryMap::Hold>& hold, Clock::time_point deadline) const;
  void finish(CaptureFacts& facts, Snapshot& snapshot);
  void seal(CaptureFacts& facts, const Index& index);
  const Signal& target_done() { return candidates_ ? candidates_->gates(*job_.queue).after : gates_->after; }
  void await_target(CaptureFacts& facts, Clock::time_point deadline);
  void fault_of(CaptureFacts& facts) const;
  void forward_completion() noexcept;
  // As the application wishes it.
  void restore_profiling(QueueState& queue) noexcept;
  void start_worker();
  void end(const std::optional<Error>& failure) noexcept;
  void drop_signals() noexcept;
  void set_phase(Phase phase);
  std::vector<std::string> disturbances(const Snapshot& snapshot) const;
  Error fault_error() const;
  bool disturbed() const;  // the worker's, like the next: what was captured last can no longer end
  void require_undisturbed() const;

  Tool& tool_;
  const Control control_;
  std::atomic<Phase> phase_{Phase::Armed};
  const Clock::time_point counts_from_;
  std::atomic<std::uint64_t> named_{0};    // dispatches of kernels that are meant
  std::atomic<std::uint64_t> matches_{0};  // those with the launch geometry that is meant
  Conditions conditions_;
  std::unique_ptr<Gates> gates_;
  std::array<std::unique_ptr<Signal>, 16> markers_;
  std::atomic<std::size_t> markers_used_{0};
  Dependents dependents_;
  std::unique_ptr<Sequence> sequence_;  // null: one dispatch
  Job job_;
  Cut cut_;
  std::atomic<std::uint64_t> fault_va_{0};
  std::atomic<bool> faulted_{false};
  std::atomic<bool> copy_slipped_{false};
  std::atomic<bool> queue_appeared_{false};
  std::atomic<bool> others_let_go_{false};  // while the target runs, since it may wait for them
  std::atomic<bool> completed_{false};
  std::atomic<bool> submitted_{false};    // the gates are in packets
  bool worker_done_ = false;
  // Under conditions that are decided later
  const std::unique_ptr<Candidates> candidates_;  // null without
  std::optional<HeldState> held_;                 // the worker's
  std::optional<Error> refused_;                  // why nothing more is looked at
  bool in_hand_ = false;                          // job_ is a candidate that has not been let go
  std::atomic<bool> leaving_{false};              // nothing more is looked at
  std::atomic<bool> exiting_{false};
  int copies_waiting_ = 0;
  std::mutex mutex_;
  std::condition_variable phase_changed_;
};

}  // namespace kerncap::intercept
