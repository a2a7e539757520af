// What the HSA runtime itself asks of a device: `vgpu_hsa CODE_OBJECT SECTION...`, with kernels of vgpu_hsa_kernels.hip.
// Used by tests/e2e/test_vgpu.py; exit 0 when every section's result was right.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

namespace {

#define HSA_CHECK(call)                                                                 \
  do {                                                                                  \
    const hsa_status_t hsa_status = (call);                                             \
    if (hsa_status != HSA_STATUS_SUCCESS) {                                             \
      std::fprintf(stderr, "%s:%d: %s: 0x%x\n", __FILE__, __LINE__, #call, hsa_status); \
      std::exit(2);                                                                     \
    }                                                                                   \
  } while (0)

hsa_agent_t gpu, cpu;
hsa_amd_memory_pool_t device_pool, host_pool, kernarg_pool;
hsa_executable_t executable;

hsa_status_t on_agent(hsa_agent_t agent, void*) {
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  hsa_agent_t& slot = type == HSA_DEVICE_TYPE_GPU ? gpu : cpu;
  if (slot.handle == 0) slot = agent;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* of_gpu) {
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

void load(const char* path) {
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
Kernel kernel(const char* name) {
  hsa_executable_symbol_t symbol;
  HSA_CHECK(hsa_executable_get_symbol_by_name(executable, (std::string(name) + ".kd").c_str(), &gpu, &symbol));
  Kernel k;
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &k.object);
  hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE, &k.scratch);
  return k;
}

template <class T>
T* allocate(hsa_amd_memory_pool_t pool, std::size_t count) {
  void* p = nullptr;
  HSA_CHECK(hsa_amd_memory_pool_allocate(pool, count * sizeof(T), 0, &p));
  HSA_CHECK(hsa_amd_agents_allow_access(1, &gpu, nullptr, p));
  return static_cast<T*>(p);
}

hsa_signal_t signal(hsa_signal_value_t value) {
  hsa_signal_t s;
  HSA_CHECK(hsa_signal_create(value, 0, nullptr, &s));
  return s;
}
// So long that only what never comes takes it, on a busy machine, too.
constexpr int kPatienceMs = 60000;
bool completed(hsa_signal_t s) {
  constexpr std::uint64_t ns = std::uint64_t{kPatienceMs} * 1000000;
  return hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 1, ns, HSA_WAIT_STATE_BLOCKED) == 0;
}

std::atomic<std::uint32_t> queue_error{0};
void on_queue_error(hsa_status_t status, hsa_queue_t*, void*) { queue_error = static_cast<std::uint32_t>(status); }
std::vector<hsa_queue_t*> queues;  // destroyed at the end: their scratch must be given back before hsa_shut_down
hsa_queue_t* queue() {
  hsa_queue_t* q = nullptr;
  HSA_CHECK(hsa_queue_create(gpu, 256, HSA_QUEUE_TYPE_MULTI, on_queue_error, nullptr, UINT32_MAX, UINT32_MAX, &q));
  queues.push_back(q);
  return q;
}

hsa_kernel_dispatch_packet_t packet(const Kernel& k, void* kernarg, hsa_signal_t done, std::uint32_t grid) {
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
void submit(hsa_queue_t* q, const hsa_kernel_dispatch_packet_t& p, std::uint16_t header = kDispatchHeader) {
  const std::uint64_t index = hsa_queue_add_write_index_relaxed(q, 1);
  auto* slot = static_cast<char*>(q->base_address) + (index % q->size) * 64;
  std::memcpy(slot + 4, reinterpret_cast<const char*>(&p) + 4, 60);
  __atomic_store_n(reinterpret_cast<std::uint32_t*>(slot), header | (std::uint32_t{p.setup} << 16), __ATOMIC_RELEASE);
  hsa_signal_store_relaxed(q->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

struct FillArguments {
  std::uint32_t* out;
  std::uint32_t value;
};
void* fill_arguments(std::uint32_t* out, std::uint32_t value) {
  auto* kernarg = allocate<FillArguments>(kernarg_pool, 16);
  *kernarg = {out, value};
  return kernarg;
}
bool copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, std::size_t size) {
  const hsa_signal_t done = signal(1);
  HSA_CHECK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, size, 0, nullptr, done));
  return completed(done);
}

bool dispatch() {
  auto* out = allocate<std::uint32_t>(device_pool, 64);
  auto* seen = allocate<std::uint32_t>(host_pool, 64);
  hsa_queue_t* q = queue();
  hsa_signal_t interrupt = signal(1), busy;
  HSA_CHECK(hsa_amd_signal_create(1, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &busy));
  submit(q, packet(kernel("fill"), fill_arguments(out, 7), interrupt, 64));
  if (!completed(interrupt) || !copy(seen, cpu, out, gpu, 256) || seen[63] != 7) return false;
  submit(q, packet(kernel("fill"), fill_arguments(out, 9), busy, 64));
  while (hsa_signal_load_scacquire(busy) != 0) usleep(100);
  return copy(seen, cpu, out, gpu, 256) && seen[0] == 9;
}

bool profiling() {
  hsa_queue_t* q = queue();
  HSA_CHECK(hsa_amd_profiling_set_profiler_enabled(q, 1));
  // The clocks are related by a fit: allow it some microseconds for a point in time, and a tick for a difference.
  const std::uint64_t slack = 200000, tick = 10;
  std::uint64_t took[2] = {};
  for (std::uint64_t& one : took) {
    const hsa_signal_t done = signal(1);
    std::uint64_t before = 0, after = 0;
    hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &before);
    submit(q, packet(kernel("fill"), fill_arguments(allocate<std::uint32_t>(device_pool, 64), 1), done, 64));
    if (!completed(done)) return false;
    hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &after);
    hsa_amd_profiling_dispatch_time_t time = {};
    HSA_CHECK(hsa_amd_profiling_get_dispatch_time(gpu, done, &time));
    if (time.start >= time.end || time.start + slack < before || time.end > after + slack) return false;
    one = time.end - time.start;
  }
  // By the cost model: the same each time.
  return took[0] + tick >= took[1] && took[1] + tick >= took[0];
}

