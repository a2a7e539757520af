// Interposed libdrm and libdrm_amdgpu: what the HSA runtime asks of the render node. Buffer objects are the Storage
// that ALLOC_MEMORY_OF_GPU made and EXPORT_DMABUF named. Without a virtual GPU every call goes to the real library.
#include <amdgpu.h>
#include <amdgpu_drm.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "vgpu/kfd/device.hpp"
#include "vgpu/kfd/files.hpp"
#include "vgpu/kfd/next.hpp"
#include "vgpu/report.hpp"

using namespace kerncap::vgpu;

// Handles of this library; only ever seen by the callers as opaque pointers.
struct amdgpu_device {
  int fd;
  Gpu* gpu;
};
struct amdgpu_bo {
  std::shared_ptr<Storage> storage;
  Gpu* gpu;  // whose page table bo_va_op changes
};

namespace kerncap::vgpu {

void report_unknown_drm(unsigned long request) noexcept {
  char text[64];
  std::snprintf(text, sizeof text, "DRM request 0x%lx", request);
  report::stopped("vgpu.unknown-ioctl", text);
}

namespace {

// The real function's answer, or -ENOSYS where there is none.
template <class... Args>
int pass(const char* symbol, Args... args) {
  const auto real = next<int (*)(Args...)>(symbol);
  return real != nullptr ? real(args...) : -ENOSYS;
}

}  // namespace
}  // namespace kerncap::vgpu

#pragma GCC visibility push(default)  // the symbols of vgpu.map
extern "C" {

int drmOpenRender(int minor) {
  if (active_config() == nullptr) return pass("drmOpenRender", minor);
  const auto first = static_cast<int>(kFirstRenderMinor);
  if (minor < first || minor >= first + static_cast<int>(active_config()->gpus)) return -ENOENT;
  const int fd = open_node(static_cast<unsigned>(minor));
  return fd >= 0 ? fd : -errno;
}

int drmClose(int fd) {
  if (Device::current() == nullptr) return pass("drmClose", fd);
  return ::close(fd);
}

int drmCommandWriteRead(int fd, unsigned long index, void* data, unsigned long size) {
  Device* device = Device::current();
  if (device == nullptr) return pass("drmCommandWriteRead", fd, index, data, size);
  if (index != DRM_AMDGPU_GEM_MMAP || size < sizeof(drm_amdgpu_gem_mmap)) {
    report_unknown_drm(index);
    return -EINVAL;
  }
  auto* args = static_cast<drm_amdgpu_gem_mmap*>(data);
  const auto storage = device->storage_by_id(args->in.handle);
  if (!storage) return -EINVAL;
  storage->cpu_reaches();
  args->out.addr_ptr = storage->mmap_offset();
  return 0;
}

int amdgpu_device_initialize(int fd, uint32_t* major, uint32_t* minor, amdgpu_device_handle* handle) {
  Device* device = Device::current();
  const auto node = device != nullptr ? device->backing().node_of(fd) : std::nullopt;
  if (!node) return pass("amdgpu_device_initialize", fd, major, minor, handle);
  Gpu* gpu = device->gpu_by_minor(*node);
  if (gpu == nullptr) return -EINVAL;
  // A descriptor of its own: libhsakmt closes the one it passed and uses amdgpu_device_get_fd()'s.
  const int own = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (own < 0) return -errno;
  *major = 3;
  *minor = 59;
  *handle = new amdgpu_device{own, gpu};
  return 0;
}

int amdgpu_device_deinitialize(amdgpu_device_handle handle) {
  if (Device::current() == nullptr) return pass("amdgpu_device_deinitialize", handle);
  ::close(handle->fd);
  delete handle;
  return 0;
}

int amdgpu_device_get_fd(amdgpu_device_handle handle) {
  if (Device::current() == nullptr) return pass("amdgpu_device_get_fd", handle);
  return handle->fd;
}

const char* amdgpu_get_marketing_name(amdgpu_device_handle handle) {
  if (Device::current() != nullptr) return handle->gpu->model.product;
  const auto real = next<const char* (*)(amdgpu_device_handle)>("amdgpu_get_marketing_name");
  return real != nullptr ? real(handle) : nullptr;
}

int amdgpu_query_gpu_info(amdgpu_device_handle handle, struct amdgpu_gpu_info* info) {
  if (Device::current() == nullptr) return pass("amdgpu_query_gpu_info", handle, info);
  const Model& model = handle->gpu->model;
  *info = {};
  info->asic_id = model.device_id;
  info->family_id = model.family_id;
  info->max_engine_clk = kEngineClockMhz * 1000;
  info->max_memory_clk = 1600000;
  info->gpu_counter_freq = 1000000 / static_cast<uint32_t>(kNsPerTick);  // kHz
  info->vram_bit_width = 4096;
  info->num_shader_engines = model.arrays / model.arrays_per_engine;
  info->num_shader_arrays_per_engine = model.arrays_per_engine;
  info->gb_addr_cfg = 0x10000444;
  return 0;
}

int amdgpu_bo_import(amdgpu_device_handle handle, enum amdgpu_bo_handle_type type, uint32_t shared,
                     struct amdgpu_bo_import_result* result) {
  Device* device = Device::current();
  if (device == nullptr) return pass("amdgpu_bo_import", handle, type, shared, result);
  if (type != amdgpu_bo_handle_type_dma_buf_fd) return -EINVAL;
  auto storage = device->storage_of_descriptor(static_cast<int>(shared));
  if (!storage) return -EINVAL;
  result->alloc_size = storage->size();
  result->buf_handle = new amdgpu_bo{std::move(storage), handle->gpu};
  return 0;
}

int amdgpu_bo_export(amdgpu_bo_handle bo, enum amdgpu_bo_handle_type type, uint32_t* shared) {
  if (Device::current() == nullptr) return pass("amdgpu_bo_export", bo, type, shared);
  if (type != amdgpu_bo_handle_type_kms && type != amdgpu_bo_handle_type_kms_noimport) return -EINVAL;
  *shared = bo->storage->id;
  return 0;
}

int amdgpu_bo_free(amdgpu_bo_handle bo) {
  if (Device::current() == nullptr) return pass("amdgpu_bo_free", bo);
  delete bo;
  return 0;
}

int amdgpu_bo_cpu_map(amdgpu_bo_handle bo, void** cpu) {
  if (Device::current() == nullptr) return pass("amdgpu_bo_cpu_map", bo, cpu);
  bo->storage->cpu_reaches();
  *cpu = bo->storage->host();
  return 0;
}

int amdgpu_bo_cpu_unmap(amdgpu_bo_handle bo) {
  if (Device::current() == nullptr) return pass("amdgpu_bo_cpu_unmap", bo);
  return 0;
}

}  // extern "C"
#pragma GCC visibility pop

