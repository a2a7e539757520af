#include "replay/device.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/virtual_gpu.hpp"
#include "replay/target.hpp"

namespace kerncap::replay {
namespace {

// 8 MiB for a wave of 32 workitems. The runtime does not refuse every size beyond that: near 4 GiB it tries for ever.
// Source: COMPUTE_TMPRING_SIZE.WAVESIZE, 13 bits that count KiB (gfx9), 15 bits that count 256 bytes (gfx11).
constexpr std::uint32_t kMaxPrivateSegmentBytes = (8 << 20) / 32;

constexpr std::chrono::seconds kCopyLimit{120};
constexpr const char* kDoctor = "kerncap doctor";

template <typename T>
T agent_info(hsa_agent_t agent, std::uint32_t attribute, const char* what) {
  T value{};
  check(hsa_agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value), what);
  return value;
}

std::string agent_text(hsa_agent_t agent, std::uint32_t attribute, const char* what) {
  // Source: hsa.h and hsa_ext_amd.h: both names are char[64], NUL-terminated only when shorter.
  const auto text = agent_info<std::array<char, 64>>(agent, attribute, what);
  return std::string(text.begin(), std::ranges::find(text, '\0'));
}

template <typename T>
T pool_info(hsa_amd_memory_pool_t pool, hsa_amd_memory_pool_info_t attribute) {
  T value{};
  check(hsa_amd_memory_pool_get_info(pool, attribute, &value), "memory pool");
  return value;
}

std::vector<hsa_agent_t> agents_of(hsa_device_type_t type) {
  struct Wanted {
    hsa_device_type_t type;
    std::vector<hsa_agent_t> found;
  } wanted{type, {}};
  const auto visit = [](hsa_agent_t agent, void* data) {
    auto& out = *static_cast<Wanted*>(data);
    hsa_device_type_t kind{};
    const hsa_status_t status = hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &kind);
    if (status == HSA_STATUS_SUCCESS && kind == out.type) out.found.push_back(agent);
    return status;
  };
  check(hsa_iterate_agents(visit, &wanted), "listing the agents");
  return wanted.found;
}

std::vector<hsa_amd_memory_pool_t> pools_of(hsa_agent_t agent, hsa_amd_segment_t segment) {
  std::vector<hsa_amd_memory_pool_t> all;
  const auto visit = [](hsa_amd_memory_pool_t pool, void* data) {
    static_cast<std::vector<hsa_amd_memory_pool_t>*>(data)->push_back(pool);
    return HSA_STATUS_SUCCESS;
  };
  check(hsa_amd_agent_iterate_memory_pools(agent, visit, &all), "listing the memory pools");
  std::erase_if(all, [segment](hsa_amd_memory_pool_t pool) {
    return pool_info<hsa_amd_segment_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT) != segment;
  });
  return all;
}

hsa_amd_memory_pool_t pool_with(hsa_agent_t agent, std::uint32_t flags, const char* what) {
  for (const hsa_amd_memory_pool_t pool : pools_of(agent, HSA_AMD_SEGMENT_GLOBAL)) {
    if (!pool_info<bool>(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED)) continue;
    if ((pool_info<std::uint32_t>(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS) & flags) == flags) return pool;
  }
  throw Error("host.no-pool", std::string("the HSA runtime offers no ") + what, kDoctor);
}

std::string isa_of(hsa_agent_t agent) {
  const auto isa = agent_info<hsa_isa_t>(agent, HSA_AGENT_INFO_ISA, "ISA of the agent");
  std::uint32_t length = 0;
  check(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &length), "ISA of the agent");
  std::string name(length, '\0');
  check(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name.data()), "ISA of the agent");
  name.resize(std::strlen(name.c_str()));
  return name;
}

}  // namespace

std::string status_text(hsa_status_t status) {
  const char* text = nullptr;
  if (hsa_status_string(status, &text) != HSA_STATUS_SUCCESS || text == nullptr) {
    return "HSA status " + std::to_string(static_cast<unsigned>(status));
  }
  return text;
}

void check(hsa_status_t status, const char* what, const char* code) {
  if (status == HSA_STATUS_SUCCESS) return;
  throw Error(code, std::string(what) + ": " + status_text(status));
}

Runtime::Runtime() {
  const hsa_status_t status = hsa_init();
  if (status == HSA_STATUS_SUCCESS) return;
  throw Error("host.no-hsa", "the HSA runtime does not start: " + status_text(status) + " (is there a /dev/kfd, and may it be opened?)", kDoctor);
}

Runtime::~Runtime() { hsa_shut_down(); }

