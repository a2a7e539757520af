// Allocation, mapping, registration, access and release of memory, seen as they happen and told to the MemoryMap.
#include <cstdint>
#include <set>

#include "base/error.hpp"
#include "intercept/guard.hpp"
#include "intercept/hooks.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/tool.hpp"

namespace kerncap::intercept {
namespace {

std::uint64_t address(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

// Like observe(), with the memory lock held over the call and its bookkeeping.
template <class Call, class Record>
hsa_status_t observe_locked(Call call, Record record) noexcept {
  if (Inside::already()) return call();
  const auto guard = tool().memory.lock();
  return observe(call, record);
}

template <class Call, class Record>
hsa_status_t observe_release(Call call, Record record) noexcept {
  if (Inside::already()) return call();
  const auto guard = tool().memory.lock_for_release();
  return observe(call, record);
}

// Pools give whole pages. Source: ROCr, MemoryRegion::Allocate (sizes are aligned to kPageSize_, 4096).
constexpr std::uint64_t pool_page_bytes = 4096;

// A region for memory of a pool (or of a pre-pool hsa_region_t), as the pool says.
Allocation from_pool(std::uint64_t va, std::uint64_t size, RegionKind kind, const PoolInfo& pool) {
  Allocation allocation;
  allocation.va = va;
  allocation.size = size;
  allocation.padding = (pool_page_bytes - size % pool_page_bytes) % pool_page_bytes;
  allocation.kind = kind;
  allocation.segment = pool.segment;
  allocation.flags = pool.flags;
  allocation.owner = pool.owner;
  if (pool.segment != Segment::device) allocation.host_ptr = va;
  return allocation;
}

const PoolInfo& known_pool(std::uint64_t handle) {
  const PoolInfo* pool = tool().topology().pool(handle);
  if (pool == nullptr) throw Error("capture.hsa", "memory pool that no agent lists");
  return *pool;
}

void give_access(Allocation& allocation, const hsa_agent_t* agents, std::uint64_t count) {
  // No list means every agent. Source: hsa_ext_amd.h, hsa_amd_memory_lock and hsa_amd_ipc_memory_attach.
  if (agents == nullptr || count == 0) allocation.open_to_all = true;
  for (std::uint64_t i = 0; agents != nullptr && i < count; ++i) allocation.access.insert(agents[i].handle);
}

hsa_status_t pool_allocate(hsa_amd_memory_pool_t pool, size_t size, uint32_t flags, void** ptr) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_memory_pool_allocate_fn(pool, size, flags, ptr); },
                        [&] {
                          tool().memory.add(from_pool(address(*ptr), size, RegionKind::pool, known_pool(pool.handle)));
                        });
}

hsa_status_t pool_free(void* ptr) noexcept {
  return observe_release([&] { return hsa().amd.hsa_amd_memory_pool_free_fn(ptr); },
                         [&] { tool().memory.remove(address(ptr)); });
}

hsa_status_t memory_allocate(hsa_region_t region, size_t size, void** ptr) noexcept {
  return observe_locked([&] { return hsa().core.hsa_memory_allocate_fn(region, size, ptr); },
                        [&] {
                          auto allocation = from_pool(address(*ptr), size, RegionKind::pool, known_pool(region.handle));
                          // Memory of a region is reachable without being asked for. Source: HSA Runtime specification, 2.7.
                          allocation.open_to_all = allocation.segment != Segment::device;
                          tool().memory.add(std::move(allocation));
                        });
}

hsa_status_t memory_free(void* ptr) noexcept {
  return observe_release([&] { return hsa().core.hsa_memory_free_fn(ptr); }, [&] { tool().memory.remove(address(ptr)); });
}

hsa_status_t allow_access(uint32_t count, const hsa_agent_t* agents, const uint32_t* flags, const void* ptr) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_agents_allow_access_fn(count, agents, flags, ptr); },
                        [&] { tool().memory.allow_access(address(ptr), agents, count); });
}

