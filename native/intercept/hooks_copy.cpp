// Copies that the application starts while a snapshot is taken are delayed (bounded), so that they change nothing under it.
#include "intercept/hooks.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/starting.hpp"

namespace kerncap::intercept {
namespace {

std::span<const hsa_signal_t> all(std::uint32_t count, const hsa_signal_t* signals) {
  return {signals, signals == nullptr ? 0 : count};
}

hsa_status_t memory_copy(void* to, const void* from, size_t size) noexcept {
  const Starting starting(Capture::Call::Copy);
  return hsa().core.hsa_memory_copy_fn(to, from, size);
}

hsa_status_t async_copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t size, uint32_t count,
                        const hsa_signal_t* dependencies, hsa_signal_t completion) noexcept {
  const Starting starting(Capture::Call::Copy, all(count, dependencies));
  return hsa().amd.hsa_amd_memory_async_copy_fn(to, to_agent, from, from_agent, size, count, dependencies, completion);
}

hsa_status_t async_copy_on_engine(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t size,
                                  uint32_t count, const hsa_signal_t* dependencies, hsa_signal_t completion,
                                  hsa_amd_sdma_engine_id_t engine, bool force) noexcept {
  const Starting starting(Capture::Call::Copy, all(count, dependencies));
  return hsa().amd.hsa_amd_memory_async_copy_on_engine_fn(to, to_agent, from, from_agent, size, count, dependencies, completion,
                                                          engine, force);
}

hsa_status_t async_copy_rect(const hsa_pitched_ptr_t* to, const hsa_dim3_t* to_offset, const hsa_pitched_ptr_t* from,
                             const hsa_dim3_t* from_offset, const hsa_dim3_t* range, hsa_agent_t agent,
                             hsa_amd_copy_direction_t direction, uint32_t count, const hsa_signal_t* dependencies,
                             hsa_signal_t completion) noexcept {
  const Starting starting(Capture::Call::Copy, all(count, dependencies));
  return hsa().amd.hsa_amd_memory_async_copy_rect_fn(to, to_offset, from, from_offset, range, agent, direction, count,
                                                     dependencies, completion);
}

hsa_status_t memory_fill(void* ptr, uint32_t value, size_t count) noexcept {
  const Starting starting(Capture::Call::Copy);
  return hsa().amd.hsa_amd_memory_fill_fn(ptr, value, count);
}

hsa_status_t async_batch_copy(const void* operations, uint32_t count, uint32_t dependency_count, const hsa_signal_t* dependencies) noexcept {
  const Starting starting(Capture::Call::Copy, all(dependency_count, dependencies));
  return hsa().amd_async_batch_copy(operations, count, dependency_count, dependencies);
}

}  // namespace

void install_copy_hooks(HsaApiTable& table) {
  install(*table.core_, &CoreApiTable::hsa_memory_copy_fn, memory_copy);
  install(*table.amd_ext_, &AmdExtTable::hsa_amd_memory_async_copy_fn, async_copy);
  install(*table.amd_ext_, &AmdExtTable::hsa_amd_memory_async_copy_on_engine_fn, async_copy_on_engine);
  install(*table.amd_ext_, &AmdExtTable::hsa_amd_memory_async_copy_rect_fn, async_copy_rect);
  install(*table.amd_ext_, &AmdExtTable::hsa_amd_memory_fill_fn, memory_fill);
  newer::install<newer::AsyncBatchCopy>(*table.amd_ext_, newer::kAsyncBatchCopy, async_batch_copy);
}

}  // namespace kerncap::intercept
