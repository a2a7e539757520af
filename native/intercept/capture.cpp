#include "intercept/capture.hpp"

#include <array>
#include <cstdio>

#include "base/log.hpp"
#include "intercept/guard.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/reports.hpp"
#include "intercept/threads.hpp"
#include "intercept/tool.hpp"
#include "intercept/trials.hpp"

namespace kerncap::intercept {
namespace {

constexpr auto fault_seal_limit = std::chrono::seconds(120);  // that the runtime's fault handler is kept waiting at most
constexpr auto error_patience = std::chrono::seconds(2);      // that the callback of a queue's error is, for a dispatch that runs
constexpr auto worker_limit = std::chrono::milliseconds(100);  // that the application's end waits for a worker that has finished

}  // namespace

Capture::Capture(Tool& tool, Control control)
    : tool_(tool),
      control_(std::move(control)),
      counts_from_(Clock::now() + to_duration(control_.after_ms / 1000)),
      conditions_(control_.when, control_.dispatch, tool.kernels),
      candidates_(conditions_.decided_later() ? std::make_unique<Candidates>() : nullptr) {
  if (control_.sequence) sequence_ = std::make_unique<Sequence>(*control_.sequence, control_.dispatch, control_.launch, tool.kernels);
}

void Capture::prepare() {
  const std::scoped_lock lock(mutex_);
  if (gates_ || candidates_ || !control_.kernel || control_.mode != Mode::Capture) return;
  gates_ = std::make_unique<Gates>();
  for (auto& marker : markers_) marker = std::make_unique<Signal>(1);
  if (sequence_) sequence_->prepare();
}

std::optional<Capture::Wanted> Capture::wants(const KernelEntry& kernel, const Packet& packet, std::uint64_t queue_index) noexcept {
  const bool open = phase_.load(std::memory_order_relaxed) == Phase::Armed || (candidates_ && under_way());
  if (!open || Clock::now() < counts_from_) return std::nullopt;
  const auto dispatch = as_dispatch(packet);
  const Dim3 grid = grid_of(dispatch), workgroup = workgroup_of(dispatch);
  try {
    tool_.launches.add(kernel, grid, workgroup, named_.fetch_add(1, std::memory_order_relaxed));
  } catch (const std::bad_alloc&) {
    note_bookkeeping_failure();
  }
  if (control_.mode != Mode::Capture || !control_.launch.accepts(grid, workgroup)) return std::nullopt;
  const bool per_queue = control_.sequence && control_.sequence->per_queue;
  const auto index = per_queue ? queue_index : matches_.fetch_add(1, std::memory_order_relaxed);
  if (!conditions_.none()) return meets(kernel, dispatch.kernarg_address, index);
  if (index != control_.dispatch) return std::nullopt;
  return Wanted{index, nullptr};
}

std::optional<Capture::Wanted> Capture::meets(const KernelEntry& kernel, const void* kernarg, std::uint64_t match_index) noexcept {
  try {
    Json trigger = conditions_.by_arguments(kernel, kernarg);
    if (candidates_ || (!trigger.is_null() && conditions_.meant())) return Wanted{match_index, std::move(trigger)};
  } catch (const Error& error) {
    refuse(error);
  } catch (const std::exception& error) {
    refuse(Error("capture.internal", error.what()));
  }
  return std::nullopt;
}

bool Capture::begin(QueueState& queue, const KernelEntry& kernel, const Packet& packet, std::uint64_t queue_index, Wanted wanted,
                    hsa_amd_queue_intercept_packet_writer writer) noexcept {
  Job job{&queue, &kernel, packet, queue_index, wanted.match_index, std::move(wanted.trigger), trials().is_tried(kernel.name)};
  try {
    if (candidates_) return enlist(std::move(job), writer);
    if (!take_claim(control_.work_dir)) {
      log::info("another process captures; this one goes on without");
      phase_ = Phase::Over;
      tool_.step_aside();
      return false;
    }
    if (!gates_) throw Error("capture.hsa", "no signals could be created for the capture");
    job_ = std::move(job);
    dependents_.add(completion_of(packet));
    auto armed = Phase::Armed;
    if (!phase_.compare_exchange_strong(armed, Phase::Waiting)) return false;  // the application ends, or a kernel faulted
    start_worker();
  } catch (const Error& error) {
    end(error);
    return false;
  } catch (const std::exception& error) {
    end(Error("capture.internal", error.what()));
    return false;
  }
  // Time stamps for the dispatch; the application's wish is restored afterwards.
  hsa().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue.queue, 1);
  if (sequence_) {
    const std::array<Packet, 3> first = {barrier(hsa_signal_t{0}, gates_->before.handle()),
                                         barrier(gates_->open_target.handle(), hsa_signal_t{0}),
                                         sequence_->begin(packet, kernel, queue_index)};
    writer(first.data(), first.size());
    return true;
  }
  write_gated(packet, *gates_, writer);
  return true;
}

void Capture::write_gated(const Packet& target, const Gates& gates, hsa_amd_queue_intercept_packet_writer writer) noexcept {
  const std::array<Packet, 4> packets = {
      barrier(hsa_signal_t{0}, gates.before.handle()), barrier(gates.open_target.handle(), hsa_signal_t{0}),
      fenced_target(target, gates.after.handle()), barrier(gates.open_rest.handle(), gates.passed.handle())};
  writer(packets.data(), packets.size());
}

