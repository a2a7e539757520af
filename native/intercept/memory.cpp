#include "intercept/memory.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "intercept/hsa_api.hpp"

namespace kerncap::intercept {
namespace {

// Names of hsa_amd_memory_pool_global_flag_t bits; those of hsa_region_global_flag_t have the same values.
std::vector<std::string> flag_names(std::uint32_t flags) {
  std::vector<std::string> names;
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) names.emplace_back("kernarg");
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) names.emplace_back("fine-grained");
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) names.emplace_back("coarse-grained");
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_EXTENDED_SCOPE_FINE_GRAINED) names.emplace_back("extended-fine-grained");
  return names;
}

Segment segment_of(hsa_device_type_t device, std::uint32_t flags) {
  if (device == HSA_DEVICE_TYPE_GPU) return Segment::device;
  return (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0 ? Segment::kernarg : Segment::host;
}

struct PoolVisit {
  std::map<std::uint64_t, PoolInfo>* pools;
  hsa_agent_t agent;
  hsa_device_type_t device;
  void add(std::uint64_t handle, std::uint32_t flags, bool is_pool, std::uint64_t size) const {
    // A pool and the region of the same memory have the same handle in ROCr; pools are visited first and say more.
    pools->try_emplace(handle, PoolInfo{agent, segment_of(device, flags), flag_names(flags), is_pool, size});
  }
};

hsa_status_t visit_pool(hsa_amd_memory_pool_t pool, void* data) {
  hsa_amd_segment_t segment{};
  std::uint32_t flags = 0;
  const auto info = hsa().amd.hsa_amd_memory_pool_get_info_fn;
  if (info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment) != HSA_STATUS_SUCCESS) return HSA_STATUS_SUCCESS;
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  bool allocates = false;
  info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocates);
  std::size_t size = 0;
  info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &size);
  static_cast<const PoolVisit*>(data)->add(pool.handle, flags, allocates, size);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t visit_region(hsa_region_t region, void* data) {
  hsa_region_segment_t segment{};
  std::uint32_t flags = 0;
  const auto info = hsa().core.hsa_region_get_info_fn;
  if (info(region, HSA_REGION_INFO_SEGMENT, &segment) != HSA_STATUS_SUCCESS) return HSA_STATUS_SUCCESS;
  if (segment != HSA_REGION_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags);
  static_cast<const PoolVisit*>(data)->add(region.handle, flags, false, 0);
  return HSA_STATUS_SUCCESS;
}

}  // namespace

void Topology::add_agent(hsa_agent_t agent) {
  hsa_device_type_t device{};
  check(hsa().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &device), "hsa_agent_get_info");
  if (device == HSA_DEVICE_TYPE_CPU) cpus_.push_back(agent);
  if (device == HSA_DEVICE_TYPE_GPU) gpus_.push_back(agent);
  PoolVisit visit{&pools_, agent, device};
  check(hsa().amd.hsa_amd_agent_iterate_memory_pools_fn(agent, visit_pool, &visit), "hsa_amd_agent_iterate_memory_pools");
  if (hsa().core.hsa_agent_iterate_regions_fn != nullptr) {
    check(hsa().core.hsa_agent_iterate_regions_fn(agent, visit_region, &visit), "hsa_agent_iterate_regions");
  }
}

void Topology::load() {
  std::vector<hsa_agent_t> agents;
  check(hsa().core.hsa_iterate_agents_fn(
            [](hsa_agent_t agent, void* data) {
              static_cast<std::vector<hsa_agent_t>*>(data)->push_back(agent);
              return HSA_STATUS_SUCCESS;
            },
            &agents),
        "hsa_iterate_agents");
  for (const auto agent : agents) add_agent(agent);
}

const PoolInfo* Topology::pool(std::uint64_t handle) const {
  const auto found = pools_.find(handle);
  return found == pools_.end() ? nullptr : &found->second;
}

bool Topology::is_cpu(hsa_agent_t agent) const {
  return std::any_of(cpus_.begin(), cpus_.end(), [&](hsa_agent_t cpu) { return cpu.handle == agent.handle; });
}

hsa_amd_memory_pool_t Topology::staging_pool() const {
  const std::pair<const std::uint64_t, PoolInfo>* best = nullptr;
  for (const auto& item : pools_) {
    if (!item.second.is_pool || item.second.segment == Segment::device) continue;
    if (best == nullptr || (best->second.segment == Segment::kernarg && item.second.segment == Segment::host)) best = &item;
  }
  if (best == nullptr) throw Error("capture.hsa", "no host memory pool that can be allocated from");
  return {best->first};
}

