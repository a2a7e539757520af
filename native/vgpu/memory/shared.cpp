#include "vgpu/memory/shared.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "vgpu/kfd/next.hpp"

namespace kerncap::vgpu {
namespace {

constexpr char kMagic[16] = "kerncap-shared1";
// Beside the device's own mapping (backing.cpp), for the same reason.
constexpr std::uintptr_t kPreferredBase = std::uintptr_t{0x3000} << 32;

// What the descriptor of a shared name holds.
struct Record {
  char magic[16];
  std::uint32_t nonce[2];
  std::int32_t backing_fd;  // in the process that offers it
  std::uint32_t flags, gpu_id, unused;
  std::uint64_t offset, size;
};

int open_of_process(std::uint32_t pid, std::uint32_t fd, int mode) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%u/fd/%u", pid, fd);
  static const auto next_open = next<int (*)(const char*, int, ...)>("open");
  return next_open(path, mode | O_CLOEXEC);
}

bool read_record(const SharedName& name, Record& record) {
  const int fd = open_of_process(name[0], name[1], O_RDONLY);
  if (fd < 0) return false;
  const bool whole = ::pread(fd, &record, sizeof record, 0) == static_cast<ssize_t>(sizeof record);
  ::close(fd);
  errno = EINVAL;
  return whole && std::memcmp(record.magic, kMagic, sizeof kMagic) == 0 && record.nonce[0] == name[2] && record.nonce[1] == name[3];
}

std::byte* map(const Record& record, std::uint32_t pid) {
  static std::atomic<std::uintptr_t> next_hint{kPreferredBase};
  const int fd = open_of_process(pid, static_cast<std::uint32_t>(record.backing_fd), O_RDWR);
  if (fd < 0) return nullptr;
  const std::uintptr_t hint = next_hint.fetch_add((record.size + 0x1fffff) & ~std::uintptr_t{0x1fffff});
  void* const at = ::mmap(reinterpret_cast<void*>(hint), record.size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                          static_cast<off_t>(record.offset));
  const int error = errno;
  ::close(fd);
  errno = error;
  if (at == MAP_FAILED) return nullptr;
  ::madvise(at, record.size, MADV_DONTDUMP);
  return static_cast<std::byte*>(at);
}

}  // namespace

SharedName share(const Backing& backing, Storage& storage) {
  const std::lock_guard lock(storage.shared_mutex);
  Record record = {};
  if (storage.shared_fd < 0) {
    std::memcpy(record.magic, kMagic, sizeof kMagic);
    record.backing_fd = backing.descriptor();
    record.flags = storage.flags;
    record.gpu_id = storage.gpu_id;
    record.offset = storage.mmap_offset();
    record.size = storage.size();
    const int fd = ::memfd_create("kerncap-vgpu-shared", MFD_CLOEXEC);
    const bool made = fd >= 0 && ::getrandom(record.nonce, sizeof record.nonce, 0) == static_cast<ssize_t>(sizeof record.nonce) &&
                      ::write(fd, &record, sizeof record) == static_cast<ssize_t>(sizeof record);
    if (!made) {
      const int error = errno;
      if (fd >= 0) ::close(fd);
      throw std::system_error(error, std::generic_category(), "record of shared memory");
    }
    storage.shared_fd = fd;
  } else if (::pread(storage.shared_fd, &record, sizeof record, 0) != static_cast<ssize_t>(sizeof record)) {
    throw std::system_error(errno, std::generic_category(), "record of shared memory");
  }
  // From now on others write it too.
  storage.cpu_reaches();
  return {static_cast<std::uint32_t>(::getpid()), static_cast<std::uint32_t>(storage.shared_fd), record.nonce[0], record.nonce[1]};
}

std::shared_ptr<Storage> open_shared(const SharedName& name) {
  Record record = {};
  if (!read_record(name, record)) return nullptr;
  std::byte* const host = map(record, name[0]);
  if (host == nullptr) return nullptr;
  const std::shared_ptr<Storage> storage(new Storage(nullptr, nullptr, 0, host, record.size), [](Storage* last) {
    std::byte* const at = last->host();
    const std::uint64_t size = last->size();
    delete last;
    ::munmap(at, size);
  });
  storage->flags = record.flags;
  storage->gpu_id = record.gpu_id;
  return storage;
}

}  // namespace kerncap::vgpu
