// Where all memory of the virtual GPUs lives: one sparse memfd. The file descriptors that the application gets for
// /dev/kfd and /dev/dri/renderD* are descriptors of the same file, so its own mmap(fd, offset) needs no interposition.
// The device itself uses a second, private mapping of the whole file: device memory without host access stays
// PROT_NONE (or unmapped) where the application can see it.
// In: sizes. Out: Storage (RAII). Called by the ioctls and libdrm entry points.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "vgpu/isa/check/written.hpp"
#include "vgpu/memory/extents.hpp"

namespace kerncap::vgpu {

class Backing;

// Bytes of one device's memory in use.
struct VramAccount {
  std::uint64_t capacity = 0;
  std::atomic<std::uint64_t> used{0};
  bool charge(std::uint64_t size) noexcept;
};

// One buffer's memory; freed when the last handle, mapping or exported descriptor lets go.
class Storage {
 public:
  Storage(Backing* backing, VramAccount* account, std::uint64_t offset, std::byte* host, std::uint64_t size)
      : backing_(backing), account_(account), offset_(offset), size_(size), host_(host) {}
  ~Storage();
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  std::uint64_t mmap_offset() const { return offset_; }
  std::uint64_t size() const { return size_; }
  std::byte* host() const { return host_; }

  // Nothing in it is written yet: `written` follows what is, until the CPU can reach it.
  void follow(isa::check::WrittenBytes* written);
  void cpu_reaches() noexcept;

  // Filled by whoever allocates; read by export, import and GEM_MMAP.
  std::uint32_t id = 0;
  std::uint32_t flags = 0;   // KFD_IOC_ALLOC_MEM_FLAGS_*
  std::uint32_t gpu_id = 0;
  // Of memory/shared.cpp: the record under which other processes find this memory; -1 until it is offered.
  std::mutex shared_mutex;
  int shared_fd = -1;

 private:
  Backing* backing_;       // nullptr: memory of the application, or one that is never freed
  VramAccount* account_;
  std::uint64_t offset_, size_;
  std::byte* host_;
  std::atomic<isa::check::WrittenBytes*> written_{nullptr};
};

class Backing {
 public:
  Backing();  // throws std::system_error
  // nullptr: no space (or, with an account, no device memory left).
  std::shared_ptr<Storage> allocate(std::uint64_t size, VramAccount* account);
  // The application's own memory (user pointer). Writable: nullptr and errno where the application itself could not write
  // to all of it (EFAULT: mapped nowhere or not accessible; EPERM: read-only).
  static std::shared_ptr<Storage> adopt_writable(std::byte* host, std::uint64_t size);
  static std::shared_ptr<Storage> adopt(std::byte* host, std::uint64_t size);

  // memmove, quicker where `to` is memory of this backing that was never used.
  void copy(std::byte* to, const std::byte* from, std::uint64_t size) const noexcept;

  // A descriptor for the application. `node` (0: kfd, else the render minor) is remembered in its file offset, which
  // survives dup, fork and exec; -1 with errno on failure.
  int open_descriptor(unsigned node) const;
  // The node of a descriptor made by open_descriptor, however it was duplicated.
  std::optional<unsigned> node_of(int fd) const;
  int descriptor() const { return fd_; }

 private:
  friend class Storage;
  void release(std::uint64_t offset, std::uint64_t size) noexcept;

  int fd_ = -1;
  std::uint64_t device_ = 0, inode_ = 0;
  std::byte* base_ = nullptr;
  std::mutex mutex_;
  Extents extents_;
};

}  // namespace kerncap::vgpu
