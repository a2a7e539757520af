// Queues: every queue that the application creates becomes an intercept queue, and its packets pass through on_packets().
#include <hsa/amd_hsa_queue.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "base/log.hpp"
#include "intercept/guard.hpp"
#include "intercept/hooks.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/packets.hpp"
#include "intercept/starting.hpp"
#include "intercept/trials.hpp"

namespace kerncap::intercept {
namespace {

// What the runtime prints for a queue without a callback; the tool's callback took that queue's place.
// Source: ROCr, core::Queue::DefaultErrorHandler.
void default_queue_error(hsa_status_t status, const hsa_queue_t* queue) {
  std::fprintf(stderr, "Queue at %p inactivated due to async error:\n\t%s\n", static_cast<const void*>(queue),
               status_text(status).c_str());
}

void on_queue_error(hsa_status_t status, hsa_queue_t* queue, void* data) noexcept {
  auto* state = static_cast<QueueState*>(data);
  state->error = status;
  tool().capture().queue_failed(status);
  tool().report_so_far();
  if (state->callback != nullptr) {
    state->callback(status, queue, state->callback_data);
  } else {
    default_queue_error(status, queue);
  }
}

void time_packets(DispatchTimer& timer, QueueState& state, std::span<const Packet> packets,
                  hsa_amd_queue_intercept_packet_writer writer) {
  std::vector<Packet> batch;
  try {
    batch.assign(packets.begin(), packets.end());
    state.dispatches += static_cast<std::uint64_t>(std::count_if(batch.begin(), batch.end(), is_dispatch));
    timer.prepare(state, batch, tool().kernels);
  } catch (const std::exception&) {
    // Out of signals or memory. What has been prepared goes out so; the rest is not timed.
    note_bookkeeping_failure();
    if (batch.empty()) return writer(packets.data(), packets.size());
  }
  writer(batch.data(), batch.size());
}

// An autotuner's, unless these are wanted, or every dispatch of a queue counts.
bool is_trial(const Control& control, KernelEntry& kernel) {
  const bool all_count = control.trials || (control.sequence && control.sequence->per_queue);
  if (all_count || !trials().is_tried(kernel.name)) return false;
  kernel.trials.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// Runs under the runtime's lock of this queue: nothing here may wait.
void on_packets(const void* packets, std::uint64_t count, std::uint64_t, void* data,
                hsa_amd_queue_intercept_packet_writer writer) noexcept {
  if (stepped_aside.load(std::memory_order_relaxed)) return writer(packets, count);
  const Inside inside;
  auto& state = *static_cast<QueueState*>(data);
  if (DispatchTimer* const timer = tool().timer()) return time_packets(*timer, state, {static_cast<const Packet*>(packets), count}, writer);
  auto& capture = tool().capture();
  const auto write = [&](std::span<const Packet> part) {
    if (capture.under_way()) return capture.pass_on(state, part, writer);
    writer(part.data(), part.size());
  };
  walk_batch({static_cast<const Packet*>(packets), static_cast<std::size_t>(count)}, write,
             [&](const Packet& packet, auto flush) {
               const auto index = state.dispatches.fetch_add(1, std::memory_order_relaxed);
               const auto dispatch = as_dispatch(packet);
               state.kernarg_va.store(reinterpret_cast<std::uint64_t>(dispatch.kernarg_address), std::memory_order_relaxed);
               KernelEntry* kernel = tool().kernels.find(dispatch.kernel_object);
               if (kernel == nullptr) return false;
               kernel->dispatches.fetch_add(1, std::memory_order_relaxed);
               if (!kernel->matched.load(std::memory_order_relaxed)) return false;
               if (is_trial(capture.control(), *kernel)) return false;
               auto wanted = capture.wants(*kernel, packet, index);
               if (!wanted) return false;
               flush();
               return capture.begin(state, *kernel, packet, index, std::move(*wanted), writer);
             });
}

// An intercept queue. False: there is none, and the runtime's own constructor is to be called.
bool create_intercepted(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, QueueCallback callback, void* data,
                        uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) noexcept {
  QueueState* added = nullptr;
  try {
    tool().prepare();
    added = &tool().queues.add();
    tool().capture().add_queue(*added);
  } catch (...) {
    note_bookkeeping_failure();
    return false;
  }
  QueueState& state = *added;
  state.agent = agent;
  state.type = type;
  state.callback = callback;
  state.callback_data = data;
  const auto created = hsa().amd.hsa_amd_queue_intercept_create_fn(agent, size, type, on_queue_error, &state, private_bytes,
                                                                   group_bytes, queue);
  if (created != HSA_STATUS_SUCCESS) {
    // The runtime refused an intercept queue (a size below its minimum, a type it cannot wrap): a plain one still works.
    note_bookkeeping_failure();
    return false;
  }
  state.queue = *queue;
  state.alive = true;
  if (tool().timer() != nullptr) hsa().amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
  if (hsa().amd.hsa_amd_queue_intercept_register_fn(*queue, on_packets, &state) != HSA_STATUS_SUCCESS) note_bookkeeping_failure();
  if (type == HSA_QUEUE_TYPE_COOPERATIVE) tool().queues.share(state);
  return true;
}

// The runtime has one cooperative queue for each GPU, gives it to all who ask and counts them. An intercept queue would own it and
// delete it behind the runtime's back. So there is one of these for each GPU, too, and it is never destroyed.
// Source: ROCr, GpuAgent::QueueCreate, GpuAgent::GWSRelease, AqlQueue::Destroy, QueueWrapper.
hsa_queue_t* cooperative_queue(hsa_agent_t agent) noexcept {
  const QueueState* const shared = tool().queues.find_shared([&](const QueueState& state) { return state.agent.handle == agent.handle; });
  return shared == nullptr ? nullptr : shared->queue;
}

bool is_cooperative(const hsa_queue_t* queue) noexcept {
  return tool().queues.find_shared([&](const QueueState& state) { return state.queue == queue; }) != nullptr;
}

// As create_intercepted().
bool share_or_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, QueueCallback callback, void* data,
                     uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) noexcept {
  const auto create = [&] { return create_intercepted(agent, size, type, callback, data, private_bytes, group_bytes, queue); };
  if (type != HSA_QUEUE_TYPE_COOPERATIVE) return create();
  static std::mutex one_at_a_time;
  const std::scoped_lock lock(one_at_a_time);
  hsa_queue_t* const there = cooperative_queue(agent);
  if (there != nullptr) *queue = there;
  return there != nullptr || create();
}

hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, QueueCallback callback, void* data,
                          uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) noexcept {
  const auto original = [&] {
    return hsa().core.hsa_queue_create_fn(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  };
  if (queue == nullptr) return original();
  if (Inside::already()) {
    hsa_queue_t* const there = type == HSA_QUEUE_TYPE_COOPERATIVE ? cooperative_queue(agent) : nullptr;
    if (there == nullptr) return original();
    *queue = there;
    return HSA_STATUS_SUCCESS;
  }
  const Starting starting(Capture::Call::Queue);
  const Inside inside;
  return share_or_create(agent, size, type, callback, data, private_bytes, group_bytes, queue) ? HSA_STATUS_SUCCESS : original();
}

// Before a queue is destroyed. One that is part of a capture lives until that capture has ended. The lock does not cover the call:
// the runtime waits in it for its event thread, which may itself be inside a hook.
void give_up(const hsa_queue_t* queue) {
  const auto guard = tool().memory.lock_for_release();
  tool().queues.give_up(queue);
}

// What an intercept queue can be. Where its ring is to lie is a wish for speed, which one cannot fulfil.
bool can_be_intercepted(const newer::QueueDescriptor& wanted) {
  const auto zero = [](const auto& bytes) { return std::all_of(bytes.begin(), bytes.end(), [](auto byte) { return byte == 0; }); };
  return wanted.version == 1 && wanted.engine == 0 && wanted.traffic_class == 0 && wanted.ring_bytes % sizeof(Packet) == 0 &&
         zero(wanted.reserved_header) && zero(wanted.reserved_compute) && zero(wanted.reserved);
}

// As a queue is made by the descriptor's constructor: with its priority and the compute units that it may use.
hsa_status_t create_described(hsa_agent_t agent, newer::QueueDescriptor& wanted) noexcept {
  const auto original = [&] { return hsa().amd_queue_create(agent, &wanted, 1); };
  if (!can_be_intercepted(wanted)) {
    if (wanted.engine == 0) note_bookkeeping_failure();
    return original();
  }
  hsa_queue_t* queue = nullptr;
  constexpr auto group_bytes = std::numeric_limits<std::uint32_t>::max();  // the runtime's default
  if (!share_or_create(agent, static_cast<std::uint32_t>(wanted.ring_bytes / sizeof(Packet)), wanted.type, wanted.callback, wanted.callback_data,
                          wanted.private_bytes, group_bytes, &queue))
    return original();
  hsa_status_t status = HSA_STATUS_SUCCESS;
  if (wanted.priority != HSA_AMD_QUEUE_PRIORITY_NORMAL) status = hsa().amd.hsa_amd_queue_set_priority_fn(queue, wanted.priority);
  if (status == HSA_STATUS_SUCCESS && wanted.cu_mask_bits != 0)
    status = hsa().amd.hsa_amd_queue_cu_set_mask_fn(queue, wanted.cu_mask_bits, wanted.cu_mask);
  if (status != HSA_STATUS_SUCCESS && !is_cooperative(queue)) {
    give_up(queue);
    hsa().core.hsa_queue_destroy_fn(queue);
  }
  wanted.queue = status == HSA_STATUS_SUCCESS ? queue : nullptr;
  return status;
}

// One descriptor after the other: those that were made stay, and the first error is returned.
hsa_status_t amd_queue_create(hsa_agent_t agent, newer::QueueDescriptor* wanted, uint32_t count) noexcept {
  if (Inside::already() || wanted == nullptr || count == 0) return hsa().amd_queue_create(agent, wanted, count);
  const Starting starting(Capture::Call::Queue);
  const Inside inside;
  hsa_status_t first_error = HSA_STATUS_SUCCESS;
  for (newer::QueueDescriptor& one : std::span(wanted, count)) {
    const hsa_status_t status = create_described(agent, one);
    if (first_error == HSA_STATUS_SUCCESS) first_error = status;
  }
  return first_error;
}

// Handles of queues that the runtime shares: there is no intercept queue of that kind.
hsa_status_t counted_queue_acquire(hsa_agent_t agent, hsa_queue_type_t type, hsa_amd_queue_priority_t priority, QueueCallback callback,
                                   void* data, uint64_t flags, hsa_queue_t** queue) noexcept {
  note_bookkeeping_failure();
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) log::warning("the application acquires queues by hsa_amd_counted_queue_acquire: nothing in them is seen");
  return hsa().amd_counted_queue_acquire(agent, type, priority, callback, data, flags, queue);
}

hsa_status_t queue_destroy(hsa_queue_t* queue) noexcept {
  if (is_cooperative(queue)) return HSA_STATUS_SUCCESS;
  if (Inside::already()) return hsa().core.hsa_queue_destroy_fn(queue);
  give_up(queue);
  return observe([&] { return hsa().core.hsa_queue_destroy_fn(queue); }, [] {});
}

hsa_status_t set_profiler_enabled(hsa_queue_t* queue, int enable) noexcept {
  // While dispatches are timed, the application's wish to stop that is not passed on.
  const int enabled = enable != 0 || tool().timer() != nullptr ? 1 : 0;
  const auto original = [&] { return hsa().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue, enabled); };
  QueueState* const state = Inside::already() ? nullptr : tool().queues.find(queue);
  if (state == nullptr) return original();
  const Inside inside;
  // A capture that ends just now restores what was wished before or leaves what is wished here, not something between.
  hsa_status_t status = HSA_STATUS_ERROR_INVALID_QUEUE;
  tool().queues.while_alive(*state, [&] {
    status = original();
    if (status == HSA_STATUS_SUCCESS) state->profiled = enable != 0;
  });
  return status;
}

}  // namespace

void install_queue_hooks(HsaApiTable& table) {
  install(*table.core_, &CoreApiTable::hsa_queue_create_fn, queue_create);
  install(*table.core_, &CoreApiTable::hsa_queue_destroy_fn, queue_destroy);
  install(*table.amd_ext_, &AmdExtTable::hsa_amd_profiling_set_profiler_enabled_fn, set_profiler_enabled);
  newer::install<newer::QueueCreate>(*table.amd_ext_, newer::kQueueCreate, amd_queue_create);
  newer::install<newer::CountedQueueAcquire>(*table.amd_ext_, newer::kCountedQueueAcquire, counted_queue_acquire);
}

}  // namespace kerncap::intercept