Allocation locked_range(void* host_ptr, void* agent_ptr, size_t size, const hsa_agent_t* agents, int count) {
  Allocation allocation;
  allocation.va = address(agent_ptr);
  allocation.size = size;
  allocation.host_ptr = address(host_ptr);
  allocation.kind = RegionKind::lock;
  allocation.segment = Segment::host;
  give_access(allocation, agents, count > 0 ? static_cast<std::uint64_t>(count) : 0);
  return allocation;
}

hsa_status_t memory_lock(void* host_ptr, size_t size, hsa_agent_t* agents, int count, void** agent_ptr) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_memory_lock_fn(host_ptr, size, agents, count, agent_ptr); },
                        [&] { tool().memory.add(locked_range(host_ptr, *agent_ptr, size, agents, count)); });
}

hsa_status_t memory_lock_to_pool(void* host_ptr, size_t size, hsa_agent_t* agents, int count, hsa_amd_memory_pool_t pool,
                                 uint32_t flags, void** agent_ptr) noexcept {
  return observe_locked(
      [&] { return hsa().amd.hsa_amd_memory_lock_to_pool_fn(host_ptr, size, agents, count, pool, flags, agent_ptr); },
      [&] {
        auto allocation = locked_range(host_ptr, *agent_ptr, size, agents, count);
        allocation.flags = known_pool(pool.handle).flags;
        tool().memory.add(std::move(allocation));
      });
}

hsa_status_t memory_unlock(void* host_ptr) noexcept {
  return observe_release([&] { return hsa().amd.hsa_amd_memory_unlock_fn(host_ptr); },
                         [&] { tool().memory.remove_locked_host(address(host_ptr)); });
}

hsa_status_t vmem_handle_create(hsa_amd_memory_pool_t pool, size_t size, hsa_amd_memory_type_t type, uint64_t flags,
                                hsa_amd_vmem_alloc_handle_t* handle) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_vmem_handle_create_fn(pool, size, type, flags, handle); },
                        [&] { tool().memory.physical_created(handle->handle, known_pool(pool.handle)); });
}

hsa_status_t vmem_import(int descriptor, hsa_amd_vmem_alloc_handle_t* handle) noexcept {
  return observe_locked(
      [&] { return hsa().amd.hsa_amd_vmem_import_shareable_handle_fn(descriptor, handle); },
      [&] {
        hsa_amd_memory_pool_t pool{};
        hsa_amd_memory_type_t type{};
        check(hsa().amd.hsa_amd_vmem_get_alloc_properties_from_handle_fn(*handle, &pool, &type),
              "hsa_amd_vmem_get_alloc_properties_from_handle");
        tool().memory.physical_created(handle->handle, known_pool(pool.handle));
      });
}

hsa_status_t vmem_handle_release(hsa_amd_vmem_alloc_handle_t handle) noexcept {
  // Mappings outlive the handle: only its name goes.
  return observe_locked([&] { return hsa().amd.hsa_amd_vmem_handle_release_fn(handle); },
                        [&] { tool().memory.physical_released(handle.handle); });
}

hsa_status_t vmem_map(void* va, size_t size, size_t offset, hsa_amd_vmem_alloc_handle_t handle, uint64_t flags) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_vmem_map_fn(va, size, offset, handle, flags); },
                        [&] {
                          const Physical* physical = tool().memory.physical(handle.handle);
                          if (physical == nullptr) throw Error("capture.hsa", "mapping of an unknown physical allocation");
                          auto allocation = from_pool(address(va), size, RegionKind::vmem, physical->pool);
                          allocation.owner = hsa_agent_t{0};  // nobody has access before hsa_amd_vmem_set_access
                          allocation.host_ptr = 0;
                          // What an offset means is not settled: hsa_ext_amd.h calls it unsupported, runtimes take it for 0.
                          if (offset == 0) allocation.physical = physical->number;
                          else note_bookkeeping_failure();
                          tool().memory.add(std::move(allocation));
                        });
}

hsa_status_t vmem_set_access(void* va, size_t size, const hsa_amd_memory_access_desc_t* list, size_t count) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_vmem_set_access_fn(va, size, list, count); },
                        [&] {
                          std::set<std::uint64_t> agents;
                          bool host = false;
                          for (size_t i = 0; i < count; ++i) {
                            if (list[i].permissions == HSA_ACCESS_PERMISSION_NONE) continue;
                            agents.insert(list[i].agent_handle.handle);
                            host = host || tool().topology().is_cpu(list[i].agent_handle);
                          }
                          tool().memory.set_vmem_access(address(va), size, agents, host);
                        });
}