// A thread sleeps until the interrupt, and a callback comes from the runtime's event thread.
bool interrupts() {
  static std::atomic<bool> called{false};
  hsa_queue_t* q = queue();
  const hsa_signal_t gate = signal(1), done = signal(1);
  HSA_CHECK(hsa_amd_signal_async_handler(
      done, HSA_SIGNAL_CONDITION_LT, 1, [](hsa_signal_value_t, void*) { called = true; return false; }, nullptr));
  hsa_barrier_and_packet_t barrier = {};
  barrier.dep_signal[0] = gate;
  barrier.completion_signal = done;
  hsa_kernel_dispatch_packet_t as_packet;
  std::memcpy(&as_packet, &barrier, sizeof barrier);
  as_packet.setup = 0;
  submit(q, as_packet, HSA_PACKET_TYPE_BARRIER_AND);
  usleep(50000);
  if (hsa_signal_load_relaxed(done) != 1 || called) return false;
  hsa_signal_store_screlease(gate, 0);
  if (!completed(done)) return false;
  for (int i = 0; i < kPatienceMs && !called; ++i) usleep(1000);
  return called;
}

bool virtual_memory() {
  constexpr std::size_t size = std::size_t{4} << 20;
  void* const wanted = reinterpret_cast<void*>(0x7e0000000000);
  void* va = nullptr;
  HSA_CHECK(hsa_amd_vmem_address_reserve(&va, size, reinterpret_cast<std::uint64_t>(wanted), 0));
  hsa_amd_vmem_alloc_handle_t handle = {}, imported = {};
  HSA_CHECK(hsa_amd_vmem_handle_create(device_pool, size, MEMORY_TYPE_PINNED, 0, &handle));
  HSA_CHECK(hsa_amd_vmem_map(va, size, 0, handle, 0));
  const hsa_amd_memory_access_desc_t access = {HSA_ACCESS_PERMISSION_RW, gpu};
  HSA_CHECK(hsa_amd_vmem_set_access(va, size, &access, 1));
  int fd = -1;
  HSA_CHECK(hsa_amd_vmem_export_shareable_handle(&fd, handle, 0));
  HSA_CHECK(hsa_amd_vmem_import_shareable_handle(fd, &imported));
  close(fd);
  const hsa_signal_t done = signal(1);
  submit(queue(), packet(kernel("fill"), fill_arguments(static_cast<std::uint32_t*>(va), 21), done, 64));
  auto* seen = allocate<std::uint32_t>(host_pool, 64);
  const bool right = completed(done) && copy(seen, cpu, va, gpu, 256) && seen[5] == 21 && va == wanted;
  HSA_CHECK(hsa_amd_vmem_unmap(va, size));
  HSA_CHECK(hsa_amd_vmem_handle_release(imported));
  HSA_CHECK(hsa_amd_vmem_handle_release(handle));
  HSA_CHECK(hsa_amd_vmem_address_free(va, size));
  return right;
}