namespace {

int va_operation(Gpu& gpu, const std::shared_ptr<Storage>& storage, uint64_t offset, uint64_t size, uint64_t va,
                 uint64_t flags, uint32_t operation) {
  if (offset > storage->size() || size > storage->size() - offset) return -EINVAL;
  switch (operation) {
    case AMDGPU_VA_OP_MAP:
    case AMDGPU_VA_OP_REPLACE:
      gpu.pages.map(va, size, storage->host() + offset, (flags & AMDGPU_VM_PAGE_WRITEABLE) != 0, storage,
                    (flags & AMDGPU_VM_PAGE_EXECUTABLE) != 0);
      return 0;
    case AMDGPU_VA_OP_UNMAP:
    case AMDGPU_VA_OP_CLEAR: gpu.pages.unmap(va, size); return 0;
    default: return -EINVAL;
  }
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int amdgpu_bo_va_op(amdgpu_bo_handle bo, uint64_t offset, uint64_t size, uint64_t va, uint64_t flags,
                               uint32_t operation) {
  if (Device::current() == nullptr) return pass("amdgpu_bo_va_op", bo, offset, size, va, flags, operation);
  report::log(3, "bo va op %u: %llx + %llx, offset %llx, flags %llx", operation, static_cast<unsigned long long>(va),
              static_cast<unsigned long long>(size), static_cast<unsigned long long>(offset), static_cast<unsigned long long>(flags));
  return va_operation(*bo->gpu, bo->storage, offset, size, va, flags, operation);
}
