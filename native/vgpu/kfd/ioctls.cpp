#include "vgpu/kfd/ioctls.hpp"

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <limits>
#include <new>

#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

// Clocks read within this much of each other count as read at once.
constexpr std::uint64_t kClocksTogetherNs = 500;

// An argument structure as this build knows it, with the bytes that the caller's may have beyond it.
template <class Args>
int with_args(Device& device, unsigned long request, void* argument, int (*handler)(Device&, Args&)) {
  const std::size_t theirs = _IOC_SIZE(request);
  Args args = {};
  std::memcpy(&args, argument, std::min(sizeof args, theirs));
  const int error = handler(device, args);
  std::memcpy(argument, &args, std::min(sizeof args, theirs));
  return error;
}

// Requests that need an answer and have no effect here.
bool has_no_effect(unsigned number) {
  switch (number) {
    case _IOC_NR(AMDKFD_IOC_SET_MEMORY_POLICY):
    case _IOC_NR(AMDKFD_IOC_SET_SCRATCH_BACKING_VA):
    case _IOC_NR(AMDKFD_IOC_SET_TRAP_HANDLER):
    case _IOC_NR(AMDKFD_IOC_ACQUIRE_VM):
    case _IOC_NR(AMDKFD_IOC_RUNTIME_ENABLE): return true;
    default: return false;
  }
}

// Requests that a kernel without that feature refuses; the runtimes try them and go on.
bool is_refused(unsigned number) {
  switch (number) {
    case _IOC_NR(AMDKFD_IOC_SMI_EVENTS):
    case _IOC_NR(AMDKFD_IOC_DBG_TRAP):
    case _IOC_NR(AMDKFD_IOC_SVM):
    case _IOC_NR(AMDKFD_IOC_CRIU_OP): return true;
    default: return false;
  }
}

int dispatch(Device& device, unsigned long request, void* argument) {
  const auto call = [&](auto handler) { return with_args(device, request, argument, handler); };
  const unsigned number = _IOC_NR(request);
  switch (number) {
    case _IOC_NR(AMDKFD_IOC_GET_VERSION): return call(ioctls::get_version);
    case _IOC_NR(AMDKFD_IOC_CREATE_QUEUE): return call(ioctls::create_queue);
    case _IOC_NR(AMDKFD_IOC_DESTROY_QUEUE): return call(ioctls::destroy_queue);
    case _IOC_NR(AMDKFD_IOC_GET_CLOCK_COUNTERS): return call(ioctls::clock_counters);
    case _IOC_NR(AMDKFD_IOC_UPDATE_QUEUE): return call(ioctls::update_queue);
    case _IOC_NR(AMDKFD_IOC_CREATE_EVENT): return call(ioctls::create_event);
    case _IOC_NR(AMDKFD_IOC_DESTROY_EVENT): return call(ioctls::destroy_event);
    case _IOC_NR(AMDKFD_IOC_SET_EVENT): return call(ioctls::set_event);
    case _IOC_NR(AMDKFD_IOC_RESET_EVENT): return call(ioctls::reset_event);
    case _IOC_NR(AMDKFD_IOC_WAIT_EVENTS): return call(ioctls::wait_events);
    case _IOC_NR(AMDKFD_IOC_GET_TILE_CONFIG): return call(ioctls::tile_config);
    case _IOC_NR(AMDKFD_IOC_GET_PROCESS_APERTURES_NEW): return call(ioctls::apertures);
    case _IOC_NR(AMDKFD_IOC_ALLOC_MEMORY_OF_GPU): return call(ioctls::alloc_memory);
    case _IOC_NR(AMDKFD_IOC_FREE_MEMORY_OF_GPU): return call(ioctls::free_memory);
    case _IOC_NR(AMDKFD_IOC_MAP_MEMORY_TO_GPU): return call(ioctls::map_memory);
    case _IOC_NR(AMDKFD_IOC_UNMAP_MEMORY_FROM_GPU): return call(ioctls::unmap_memory);
    case _IOC_NR(AMDKFD_IOC_SET_CU_MASK): return call(ioctls::set_cu_mask);
    case _IOC_NR(AMDKFD_IOC_ALLOC_QUEUE_GWS): return call(ioctls::alloc_queue_gws);
    case _IOC_NR(AMDKFD_IOC_GET_DMABUF_INFO): return call(ioctls::dmabuf_info);
    case _IOC_NR(AMDKFD_IOC_IMPORT_DMABUF): return call(ioctls::import_dmabuf);
    case _IOC_NR(AMDKFD_IOC_EXPORT_DMABUF): return call(ioctls::export_dmabuf);
    case _IOC_NR(AMDKFD_IOC_SET_XNACK_MODE): return call(ioctls::set_xnack_mode);
    case _IOC_NR(AMDKFD_IOC_AVAILABLE_MEMORY): return call(ioctls::available_memory);
    case kIpcExport: return call(ioctls::export_ipc);
    case kIpcImport: return call(ioctls::import_ipc);
    default: break;
  }
  if (has_no_effect(number)) return 0;
  if (!is_refused(number)) {
    char text[64];
    std::snprintf(text, sizeof text, "KFD ioctl 0x%02x (request 0x%lx)", number, request);
    report::stopped("vgpu.unknown-ioctl", text);
  }
  return EINVAL;
}

