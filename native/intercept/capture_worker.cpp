// The worker thread of a capture: waits, snapshots, sealing (capture.hpp says in which order).
#include "intercept/capture.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <thread>

#include "base/file.hpp"
#include "base/log.hpp"
#include "bundle/chunk_writer.hpp"
#include "intercept/guard.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/threads.hpp"
#include "intercept/tool.hpp"

namespace kerncap::intercept {
namespace {

namespace fs = std::filesystem;

constexpr auto rest_limit = std::chrono::seconds(5);         // for other queues and copies to come to rest
constexpr auto others_limit = std::chrono::seconds(10);      // that other queues are held while the target runs
constexpr auto step_poll = std::chrono::microseconds(200);   // between two looks at a dispatch of a sequence

// Buffered output of the application is written before its process is ended; a stream that another thread has locked is given up.
void end_process(int status) {
  start_quietly([] { std::fflush(nullptr); }).detach();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  ::_exit(status);
}

}  // namespace

std::string longer(const Control& control) {
  return "--timeout " + std::to_string(static_cast<long>(std::ceil(2 * control.timeout_s))) + "  # seconds; it was " +
         std::to_string(static_cast<long>(control.timeout_s));
}

void remove_quietly(const fs::path& path) noexcept {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

void Capture::require_undisturbed() const {
  if (faulted_) throw fault_error();
  if (disturbed()) {
    throw Error("capture.queue-error", "the queue of the dispatch stopped during the capture: " + status_text(job_.queue->error));
  }
}

void Capture::start_worker() {
  submitted_ = true;
  try {
    start_quietly([this] { run(); }).detach();
  } catch (...) {
    submitted_ = false;
    throw;
  }
}

void Capture::run() noexcept {
  const Inside inside;
  std::optional<Error> failure;
  bool captured = true;
  try {
    if (candidates_) {
      captured = watch();
    } else {
      take();
    }
  } catch (const Error& error) {
    failure = error;
  } catch (const fs::filesystem_error& error) {
    failure = system_error(error.path1().string(), error.code().value());
  } catch (const std::bad_alloc&) {
    failure = Error("host.memory", "the application has no memory left for a snapshot's buffers");
  } catch (const std::exception& error) {
    failure = Error("capture.internal", error.what());
  }
  if (!failure && captured && control_.stop_after && !disturbed()) {
    // The application stands at the captured dispatch until here, and does not get beyond it.
    tool_.report_seen();
    end_process(0);
  }
  if (gates_) {
    gates_->open_target.set(0);
    if (sequence_) sequence_->open_all();
    gates_->open_rest.set(0);
  }
  cut_.release();
  if (failure) remove_quietly(partial());
  if (failure && failure->code() == "host.disk-full") {
    failure.emplace(failure->code(), failure->what(), "-o DIR  # where there is more free space; df -h shows it");
  }
  held_.reset();  // what it took of a full disk is room for the report
  if (failure || phase_ != Phase::Over) end(failure);
  if (candidates_) {
    let_all_go();
  } else {
    forward_completion();
  }
  tool_.step_aside();
  const std::scoped_lock lock(mutex_);
  worker_done_ = true;
  phase_changed_.notify_all();
}

// Nothing else runs, and nothing is released, until cut_.release() and the end of `hold`.
void Capture::rest_others(std::optional<MemoryMap::Hold>& hold) {
  set_phase(Phase::Snapshot);
  hold.emplace(tool_.memory);
  cut_.begin(tool_.queues, *job_.queue, tool_.calls_starting, tool_.topology(), rest_limit);
}

// What may end a snapshot. After a fault of the target it goes on.
void Capture::poll_snapshot(const CaptureFacts& facts, const std::optional<MemoryMap::Hold>& hold, Clock::time_point deadline) const {
  if (facts.outcome != "fault") require_undisturbed();
  if (hold->broken()) throw Error("capture.memory-released", "memory was released while it was being captured");
  if (Clock::now() >= deadline) throw Error("capture.timeout", "the snapshot did not end in time", longer(control_));
}

void Capture::finish(CaptureFacts& facts, Snapshot& snapshot) {
  const Index index = snapshot.finish();
  facts.unreadable.insert(facts.unreadable.end(), snapshot.unreadable().begin(), snapshot.unreadable().end());
  facts.post_s = snapshot.post_s();
  facts.raw_bytes = snapshot.raw_bytes();
  for (const Blob& blob : index.blobs) facts.stored_bytes += blob.size;
  seal(facts, index);
}

void Capture::take() {
  const auto deadline = Clock::now() + to_duration(control_.timeout_s);
  const auto waited = wait_done(gates_->before, deadline, [this] { return disturbed(); });
  require_undisturbed();
  if (waited == Waited::TimedOut) {
    throw Error("capture.timeout", "the packets before the dispatch did not end in time", longer(control_));
  }

  if (sequence_) sequence_->await_whole(deadline, [this] { require_undisturbed(); });
  const auto started = Clock::now();
  auto facts = describe_target();
  std::optional<MemoryMap::Hold> hold;
  rest_others(hold);
  if (sequence_) sequence_->require_closed();

  start_partial(facts);
  Snapshot snapshot(partial(), control_, tool_.topology(), job_.kernel->agent, closure_of(facts),
                    [&] { poll_snapshot(facts, hold, deadline); });
  read_kernarg(facts, snapshot);
  snapshot.holds_launches(tool_.queues.kernarg_vas());
  snapshot.take_pre();
  const auto after_pre = Clock::now();

  set_phase(Phase::Running);
  gates_->open_target.set(0);
  if (facts.each_state) await_steps(facts, snapshot, deadline);
  if (facts.outcome == "completed") await_target(facts, deadline);
  set_phase(Phase::Snapshot);
  const auto before_post = Clock::now();
  facts.dispatch_wall_s = to_seconds(before_post - after_pre);
  if (facts.outcome == "completed") {
    snapshot.take_post();
    facts.dispatch_ns = sequence_ ? sequence_->duration_ns(job_.kernel->agent) : duration_ns(job_.kernel->agent, gates_->after);
    if (!control_.stop_after) {
      // Everything is in staging buffers or on disk: the application may go on while the blobs are closed.
      facts.reasons = disturbances(snapshot);
      forward_completion();
      gates_->open_rest.set(0);
      cut_.release();
      hold.reset();
      set_phase(Phase::Sealing);
    }
  }
  if (facts.reasons.empty()) facts.reasons = disturbances(snapshot);
  if (facts.outcome != "completed") {
    snapshot.forget_between();
    facts.each_state = false;
  }
  facts.snapshot_s = to_seconds(after_pre - started) + to_seconds(Clock::now() - before_post);
  finish(facts, snapshot);
}

// Of a sequence with every state: all dispatches but the last one, a snapshot behind each.
void Capture::await_steps(CaptureFacts& facts, Snapshot& snapshot, Clock::time_point deadline) {
  const auto& steps = sequence_->steps();
  for (std::size_t step = 0; step + 1 < steps.size(); ++step) {
    while (steps[step].done->value() >= 1) {
      if (disturbed()) return fault_of(facts);
      if (Clock::now() >= deadline) throw Error("capture.timeout", "the dispatches did not end in time", longer(control_));
      std::this_thread::sleep_for(step_poll);
    }
    set_phase(Phase::Snapshot);
    snapshot.take_between();
    set_phase(Phase::Running);
    sequence_->open(step + 1);
  }
}

// A fault of the dispatch that runs is part of the capture; whatever else stops a queue is not.
void Capture::fault_of(CaptureFacts& facts) const {
  if (!faulted_) return require_undisturbed();
  facts.outcome = "fault";
  facts.fault_va = fault_va_.load();
  if (sequence_) facts.fault_step = sequence_->first_unfinished();
}

void Capture::await_target(CaptureFacts& facts, Clock::time_point deadline) {
  const auto stop = [this] { return disturbed(); };
  const Signal& done = target_done();
  auto waited = wait_done(done, std::min(deadline, Clock::now() + others_limit), stop);
  if (waited == Waited::TimedOut) {
    // It may be waiting for work that is being held.
    others_let_go_ = true;
    set_phase(Phase::Running);
    cut_.release();
    cut_.reasons.push_back("other queues were let go while the dispatch ran, which took longer than 10 s");
    waited = wait_done(done, deadline, stop);
  }
  if (waited == Waited::Stopped) return fault_of(facts);
  if (waited == Waited::TimedOut) throw Error("capture.timeout", "the dispatch did not end in time", longer(control_));
}

std::vector<std::string> Capture::disturbances(const Snapshot& snapshot) const {
  auto reasons = cut_.reasons;
  for (auto& reason : snapshot.unsettled()) reasons.push_back(std::move(reason));
  if (copy_slipped_) reasons.emplace_back("a copy of the application could not be delayed until the snapshot was over");
  if (queue_appeared_) reasons.emplace_back("a queue could not be kept from being created until the snapshot was over");
  if (tool_.bookkeeping_failed) reasons.emplace_back("an allocation or a queue could not be followed");
  return reasons;
}

void Capture::seal(CaptureFacts& facts, const Index& index) {
  const auto& work_dir = control_.work_dir;
  write_json_atomic(partial() / "index.json", to_json(index));
  write_json_atomic(partial() / "capture.json", capture_document(facts, index));
  ChunkWriter::sync_blobs(partial() / "blobs/sha256");
  for (const char* directory : {"blobs", "."}) sync_directory(partial() / directory);
  std::error_code error;
  if (fs::exists(work_dir / "capture")) throw Error("capture.exists", "the work directory already holds a capture");
  fs::rename(partial(), work_dir / "capture", error);
  if (error) throw system_error("cannot rename the capture", error.value());
  sync_directory(work_dir);
}

void Capture::restore_profiling(QueueState& queue) noexcept {
  tool_.queues.while_alive(queue, [&] {
    if (!queue.profiled) hsa().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue.queue, 0);
  });
}

void Capture::forward_completion() noexcept {
  if (completed_.exchange(true)) return;
  // Unbounded on purpose: whenever the dispatch ends, the application must learn of it. A queue that stopped never ends it.
  const auto stop = [this] { return disturbed(); };
  if (sequence_) {
    if (sequence_->forward(stop)) restore_profiling(*job_.queue);
    return;
  }
  if (wait_done(gates_->after, Clock::time_point::max(), stop) == Waited::Stopped) return;
  restore_profiling(*job_.queue);
  complete_for_application(as_dispatch(job_.packet).completion_signal, gates_->after);
}

}  // namespace kerncap::intercept
