#include "vgpu/kfd/device.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <system_error>

#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

constinit std::atomic<Device*> g_device{nullptr};
constinit std::atomic<pid_t> g_owner{0};
constinit std::mutex g_making;

// What an exported descriptor holds.
struct ExportRecord {
  char magic[16];
  std::int64_t pid;
  std::uint64_t storage_id;
};
constexpr char kExportMagic[16] = "kerncap-dmabuf1";

}  // namespace

Device* Device::current() noexcept {
  Device* device = g_device.load(std::memory_order_acquire);
  return device != nullptr && g_owner.load(std::memory_order_relaxed) == ::getpid() ? device : nullptr;
}

bool Device::inherited() noexcept {
  return g_device.load(std::memory_order_acquire) != nullptr && g_owner.load(std::memory_order_relaxed) != ::getpid();
}

bool Device::inherited_descriptor(int fd) noexcept {
  // Only constant parts of the device are looked at: its locks may be held by threads that the fork did not copy.
  return g_device.load(std::memory_order_acquire)->backing_.node_of(fd).has_value();
}

Device* Device::open(const Config& config) noexcept {
  // A fork of a process that used the GPU has half of a device: refuse, as the driver refuses the parent's descriptor.
  if (inherited()) {
    report::log(1, "device refused: it belongs to the parent process");
    errno = ENODEV;
    return nullptr;
  }
  if (Device* device = current()) return device;
  const std::lock_guard lock(g_making);
  if (Device* device = current()) return device;
  try {
    auto* device = new Device(config);
    g_owner.store(::getpid());
    g_device.store(device, std::memory_order_release);
    return device;
  } catch (const std::system_error& error) {
    report::stopped("vgpu.no-device", error.what());
    errno = error.code().value();
  } catch (const std::exception& error) {
    report::stopped("vgpu.no-device", error.what());
    errno = ENODEV;
  }
  return nullptr;
}

Device::Device(const Config& config) : config_(config), trace_(config.trace_file) {
  const Model& model = model_of(config.target);
  if (config.checks.any()) checks_ = std::make_unique<CheckFile>(config.checks, config.check_report, config.check_regions);
  for (unsigned i = 0; i < config.gpus; ++i) {
    auto gpu = std::make_unique<Gpu>(i, model, events_, trace_, config.threads);
    gpu->context.checks = checks_.get();
    gpu->pages.tell(written());
    gpu->pages.use(backing_);
    gpu->context.wall_time = config.wall_time;
    gpu->vram.capacity = vram_bytes_of(config);
    gpu->doorbells = backing_.allocate(kDoorbellBytes, nullptr);
    if (!gpu->doorbells) throw std::system_error(ENOMEM, std::generic_category(), "doorbell page");
    gpus_.push_back(std::move(gpu));
  }
  report::log(1, "%u x %s, bar=%s, %u threads", config.gpus, isa::name(config.target).data(),
              config.large_bar ? "large" : "private", config.threads);
}

Gpu* Device::gpu_by_id(std::uint32_t gpu_id) {
  const std::uint32_t index = gpu_id - kFirstGpuId;
  return index < gpus_.size() ? gpus_[index].get() : nullptr;
}

Gpu* Device::gpu_by_minor(unsigned minor) {
  const unsigned index = minor - kFirstRenderMinor;
  return index < gpus_.size() ? gpus_[index].get() : nullptr;
}

bool Buffer::writable() const noexcept {
  return imported || (storage->flags & (KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE | KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL)) != 0;
}

bool Buffer::executable() const noexcept {
  return imported || (storage->flags & KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE) != 0;
}

std::uint64_t Device::add_buffer(std::uint64_t va, std::shared_ptr<Storage> storage, bool imported) {
  const std::lock_guard lock(buffers_mutex);
  const std::uint64_t handle = next_handle_++;
  buffers_.emplace(handle, Buffer{.va = va, .storage = std::move(storage), .imported = imported, .mapped_on = {}});
  return handle;
}

Buffer* Device::buffer(std::uint64_t handle) {
  const auto it = buffers_.find(handle);
  return it == buffers_.end() ? nullptr : &it->second;
}

std::shared_ptr<Storage> Device::remove_buffer(std::uint64_t handle) {
  const std::lock_guard lock(buffers_mutex);
  const auto it = buffers_.find(handle);
  if (it == buffers_.end()) return nullptr;
  // A buffer that is still mapped loses its mappings with its handle.
  for (const unsigned gpu : it->second.mapped_on) gpus_[gpu]->pages.unmap(it->second.va, it->second.storage->size());
  auto storage = std::move(it->second.storage);
  buffers_.erase(it);
  return storage;
}

