// What a command processor does to amd_signal_t. In: a signal handle (a device address). Out: value, timestamps,
// mailbox and event, as hardware writes them. Source: amd_hsa_signal.h.
#pragma once

#include <hsa/amd_hsa_signal.h>

#include <cstddef>
#include <cstdint>
#include <optional>

#include "vgpu/queue/queue.hpp"

namespace kerncap::vgpu {

static_assert(offsetof(amd_signal_t, value) == 8 && offsetof(amd_signal_t, event_mailbox_ptr) == 16 &&
              offsetof(amd_signal_t, start_ts) == 32 && sizeof(amd_signal_t) == 64);

// The signal's value; nullopt when the signal is not mapped.
std::optional<std::int64_t> signal_value(const PageTable& pages, std::uint64_t handle) noexcept;
// When the packet that completed the signal last ended. Now, when none did: the host may have stored its value just before.
std::uint64_t signal_end(const PageTable& pages, std::uint64_t handle) noexcept;
// Stores a value and raises the signal's interrupt.
std::optional<Fault> signal_store(const GpuContext& gpu, std::uint64_t handle, std::int64_t value) noexcept;
// Completion: timestamps, value - 1, interrupt. No signal (handle 0) is fine.
std::optional<Fault> signal_complete(const GpuContext& gpu, std::uint64_t handle, std::uint64_t start,
                                     std::uint64_t end) noexcept;

}  // namespace kerncap::vgpu