void Capture::pass_on(QueueState& queue, std::span<const Packet> packets, hsa_amd_queue_intercept_packet_writer writer) noexcept {
  if (candidates_) return pass_watched(queue, packets, writer);
  if (&queue == job_.queue && sequence_ && sequence_->gathering()) {
    for (const Packet& packet : packets) dependents_.add(completion_of(packet));
    const std::array<Packet, 2> closing = {barrier(hsa_signal_t{0}, gates_->after.handle()),
                                           barrier(gates_->open_rest.handle(), gates_->passed.handle())};
    return sequence_->add(packets, closing, writer);
  }
  std::size_t first = 0;  // that can end only after the target
  if (&queue != job_.queue && !queue.waits_for_target) {
    while (first < packets.size() && !dependents_.depends(dependencies(packets[first]))) ++first;
    if (first > 0) writer(packets.data(), first);
    if (first == packets.size()) return;
    if (const auto marker = markers_used_.fetch_add(1); marker < markers_.size()) {
      const Packet all_before = barrier(hsa_signal_t{0}, markers_[marker]->handle());
      writer(&all_before, 1);
      queue.before_waiting = markers_[marker].get();
    }
    queue.waits_for_target = true;
  }
  for (const Packet& packet : packets.subspan(first)) dependents_.add(completion_of(packet));
  writer(packets.data() + first, packets.size() - first);
}

void Capture::set_phase(Phase phase) {
  {
    const std::scoped_lock lock(mutex_);
    phase_ = phase;
  }
  phase_changed_.notify_all();
}

bool Capture::disturbed() const { return faulted_ || (job_.queue != nullptr && job_.queue->failed()); }

Error Capture::fault_error() const {
  std::array<char, 24> va{};
  std::snprintf(va.data(), va.size(), "0x%llx", static_cast<unsigned long long>(fault_va_.load()));
  return {"capture.fault", "a kernel of the application accessed " + std::string(va.data()) +
                               ", a memory fault, before the dispatch that was to be captured"};
}

void Capture::end(const std::optional<Error>& failure) noexcept {
  // While there is a worker, it must learn of queues that are destroyed: it steps aside itself.
  if (!submitted_) tool_.step_aside();
  if (failure) {
    report_error(control_.work_dir, *failure);
  }
  tool_.report_seen();
  set_phase(Phase::Over);
}

void Capture::queue_failed(hsa_status_t status) noexcept {
  if (status == HSA_STATUS_SUCCESS) return;
  const auto phase = phase_.load();
  if (phase == Phase::Armed || phase == Phase::Over || (candidates_ && phase == Phase::Waiting)) return;
  const auto deadline = Clock::now() + fault_seal_limit;
  std::unique_lock lock(mutex_);
  do {
    // A dispatch that runs on may itself wait for what the application does next.
    if (!phase_changed_.wait_for(lock, error_patience, [this] { return phase_ != Phase::Running; })) return;
    phase_changed_.wait_until(lock, deadline, [this] { return phase_ == Phase::Over || phase_ == Phase::Running; });
  } while (phase_ == Phase::Running);
}

void Capture::memory_fault(std::uint64_t va) noexcept {
  fault_va_ = va;
  faulted_ = true;
  auto phase = Phase::Armed;
  if (phase_.compare_exchange_strong(phase, Phase::Over)) return end(fault_error());
  if (phase == Phase::Over) return;
  // The runtime ends the process when this returns: what is there is sealed first.
  std::unique_lock lock(mutex_);
  phase_changed_.wait_for(lock, fault_seal_limit, [this] { return phase_ == Phase::Over; });
}

bool Capture::must_delay(std::span<const hsa_signal_t> dependencies) noexcept {
  if (!under_way() || others_let_go_) return false;
  if (phase_ != Phase::Waiting) return true;
  return candidates_ ? dependents_.blocks(dependencies) : dependents_.depends(dependencies);
}

bool Capture::delay(Call call, std::span<const hsa_signal_t> dependencies) noexcept {
  if (!must_delay(dependencies)) return true;
  if (candidates_) return delay_watched(call, dependencies);
  if (sequence_ && phase_ == Phase::Waiting) sequence_->copy_started();
  std::unique_lock lock(mutex_);
  if (phase_changed_.wait_for(lock, delay_limit, [&] { return !under_way() || others_let_go_; })) return true;
  (call == Call::Copy ? copy_slipped_ : queue_appeared_) = true;
  return false;
}

void Capture::finish_before_exit() noexcept {
  call_off();
  exiting_ = true;
  std::unique_lock lock(mutex_);
  if (!phase_changed_.wait_for(lock, to_duration(control_.timeout_s), [&] { return phase_ == Phase::Over; })) return;
  // Not for long: after a capture that failed the worker waits for the dispatch, which may never end.
  phase_changed_.wait_for(lock, worker_limit, [&] { return !submitted_ || worker_done_; });
  drop_signals();
}

bool Capture::over() noexcept {
  const std::scoped_lock lock(mutex_);
  return phase_ == Phase::Over && (!submitted_ || worker_done_);
}

bool Capture::call_off() noexcept {
  const std::scoped_lock lock(mutex_);
  leaving_ = true;
  auto armed = Phase::Armed;
  const bool idle = phase_.compare_exchange_strong(armed, Phase::Over);
  phase_changed_.notify_all();
  return idle;
}

void Capture::drop_signals() noexcept {
  if (candidates_) {
    if (submitted_ && !worker_done_) return;
    candidates_->drop_signals();
    cut_.drop_signals();
  } else if (!submitted_) {
    gates_.reset();
  } else if (worker_done_ && gates_ && gates_->passed.value() < 1) {
    gates_.reset();
    cut_.drop_signals();
  }
  if (sequence_ && (!submitted_ || worker_done_)) sequence_->drop_signals();
  // Those that were not used are in no packet; the others end with what was before them in their queue.
  for (std::size_t i = 0; i < markers_.size(); ++i)
    if (markers_[i] && (i >= markers_used_ || markers_[i]->value() < 1)) markers_[i].reset();
}

}  // namespace kerncap::intercept
