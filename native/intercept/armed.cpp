// A capture under conditions that are decided only after a dispatch ran: every dispatch that matches is a candidate. Each gets the
// barriers of a target (capture.hpp); the worker takes them in the order in which the device comes to them, holds the pre-state of
// one, lets it run and decides. One that does not meet the conditions is completed for the application with its time stamps, what
// is behind it goes on, and its pre-state gives way to that of the next.
#include <algorithm>
#include <thread>

#include "base/log.hpp"
#include "intercept/capture.hpp"
#include "intercept/guard.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/reports.hpp"
#include "intercept/threads.hpp"
#include "intercept/tool.hpp"

namespace kerncap::intercept {
namespace {

constexpr auto look_limit = std::chrono::milliseconds(2);   // for one queue, before the others are looked at
constexpr auto copies_limit = std::chrono::milliseconds(5); // that copies may take to start between two candidates
constexpr auto poll_limit = std::chrono::milliseconds(5);

}  // namespace

void Capture::add_queue(QueueState& queue) {
  if (candidates_) candidates_->add_queue(queue);
}

// Conditions that cannot be decided. A candidate that is being looked at ends first.
void Capture::refuse(const Error& error) noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (submitted_) {
      if (!refused_) refused_ = error;
      leaving_ = true;
    }
  }
  phase_changed_.notify_all();
  if (!leaving_) end(error);
}

bool Capture::enlist(Job job, hsa_amd_queue_intercept_packet_writer writer) {
  QueueState& queue = *job.queue;
  const Packet packet = job.packet;
  Gates* gates = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    if (leaving_) return false;
    gates = candidates_->add(std::move(job));
    if (gates == nullptr) {
      conditions_.missed(1);
      return false;
    }
    auto armed = Phase::Armed;
    phase_.compare_exchange_strong(armed, Phase::Waiting);
    dependents_.add(completion_of(packet));
    if (!submitted_) start_worker();
  }
  phase_changed_.notify_all();
  hsa().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue.queue, 1);
  write_gated(packet, *gates, writer);
  return true;
}

void Capture::pass_watched(QueueState& queue, std::span<const Packet> packets, hsa_amd_queue_intercept_packet_writer writer) noexcept {
  bool behind = candidates_->holds_back(queue);
  std::size_t first = 0;
  for (std::size_t i = 0; i < packets.size(); ++i) {
    if (dependents_.depends(dependencies(packets[i]))) {
      if (i > first) writer(packets.data() + first, i - first);
      write_marked(queue, packets[i], writer);
      first = i + 1;
      behind = true;
    }
    if (behind) dependents_.add(completion_of(packets[i]));
  }
  if (first < packets.size()) writer(packets.data() + first, packets.size() - first);
}

void Capture::write_marked(QueueState& queue, const Packet& packet, hsa_amd_queue_intercept_packet_writer writer) noexcept {
  const auto marks = candidates_->marks(queue);
  if (!marks) return writer(&packet, 1);
  const std::array<Packet, 3> marked = {marks->first, packet, marks->second};
  writer(marked.data(), marked.size());
}

bool Capture::delay_watched(Call call, std::span<const hsa_signal_t> dependencies) noexcept {
  const auto deadline = Clock::now() + delay_limit;
  std::unique_lock lock(mutex_);
  ++copies_waiting_;
  // What a copy waits for may be done without the worker, behind a candidate that has been let go.
  bool delayed = true;
  while ((delayed = must_delay(dependencies)) && Clock::now() < deadline) phase_changed_.wait_for(lock, poll_limit);
  --copies_waiting_;
  if (delayed) (call == Call::Copy ? copy_slipped_ : queue_appeared_) = true;
  return !delayed;
}

bool Capture::watch() {
  held_.emplace(control_.work_dir, control_.budget_bytes);
  while (auto job = next_candidate()) {
    if (look(std::move(*job))) return true;
  }
  return false;
}

std::optional<Job> Capture::next_candidate() {
  for (;;) {
    if (faulted_) throw fault_error();
    {
      std::unique_lock lock(mutex_);
      if (refused_) throw Error(*refused_);
      if (leaving_ || phase_ == Phase::Over) {
        conditions_.missed(candidates_->count());
        return std::nullopt;
      }
      if (candidates_->count() == 0) {
        phase_ = Phase::Armed;
        dependents_.clear();
        phase_changed_.notify_all();
        phase_changed_.wait(lock, [this] { return leaving_ || phase_ == Phase::Over || candidates_->count() > 0; });
        continue;
      }
      if (copies_waiting_ > 0) phase_changed_.wait_for(lock, copies_limit);
    }
    if (auto job = candidates_->arrived(look_limit)) return job;
  }
}