void Device::register_storage(const std::shared_ptr<Storage>& storage) {
  const std::lock_guard lock(storages_mutex_);
  storage->id = next_storage_++;
  std::erase_if(storages_, [](const auto& entry) { return entry.second.expired(); });
  storages_.emplace(storage->id, storage);
}

std::shared_ptr<Storage> Device::storage_by_id(std::uint32_t id) {
  const std::lock_guard lock(storages_mutex_);
  const auto it = storages_.find(id);
  return it == storages_.end() ? nullptr : it->second.lock();
}

int Device::export_descriptor(const std::shared_ptr<Storage>& storage) {
  const int fd = ::memfd_create("kerncap-vgpu-dmabuf", MFD_CLOEXEC);
  if (fd < 0) return -1;
  ExportRecord record = {.magic = {}, .pid = ::getpid(), .storage_id = storage->id};
  std::memcpy(record.magic, kExportMagic, sizeof record.magic);
  if (::write(fd, &record, sizeof record) != static_cast<ssize_t>(sizeof record)) {
    ::close(fd);
    errno = ENOMEM;
    return -1;
  }
  const std::lock_guard lock(storages_mutex_);
  exported_.insert_or_assign(fd, storage);
  return fd;
}

std::shared_ptr<Storage> Device::storage_of_descriptor(int fd) {
  ExportRecord record = {};
  if (::pread(fd, &record, sizeof record, 0) != static_cast<ssize_t>(sizeof record)) return nullptr;
  if (std::memcmp(record.magic, kExportMagic, sizeof record.magic) != 0 || record.pid != ::getpid()) return nullptr;
  return storage_by_id(static_cast<std::uint32_t>(record.storage_id));
}

void Device::descriptor_closed(int fd) noexcept {
  std::shared_ptr<Storage> last;  // freed outside the lock
  const std::lock_guard lock(storages_mutex_);
  if (const auto it = exported_.find(fd); it != exported_.end()) {
    last = std::move(it->second);
    exported_.erase(it);
  }
}

std::optional<Device::QueueSlot> Device::reserve_queue(Gpu* gpu) {
  const std::lock_guard lock(queues_mutex_);
  for (std::size_t doorbell = 0; doorbell < kDoorbells; ++doorbell) {
    if (gpu->used_doorbells.test(doorbell)) continue;
    gpu->used_doorbells.set(doorbell);
    return QueueSlot{next_queue_++, gpu, doorbell};
  }
  return std::nullopt;
}

void Device::release_queue(const QueueSlot& slot) {
  const std::lock_guard lock(queues_mutex_);
  slot.gpu->used_doorbells.reset(slot.doorbell);
}

void Device::start_queue(const QueueSlot& slot, std::unique_ptr<Queue> queue) {
  queue->start();
  const std::lock_guard lock(queues_mutex_);
  queues_.emplace(slot.id, QueueEntry{slot, std::move(queue)});
}

bool Device::remove_queue(std::uint32_t id) {
  std::unique_lock lock(queues_mutex_);
  const auto it = queues_.find(id);
  if (it == queues_.end()) return false;
  const QueueEntry entry = std::move(it->second);
  queues_.erase(it);
  if (entry.slot.gpu->sync_queue == id) entry.slot.gpu->sync_queue.reset();
  lock.unlock();
  entry.queue->stop();
  release_queue(entry.slot);
  return true;
}

bool Device::suspend_queue(std::uint32_t id, bool suspended) {
  const std::lock_guard lock(queues_mutex_);
  const auto it = queues_.find(id);
  if (it == queues_.end()) return false;
  it->second.queue->suspend(suspended);
  return true;
}

// Source: amdgpu, kfd_ioctl_alloc_queue_gws() and pqm_set_gws().
int Device::assign_sync(std::uint32_t id, bool wanted) {
  const std::lock_guard lock(queues_mutex_);
  const auto it = queues_.find(id);
  if (it == queues_.end()) return EINVAL;
  Gpu& gpu = *it->second.slot.gpu;
  if (wanted == gpu.sync_queue.has_value()) return wanted ? EBUSY : EINVAL;
  if (wanted) gpu.sync_queue = id;
  else gpu.sync_queue.reset();
  it->second.queue->use(wanted ? &gpu.sync : nullptr);
  return 0;
}

}  // namespace kerncap::vgpu
