#include "vgpu/memory/backing.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "vgpu/kfd/next.hpp"

namespace kerncap::vgpu {
namespace {

constexpr std::uint64_t kFileBytes = std::uint64_t{4} << 40;
constexpr std::uint64_t kFirstOffset = std::uint64_t{2} << 20;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargePage = std::uint64_t{2} << 20;
// The device's own mapping is kept out of the part of the address space where mmap places things: a captured
// address must be free again in the process that replays.
constexpr std::uintptr_t kPreferredBase = std::uintptr_t{0x2000} << 32;

std::uint64_t pages(std::uint64_t size) { return (size + kPage - 1) & ~(kPage - 1); }

// For a kernel without MADV_POPULATE_WRITE (before 5.14): whether anything at all is mapped.
int mapped_pages(std::uintptr_t begin, std::uintptr_t end) {
  std::array<unsigned char, 4096> resident;  // a byte a page, which nobody looks at
  for (std::uintptr_t at = begin; at < end; at += resident.size() * kPage) {
    const std::uint64_t bytes = std::min<std::uint64_t>(end - at, resident.size() * kPage);
    if (::mincore(reinterpret_cast<void*>(at), bytes, resident.data()) != 0 && errno == ENOMEM) return EFAULT;
  }
  return 0;
}

// From here on, asking costs more than looking: memory of that size is zeroed at more than 100 ms a GiB.
constexpr std::uint64_t kLooked = std::uint64_t{64} << 20;

// Whether all of [begin, end) is writable memory of nobody but this process, which only a lack of memory could keep from being
// faulted in. Source: proc_pid_maps(5); memory of no file has inode 0.
bool surely_writable(std::uintptr_t begin, std::uintptr_t end) {
  std::ifstream maps("/proc/self/maps");
  std::uintptr_t reached = begin;
  for (std::string line; reached < end && std::getline(maps, line);) {
    unsigned long from = 0;
    unsigned long to = 0;
    unsigned long inode = 1;
    char access[8] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %7s %*x %*x:%*x %lu", &from, &to, access, &inode) != 4) return false;
    if (to <= reached) continue;
    if (from > reached || std::strncmp(access, "rw", 2) != 0 || access[3] != 'p' || inode != 0) return false;
    reached = to;
  }
  return reached >= end;
}

// Faults the pages in for writing, as the driver does with a user pointer, and fails where that fails.
// Source: amdgpu, init_user_pages() (asks for writable pages whatever the flags) and hmm_range_fault(), whose errors these are.
// Much memory that cannot fail is left to the first access: HSA runtime 6.1.2 registers as much host memory as it reserves addresses.
int make_writable_pages(std::uintptr_t begin, std::uintptr_t end) {
  begin &= ~(kPage - 1);
  if (end - begin >= kLooked && surely_writable(begin, end)) return 0;
  const auto populate = [](std::uintptr_t from, std::uintptr_t to, int how) {
    while (::madvise(reinterpret_cast<void*>(from), to - from, how) != 0)
      if (errno != EINTR) return errno;
    return 0;
  };
  const int error = populate(begin, end, MADV_POPULATE_WRITE);
  if (error != EINVAL) return error == 0 ? 0 : EFAULT;
  static std::array<std::byte, 2 * kPage> own;
  const std::uintptr_t page = (reinterpret_cast<std::uintptr_t>(own.data()) + kPage - 1) & ~(kPage - 1);
  if (populate(page, page + kPage, MADV_POPULATE_WRITE) != 0) return mapped_pages(begin, end);
  return populate(begin, end, MADV_POPULATE_READ) == 0 ? EPERM : EFAULT;
}

// A copy of this size or more, to memory that was never used, is written to the file: a page fault for each page, and its
// zeroing, cost as much again as the copy.
constexpr std::uint64_t kWrittenBytes = 256u << 10;

// Whether its first and last page were used before.
bool resident(const std::byte* at, std::uint64_t size) {
  const auto used = [](std::uintptr_t address) {
    unsigned char state = 0;
    return ::mincore(reinterpret_cast<void*>(address & ~(kPage - 1)), kPage, &state) != 0 || (state & 1) != 0;
  };
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  return used(begin) && used(begin + size - 1);
}

}  // namespace

bool VramAccount::charge(std::uint64_t size) noexcept {
  std::uint64_t now = used.load();
  do {
    if (size > capacity || now > capacity - size) return false;
  } while (!used.compare_exchange_weak(now, now + size));
  return true;
}

Storage::~Storage() {
  cpu_reaches();
  if (shared_fd >= 0) ::close(shared_fd);
  if (account_ != nullptr) account_->used -= pages(size_);
  if (backing_ != nullptr) backing_->release(offset_, pages(size_));
}

void Storage::follow(isa::check::WrittenBytes* written) {
  written->add(host_, size_);
  written_ = written;
}

void Storage::cpu_reaches() noexcept {
  if (isa::check::WrittenBytes* const written = written_.exchange(nullptr)) written->remove(host_);
}

Backing::Backing() : extents_(kFirstOffset, kFileBytes) {
  fd_ = ::memfd_create("kerncap-vgpu", MFD_CLOEXEC);
  struct stat info = {};
  if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(kFileBytes)) != 0 || ::fstat(fd_, &info) != 0)
    throw std::system_error(errno, std::generic_category(), "memfd for device memory");
  device_ = info.st_dev;
  inode_ = info.st_ino;
  constexpr int flags = MAP_SHARED | MAP_NORESERVE;
  void* base = ::mmap(reinterpret_cast<void*>(kPreferredBase), kFileBytes, PROT_READ | PROT_WRITE,
                      flags | MAP_FIXED_NOREPLACE, fd_, 0);
  if (base == MAP_FAILED) base = ::mmap(nullptr, kFileBytes, PROT_READ | PROT_WRITE, flags, fd_, 0);
  if (base == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mapping of device memory");
  ::madvise(base, kFileBytes, MADV_DONTDUMP);
  base_ = static_cast<std::byte*>(base);
}

