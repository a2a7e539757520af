#include "replay/dispatcher.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <thread>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

constexpr std::size_t kLeastQueuePackets = 64;
constexpr std::size_t kHeaderBytes = 4;  // header and setup

// Source: HSA system architecture 1.2, 2.9 "Packet header"; system scope on both sides since the host reads and writes what
// the kernel does.
std::uint32_t header(hsa_packet_type_t type, bool ordered) {
  return static_cast<std::uint32_t>((type << HSA_PACKET_HEADER_TYPE) | ((ordered ? 1 : 0) << HSA_PACKET_HEADER_BARRIER) |
                                    (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) |
                                    (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE));
}

std::string fault_text(std::uint32_t reasons) {
  std::string text;
  const auto add = [&](std::uint32_t bit, const char* name) {
    if ((reasons & bit) != 0) text += (text.empty() ? "" : ", ") + std::string(name);
  };
  add(HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT, "page not present");
  add(HSA_AMD_MEMORY_FAULT_READ_ONLY, "write to a read-only page");
  add(HSA_AMD_MEMORY_FAULT_NX, "execution of data");
  add(HSA_AMD_MEMORY_FAULT_HOST_ONLY, "host-only page");
  add(HSA_AMD_MEMORY_FAULT_IMPRECISE, "address imprecise");
  add(HSA_AMD_MEMORY_FAULT_HANG, "device reset");
  return text.empty() ? "reasons " + std::to_string(reasons) : text;
}

}  // namespace

Dispatcher::Dispatcher(const Device& device, std::size_t packets) : device_(device) {
  const auto on_event = [](const hsa_amd_event_t* event, void* data) {
    auto& events = *static_cast<Events*>(data);
    if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
    events.fault_va.store(event->memory_fault.virtual_address);
    events.fault_reasons.store(event->memory_fault.fault_reason_mask);
    events.memory_fault.store(true, std::memory_order_release);
    return HSA_STATUS_SUCCESS;  // handled: the runtime does not abort the process
  };
  check(hsa_amd_register_system_event_handler(on_event, &events_), "handler of memory faults");
  const auto on_error = [](hsa_status_t status, hsa_queue_t*, void* data) {
    static_cast<Events*>(data)->queue_status.store(static_cast<std::uint32_t>(status), std::memory_order_release);
  };
  const auto size = static_cast<std::uint32_t>(std::bit_ceil(std::max(packets, kLeastQueuePackets)));
  check(hsa_queue_create(device.gpu, size, HSA_QUEUE_TYPE_SINGLE, on_error, &events_, UINT32_MAX, UINT32_MAX, &queue_), "queue");
  hsa_amd_profiling_set_profiler_enabled(queue_, 1);
  std::uint64_t frequency = 0;
  check(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency), "clock");
  if (frequency != 0) ns_per_tick_ = 1e9 / static_cast<double>(frequency);
}

Dispatcher::~Dispatcher() { hsa_queue_destroy(queue_); }

std::uint64_t Dispatcher::write(const void* packet, std::uint32_t header_and_setup) {
  const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
  auto* const slot = static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + index % queue_->size;
  // The body first, then header and setup in one release store: the packet processor may look at any time.
  std::memcpy(reinterpret_cast<std::byte*>(slot) + kHeaderBytes, static_cast<const std::byte*>(packet) + kHeaderBytes,
              sizeof *slot - kHeaderBytes);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(slot), header_and_setup, __ATOMIC_RELEASE);
  return index;
}

std::uint64_t Dispatcher::submit_barrier(const BarrierInfo& barrier) {
  hsa_barrier_and_packet_t packet{};  // a barrier-OR packet has the same members
  for (std::size_t i = 0; i < barrier.waits_for.size(); ++i) packet.dep_signal[i] = done_[barrier.waits_for[i]].get();
  return write(&packet, header(barrier.any ? HSA_PACKET_TYPE_BARRIER_OR : HSA_PACKET_TYPE_BARRIER_AND, barrier.ordered));
}

