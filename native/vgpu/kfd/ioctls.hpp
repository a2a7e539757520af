// The ioctls of /dev/kfd. In: a request and its argument structure. Out: 0 or an errno value. Called by the interposed
// ioctl(). What each must answer was measured with both runtimes; see docs/virtual-gpu.md.
#pragma once

#include <linux/kfd_ioctl.h>

#include "vgpu/kfd/device.hpp"

namespace kerncap::vgpu {

// Copies the argument in and out by the size that the caller's header gave it, as the driver does.
int kfd_ioctl(Device& device, unsigned long request, void* argument) noexcept;

// Of AMD's driver releases, not of the kernel's own header. Source: ROCR-Runtime, libhsakmt, linux/kfd_ioctl.h.
inline constexpr unsigned kIpcImport = 0x80, kIpcExport = 0x81;
struct IpcExportArgs {
  std::uint64_t handle;
  std::uint32_t share_handle[4];  // out
  std::uint32_t gpu_id;
  std::uint32_t flags;
};
struct IpcImportArgs {
  std::uint64_t handle;  // out
  std::uint64_t va_addr;
  std::uint64_t mmap_offset;  // out
  std::uint32_t share_handle[4];
  std::uint32_t gpu_id;
  std::uint32_t flags;  // out: KFD_IOC_ALLOC_MEM_FLAGS_*
};
static_assert(sizeof(IpcExportArgs) == 32 && sizeof(IpcImportArgs) == 48);

// By subject; each returns 0 or an errno value.
namespace ioctls {
int alloc_memory(Device&, kfd_ioctl_alloc_memory_of_gpu_args&);
int free_memory(Device&, kfd_ioctl_free_memory_of_gpu_args&);
int map_memory(Device&, kfd_ioctl_map_memory_to_gpu_args&);
int unmap_memory(Device&, kfd_ioctl_unmap_memory_from_gpu_args&);
int available_memory(Device&, kfd_ioctl_get_available_memory_args&);
int export_dmabuf(Device&, kfd_ioctl_export_dmabuf_args&);
int dmabuf_info(Device&, kfd_ioctl_get_dmabuf_info_args&);
int import_dmabuf(Device&, kfd_ioctl_import_dmabuf_args&);
int export_ipc(Device&, IpcExportArgs&);
int import_ipc(Device&, IpcImportArgs&);

int create_queue(Device&, kfd_ioctl_create_queue_args&);
int destroy_queue(Device&, kfd_ioctl_destroy_queue_args&);
int update_queue(Device&, kfd_ioctl_update_queue_args&);
int set_cu_mask(Device&, kfd_ioctl_set_cu_mask_args&);
int alloc_queue_gws(Device&, kfd_ioctl_alloc_queue_gws_args&);

int get_version(Device&, kfd_ioctl_get_version_args&);
int clock_counters(Device&, kfd_ioctl_get_clock_counters_args&);
int tile_config(Device&, kfd_ioctl_get_tile_config_args&);
int apertures(Device&, kfd_ioctl_get_process_apertures_new_args&);
int set_xnack_mode(Device&, kfd_ioctl_set_xnack_mode_args&);

int create_event(Device&, kfd_ioctl_create_event_args&);
int destroy_event(Device&, kfd_ioctl_destroy_event_args&);
int set_event(Device&, kfd_ioctl_set_event_args&);
int reset_event(Device&, kfd_ioctl_reset_event_args&);
int wait_events(Device&, kfd_ioctl_wait_events_args&);
}  // namespace ioctls

}  // namespace kerncap::vgpu