std::uint64_t nanoseconds(clockid_t clock) {
  timespec now = {};
  ::clock_gettime(clock, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace

int kfd_ioctl(Device& device, unsigned long request, void* argument) noexcept {
  int error = EINVAL;
  try {
    error = dispatch(device, request, argument);
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  } catch (const std::exception& failure) {
    report::log(1, "ioctl 0x%02x: %s", static_cast<unsigned>(_IOC_NR(request)), failure.what());
  }
  report::log(4, "ioctl 0x%02x -> %d", static_cast<unsigned>(_IOC_NR(request)), error);
  return error;
}

namespace ioctls {

int get_version(Device&, kfd_ioctl_get_version_args& args) {
  // 1.15 is what the virtual-memory API of both runtimes needs; from 1.17 on 6.4.3 asks for other SDMA queues.
  args.major_version = 1;
  args.minor_version = 16;
  return 0;
}

int clock_counters(Device& device, kfd_ioctl_get_clock_counters_args& args) {
  if (device.gpu_by_id(args.gpu_id) == nullptr) return EINVAL;
  // The runtime relates the clocks by a line through two of these readings: read as if at one moment, or a thread that was
  // preempted between two clocks would bend it. The kernel does it with interrupts off.
  std::uint64_t narrowest = std::numeric_limits<std::uint64_t>::max();
  for (unsigned i = 0; i < 8 && narrowest > kClocksTogetherNs; ++i) {
    const std::uint64_t before = nanoseconds(CLOCK_MONOTONIC_RAW), system = nanoseconds(CLOCK_BOOTTIME);
    const std::uint64_t apart = nanoseconds(CLOCK_MONOTONIC_RAW) - before;
    if (apart >= narrowest) continue;
    narrowest = apart;
    args.cpu_clock_counter = before + apart / 2;
    args.gpu_clock_counter = args.cpu_clock_counter / kNsPerTick;
    args.system_clock_counter = system;
  }
  args.system_clock_freq = 1000000000;
  return 0;
}

int tile_config(Device& device, kfd_ioctl_get_tile_config_args& args) {
  if (device.gpu_by_id(args.gpu_id) == nullptr) return EINVAL;
  args.num_tile_configs = 0;
  args.num_macro_tile_configs = 0;
  args.gb_addr_config = 0x10000444;
  args.num_banks = 4;
  args.num_ranks = 1;
  return 0;
}

int apertures(Device& device, kfd_ioctl_get_process_apertures_new_args& args) {
  auto* out = reinterpret_cast<kfd_process_device_apertures*>(args.kfd_process_device_apertures_ptr);
  const std::size_t room = args.num_of_nodes;
  args.num_of_nodes = static_cast<std::uint32_t>(device.gpus().size());
  if (room == 0) return 0;  // only the number is wanted
  if (out == nullptr || room < device.gpus().size()) return EINVAL;
  for (const auto& gpu : device.gpus())
    out[gpu->index] = {.lds_base = kLdsBase, .lds_limit = kLdsLimit, .scratch_base = kScratchBase,
                       .scratch_limit = kScratchLimit, .gpuvm_base = kGpuvmBase, .gpuvm_limit = kGpuvmLimit,
                       .gpu_id = gpu_id_of(gpu->index), .pad = 0};
  return 0;
}

int set_xnack_mode(Device&, kfd_ioctl_set_xnack_mode_args& args) {
  if (args.xnack_enabled > 0) return EPERM;
  args.xnack_enabled = 0;  // a negative value asks
  return 0;
}

int create_event(Device& device, kfd_ioctl_create_event_args& args) {
  const std::uint32_t id = device.events().create(args.event_type, args.auto_reset != 0);
  if (id == 0) return ENOSPC;
  args.event_id = id;
  args.event_trigger_data = id;
  args.event_slot_index = (id - 1) % Events::kSignalLimit;
  // Not zero, in every call: else libhsakmt gives the event no mailbox and its signals never interrupt.
  args.event_page_offset = std::uint64_t{1} << 63;
  return 0;
}

int destroy_event(Device& device, kfd_ioctl_destroy_event_args& args) {
  return device.events().destroy(args.event_id) ? 0 : EINVAL;
}
int set_event(Device& device, kfd_ioctl_set_event_args& args) { return device.events().set(args.event_id) ? 0 : EINVAL; }
int reset_event(Device& device, kfd_ioctl_reset_event_args& args) {
  return device.events().reset(args.event_id) ? 0 : EINVAL;
}
int wait_events(Device& device, kfd_ioctl_wait_events_args& args) {
  auto* events = reinterpret_cast<kfd_event_data*>(args.events_ptr);
  args.wait_result = device.events().wait({events, args.num_events}, args.wait_for_all != 0, args.timeout);
  return 0;
}

}  // namespace ioctls
}  // namespace kerncap::vgpu
