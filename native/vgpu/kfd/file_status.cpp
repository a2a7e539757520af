// Interposed libc: what stat(), statx(), access() and readlink() say of the device nodes and the sysfs tree. See files.cpp.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "vgpu/kfd/device.hpp"
#include "vgpu/kfd/files.hpp"
#include "vgpu/kfd/next.hpp"
#include "vgpu/kfd/topology.hpp"

namespace kerncap::vgpu {
namespace {

enum class Kind { elsewhere, missing, file, directory, link, node };

Kind kind_of(const char* path, bool follow) noexcept {
  if (!may_be_ours(path)) return Kind::elsewhere;
  try {
    const bool sysfs = topology::covers(path);
    if (!sysfs && device_node(path) < 0) return Kind::elsewhere;
    const Config* config = active_config();
    if (config == nullptr) return Kind::elsewhere;
    if (!sysfs) return Kind::node;
    if (!follow && topology::link(*config, path)) return Kind::link;
    if (topology::directory(*config, path)) return Kind::directory;
    return topology::file(*config, path) ? Kind::file : Kind::missing;
  } catch (const std::exception&) {
    return Kind::missing;
  }
}

// Inode numbers only have to differ from file to file and stay the same. Source: FNV-1a.
ino_t inode_of(const char* path) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (; *path != 0; ++path) hash = (hash ^ static_cast<unsigned char>(*path)) * 0x100000001b3;
  return hash;
}

// Whether the path is ours; `result` is what stat returns then.
bool status(const char* path, bool follow, struct stat* out, int& result) noexcept {
  const Kind kind = kind_of(path, follow);
  if (kind == Kind::elsewhere) return false;
  result = kind == Kind::missing ? -1 : 0;
  if (kind == Kind::missing) {
    errno = ENOENT;
    return true;
  }
  *out = {};
  out->st_dev = makedev(0, 0x4b);
  out->st_ino = inode_of(path);
  out->st_nlink = 1;
  out->st_blksize = 4096;
  switch (kind) {
    case Kind::directory: out->st_mode = S_IFDIR | 0555; break;
    case Kind::link: out->st_mode = S_IFLNK | 0777; break;
    case Kind::node: {
      // Source: Documentation/admin-guide/devices.txt, 226 is DRM; /dev/kfd has a number given at run time.
      const int minor = device_node(path);
      out->st_mode = S_IFCHR | 0666;
      out->st_rdev = minor == 0 ? makedev(235, 0) : makedev(226, static_cast<unsigned>(minor));
      break;
    }
    default:
      out->st_mode = S_IFREG | 0444;
      out->st_size = 4096;  // as sysfs says of every file
  }
  return true;
}

// The same as statx() says it.
struct statx extended(const struct stat& found) noexcept {
  struct statx out = {};
  out.stx_mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID | STATX_INO | STATX_SIZE | STATX_BLOCKS;
  out.stx_blksize = static_cast<std::uint32_t>(found.st_blksize);
  out.stx_nlink = static_cast<std::uint32_t>(found.st_nlink);
  out.stx_mode = static_cast<std::uint16_t>(found.st_mode);
  out.stx_ino = found.st_ino;
  out.stx_size = static_cast<std::uint64_t>(found.st_size);
  out.stx_rdev_major = major(found.st_rdev);
  out.stx_rdev_minor = minor(found.st_rdev);
  out.stx_dev_major = major(found.st_dev);
  out.stx_dev_minor = minor(found.st_dev);
  return out;
}

// Whether the path is ours; `result` is what access() returns then, whatever the mode: as for the superuser.
bool accessible(const char* path, int& result) noexcept {
  const Kind kind = kind_of(path, true);
  result = kind == Kind::missing ? -1 : 0;
  if (kind == Kind::missing) errno = ENOENT;
  return kind != Kind::elsewhere;
}

int access_with(const char* symbol, const char* path, int mode) noexcept {
  int result = 0;
  return accessible(path, result) ? result : next<int (*)(const char*, int)>(symbol)(path, mode);
}

ssize_t copy_link(const char* path, char* out, std::size_t size, bool& ours) noexcept {
  ours = may_be_ours(path) && topology::covers(path) && active_config() != nullptr;
  if (!ours) return -1;
  try {
    const auto target = topology::link(*active_config(), path);
    if (!target) {
      errno = kind_of(path, false) == Kind::missing ? ENOENT : EINVAL;
      return -1;
    }
    const std::size_t length = std::min(size, target->size());
    std::memcpy(out, target->data(), length);
    return static_cast<ssize_t>(length);
  } catch (const std::exception&) {
    errno = ENOMEM;
    return -1;
  }
}

template <class Stat>
int stat_with(const char* symbol, const char* path, bool follow, Stat* out) noexcept {
  static_assert(sizeof(struct stat) == sizeof(struct stat64));
  int result = 0;
  if (status(path, follow, reinterpret_cast<struct stat*>(out), result)) return result;
  return next<int (*)(const char*, Stat*)>(symbol)(path, out);
}

template <class Stat>
int stat_at(const char* symbol, int directory, const char* path, Stat* out, int flags) noexcept {
  int result = 0;
  if (status(path, (flags & AT_SYMLINK_NOFOLLOW) == 0, reinterpret_cast<struct stat*>(out), result)) return result;
  return next<int (*)(int, const char*, Stat*, int)>(symbol)(directory, path, out, flags);
}

}  // namespace
}  // namespace kerncap::vgpu