bool Capture::look(Job job) {
  job_ = std::move(job);
  in_hand_ = true;
  copy_slipped_ = queue_appeared_ = others_let_go_ = false;
  Gates& gates = candidates_->gates(*job_.queue);
  const auto started = Clock::now();
  const auto deadline = started + to_duration(control_.timeout_s);
  auto facts = describe_target();
  std::optional<MemoryMap::Hold> hold;
  rest_others(hold);
  Snapshot snapshot(partial(), control_, tool_.topology(), job_.kernel->agent, closure_of(facts),
                    [&] { poll_snapshot(facts, hold, deadline); }, &*held_);
  read_kernarg(facts, snapshot);
  snapshot.holds_launches(tool_.queues.kernarg_vas());
  snapshot.take_pre();

  const auto opened = Clock::now();
  set_phase(Phase::Running);
  gates.open_target.set(0);
  await_target(facts, deadline);
  set_phase(Phase::Snapshot);
  const auto ended = Clock::now();
  if (facts.outcome == "completed") facts.dispatch_ns = duration_ns(job_.kernel->agent, gates.after);
  facts.trigger = decide(facts, snapshot);
  if (facts.trigger.is_null() || !claim()) {
    release_candidate();
    cut_.release();
    set_phase(Phase::Waiting);
    return false;
  }

  start_partial(facts);
  snapshot.keep_pre();
  if (facts.outcome == "completed") snapshot.take_post();
  facts.reasons = disturbances(snapshot);
  facts.dispatch_wall_s = to_seconds(ended - opened);
  facts.snapshot_s = to_seconds(opened - started) + to_seconds(Clock::now() - ended);
  if (facts.outcome == "completed" && !control_.stop_after) {
    release_candidate();
    cut_.release();
    hold.reset();
    set_phase(Phase::Sealing);
  }
  finish(facts, snapshot);
  return true;
}

Json Capture::decide(const CaptureFacts& facts, Snapshot& snapshot) {
  const auto dispatch = as_dispatch(job_.packet);
  Ran ran;
  ran.kernel = job_.kernel;
  ran.grid = grid_of(dispatch);
  ran.workgroup = workgroup_of(dispatch);
  ran.fault_va = facts.fault_va;
  ran.ns = facts.dispatch_ns;
  ran.by_arguments = job_.trigger;
  if (!ran.fault_va && ran.by_arguments.is_null()) ran.looked_at = look_at_floats(facts, snapshot);
  Json trigger = conditions_.after(ran);
  if (facts.fault_va && trigger.is_null()) {
    throw Error("capture.fault", "a dispatch of " + job_.kernel->demangled + " ended with a memory fault, which is none of the conditions",
                "--when fault");
  }
  return trigger;
}

std::vector<LookedAt> Capture::look_at_floats(const CaptureFacts& facts, Snapshot& snapshot) {
  auto list = conditions_.to_look_at(*job_.kernel, facts.kernarg, [&](std::uint64_t va) { return snapshot.region_end(va); });
  for (LookedAt& looked : list) {
    snapshot.each_changed(looked.span.va, looked.span.size, [&](auto before, auto after, std::uint64_t va) {
      looked.found.add(looked.span.type, before, after, va);
    });
  }
  return list;
}

bool Capture::claim() {
  if (take_claim(control_.work_dir)) return true;
  log::info("another process captured; this one goes on without");
  leaving_ = true;
  return false;
}

// The dispatch runs, if it has not yet; the application learns of its end, and what is behind it goes on.
void Capture::release_candidate() noexcept {
  Gates& gates = candidates_->gates(*job_.queue);
  gates.open_target.set(0);
  const auto stop = [this] { return disturbed() || exiting_; };
  in_hand_ = false;
  if (wait_done(gates.after, Clock::time_point::max(), stop) == Waited::Stopped) return;
  complete_for_application(as_dispatch(job_.packet).completion_signal, gates.after);
  gates.after.reset(1);
  gates.open_target.set(1);
  gates.passed.set(1);
  candidates_->done(*job_.queue);
  gates.open_rest.set(0);
}

// Nothing is looked at any more: all candidates that are in queues run.
void Capture::let_all_go() noexcept {
  if (in_hand_) release_candidate();
  while (!faulted_ && !exiting_ && candidates_->count() > 0) {
    auto job = candidates_->arrived(look_limit);
    if (!job) continue;
    job_ = std::move(*job);
    release_candidate();
  }
  if (exiting_ || faulted_) candidates_->open_all();
  candidates_->each_queue([this](QueueState& queue) { restore_profiling(queue); });
}

}  // namespace kerncap::intercept