Device open_device(std::uint32_t number) {
  const std::vector<hsa_agent_t> gpus = agents_of(HSA_DEVICE_TYPE_GPU);
  const std::vector<hsa_agent_t> cpus = agents_of(HSA_DEVICE_TYPE_CPU);
  if (number >= gpus.size() || cpus.empty()) {
    // A runtime leaves out the virtual GPU when it does not know its target.
    const char* const config = std::getenv("KERNCAP_VGPU");
    const bool unknown = config != nullptr && gpus.empty();
    throw Error("host.no-agent", "there is no GPU " + std::to_string(number) + ": the HSA runtime sees " + std::to_string(gpus.size()) +
                (unknown ? ", it does not know the virtual GPU's target " + virtual_target(config) : ""),
                unknown ? kNewerRuntime : kDoctor);
  }
  Device device;
  device.gpu = gpus[number];
  device.cpu = cpus.front();
  device.name = agent_text(device.gpu, HSA_AGENT_INFO_NAME, "name of the agent");
  device.product = agent_text(device.gpu, HSA_AMD_AGENT_INFO_PRODUCT_NAME, "name of the product");
  device.isa = isa_of(device.gpu);
  device.device_pool = pool_with(device.gpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED, "coarse-grained device memory");
  device.host_pool = pool_with(device.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED, "fine-grained host memory");
  device.kernarg_pool = pool_with(device.cpu, HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT, "kernarg memory");
  device.device_pool_bytes = pool_info<std::size_t>(device.device_pool, HSA_AMD_MEMORY_POOL_INFO_SIZE);
  device.granule_bytes = pool_info<std::size_t>(device.device_pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_GRANULE);
  for (const hsa_amd_memory_pool_t pool : pools_of(device.gpu, HSA_AMD_SEGMENT_GROUP)) {
    device.group_segment_bytes = pool_info<std::size_t>(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE);
  }
  device.max_workgroup_workitems = agent_info<std::uint32_t>(device.gpu, HSA_AGENT_INFO_WORKGROUP_MAX_SIZE, "limits of the agent");
  return device;
}

void check_target(const Device& device, const std::string& isa) {
  if (isa_matches(device.isa, isa)) return;
  throw Error("host.wrong-target", "the kernel is for " + printable(isa) + ", the device is " + device.isa,
              "choose a device of that target, or --device vgpu:<gfx target>");
}

void check_capacity(const Device& device, const DispatchInfo& capture, std::uint64_t closure_bytes) {
  const std::uint64_t workitems = std::uint64_t{capture.workgroup[0]} * capture.workgroup[1] * capture.workgroup[2];
  if (workitems > device.max_workgroup_workitems) {
    throw Error("host.launch-limits", "the workgroup has " + std::to_string(workitems) + " workitems, the device allows " +
                                          std::to_string(device.max_workgroup_workitems));
  }
  if (capture.group_segment_bytes > device.group_segment_bytes) {
    throw Error("host.launch-limits", "the workgroup needs " + std::to_string(capture.group_segment_bytes) + " bytes of LDS, the device has " +
                                          std::to_string(device.group_segment_bytes));
  }
  if (capture.private_segment_bytes > kMaxPrivateSegmentBytes) {
    throw Error("host.launch-limits", "a workitem needs " + std::to_string(capture.private_segment_bytes) +
                                          " bytes of scratch, no device gives more than " + std::to_string(kMaxPrivateSegmentBytes));
  }
  std::uint64_t available = device.device_pool_bytes;
  std::uint64_t now = 0;
  if (hsa_agent_get_info(device.gpu, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_MEMORY_AVAIL), &now) == HSA_STATUS_SUCCESS) {
    available = std::min(available, now);
  }
  if (closure_bytes > available) {
    throw Error("host.device-memory", "the capture needs " + std::to_string(closure_bytes) + " bytes of device memory, " +
                                          std::to_string(available) + " are free");
  }
}

PinnedBuffer::PinnedBuffer(const Device& device, hsa_amd_memory_pool_t pool, std::size_t size) : size_(size) {
  check(hsa_amd_memory_pool_allocate(pool, size, 0, &data_), "pinned host memory", "host.memory");
  const hsa_status_t status = hsa_amd_agents_allow_access(1, &device.gpu, nullptr, data_);
  if (status != HSA_STATUS_SUCCESS) {
    hsa_amd_memory_pool_free(data_);
    check(status, "access of the GPU to host memory");
  }
}

PinnedBuffer::~PinnedBuffer() {
  if (data_ != nullptr) hsa_amd_memory_pool_free(data_);
}

Signal::Signal(hsa_signal_value_t value) { check(hsa_signal_create(value, 0, nullptr, &signal_), "signal"); }

Signal::~Signal() {
  if (signal_.handle != 0) hsa_signal_destroy(signal_);
}

bool Signal::wait_below_one(std::chrono::nanoseconds limit) const noexcept {
  // hsa_signal_wait may return early and counts in ticks: slices against our own clock.
  const auto end = std::chrono::steady_clock::now() + limit;
  constexpr std::uint64_t kSliceTicks = 10'000'000;
  for (;;) {
    if (hsa_signal_wait_scacquire(signal_, HSA_SIGNAL_CONDITION_LT, 1, kSliceTicks, HSA_WAIT_STATE_BLOCKED) < 1) return true;
    if (std::chrono::steady_clock::now() >= end) return false;
  }
}

void Copier::copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size) {
  signal_.set(1);
  check(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, signal_.get()), "copy to or from the device", "replay.copy-failed");
  if (!signal_.wait_below_one(kCopyLimit)) throw Error("replay.timeout", "a copy to or from the device does not end");
  // Source: hsa_ext_amd.h, hsa_amd_memory_async_copy: a negative value means that the copy failed.
  if (hsa_signal_load_scacquire(signal_.get()) < 0) throw Error("replay.copy-failed", "a copy to or from the device failed");
}

void Copier::to_device(std::uint64_t device_va, std::span<const std::byte> pinned) {
  copy(reinterpret_cast<void*>(device_va), device_.gpu, pinned.data(), device_.cpu, pinned.size());
}

void Copier::from_device(std::span<std::byte> pinned, std::uint64_t device_va) {
  copy(pinned.data(), device_.cpu, reinterpret_cast<const void*>(device_va), device_.gpu, pinned.size());
}

}  // namespace kerncap::replay
