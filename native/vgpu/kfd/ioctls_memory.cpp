// Buffers: allocate, map, export, import; between processes too. Device memory is charged to its GPU and refused when that is full.
#include <algorithm>
#include <cerrno>

#include "vgpu/kfd/ioctls.hpp"
#include "vgpu/memory/shared.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu::ioctls {
namespace {

std::shared_ptr<Storage> make_storage(Device& device, Gpu& gpu, const kfd_ioctl_alloc_memory_of_gpu_args& args) {
  if ((args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0)
    return Backing::adopt_writable(reinterpret_cast<std::byte*>(args.mmap_offset), args.size);
  if ((args.flags & KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL) != 0) return gpu.doorbells;
  const bool vram = (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) != 0;
  auto storage = device.backing().allocate(args.size, vram ? &gpu.vram : nullptr);
  // What the CPU stores is not seen here, so that only memory beyond its reach can be followed.
  if (storage && vram && device.written() != nullptr && (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC) == 0)
    storage->follow(device.written());
  return storage;
}

template <class Apply>
int for_gpus(Device& device, std::uint64_t ids_ptr, std::uint32_t count, std::uint32_t& succeeded, Apply apply) {
  const auto* ids = reinterpret_cast<const std::uint32_t*>(ids_ptr);
  for (std::uint32_t i = succeeded; i < count; ++i) {
    Gpu* gpu = device.gpu_by_id(ids[i]);
    if (gpu == nullptr) return EINVAL;
    apply(*gpu);
    succeeded = i + 1;
  }
  return 0;
}

// The memory behind a handle, if it is of a kind that can be handed on.
std::shared_ptr<Storage> shareable(Device& device, std::uint64_t handle) {
  const std::lock_guard lock(device.buffers_mutex);
  const Buffer* buffer = device.buffer(handle);
  return buffer == nullptr || buffer->storage->id == 0 ? nullptr : buffer->storage;
}

}  // namespace

int alloc_memory(Device& device, kfd_ioctl_alloc_memory_of_gpu_args& args) {
  Gpu* gpu = device.gpu_by_id(args.gpu_id);
  if (gpu == nullptr || args.size == 0) return EINVAL;
  std::shared_ptr<Storage> storage = make_storage(device, *gpu, args);
  if (!storage && (args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) != 0) {
    const int error = errno;
    report::log(1, "user pointer %llx + %llx: %s", static_cast<unsigned long long>(args.mmap_offset),
                static_cast<unsigned long long>(args.size), error == EPERM ? "read-only" : "not accessible");
    return error;
  }
  if (!storage) {
    report::log(1, "out of memory: %llu bytes asked", static_cast<unsigned long long>(args.size));
    return ENOMEM;
  }
  if (storage != gpu->doorbells) {
    storage->flags = args.flags;
    storage->gpu_id = args.gpu_id;
    device.register_storage(storage);
  } else {
    storage->flags = args.flags;
  }
  if ((args.flags & KFD_IOC_ALLOC_MEM_FLAGS_USERPTR) == 0) args.mmap_offset = storage->mmap_offset();
  args.handle = device.add_buffer(args.va_addr, storage);
  report::log(2, "buffer %llu: va %llx, %llu bytes, flags %x", static_cast<unsigned long long>(args.handle),
              static_cast<unsigned long long>(args.va_addr), static_cast<unsigned long long>(args.size), args.flags);
  return 0;
}

int free_memory(Device& device, kfd_ioctl_free_memory_of_gpu_args& args) {
  report::log(2, "buffer %llu freed", static_cast<unsigned long long>(args.handle));
  return device.remove_buffer(args.handle) ? 0 : EINVAL;
}

int map_memory(Device& device, kfd_ioctl_map_memory_to_gpu_args& args) {
  const std::lock_guard lock(device.buffers_mutex);
  Buffer* buffer = device.buffer(args.handle);
  if (buffer == nullptr) return EINVAL;
  return for_gpus(device, args.device_ids_array_ptr, args.n_devices, args.n_success, [buffer](Gpu& gpu) {
    if (buffer->va == 0) return;
    report::log(3, "map %llx + %llx on GPU %u", static_cast<unsigned long long>(buffer->va),
                static_cast<unsigned long long>(buffer->storage->size()), gpu.index);
    gpu.pages.map(buffer->va, buffer->storage->size(), buffer->storage->host(), buffer->writable(), buffer->storage,
                  buffer->executable());
    buffer->mapped_on.insert(gpu.index);
  });
}

int unmap_memory(Device& device, kfd_ioctl_unmap_memory_from_gpu_args& args) {
  const std::lock_guard lock(device.buffers_mutex);
  Buffer* buffer = device.buffer(args.handle);
  if (buffer == nullptr) return EINVAL;
  return for_gpus(device, args.device_ids_array_ptr, args.n_devices, args.n_success, [buffer](Gpu& gpu) {
    if (buffer->mapped_on.erase(gpu.index) != 0) gpu.pages.unmap(buffer->va, buffer->storage->size());
  });
}

int available_memory(Device& device, kfd_ioctl_get_available_memory_args& args) {
  const Gpu* gpu = device.gpu_by_id(args.gpu_id);
  if (gpu == nullptr) return EINVAL;
  args.available = gpu->vram.capacity - gpu->vram.used.load();
  return 0;
}

int export_dmabuf(Device& device, kfd_ioctl_export_dmabuf_args& args) {
  const auto storage = shareable(device, args.handle);
  if (!storage) return EINVAL;
  const int fd = device.export_descriptor(storage);
  if (fd < 0) return errno;
  args.dmabuf_fd = static_cast<std::uint32_t>(fd);
  return 0;
}

int dmabuf_info(Device& device, kfd_ioctl_get_dmabuf_info_args& args) {
  const auto storage = device.storage_of_descriptor(static_cast<int>(args.dmabuf_fd));
  if (!storage) return EINVAL;
  args.size = storage->size();
  args.metadata_size = 0;
  args.gpu_id = storage->gpu_id;
  args.flags = storage->flags;
  return 0;
}

int import_dmabuf(Device& device, kfd_ioctl_import_dmabuf_args& args) {
  auto storage = device.storage_of_descriptor(static_cast<int>(args.dmabuf_fd));
  if (!storage || device.gpu_by_id(args.gpu_id) == nullptr) return EINVAL;
  args.handle = device.add_buffer(args.va_addr, std::move(storage), true);
  return 0;
}

int export_ipc(Device& device, IpcExportArgs& args) {
  const auto storage = shareable(device, args.handle);
  if (!storage || storage->mmap_offset() == 0) return EINVAL;  // 0: itself of another process
  // The other process would map it through its own descriptor of the device, which is another file here.
  if ((storage->flags & KFD_IOC_ALLOC_MEM_FLAGS_VRAM) == 0) {
    report::stopped("vgpu.unknown-ioctl", "IPC export of memory that is not device memory");
    return EINVAL;
  }
  const SharedName name = share(device.backing(), *storage);
  std::copy(name.begin(), name.end(), args.share_handle);
  return 0;
}

int import_ipc(Device& device, IpcImportArgs& args) {
  SharedName name;
  std::copy_n(args.share_handle, name.size(), name.begin());
  const auto storage = open_shared(name);
  if (!storage) return errno;
  if (device.gpu_by_id(storage->gpu_id) == nullptr) return EINVAL;
  device.register_storage(storage);
  args.gpu_id = storage->gpu_id;
  args.flags = storage->flags;
  args.mmap_offset = 0;  // no way for the CPU: see export
  args.handle = device.add_buffer(args.va_addr, storage, true);
  return 0;
}

}  // namespace kerncap::vgpu::ioctls
