// The virtual GPUs of this process: made when /dev/kfd or a render node is first opened, never destroyed (threads of
// the application and the queues still use them while exit handlers run).
// In: Config. Out: buffers, page tables, events, queues for the ioctls and the libdrm entry points.
#pragma once

#include <bitset>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <vector>

#include "vgpu/config.hpp"
#include "vgpu/kfd/model.hpp"
#include "vgpu/memory/backing.hpp"
#include "vgpu/memory/page_table.hpp"
#include "vgpu/queue/events.hpp"
#include "vgpu/queue/queue.hpp"
#include "vgpu/trace/trace_file.hpp"

namespace kerncap::vgpu {

// Doorbells: one page of 8 KiB a GPU, 64 bits a queue. Source: amdgpu kfd_doorbell.c, kfd_device_info.doorbell_size.
inline constexpr std::uint64_t kDoorbellBytes = 8192;
inline constexpr std::size_t kDoorbells = kDoorbellBytes / 8;

struct Gpu {
  Gpu(unsigned number, const Model& what, Events& events, TraceFile& trace, unsigned threads)
      : index(number), model(what), context{what, gpu_id_of(number), pages, events, trace, threads} {}
  unsigned index;
  const Model& model;
  PageTable pages;
  VramAccount vram;
  std::shared_ptr<Storage> doorbells;
  std::bitset<kDoorbells> used_doorbells;
  isa::GlobalSync sync;
  std::optional<std::uint32_t> sync_queue;  // id of the queue that has it; with queues_mutex_ held
  GpuContext context;
};

// A handle of ALLOC_MEMORY_OF_GPU or IMPORT_DMABUF.
struct Buffer {
  std::uint64_t va = 0;  // 0: memory without an address (vmem handle)
  std::shared_ptr<Storage> storage;
  bool imported = false;
  std::set<unsigned> mapped_on;  // GPU indices

  // What is imported may be written and executed, whatever it was allocated for. Source: Linux, amdgpu_amdkfd_gpuvm.c, import_obj_create.
  bool writable() const noexcept;
  bool executable() const noexcept;
};

class Device {
 public:
  // The device of this process, or nullptr: not opened, or opened by the parent before a fork.
  static Device* current() noexcept;
  // As current(), but makes the device at the first call. nullptr with errno on failure.
  static Device* open(const Config& config) noexcept;
  // A device exists, but belongs to the process that forked this one.
  static bool inherited() noexcept;
  // A descriptor of that device.
  static bool inherited_descriptor(int fd) noexcept;

  const Config& config() const { return config_; }
  Backing& backing() { return backing_; }
  Events& events() { return events_; }
  // nullptr without check=memory.
  isa::check::WrittenBytes* written() { return checks_ ? checks_->written() : nullptr; }
  Gpu* gpu_by_id(std::uint32_t gpu_id);
  Gpu* gpu_by_minor(unsigned minor);
  std::vector<std::unique_ptr<Gpu>>& gpus() { return gpus_; }

  // Buffers. `flags` are KFD_IOC_ALLOC_MEM_FLAGS_*.
  std::uint64_t add_buffer(std::uint64_t va, std::shared_ptr<Storage> storage, bool imported = false);
  Buffer* buffer(std::uint64_t handle);  // with buffers_mutex held
  std::shared_ptr<Storage> remove_buffer(std::uint64_t handle);
  void register_storage(const std::shared_ptr<Storage>& storage);
  std::shared_ptr<Storage> storage_by_id(std::uint32_t id);
  std::mutex buffers_mutex;

  // Exported descriptors: a small memfd that names the storage; the storage lives while the descriptor is open.
  int export_descriptor(const std::shared_ptr<Storage>& storage);
  std::shared_ptr<Storage> storage_of_descriptor(int fd);
  void descriptor_closed(int fd) noexcept;

  // Queues.
  struct QueueSlot {
    std::uint32_t id;
    Gpu* gpu;
    std::size_t doorbell;  // index in the GPU's doorbell page
  };
  std::optional<QueueSlot> reserve_queue(Gpu* gpu);
  void release_queue(const QueueSlot& slot);
  void start_queue(const QueueSlot& slot, std::unique_ptr<Queue> queue);
  bool remove_queue(std::uint32_t id);
  bool suspend_queue(std::uint32_t id, bool suspended);
  // Gives global wave sync to a queue or takes it away: one queue a GPU can have it. Returns 0 or an errno value.
  int assign_sync(std::uint32_t id, bool wanted);

 private:
  explicit Device(const Config& config);

  struct QueueEntry {
    QueueSlot slot;
    std::unique_ptr<Queue> queue;
  };
  const Config config_;
  Backing backing_;
  Events events_;
  TraceFile trace_;
  std::unique_ptr<CheckFile> checks_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::map<std::uint64_t, Buffer> buffers_;
  std::uint64_t next_handle_ = 1;
  std::mutex storages_mutex_;
  std::map<std::uint32_t, std::weak_ptr<Storage>> storages_;
  std::uint32_t next_storage_ = 1;
  std::map<int, std::shared_ptr<Storage>> exported_;
  std::mutex queues_mutex_;
  std::map<std::uint32_t, QueueEntry> queues_;
  std::uint32_t next_queue_ = 1;
};

}  // namespace kerncap::vgpu