using namespace kerncap::vgpu;

#pragma GCC visibility push(default)  // the symbols of vgpu.map
extern "C" {

int stat(const char* path, struct stat* out) noexcept { return stat_with("stat", path, true, out); }
int stat64(const char* path, struct stat64* out) noexcept { return stat_with("stat64", path, true, out); }
int lstat(const char* path, struct stat* out) noexcept { return stat_with("lstat", path, false, out); }
int lstat64(const char* path, struct stat64* out) noexcept { return stat_with("lstat64", path, false, out); }

int fstatat(int directory, const char* path, struct stat* out, int flags) noexcept {
  return stat_at("fstatat", directory, path, out, flags);
}
int fstatat64(int directory, const char* path, struct stat64* out, int flags) noexcept {
  return stat_at("fstatat64", directory, path, out, flags);
}

int statx(int directory, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  struct stat found;
  int result = 0;
  if (!status(path, (flags & AT_SYMLINK_NOFOLLOW) == 0, &found, result))
    return next<int (*)(int, const char*, int, unsigned, struct statx*)>("statx")(directory, path, flags, mask, out);
  if (result == 0) *out = extended(found);
  return result;
}

// What stat() and its kin are in programs built with a C library before 2.33. The version is always 1 on x86-64.
int __xstat(int, const char* path, struct stat* out) noexcept { return stat(path, out); }
int __xstat64(int, const char* path, struct stat64* out) noexcept { return stat64(path, out); }
int __lxstat(int, const char* path, struct stat* out) noexcept { return lstat(path, out); }
int __lxstat64(int, const char* path, struct stat64* out) noexcept { return lstat64(path, out); }
int __fxstatat(int, int directory, const char* path, struct stat* out, int flags) noexcept {
  return fstatat(directory, path, out, flags);
}
int __fxstatat64(int, int directory, const char* path, struct stat64* out, int flags) noexcept {
  return fstatat64(directory, path, out, flags);
}

int access(const char* path, int mode) noexcept { return access_with("access", path, mode); }
int eaccess(const char* path, int mode) noexcept { return access_with("eaccess", path, mode); }
int euidaccess(const char* path, int mode) noexcept { return access_with("euidaccess", path, mode); }
int faccessat(int directory, const char* path, int mode, int flags) noexcept {
  int result = 0;
  if (accessible(path, result)) return result;
  return next<int (*)(int, const char*, int, int)>("faccessat")(directory, path, mode, flags);
}

ssize_t readlink(const char* path, char* out, std::size_t size) noexcept {
  bool ours = false;
  const ssize_t length = copy_link(path, out, size, ours);
  return ours ? length : next<ssize_t (*)(const char*, char*, std::size_t)>("readlink")(path, out, size);
}

ssize_t readlinkat(int directory, const char* path, char* out, std::size_t size) noexcept {
  bool ours = false;
  const ssize_t length = copy_link(path, out, size, ours);
  return ours ? length : next<ssize_t (*)(int, const char*, char*, std::size_t)>("readlinkat")(directory, path, out, size);
}

}  // extern "C"
#pragma GCC visibility pop