hsa_status_t vmem_unmap(void* va, size_t size) noexcept {
  return observe_release([&] { return hsa().amd.hsa_amd_vmem_unmap_fn(va, size); },
                         [&] { tool().memory.remove_range(address(va), size); });
}

hsa_status_t ipc_attach(const hsa_amd_ipc_memory_t* handle, size_t size, uint32_t count, const hsa_agent_t* agents,
                        void** ptr) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_ipc_memory_attach_fn(handle, size, count, agents, ptr); },
                        [&] {
                          Allocation allocation;
                          allocation.va = address(*ptr);
                          allocation.size = size;
                          allocation.flags = {"ipc"};
                          give_access(allocation, agents, count);
                          tool().memory.add(std::move(allocation));
                        });
}

hsa_status_t ipc_detach(void* ptr) noexcept {
  return observe_release([&] { return hsa().amd.hsa_amd_ipc_memory_detach_fn(ptr); },
                         [&] { tool().memory.remove(address(ptr)); });
}

hsa_status_t svm_attributes_set(void* ptr, size_t size, hsa_amd_svm_attribute_pair_t* list, size_t count) noexcept {
  return observe_locked([&] { return hsa().amd.hsa_amd_svm_attributes_set_fn(ptr, size, list, count); },
                        [&] {
                          Allocation allocation;
                          allocation.va = allocation.host_ptr = address(ptr);
                          allocation.size = size;
                          allocation.kind = RegionKind::svm;
                          allocation.segment = Segment::host;
                          for (size_t i = 0; i < count; ++i) {
                            const auto name = list[i].attribute;
                            const bool grants = name == HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE ||
                                                name == HSA_AMD_SVM_ATTRIB_AGENT_ACCESSIBLE_IN_PLACE;
                            if (grants) allocation.access.insert(list[i].value);
                          }
                          if (!allocation.access.empty()) tool().memory.add(std::move(allocation));
                        });
}

}  // namespace

void install_memory_hooks(HsaApiTable& table) {
  auto& core = *table.core_;
  auto& amd = *table.amd_ext_;
  install(core, &CoreApiTable::hsa_memory_allocate_fn, memory_allocate);
  install(core, &CoreApiTable::hsa_memory_free_fn, memory_free);
  install(amd, &AmdExtTable::hsa_amd_memory_pool_allocate_fn, pool_allocate);
  install(amd, &AmdExtTable::hsa_amd_memory_pool_free_fn, pool_free);
  install(amd, &AmdExtTable::hsa_amd_agents_allow_access_fn, allow_access);
  install(amd, &AmdExtTable::hsa_amd_memory_lock_fn, memory_lock);
  install(amd, &AmdExtTable::hsa_amd_memory_lock_to_pool_fn, memory_lock_to_pool);
  install(amd, &AmdExtTable::hsa_amd_memory_unlock_fn, memory_unlock);
  install(amd, &AmdExtTable::hsa_amd_vmem_handle_create_fn, vmem_handle_create);
  install(amd, &AmdExtTable::hsa_amd_vmem_import_shareable_handle_fn, vmem_import);
  install(amd, &AmdExtTable::hsa_amd_vmem_handle_release_fn, vmem_handle_release);
  install(amd, &AmdExtTable::hsa_amd_vmem_map_fn, vmem_map);
  install(amd, &AmdExtTable::hsa_amd_vmem_set_access_fn, vmem_set_access);
  install(amd, &AmdExtTable::hsa_amd_vmem_unmap_fn, vmem_unmap);
  install(amd, &AmdExtTable::hsa_amd_ipc_memory_attach_fn, ipc_attach);
  install(amd, &AmdExtTable::hsa_amd_ipc_memory_detach_fn, ipc_detach);
  install(amd, &AmdExtTable::hsa_amd_svm_attributes_set_fn, svm_attributes_set);
}

}  // namespace kerncap::intercept
