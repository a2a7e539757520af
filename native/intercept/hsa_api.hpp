// The runtime's own entry points, saved before any of them is replaced.
// In: the HsaApiTable that the runtime hands to OnLoad. Out: original functions (every call that the tool makes goes through
// them, so that nothing of its own is recorded) and installed hooks. Called by entry.cpp and everything that talks to HSA.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_ven_amd_loader.h>

#include <hsa/hsa_api_trace.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>

#include "intercept/newer_runtimes.hpp"

namespace kerncap::intercept {

struct HsaApi {
  CoreApiTable core{};
  AmdExtTable amd{};
  newer::QueueCreate amd_queue_create = nullptr;
  newer::AsyncBatchCopy amd_async_batch_copy = nullptr;
  newer::CountedQueueAcquire amd_counted_queue_acquire = nullptr;
  std::uint32_t table_major = 0;
  std::uint32_t table_minor = 0;
};

// The originals. Valid once load() has returned; functions that the runtime's table does not reach are null.
HsaApi& hsa();

// Copies both tables by the runtime's sizes (`minor_id` of a table is its size in bytes), never by the compile-time ones.
// Source: hsa_api_trace.h, copyTables.
void save_originals(const HsaApiTable& table);

// True when the runtime's table is long enough to hold `member`.
template <class Table, class Member>
bool has_entry(const Table& table, Member Table::* member) {
  const auto offset = reinterpret_cast<const std::byte*>(&(table.*member)) - reinterpret_cast<const std::byte*>(&table);
  return static_cast<std::size_t>(offset) + sizeof(Member) <= table.version.minor_id;
}

// Replaces one entry where the runtime has it; says whether it did.
template <class Table, class Member>
bool install(Table& table, Member Table::* member, std::type_identity_t<Member> hook) {
  if (!has_entry(table, member) || table.*member == nullptr) return false;
  table.*member = hook;
  return true;
}

std::string status_text(hsa_status_t status);

// Throws Error("capture.hsa") naming `what` when the status is not success.
void check(hsa_status_t status, const char* what);

}  // namespace kerncap::intercept
