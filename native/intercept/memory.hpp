// What memory the application has. In: every allocation, mapping, registration and release, as they happen. Out: the regions
// that a dispatch on a given agent can reach. Called by hooks_memory.cpp (writes) and snapshot code (reads).
//
// One lock covers a release and its bookkeeping, so that an address that is handed out again at once is never lost. While a
// snapshot holds the map, releases wait (bounded): memory that is being read must stay.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "bundle/index.hpp"

namespace kerncap::intercept {

struct Allocation {
  std::uint64_t va = 0;  // where the device has it
  std::uint64_t size = 0;
  std::uint64_t padding = 0;  // bytes behind it that the device can reach as well: up to the end of its last page
  std::uint64_t host_ptr = 0;  // where the host has it; 0 when only the runtime can read it
  RegionKind kind = RegionKind::pool;
  Segment segment = Segment::device;
  std::vector<std::string> flags;
  hsa_agent_t owner{};
  std::set<std::uint64_t> access;  // agents that were given access beside the owner
  bool open_to_all = false;
  std::string symbol;                // of a variable
  std::uint32_t step = 0;            // of a variable in a sequence: the first dispatch whose code object holds it
  std::uint64_t physical = 0;  // vmem: number of the physical allocation; 0: none, or mapped from within it

  std::uint64_t end() const { return va + size; }
  bool reachable_from(hsa_agent_t agent) const {
    return open_to_all || owner.handle == agent.handle || access.contains(agent.handle);
  }
};

struct PoolInfo {
  hsa_agent_t owner{};
  Segment segment = Segment::device;
  std::vector<std::string> flags;
  bool is_pool = false;  // and not a region of the older interface
  std::uint64_t size = 0;
};

// Physical memory that can be mapped, any number of times.
struct Physical {
  PoolInfo pool;
  std::uint64_t number = 0;  // never given again, as handles are
};

// All agents of the process in the runtime's order, and the owner of every pool and region.
class Topology {
 public:
  void load();
  const PoolInfo* pool(std::uint64_t handle) const;
  const std::vector<hsa_agent_t>& gpus() const { return gpus_; }
  hsa_agent_t first_cpu() const { return cpus_.empty() ? hsa_agent_t{0} : cpus_.front(); }
  bool is_cpu(hsa_agent_t agent) const;
  // Host pool from which pinned buffers can be allocated. Throws Error("capture.hsa") when there is none.
  hsa_amd_memory_pool_t staging_pool() const;
  hsa_amd_memory_pool_t device_pool(hsa_agent_t gpu) const;
  // Largest global pool of an agent, which is its device memory.
  std::uint64_t memory_bytes(hsa_agent_t agent) const;
  // Ordinal among the GPUs; 0 for anything else.
  std::uint32_t gpu_ordinal(hsa_agent_t agent) const;

 private:
  void add_agent(hsa_agent_t agent);
  std::vector<hsa_agent_t> cpus_;
  std::vector<hsa_agent_t> gpus_;
  std::map<std::uint64_t, PoolInfo> pools_;
};

class MemoryMap {
 public:
  using Clock = std::chrono::steady_clock;
  class Hold;

  // The lock that a release holds over its call and its bookkeeping. Waits while a snapshot holds the map; after `hold_limit`
  // it goes on all the same and the snapshot learns of it.
  std::unique_lock<std::mutex> lock_for_release();
  std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // The rest needs the lock.
  void add(Allocation allocation);
  void remove(std::uint64_t va);
  void remove_locked_host(std::uint64_t host_ptr);
  void remove_range(std::uint64_t va, std::uint64_t size);
  void allow_access(std::uint64_t ptr, const hsa_agent_t* agents, std::uint32_t count);
  void set_vmem_access(std::uint64_t va, std::uint64_t size, const std::set<std::uint64_t>& agents, bool host);
  void physical_created(std::uint64_t handle, PoolInfo info) { physical_[handle] = {std::move(info), ++last_physical_}; }
  void physical_released(std::uint64_t handle) { physical_.erase(handle); }
  const Physical* physical(std::uint64_t handle) const;

  // Everything that a dispatch on `agent` can reach, sorted by address, overlaps cut away (takes the lock). The padding of an
  // allocation is a region of its own, so that the allocation keeps the size that the application asked for.
  std::vector<Allocation> closure(hsa_agent_t agent);

  void set_hold_limit(Clock::duration limit) {
    const std::scoped_lock guard(mutex_);
    hold_limit_ = limit;
  }

 private:
  friend class Hold;
  using Allocations = std::map<std::uint64_t, Allocation>;
  void append_padding(std::vector<Allocation>& regions, Allocations::const_iterator next) const;
  std::mutex mutex_;
  std::condition_variable released_;
  bool held_ = false;
  bool broken_ = false;
  Clock::duration hold_limit_ = std::chrono::seconds(30);
  Allocations allocations_;
  std::map<std::uint64_t, Physical> physical_;
  std::uint64_t last_physical_ = 0;
};

// While it lives, releases wait.
class MemoryMap::Hold {
 public:
  explicit Hold(MemoryMap& map);
  ~Hold();
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;
  // True once a release could not wait any longer: the snapshot cannot be trusted.
  bool broken() const;

 private:
  MemoryMap& map_;
};

}  // namespace kerncap::intercept