hsa_amd_memory_pool_t Topology::device_pool(hsa_agent_t gpu) const {
  for (const auto& [handle, pool] : pools_) {
    if (pool.is_pool && pool.owner.handle == gpu.handle) return {handle};
  }
  throw Error("capture.hsa", "no device memory pool that can be allocated from");
}

std::uint64_t Topology::memory_bytes(hsa_agent_t agent) const {
  std::uint64_t largest = 0;
  for (const auto& [handle, pool] : pools_) {
    if (pool.owner.handle == agent.handle) largest = std::max(largest, pool.size);
  }
  return largest;
}

std::uint32_t Topology::gpu_ordinal(hsa_agent_t agent) const {
  const auto found = std::find_if(gpus_.begin(), gpus_.end(), [&](hsa_agent_t gpu) { return gpu.handle == agent.handle; });
  return found == gpus_.end() ? 0 : static_cast<std::uint32_t>(found - gpus_.begin());
}

std::unique_lock<std::mutex> MemoryMap::lock_for_release() {
  std::unique_lock guard(mutex_);
  if (held_ && !released_.wait_for(guard, hold_limit_, [&] { return !held_; })) broken_ = true;
  return guard;
}

void MemoryMap::add(Allocation allocation) { allocations_[allocation.va] = std::move(allocation); }

void MemoryMap::remove(std::uint64_t va) { allocations_.erase(va); }

void MemoryMap::remove_locked_host(std::uint64_t host_ptr) {
  std::erase_if(allocations_, [&](const auto& item) {
    return item.second.kind == RegionKind::lock && item.second.host_ptr == host_ptr;
  });
}

void MemoryMap::remove_range(std::uint64_t va, std::uint64_t size) {
  std::erase_if(allocations_, [&](const auto& item) { return item.first >= va && item.second.end() <= va + size; });
}

void MemoryMap::allow_access(std::uint64_t ptr, const hsa_agent_t* agents, std::uint32_t count) {
  auto next = allocations_.upper_bound(ptr);
  if (next == allocations_.begin()) return;
  Allocation& allocation = std::prev(next)->second;
  if (ptr >= allocation.end()) return;
  // The list replaces the earlier one. Source: hsa_ext_amd.h, hsa_amd_agents_allow_access.
  allocation.access.clear();
  for (std::uint32_t i = 0; i < count; ++i) allocation.access.insert(agents[i].handle);
}

void MemoryMap::set_vmem_access(std::uint64_t va, std::uint64_t size, const std::set<std::uint64_t>& agents, bool host) {
  for (auto& [start, allocation] : allocations_) {
    if (allocation.kind != RegionKind::vmem || start < va || allocation.end() > va + size) continue;
    allocation.access.insert(agents.begin(), agents.end());
    if (host) allocation.host_ptr = start;
  }
}

const Physical* MemoryMap::physical(std::uint64_t handle) const {
  const auto found = physical_.find(handle);
  return found == physical_.end() ? nullptr : &found->second;
}

void MemoryMap::append_padding(std::vector<Allocation>& regions, Allocations::const_iterator next) const {
  Allocation padding = regions.back();
  if (padding.padding == 0) return;
  padding.va += padding.size;
  if (padding.host_ptr != 0) padding.host_ptr += padding.size;
  padding.size = std::exchange(padding.padding, 0);
  if (next != allocations_.end()) padding.size = std::min(padding.size, next->first - std::min(next->first, padding.va));
  padding.flags.emplace_back("padding");
  if (padding.size != 0) regions.push_back(std::move(padding));
}

std::vector<Allocation> MemoryMap::closure(hsa_agent_t agent) {
  const std::scoped_lock guard(mutex_);
  std::vector<Allocation> regions;
  std::uint64_t covered = 0;
  for (const auto& [va, allocation] : allocations_) {
    if (!allocation.reachable_from(agent) || allocation.size == 0 || allocation.end() <= covered) continue;
    Allocation region = allocation;
    if (va < covered) {  // registered ranges may overlap: keep the part that is not there yet
      const auto cut = covered - va;
      region.va += cut;
      region.size -= cut;
      if (region.host_ptr != 0) region.host_ptr += cut;
      region.physical = 0;
    }
    covered = region.end();
    regions.push_back(std::move(region));
    append_padding(regions, allocations_.upper_bound(va));
  }
  return regions;
}

MemoryMap::Hold::Hold(MemoryMap& map) : map_(map) {
  const std::scoped_lock guard(map_.mutex_);
  map_.held_ = true;
  map_.broken_ = false;
}

MemoryMap::Hold::~Hold() {
  {
    const std::scoped_lock guard(map_.mutex_);
    map_.held_ = false;
  }
  map_.released_.notify_all();
}

bool MemoryMap::Hold::broken() const {
  const std::scoped_lock guard(map_.mutex_);
  return map_.broken_;
}

}  // namespace kerncap::intercept
