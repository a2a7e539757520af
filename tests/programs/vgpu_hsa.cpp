// What the HSA runtime itself asks of a device: `vgpu_hsa CODE_OBJECT SECTION...`. Used by tests/e2e/test_vgpu.py.
#include "hsa_program.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <optional>

namespace {

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
// Device memory of the virtual memory API, mapped for the GPU with that access.
class Mapped {
 public:
  explicit Mapped(hsa_access_permission_t permission) {
    HSA_CHECK(hsa_amd_vmem_address_reserve(&va_, size, 0, 0));
    HSA_CHECK(hsa_amd_vmem_handle_create(device_pool, size, MEMORY_TYPE_PINNED, 0, &memory_));
    HSA_CHECK(hsa_amd_vmem_map(va_, size, 0, memory_, 0));
    const hsa_amd_memory_access_desc_t access = {permission, gpu};
    HSA_CHECK(hsa_amd_vmem_set_access(va_, size, &access, 1));
  }
  ~Mapped() {
    HSA_CHECK(hsa_amd_vmem_unmap(va_, size));
    HSA_CHECK(hsa_amd_vmem_handle_release(memory_));
    HSA_CHECK(hsa_amd_vmem_address_free(va_, size));
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  void* va() const { return va_; }

 private:
  static constexpr std::size_t size = std::size_t{2} << 20;
  void* va_ = nullptr;
  hsa_amd_vmem_alloc_handle_t memory_ = {};
};

bool read_only_fault() {
  const Mapped memory(HSA_ACCESS_PERMISSION_RO);
  return faulted(memory.va(), HSA_AMD_MEMORY_FAULT_READ_ONLY);
}

// The kernel "fill" where its descriptor and code have been copied to: within `kCodeBytes` from `to` on.
constexpr std::uint64_t kPage = 4096, kCodeBytes = 4 * kPage;
std::optional<Kernel> fill_copied(void* to) {
  Kernel fill = kernel("fill");
  const std::uint64_t first = fill.object & ~(kPage - 1);
  if (!copy(to, gpu, reinterpret_cast<void*>(first), gpu, kCodeBytes)) return std::nullopt;
  fill.object += reinterpret_cast<std::uint64_t>(to) - first;
  return fill;
}

// A kernel copied into memory that is not mapped for execution: its first instruction cannot be fetched. (Memory of the virtual memory
// API: HSA runtime 6.1 allocates everything else for execution.)
bool execute_fault() {
  HSA_CHECK(hsa_amd_register_system_event_handler(on_system_event, nullptr));
  const Mapped memory(HSA_ACCESS_PERMISSION_RW);
  const auto fill = fill_copied(memory.va());
  if (!fill) return false;
  const std::uint64_t data = reinterpret_cast<std::uint64_t>(memory.va());
  const hsa_signal_t done = signal(1);
  submit(queue(), packet(*fill, fill_arguments(allocate<std::uint32_t>(device_pool, 64), 1), done, 64));
  for (int i = 0; i < kPatienceMs && fault_va == 0; ++i) usleep(1000);
  std::printf("  fault at 0x%lx of 0x%lx, reason 0x%x\n", fault_va.load(), data, fault_reason.load());
  return fault_va - data < kCodeBytes && fault_reason == HSA_AMD_MEMORY_FAULT_NX && hsa_signal_load_relaxed(done) == 1;
}

// Code in memory that was allocated for data, and imported: the driver maps what is imported for everything.
bool imported_code() {
  constexpr std::size_t size = std::size_t{2} << 20;
  const auto exported = allocate<std::byte>(device_pool, size);
  int fd = -1;
  std::uint64_t offset = 0;
  HSA_CHECK(hsa_amd_portable_export_dmabuf(exported, size, &fd, &offset));
  std::size_t mapped = 0;
  void* va = nullptr;
  HSA_CHECK(hsa_amd_interop_map_buffer(1, &gpu, fd, 0, &mapped, &va, nullptr, nullptr));
  const auto fill = fill_copied(static_cast<std::byte*>(va) + offset);
  if (!fill) return false;
  const hsa_signal_t done = signal(1);
  submit(queue(), packet(*fill, fill_arguments(allocate<std::uint32_t>(device_pool, 64), 1), done, 64));
  const bool ended = completed(done);
  HSA_CHECK(hsa_amd_interop_unmap_buffer(va));
  close(fd);
  return ended;
}

// As many workgroups as a packet can ask for are not done at once, and the queue can be destroyed all the same.
bool endless_grids() {
  const auto pending = [](std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint16_t workgroup) {
    const hsa_signal_t done = signal(1);
    auto p = packet(kernel("fill"), fill_arguments(allocate<std::uint32_t>(device_pool, 64), 1), done, x);
    p.setup = 3;
    p.grid_size_y = y;
    p.grid_size_z = z;
    p.workgroup_size_x = workgroup;
    submit(queue(), p);
    usleep(200000);
    return hsa_signal_load_relaxed(done) == 1;
  };
  return pending(0xffffffff, 1, 1, 64) && pending(1u << 22, 1u << 21, 1u << 21, 1);
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
    {"read_only_fault", read_only_fault}, {"execute_fault", execute_fault}, {"imported_code", imported_code}, {"endless_grids", endless_grids},
    {"illegal_instruction", illegal_instruction}, {"scratch", scratch}};

}  // namespace

int main(int argc, char** argv) { return run_sections(argc, argv, kSections); }
