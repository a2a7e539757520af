// Entries of the AMD extension table that were added after the oldest headers that this is built with, by their place in it, and
// the structures that they take. In: a table of a runtime. Out: its entry, or null where it is too short for one.
// Source: hsa_api_trace.h, hsa_ext_amd.h of HSA_AMD_INTERFACE_VERSION 1.31 (extension table step 0x12); entries are only ever appended.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <hsa/hsa_api_trace.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kerncap::intercept::newer {

constexpr std::size_t place(std::size_t nth_entry) { return sizeof(ApiTableVersion) + nth_entry * sizeof(void (*)()); }
static_assert(place(67) == offsetof(AmdExtTable, hsa_amd_agent_set_async_scratch_limit_fn));

inline constexpr std::size_t kCountedQueueAcquire = place(76);
inline constexpr std::size_t kAsyncBatchCopy = place(78);
inline constexpr std::size_t kQueueCreate = place(86);

// hsa_amd_queue_create_desc_t, version 1.
struct QueueDescriptor {
  std::uint16_t version;
  std::uint16_t flags;        // where the ring lies
  std::uint8_t engine;        // 0: compute
  std::array<std::uint8_t, 3> reserved_header;
  std::uint32_t ring_bytes;
  hsa_amd_queue_priority_t priority;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* callback_data;
  hsa_queue_t* queue;         // out; null on failure
  const std::uint32_t* cu_mask;
  hsa_queue_type32_t type;
  std::uint32_t private_bytes;
  std::uint32_t cu_mask_bits;
  std::array<std::uint32_t, 3> reserved_compute;
  std::uint32_t traffic_class;
  std::array<std::uint8_t, 20> reserved;
};
static_assert(sizeof(QueueDescriptor) == 96 && offsetof(QueueDescriptor, priority) == 12 && offsetof(QueueDescriptor, queue) == 32 &&
              offsetof(QueueDescriptor, type) == 48 && offsetof(QueueDescriptor, traffic_class) == 72);

using QueueCreate = hsa_status_t (*)(hsa_agent_t agent, QueueDescriptor* descriptors, std::uint32_t count);
// The operations are opaque here.
using AsyncBatchCopy = hsa_status_t (*)(const void* operations, std::uint32_t count, std::uint32_t dependencies, const hsa_signal_t* list);
using CountedQueueAcquire = hsa_status_t (*)(hsa_agent_t agent, hsa_queue_type_t type, hsa_amd_queue_priority_t priority,
                                             void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, std::uint64_t flags,
                                             hsa_queue_t** queue);

template <class Function>
Function entry(const AmdExtTable& table, std::size_t place) {
  Function function = nullptr;
  if (place + sizeof function <= table.version.minor_id) std::memcpy(&function, reinterpret_cast<const std::byte*>(&table) + place, sizeof function);
  return function;
}

// Replaces an entry where the runtime has it.
template <class Function>
void install(AmdExtTable& table, std::size_t place, Function hook) {
  if (entry<Function>(table, place) != nullptr) std::memcpy(reinterpret_cast<std::byte*>(&table) + place, &hook, sizeof hook);
}

}  // namespace kerncap::intercept::newer