std::shared_ptr<Storage> Backing::allocate(std::uint64_t size, VramAccount* account) {
  if (size == 0 || size > kFileBytes) return nullptr;
  const std::uint64_t bytes = pages(size);
  if (account != nullptr && !account->charge(bytes)) return nullptr;
  std::optional<std::uint64_t> offset;
  {
    const std::lock_guard lock(mutex_);
    offset = extents_.take(bytes, bytes >= kLargePage ? kLargePage : kPage);
  }
  if (!offset) {
    if (account != nullptr) account->used -= bytes;
    return nullptr;
  }
  return std::make_shared<Storage>(this, account, *offset, base_ + *offset, size);
}

std::shared_ptr<Storage> Backing::adopt(std::byte* host, std::uint64_t size) {
  return std::make_shared<Storage>(nullptr, nullptr, 0, host, size);
}

std::shared_ptr<Storage> Backing::adopt_writable(std::byte* host, std::uint64_t size) {
  const auto address = reinterpret_cast<std::uintptr_t>(host);
  const int error = address + size < address ? EFAULT : make_writable_pages(address, address + size);
  if (error == 0) return adopt(host, size);
  errno = error;
  return nullptr;
}

void Backing::copy(std::byte* to, const std::byte* from, std::uint64_t size) const noexcept {
  std::uint64_t done = 0;
  if (size >= kWrittenBytes && to >= base_ && size <= kFileBytes && to - base_ <= static_cast<std::ptrdiff_t>(kFileBytes - size) &&
      (from + size <= to || to + size <= from) && !resident(to, size)) {
    // Falls short where the source cannot be read or memory is out: the rest faults below, as any access does.
    while (done < size) {
      const ssize_t n = ::pwrite(fd_, from + done, size - done, static_cast<off_t>(to - base_) + static_cast<off_t>(done));
      if (n <= 0) break;
      done += static_cast<std::uint64_t>(n);
    }
  }
  std::memmove(to + done, from + done, size - done);
}

void Backing::release(std::uint64_t offset, std::uint64_t size) noexcept {
  // The next owner finds zeroes, as after the kernel's own clearing.
  ::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset), static_cast<off_t>(size));
  const std::lock_guard lock(mutex_);
  extents_.give_back(offset, size);
}

int Backing::open_descriptor(unsigned node) const {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd_);
  // A new open file description, so that the offset is its own.
  static const auto next_open = next<int (*)(const char*, int, ...)>("open");
  const int fd = next_open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) return -1;
  ::lseek(fd, static_cast<off_t>(node), SEEK_SET);
  return fd;
}

std::optional<unsigned> Backing::node_of(int fd) const {
  struct stat info = {};
  const int saved = errno;
  std::optional<unsigned> node;
  if (::fstat(fd, &info) == 0 && info.st_dev == device_ && info.st_ino == inode_)
    node = static_cast<unsigned>(::lseek(fd, 0, SEEK_CUR));
  errno = saved;
  return node;
}

}  // namespace kerncap::vgpu