std::atomic<std::uint64_t> fault_va{0};
std::atomic<std::uint32_t> fault_reason{0};
hsa_status_t on_system_event(const hsa_amd_event_t* event, void*) {
  if (event->event_type != HSA_AMD_GPU_MEMORY_FAULT_EVENT) return HSA_STATUS_ERROR;
  fault_reason = event->memory_fault.fault_reason_mask;
  fault_va = event->memory_fault.virtual_address;
  return HSA_STATUS_SUCCESS;
}
// A store there: the handler of system events learns of it instead of the process's end. Once a process.
bool faulted(void* at, std::uint32_t reason) {
  HSA_CHECK(hsa_amd_register_system_event_handler(on_system_event, nullptr));
  const hsa_signal_t done = signal(1);
  submit(queue(), packet(kernel("fill"), fill_arguments(static_cast<std::uint32_t*>(at), 1), done, 64));
  for (int i = 0; i < kPatienceMs && fault_va == 0; ++i) usleep(1000);
  std::printf("  fault at 0x%lx, reason 0x%x, expected 0x%x\n", fault_va.load(), fault_reason.load(), reason);
  return fault_va == reinterpret_cast<std::uint64_t>(at) && fault_reason == reason && hsa_signal_load_relaxed(done) == 1;
}
bool unmapped_fault() {
  return faulted(reinterpret_cast<void*>(0x123456789000), HSA_AMD_MEMORY_FAULT_PAGE_NOT_PRESENT);
}
bool read_only_fault() {
  constexpr std::size_t size = std::size_t{2} << 20;
  void* va = nullptr;
  HSA_CHECK(hsa_amd_vmem_address_reserve(&va, size, 0, 0));
  hsa_amd_vmem_alloc_handle_t memory = {};
  HSA_CHECK(hsa_amd_vmem_handle_create(device_pool, size, MEMORY_TYPE_PINNED, 0, &memory));
  HSA_CHECK(hsa_amd_vmem_map(va, size, 0, memory, 0));
  const hsa_amd_memory_access_desc_t access = {HSA_ACCESS_PERMISSION_RO, gpu};
  HSA_CHECK(hsa_amd_vmem_set_access(va, size, &access, 1));
  const bool right = faulted(va, HSA_AMD_MEMORY_FAULT_READ_ONLY);
  HSA_CHECK(hsa_amd_vmem_unmap(va, size));
  HSA_CHECK(hsa_amd_vmem_handle_release(memory));
  HSA_CHECK(hsa_amd_vmem_address_free(va, size));
  return right;
}

