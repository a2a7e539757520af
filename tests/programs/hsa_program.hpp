// What programs on the plain HSA runtime share: `PROGRAM CODE_OBJECT SECTION...`, with kernels of vgpu_hsa_kernels.hip.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#define HSA_CHECK(call)                                                                 \
  do {                                                                                  \
    const hsa_status_t hsa_status = (call);                                             \
    if (hsa_status != HSA_STATUS_SUCCESS) {                                             \
      std::fprintf(stderr, "%s:%d: %s: 0x%x\n", __FILE__, __LINE__, #call, hsa_status); \
      std::exit(2);                                                                     \
    }                                                                                   \
  } while (0)

inline hsa_agent_t gpu, cpu;
inline hsa_amd_memory_pool_t device_pool, host_pool, kernarg_pool;
inline hsa_executable_t executable;

inline hsa_status_t on_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  hsa_agent_t& slot = type == HSA_DEVICE_TYPE_GPU ? gpu : cpu;
  if (slot.handle == 0) slot = agent;
  return HSA_STATUS_SUCCESS;
}

inline hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* of_gpu) {
  hsa_amd_segment_t segment;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  std::uint32_t flags = 0;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  if (of_gpu != nullptr) {
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) != 0) device_pool = pool;
  } else if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) != 0) {
    kernarg_pool = pool;
  } else if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) != 0) {
    host_pool = pool;
  }
  return HSA_STATUS_SUCCESS;
}

inline void load(const char* path) {
  std::ifstream file(path, std::ios::binary);
  static std::vector<char> bytes((std::istreambuf_iterator<char>(file)), {});
  hsa_code_object_reader_t reader;
  HSA_CHECK(hsa_code_object_reader_create_from_memory(bytes.data(), bytes.size(), &reader));
  HSA_CHECK(hsa_executable_create_alt(HSA_PROFILE_BASE, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable));
  HSA_CHECK(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr));
  HSA_CHECK(hsa_executable_freeze(executable, nullptr));
}

struct Kernel {
  std::uint64_t object = 0;
  std::uint32_t scratch = 0;
};
inline Kernel kernel(const char* name) {
  hsa_executable_symbol_t symbol;
  HSA_CHECK(hsa_executable_get_symbol_by_name(executable, (std::string(name) + ".kd").c_str(), &gpu, &symbol));
  Kernel k;
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.scratch);
  return k;
}

template <class T>
inline T* allocate(hsa_amd_memory_pool_t pool, std::size_t count) {
  void* p = nullptr;
  HSA_CHECK(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &p));
  HSA_CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, p));
  return static_cast<T*>(p);
}

inline hsa_signal_t signal(hsa_signal_value_t value) {
  hsa_signal_t s;
  HSA_CHECK(hsa_signal_create(value, 0, nullptr, &s));
  return s;
}
// So long that only what never comes takes it, on a busy machine, too.
constexpr int kPatienceMs = 60000;
inline bool completed(hsa_signal_t s) {
  constexpr std::uint64_t ns = std::uint64_t{kPatienceMs} * 1000000;
  return hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, ns, HSA_WAIT_STATE_BLOCKED) == 0;
}

inline std::atomic<std::uint32_t> queue_error{0};
inline void on_queue_error(hsa_status_t status, hsa_queue_t*, void*) { queue_error = static_cast<std::uint32_t>(status); }
inline std::vector<hsa_queue_t*> queues;  // destroyed at the end: their scratch must be given back before hsa_shut_down
inline hsa_queue_t* queue() {
  hsa_queue_t* q = nullptr;
  HSA_CHECK(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_MULTI, on_queue_error, nullptr, UINT32_MAX, UINT32_MAX, &q));
  queues.push_back(q);
  return q;
}

inline hsa_kernel_dispatch_packet_t packet(const Kernel& k, void* kernarg, hsa_signal_t done, std::uint32_t grid) {
  hsa_kernel_dispatch_packet_t p = {};
  p.setup = 1;
  p.workgroup_size_x = 64;
  p.workgroup_size_y = p.workgroup_size_z = p.grid_size_y = p.grid_size_z = 1;
  p.grid_size_x = grid;
  p.private_segment_size = k.scratch;
  p.kernel_object = k.object;
  p.kernarg_address = kernarg;
  p.completion_signal = done;
  return p;
}
constexpr std::uint16_t kDispatchHeader = HSA_PACKET_TYPE_KERNEL_DISPATCH |
                                          (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) |
                                          (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
// The first 4 bytes last: they hand the packet over.
inline void place(hsa_queue_t* q, std::uint64_t index, const void* packet, std::uint32_t header) {
  auto* slot = static_cast<char*>(q->base_address) + (index % q->size) * 64;
  std::memcpy(slot + 4, static_cast<const char*>(packet) + 4, 60);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(slot), header, __ATOMIC_RELEASE);
}
inline void submit(hsa_queue_t* q, const hsa_kernel_dispatch_packet_t& p, std::uint16_t header = kDispatchHeader) {
  const std::uint64_t index = hsa_queue_add_write_index_relaxed(q, 1);
  place(q, index, &p, header | (std::uint32_t{p.setup} << 16));
  hsa_signal_store_relaxed(q->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

struct FillArguments {
  std::uint32_t* out;
  std::uint32_t value;
  std::uint32_t* said;  // of fill_later
};
inline void* fill_arguments(std::uint32_t* out, std::uint32_t value, std::uint32_t* said = nullptr) {
  auto* kernarg = allocate<FillArguments>(kernarg_pool, 16);
  *kernarg = {out, value, said};
  return kernarg;
}
inline bool copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size) {
  const hsa_signal_t done = signal(1);
  HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, done));
  return completed(done);
}

// Exit code 0: every section's result was right.
inline int run_sections(int argc, char** argv, const std::map<std::string, bool (*)()>& sections) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  HSA_CHECK(hsa_init());
  HSA_CHECK(hsa_iterate_agents(on_agent, nullptr));
  HSA_CHECK(hsa_amd_agent_iterate_memory_pools(gpu, on_pool, &gpu));
  HSA_CHECK(hsa_amd_agent_iterate_memory_pools(cpu, on_pool, nullptr));
  load(argv[1]);
  bool right = true;
  for (int i = 2; i < argc; ++i) {
    const bool passed = sections.at(argv[i])();
    std::printf("%s: %s\n", argv[i], passed ? "right" : "WRONG");
    right = right && passed;
  }
  for (hsa_queue_t* q : queues) HSA_CHECK(hsa_queue_destroy(q));
  HSA_CHECK(hsa_shut_down());
  std::puts(right ? "EXIT-SUCCESS" : "EXIT-WRONG-RESULT");
  return right ? 0 : 1;
}
