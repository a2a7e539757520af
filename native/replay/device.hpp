// The HSA side of a replay's device: runtime, agent, pools, pinned buffers, copies. In: an agent number. Out: a Device that
// fits the capture, or host.* errors before any data moves. Called by the runner.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "replay/capture_info.hpp"

namespace kerncap::replay {

// Throws Error(code, "<what>: <status string>") unless `status` is success.
void check(hsa_status_t status, const char* what, const char* code = "host.hsa");
std::string status_text(hsa_status_t status);

// hsa_init() and hsa_shut_down(). Everything that holds device memory must be gone before: HSA runtime 6.4.3 crashes in
// hsa_shut_down while a vmem mapping is live.
class Runtime {
 public:
  Runtime();
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;
};

struct Device {
  hsa_agent_t gpu{};
  hsa_agent_t cpu{};
  std::string name;     // "gfx942"
  std::string isa;      // "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
  std::string product;  // marketing name
  hsa_amd_memory_pool_t device_pool{};   // coarse-grained memory of the GPU
  hsa_amd_memory_pool_t host_pool{};     // fine-grained memory of the host
  hsa_amd_memory_pool_t kernarg_pool{};  // the host's pool for kernarg segments
  std::uint64_t device_pool_bytes = 0;
  std::uint64_t granule_bytes = 4096;    // of allocations in device_pool
  std::uint64_t group_segment_bytes = 0;
  std::uint32_t max_workgroup_workitems = 0;
};

// The n-th GPU agent; host.no-agent when there is none.
Device open_device(std::uint32_t number);
// host.wrong-target unless code for `isa` runs on the device: same processor, and each feature that `isa` names as the device has it.
void check_target(const Device& device, const std::string& isa);
// host.launch-limits, host.device-memory
void check_capacity(const Device& device, const DispatchInfo& capture, std::uint64_t closure_bytes);

// Host memory that the GPU reads and writes.
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  PinnedBuffer(const Device& device, hsa_amd_memory_pool_t pool, std::size_t size);
  ~PinnedBuffer();
  PinnedBuffer(PinnedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  std::span<std::byte> bytes() const noexcept { return {static_cast<std::byte*>(data_), size_}; }

 private:
  void* data_ = nullptr;
  std::size_t size_ = 0;
};

class Signal {
 public:
  explicit Signal(hsa_signal_value_t value = 1);
  ~Signal();
  Signal(Signal&& other) noexcept : signal_(std::exchange(other.signal_, {})) {}
  Signal& operator=(Signal&&) = delete;
  hsa_signal_t get() const noexcept { return signal_; }
  void set(hsa_signal_value_t value) const noexcept { hsa_signal_store_screlease(signal_, value); }
  // True when the value fell below 1 within the time.
  bool wait_below_one(std::chrono::nanoseconds limit) const noexcept;

 private:
  hsa_signal_t signal_{};
};

// One copy at a time between pinned host memory and the device; throws when it fails or does not end.
class Copier {
 public:
  explicit Copier(const Device& device) : device_(device) {}
  void to_device(std::uint64_t device_va, std::span<const std::byte> pinned);
  void from_device(std::span<std::byte> pinned, std::uint64_t device_va);

 private:
  void copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size);
  const Device& device_;
  Signal signal_;
};

}  // namespace kerncap::replay
