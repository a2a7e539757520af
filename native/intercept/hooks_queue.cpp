// Queues: every queue that the application creates becomes an intercept queue, and its packets pass through on_packets().
#include <hsa/amd_hsa_queue.h>

#include <algorithm>
#include <cstdio>
#include <span>
#include <vector>

#include "intercept/guard.hpp"
#include "intercept/hooks.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/packets.hpp"
#include "intercept/starting.hpp"

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
               auto wanted = capture.wants(*kernel, packet, index);
               if (!wanted) return false;
               flush();
               return capture.begin(state, *kernel, packet, index, std::move(*wanted), writer);
             });
}

hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type, QueueCallback callback, void* data,
                          uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t** queue) noexcept {
  const auto original = [&] {
    return hsa().core.hsa_queue_create_fn(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  };
  if (Inside::already() || queue == nullptr) return original();
  const Starting starting(Capture::Call::Queue);
  const Inside inside;
  QueueState* added = nullptr;
  try {
    tool().prepare();
    added = &tool().queues.add();
    tool().capture().add_queue(*added);
  } catch (...) {
    note_bookkeeping_failure();
    return original();
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
    return original();
  }
  state.queue = *queue;
  state.alive = true;
  if (tool().timer() != nullptr) hsa().amd.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
  if (hsa().amd.hsa_amd_queue_intercept_register_fn(*queue, on_packets, &state) != HSA_STATUS_SUCCESS) note_bookkeeping_failure();
  return HSA_STATUS_SUCCESS;
}

hsa_status_t queue_destroy(hsa_queue_t* queue) noexcept {
  if (Inside::already()) return hsa().core.hsa_queue_destroy_fn(queue);
  {
    // A queue that is part of a capture lives until that capture has ended. The lock does not cover the call: the runtime waits
    // in it for its event thread, which may itself be inside a hook.
    const auto guard = tool().memory.lock_for_release();
    if (QueueState* state = tool().queues.find(queue)) state->alive = false;
  }
  return observe([&] { return hsa().core.hsa_queue_destroy_fn(queue); }, [] {});
}

hsa_status_t set_profiler_enabled(hsa_queue_t* queue, int enable) noexcept {
  // While dispatches are timed, the application's wish to stop that is not passed on.
  const int enabled = enable != 0 || tool().timer() != nullptr ? 1 : 0;
  return observe([&] { return hsa().amd.hsa_amd_profiling_set_profiler_enabled_fn(queue, enabled); },
                 [&] {
                   if (QueueState* state = tool().queues.find(queue)) state->profiled = enable != 0;
                 });
}

}  // namespace

void install_queue_hooks(HsaApiTable& table) {
  install(*table.core_, &CoreApiTable::hsa_queue_create_fn, queue_create);
  install(*table.core_, &CoreApiTable::hsa_queue_destroy_fn, queue_destroy);
  install(*table.amd_ext_, &AmdExtTable::hsa_amd_profiling_set_profiler_enabled_fn, set_profiler_enabled);
}

}  // namespace kerncap::intercept
