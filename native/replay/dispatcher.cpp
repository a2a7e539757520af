#include "replay/dispatcher.hpp"

#include <cstring>
#include <thread>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

constexpr std::uint32_t kQueuePackets = 64;

// Source: HSA system architecture 1.2, 2.8 "Packet header"; system scope on both sides since the host reads and writes what
// the kernel does.
constexpr std::uint16_t kHeader = (HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE) | (1 << HSA_PACKET_HEADER_BARRIER) |
                                  (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) |
                                  (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);

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

Dispatcher::Dispatcher(const Device& device) : device_(device) {
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
  check(hsa_queue_create(device.gpu, kQueuePackets, HSA_QUEUE_TYPE_SINGLE, on_error, &events_, UINT32_MAX, UINT32_MAX, &queue_), "queue");
  hsa_amd_profiling_set_profiler_enabled(queue_, 1);
  std::uint64_t frequency = 0;
  check(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency), "clock");
  if (frequency != 0) ns_per_tick_ = 1e9 / static_cast<double>(frequency);
}

Dispatcher::~Dispatcher() { hsa_queue_destroy(queue_); }

void Dispatcher::submit(const Launch& launch) {
  const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
  auto* const slots = static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address);
  hsa_kernel_dispatch_packet_t& slot = slots[index % queue_->size];

  hsa_kernel_dispatch_packet_t packet{};
  packet.setup = static_cast<std::uint16_t>(launch.dims << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS);
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
  packet.completion_signal = done_.get();

  // The body first, then header and setup in one release store: the packet processor may look at any time.
  constexpr std::size_t kHeaderBytes = 4;
  std::memcpy(reinterpret_cast<std::byte*>(&slot) + kHeaderBytes, reinterpret_cast<const std::byte*>(&packet) + kHeaderBytes,
              sizeof packet - kHeaderBytes);
  const std::uint32_t first = kHeader | (static_cast<std::uint32_t>(packet.setup) << 16);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(&slot), first, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
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

DispatchOutcome Dispatcher::run(const Launch& launch, std::chrono::nanoseconds limit) {
  DispatchOutcome outcome;
  done_.set(1);
  submit(launch);
  const auto end = std::chrono::steady_clock::now() + limit;
  constexpr std::chrono::milliseconds kSlice{20};
  while (!done_.wait_below_one(kSlice)) {
    if (failed(outcome)) return outcome;
    if (std::chrono::steady_clock::now() >= end) {
      outcome.kind = DispatchOutcome::Kind::timeout;
      return outcome;
    }
  }
  // A device may complete a packet that faulted.
  if (failed(outcome)) return outcome;
  hsa_amd_profiling_dispatch_time_t time{};
  if (hsa_amd_profiling_get_dispatch_time(device_.gpu, done_.get(), &time) == HSA_STATUS_SUCCESS) {
    outcome.duration_ns = static_cast<std::uint64_t>(static_cast<double>(time.end - time.start) * ns_per_tick_);
  }
  return outcome;
}

}  // namespace kerncap::replay