std::uint64_t Dispatcher::submit(const Launch& launch, hsa_signal_t done) {
  for (const BarrierInfo& barrier : launch.barriers_before) submit_barrier(barrier);
  hsa_kernel_dispatch_packet_t packet{};
  packet.workgroup_size_x = static_cast<std::uint16_t>(launch.workgroup[0]);
  packet.workgroup_size_y = static_cast<std::uint16_t>(launch.workgroup[1]);
  packet.workgroup_size_z = static_cast<std::uint16_t>(launch.workgroup[2]);
  packet.grid_size_x = launch.grid[0];
  packet.grid_size_y = launch.grid[1];
  packet.grid_size_z = launch.grid[2];
  packet.private_segment_size = launch.private_segment_bytes;
  packet.group_segment_size = launch.group_segment_bytes;
  packet.kernel_object = launch.kernel_object_va;
  packet.kernarg_address = reinterpret_cast<void*>(launch.kernarg_va);
  packet.completion_signal = done;
  const std::uint32_t setup = std::uint32_t{launch.dims} << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS;
  return write(&packet, header(HSA_PACKET_TYPE_KERNEL_DISPATCH, launch.ordered) | (setup << 16));
}

bool Dispatcher::failed(DispatchOutcome& outcome) const {
  if (!events_.memory_fault.load(std::memory_order_acquire)) {
    const std::uint32_t status = events_.queue_status.load(std::memory_order_acquire);
    if (status == HSA_STATUS_SUCCESS) return false;
    // A fault stops the queue as well, and its event may come a moment later.
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    if (!events_.memory_fault.load(std::memory_order_acquire)) {
      outcome.kind = DispatchOutcome::Kind::queue_error;
      outcome.text = status_text(static_cast<hsa_status_t>(status));
      return true;
    }
  }
  outcome.kind = DispatchOutcome::Kind::memory_fault;
  outcome.fault_va = events_.fault_va.load();
  outcome.text = fault_text(events_.fault_reasons.load());
  return true;
}

DispatchOutcome Dispatcher::await(std::size_t count, std::chrono::steady_clock::time_point end) const {
  DispatchOutcome outcome;
  constexpr std::chrono::milliseconds kSlice{20};
  for (; outcome.step < count; ++outcome.step) {
    while (!done_[outcome.step].wait_below_one(kSlice)) {
      if (failed(outcome)) return outcome;
      if (std::chrono::steady_clock::now() >= end) {
        outcome.kind = DispatchOutcome::Kind::timeout;
        return outcome;
      }
    }
  }
  // A device may complete a packet that faulted.
  if (failed(outcome)) outcome.step = count - 1;
  return outcome;
}

void Dispatcher::measure(DispatchOutcome& outcome, std::size_t count) const {
  std::uint64_t start = UINT64_MAX;
  std::uint64_t end = 0;
  const auto to_ns = [this](std::uint64_t ticks) { return static_cast<std::uint64_t>(static_cast<double>(ticks) * ns_per_tick_); };
  for (std::size_t i = 0; i < count; ++i) {
    hsa_amd_profiling_dispatch_time_t time{};
    if (hsa_amd_profiling_get_dispatch_time(device_.gpu, done_[i].get(), &time) != HSA_STATUS_SUCCESS) return;
    start = std::min(start, time.start);
    end = std::max(end, time.end);
    outcome.step_ns.push_back(to_ns(time.end - time.start));
  }
  outcome.duration_ns = to_ns(end - start);
}

DispatchOutcome Dispatcher::run(std::span<const Launch> launches, std::chrono::nanoseconds limit) {
  while (done_.size() < launches.size()) done_.emplace_back();
  for (std::size_t i = 0; i < launches.size(); ++i) done_[i].set(1);
  std::uint64_t last = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) last = submit(launches[i], done_[i].get());
  hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(last));
  const auto whole = limit * static_cast<std::int64_t>(launches.size());
  DispatchOutcome outcome = await(launches.size(), std::chrono::steady_clock::now() + whole);
  if (outcome.kind == DispatchOutcome::Kind::completed) measure(outcome, launches.size());
  return outcome;
}

}  // namespace kerncap::replay