// A packet that the command processor refuses: the queue's callback learns why, the signal never completes.
template <class Change>
bool refused(std::uint32_t expected, Change change, std::uint16_t header = kDispatchHeader) {
  queue_error = 0;
  const hsa_signal_t done = signal(1);
  auto p = packet(kernel("fill"), fill_arguments(allocate<std::uint32_t>(device_pool, 64), 1), done, 64);
  change(p);
  hsa_queue_t* q = queue();
  submit(q, p, header);
  for (int i = 0; i < kPatienceMs && queue_error == 0; ++i) usleep(1000);
  std::printf("  queue error 0x%x, expected 0x%x\n", queue_error.load(), expected);
  const bool right = queue_error == expected && hsa_signal_load_relaxed(done) == 1;
  return right;
}
bool queue_errors() {
  const bool dimension =
      refused(HSA_STATUS_ERROR_INCOMPATIBLE_ARGUMENTS, [](auto& p) { p.grid_size_x = 0; });
  const bool group = refused(HSA_STATUS_ERROR_INVALID_ALLOCATION, [](auto& p) { p.group_segment_size = 1 << 20; });
  const bool workgroup = refused(HSA_STATUS_ERROR_INVALID_ARGUMENT, [](auto& p) { p.workgroup_size_x = 2000; });
  const bool code = refused(HSA_STATUS_ERROR_INVALID_CODE_OBJECT, [](auto& p) { p.kernel_object = 0; });
  const bool format = refused(HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, [](auto&) {}, HSA_PACKET_TYPE_AGENT_DISPATCH);
  const bool registers = refused(HSA_STATUS_ERROR_OUT_OF_REGISTERS, [](auto& p) {
    p.kernel_object = kernel("many_registers").object;
    p.workgroup_size_x = p.grid_size_x = 1024;
  });
  return dimension && group && workgroup && code && format && registers;
}
// What stops a wave, and with it the queue.
bool wave_errors() {
  const auto by = [](const char* name) {
    return [name](auto& p) {
      const Kernel k = kernel(name);
      p.kernel_object = k.object;
      p.private_segment_size = k.scratch;
    };
  };
  const bool outside = refused(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION, by("beyond_private"));
  const bool misaligned = refused(HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION, by("misaligned_atomic"));
  const bool trapped = refused(HSA_STATUS_ERROR_EXCEPTION, by("trap"));
  return outside && misaligned && trapped;
}
bool illegal_instruction() {
  return refused(static_cast<std::uint32_t>(HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION),
                 [](auto& p) { p.kernel_object = kernel("illegal").object; });
}

bool scratch() {
  auto* out = allocate<std::uint32_t>(device_pool, 256);
  auto* seen = allocate<std::uint32_t>(host_pool, 256);
  const Kernel k = kernel("reverse_private");
  const hsa_signal_t done = signal(1);
  submit(queue(), packet(k, fill_arguments(out, 3), done, 256));
  if (k.scratch == 0 || !completed(done) || !copy(seen, cpu, out, gpu, 1024)) return false;
  for (std::uint32_t i = 0; i < 256; ++i)
    if (seen[i] != 3 + (63 - i % 64)) return false;
  return true;
}

const std::map<std::string, bool (*)()> kSections = {
    {"dispatch", dispatch}, {"profiling", profiling}, {"interrupts", interrupts}, {"virtual_memory", virtual_memory},
    {"queue_errors", queue_errors}, {"wave_errors", wave_errors}, {"unmapped_fault", unmapped_fault},
    {"read_only_fault", read_only_fault}, {"illegal_instruction", illegal_instruction}, {"scratch", scratch}};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  HSA_CHECK(hsa_init());
  HSA_CHECK(hsa_iterate_agents(on_agent, nullptr));
  HSA_CHECK(hsa_amd_agent_iterate_memory_pools(gpu, on_pool, &gpu));
  HSA_CHECK(hsa_amd_agent_iterate_memory_pools(cpu, on_pool, nullptr));
  load(argv[1]);
  bool right = true;
  for (int i = 2; i < argc; ++i) {
    const bool passed = kSections.at(argv[i])();
    std::printf("%s: %s\n", argv[i], passed ? "right" : "WRONG");
    right = right && passed;
  }
  for (hsa_queue_t* q : queues) HSA_CHECK(hsa_queue_destroy(q));
  HSA_CHECK(hsa_shut_down());
  std::puts(right ? "EXIT-SUCCESS" : "EXIT-WRONG-RESULT");
  return right ? 0 : 1;
}
