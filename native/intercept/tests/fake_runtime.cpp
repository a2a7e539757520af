#include "intercept/tests/fake_runtime.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace kerncap::intercept::fake {
namespace {

amd_signal_t* block(hsa_signal_t signal) { return reinterpret_cast<amd_signal_t*>(signal.handle); }

std::atomic_ref<std::int64_t> cell(hsa_signal_t signal) {
  return std::atomic_ref<std::int64_t>(const_cast<std::int64_t&>(block(signal)->value));
}

template <class T>
void store(void* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

hsa_status_t iterate_agents(hsa_status_t (*visit)(hsa_agent_t, void*), void* data) {
  visit(cpu, data);
  visit(gpu, data);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t agent_info(hsa_agent_t agent, hsa_agent_info_t what, void* value) {
  switch (static_cast<std::uint32_t>(what)) {
    case HSA_AGENT_INFO_DEVICE: store(value, agent.handle == cpu.handle ? HSA_DEVICE_TYPE_CPU : HSA_DEVICE_TYPE_GPU); break;
    case HSA_AGENT_INFO_NAME: std::strcpy(static_cast<char*>(value), "gfx942"); break;
    case HSA_AGENT_INFO_ISA: store(value, hsa_isa_t{5}); break;
    case HSA_AMD_AGENT_INFO_PRODUCT_NAME: std::strcpy(static_cast<char*>(value), "Fake"); break;
    case HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT: store(value, std::uint32_t{1}); break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

constexpr char isa_name[] = "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-";

hsa_status_t isa_info(hsa_isa_t, hsa_isa_info_t what, void* value) {
  if (what == HSA_ISA_INFO_NAME_LENGTH) store(value, static_cast<std::uint32_t>(sizeof isa_name));
  if (what == HSA_ISA_INFO_NAME) std::memcpy(value, isa_name, sizeof isa_name);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t system_info(hsa_system_info_t what, void* value) {
  if (what == HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY) store(value, std::uint64_t{1000000000});
  if (what == HSA_SYSTEM_INFO_VERSION_MAJOR || what == HSA_SYSTEM_INFO_VERSION_MINOR) store(value, std::uint16_t{1});
  return HSA_STATUS_SUCCESS;
}

hsa_status_t iterate_pools(hsa_agent_t agent, hsa_status_t (*visit)(hsa_amd_memory_pool_t, void*), void* data) {
  return visit(agent.handle == cpu.handle ? host_pool : device_pool, data);
}

hsa_status_t pool_info(hsa_amd_memory_pool_t, hsa_amd_memory_pool_info_t what, void* value) {
  switch (what) {
    case HSA_AMD_MEMORY_POOL_INFO_SEGMENT: store(value, HSA_AMD_SEGMENT_GLOBAL); break;
    case HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS:
      store(value, static_cast<std::uint32_t>(HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED));
      break;
    case HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED: store(value, true); break;
    case HSA_AMD_MEMORY_POOL_INFO_SIZE: store(value, std::size_t{1} << 30); break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t iterate_regions(hsa_agent_t, hsa_status_t (*)(hsa_region_t, void*), void*) { return HSA_STATUS_SUCCESS; }

hsa_status_t pool_allocate(hsa_amd_memory_pool_t, std::size_t size, std::uint32_t, void** out) {
  *out = std::aligned_alloc(4096, (size + 4095) / 4096 * 4096);
  return *out == nullptr ? HSA_STATUS_ERROR_OUT_OF_RESOURCES : HSA_STATUS_SUCCESS;
}

hsa_status_t pool_free(void* pointer) {
  std::free(pointer);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t allow_access(std::uint32_t, const hsa_agent_t*, const std::uint32_t*, const void*) { return HSA_STATUS_SUCCESS; }

hsa_status_t signal_create(hsa_signal_value_t initial, std::uint32_t, const hsa_agent_t*, hsa_signal_t* out) {
  auto* signal = new amd_signal_t{};
  signal->value = initial;
  out->handle = reinterpret_cast<std::uint64_t>(signal);
  const std::scoped_lock lock(state().mutex);
  ++state().signals_alive;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t signal_destroy(hsa_signal_t signal) {
  delete block(signal);
  const std::scoped_lock lock(state().mutex);
  --state().signals_alive;
  return HSA_STATUS_SUCCESS;
}

hsa_signal_value_t signal_load(hsa_signal_t signal) { return cell(signal).load(); }
void signal_store(hsa_signal_t signal, hsa_signal_value_t value) { cell(signal).store(value); }
void signal_subtract(hsa_signal_t signal, hsa_signal_value_t value) { cell(signal).fetch_sub(value); }

hsa_signal_value_t signal_wait(hsa_signal_t signal, hsa_signal_condition_t, hsa_signal_value_t compare, std::uint64_t timeout,
                               hsa_wait_state_t) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(timeout);
  while (cell(signal).load() >= compare && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return cell(signal).load();
}

hsa_status_t async_copy(void* to, hsa_agent_t, const void* from, hsa_agent_t, std::size_t size, std::uint32_t, const hsa_signal_t*,
                        hsa_signal_t completion) {
  if (state().before_copy) state().before_copy(to);
  std::memcpy(to, from, size);
  cell(completion).fetch_sub(1);
  return HSA_STATUS_SUCCESS;
}

hsa_status_t event_handler(hsa_amd_system_event_callback_t, void*) { return HSA_STATUS_SUCCESS; }
hsa_status_t set_profiler(hsa_queue_t*, int) { return HSA_STATUS_SUCCESS; }

hsa_status_t dispatch_time(hsa_agent_t, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* time) {
  *time = {block(signal)->start_ts, block(signal)->end_ts};
  return HSA_STATUS_SUCCESS;
}

hsa_status_t intercept_create(hsa_agent_t, std::uint32_t size, hsa_queue_type32_t type, void (*)(hsa_status_t, hsa_queue_t*, void*),
                              void*, std::uint32_t, std::uint32_t, hsa_queue_t** out) {
  *out = new hsa_queue_t{};
  (*out)->size = size;
  (*out)->type = type;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t intercept_register(hsa_queue_t*, hsa_amd_queue_intercept_handler handler, void* data) {
  state().handler = handler;
  state().handler_data = data;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t queue_create(hsa_agent_t, std::uint32_t, hsa_queue_type32_t, void (*)(hsa_status_t, hsa_queue_t*, void*), void*,
                          std::uint32_t, std::uint32_t, hsa_queue_t**) {
  return HSA_STATUS_ERROR;  // a tool that leaves the application with a plain queue would capture nothing
}

hsa_status_t queue_destroy(hsa_queue_t* queue) {
  delete queue;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t reader_from_memory(const void*, std::size_t, hsa_code_object_reader_t* out) {
  out->handle = 30;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t reader_destroy(hsa_code_object_reader_t) { return HSA_STATUS_SUCCESS; }
hsa_status_t load_code(hsa_executable_t, hsa_agent_t, hsa_code_object_reader_t, const char*, hsa_loaded_code_object_t* out) {
  out->handle = 31;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t freeze(hsa_executable_t, const char*) { return HSA_STATUS_SUCCESS; }

constexpr char symbol_text[] = "_Z5twicePi.kd";

hsa_status_t symbol_info(hsa_executable_symbol_t, hsa_executable_symbol_info_t what, void* value) {
  switch (what) {
    case HSA_EXECUTABLE_SYMBOL_INFO_TYPE: store(value, HSA_SYMBOL_KIND_KERNEL); break;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH: store(value, static_cast<std::uint32_t>(sizeof symbol_text - 1)); break;
    case HSA_EXECUTABLE_SYMBOL_INFO_NAME: std::memcpy(value, symbol_text, sizeof symbol_text - 1); break;
    case HSA_EXECUTABLE_SYMBOL_INFO_AGENT: store(value, gpu); break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: store(value, kernel_object); break;
    case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE: store(value, std::uint32_t{8}); break;
    default: return HSA_STATUS_ERROR_INVALID_ARGUMENT;
  }
  return HSA_STATUS_SUCCESS;
}

hsa_status_t iterate_symbols(hsa_executable_t owner, hsa_status_t (*visit)(hsa_executable_t, hsa_executable_symbol_t, void*),
                             void* data) {
  return visit(owner, hsa_executable_symbol_t{41}, data);
}

hsa_status_t status_string(hsa_status_t, const char** text) {
  *text = "fake status";
  return HSA_STATUS_SUCCESS;
}

void fill_core(CoreApiTable& core) {
  core.hsa_iterate_agents_fn = iterate_agents;
  core.hsa_agent_get_info_fn = agent_info;
  core.hsa_isa_get_info_alt_fn = isa_info;
  core.hsa_system_get_info_fn = system_info;
  core.hsa_agent_iterate_regions_fn = iterate_regions;
  core.hsa_signal_create_fn = signal_create;
  core.hsa_signal_destroy_fn = signal_destroy;
  core.hsa_signal_load_scacquire_fn = signal_load;
  core.hsa_signal_store_screlease_fn = signal_store;
  core.hsa_signal_subtract_screlease_fn = signal_subtract;
  core.hsa_signal_wait_scacquire_fn = signal_wait;
  core.hsa_queue_create_fn = queue_create;
  core.hsa_queue_destroy_fn = queue_destroy;
  core.hsa_code_object_reader_create_from_memory_fn = reader_from_memory;
  core.hsa_code_object_reader_destroy_fn = reader_destroy;
  core.hsa_executable_load_agent_code_object_fn = load_code;
  core.hsa_executable_freeze_fn = freeze;
  core.hsa_executable_symbol_get_info_fn = symbol_info;
  core.hsa_executable_iterate_symbols_fn = iterate_symbols;
  core.hsa_status_string_fn = status_string;
}

void fill_amd(AmdExtTable& amd) {
  amd.hsa_amd_memory_pool_get_info_fn = pool_info;
  amd.hsa_amd_agent_iterate_memory_pools_fn = iterate_pools;
  amd.hsa_amd_memory_pool_allocate_fn = pool_allocate;
  amd.hsa_amd_memory_pool_free_fn = pool_free;
  amd.hsa_amd_agents_allow_access_fn = allow_access;
  amd.hsa_amd_memory_async_copy_fn = async_copy;
  amd.hsa_amd_register_system_event_handler_fn = event_handler;
  amd.hsa_amd_profiling_set_profiler_enabled_fn = set_profiler;
  amd.hsa_amd_profiling_get_dispatch_time_fn = dispatch_time;
  amd.hsa_amd_queue_intercept_create_fn = intercept_create;
  amd.hsa_amd_queue_intercept_register_fn = intercept_register;
}

bool is_kernel(const hsa_kernel_dispatch_packet_t& packet) { return (packet.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH; }
bool is_barrier(const hsa_kernel_dispatch_packet_t& packet) { return (packet.header & 0xff) == HSA_PACKET_TYPE_BARRIER_AND; }

hsa_signal_t dependency(const hsa_kernel_dispatch_packet_t& packet) {
  hsa_barrier_and_packet_t barrier;
  std::memcpy(&barrier, &packet, sizeof barrier);
  return barrier.dep_signal[0];
}

}  // namespace

State& state() {
  static State* const instance = new State;
  return *instance;
}

hsa_signal_value_t value_of(hsa_signal_t signal) { return cell(signal).load(); }

void writer(const void* packets, std::uint64_t count) {
  const auto* list = static_cast<const hsa_kernel_dispatch_packet_t*>(packets);
  const std::scoped_lock lock(state().mutex);
  state().written.insert(state().written.end(), list, list + count);
}

Runtime::Runtime(std::uint32_t core_bytes, std::uint32_t amd_bytes) {
  fill_core(core);
  fill_amd(amd);
  core.version = {HSA_CORE_API_TABLE_MAJOR_VERSION, core_bytes != 0 ? core_bytes : static_cast<std::uint32_t>(sizeof core), 0, 0};
  amd.version = {HSA_AMD_EXT_API_TABLE_MAJOR_VERSION, amd_bytes != 0 ? amd_bytes : static_cast<std::uint32_t>(sizeof(AmdExtTable)), 0, 0};
  table.version = {HSA_API_TABLE_MAJOR_VERSION, sizeof table, 0, 0};
  table.core_ = &core;
  table.amd_ext_ = &amd;
}

void Runtime::run_queue(const std::vector<hsa_signal_t>& until_done) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  const auto done = [&] {
    for (const auto signal : until_done) {
      if (value_of(signal) > 0) return false;
    }
    return true;
  };
  for (std::size_t& next = state().processed; std::chrono::steady_clock::now() < limit;) {
    hsa_kernel_dispatch_packet_t packet{};
    {
      const std::scoped_lock lock(state().mutex);
      if (next == state().written.size()) {
        if (done()) return;
      } else {
        packet = state().written[next];
      }
    }
    const bool blocked = packet.header == 0 || (is_barrier(packet) && dependency(packet).handle != 0 && value_of(dependency(packet)) > 0);
    if (blocked) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      continue;
    }
    if (is_kernel(packet) && state().kernel != nullptr) state().kernel(packet);
    if (packet.completion_signal.handle != 0) {
      block(packet.completion_signal)->start_ts = 1000;
      block(packet.completion_signal)->end_ts = 3000;
      cell(packet.completion_signal).fetch_sub(1);
    }
    ++next;
  }
}

}  // namespace kerncap::intercept::fake
