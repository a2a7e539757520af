#include "vgpu/queue/signal.hpp"

#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

// amd_signal_t.value, as an atomic of this process.
std::atomic<std::int64_t>* value_of(amd_signal_t* signal) {
  return reinterpret_cast<std::atomic<std::int64_t>*>(reinterpret_cast<std::byte*>(signal) + offsetof(amd_signal_t, value));
}

std::optional<Fault> interrupt(const GpuContext& gpu, std::uint64_t mailbox_va, std::uint32_t event_id) {
  if (mailbox_va == 0) return std::nullopt;
  auto* mailbox = gpu.pages.object<std::atomic<std::uint64_t>>(mailbox_va);
  if (mailbox == nullptr) return Fault{mailbox_va, true};
  mailbox->store(event_id, std::memory_order_release);
  gpu.events.set(event_id);
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> signal_value(const PageTable& pages, std::uint64_t handle) noexcept {
  auto* signal = pages.object<amd_signal_t>(handle);
  if (signal == nullptr) return std::nullopt;
  return value_of(signal)->load(std::memory_order_acquire);
}

std::uint64_t signal_end(const PageTable& pages, std::uint64_t handle) noexcept {
  const auto* signal = pages.object<amd_signal_t>(handle);
  const std::uint64_t now = gpu_ticks();
  // Memory of the application: what lies in the future is no end of a packet.
  return signal != nullptr && signal->end_ts != 0 && signal->end_ts <= now ? signal->end_ts : now;
}

std::optional<Fault> signal_store(const GpuContext& gpu, std::uint64_t handle, std::int64_t value) noexcept {
  auto* signal = gpu.pages.object<amd_signal_t>(handle);
  if (signal == nullptr) return Fault{handle, true};
  const std::uint64_t mailbox = signal->event_mailbox_ptr;
  const std::uint32_t event = signal->event_id;
  value_of(signal)->store(value);
  return interrupt(gpu, mailbox, event);
}

std::optional<Fault> signal_complete(const GpuContext& gpu, std::uint64_t handle, std::uint64_t start,
                                     std::uint64_t end) noexcept {
  if (handle == 0) return std::nullopt;
  auto* signal = gpu.pages.object<amd_signal_t>(handle);
  if (signal == nullptr) return Fault{handle, true};
  signal->start_ts = start;
  signal->end_ts = end;
  // Read first: the application may reuse the signal as soon as its value changes.
  const std::uint64_t mailbox = signal->event_mailbox_ptr;
  const std::uint32_t event = signal->event_id;
  const std::int64_t left = value_of(signal)->fetch_sub(1) - 1;
  report::log(2, "signal %llx -> %lld, event %u", static_cast<unsigned long long>(handle),
              static_cast<long long>(left), event);
  return interrupt(gpu, mailbox, event);
}

}  // namespace kerncap::vgpu
