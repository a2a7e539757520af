// Interposed libc: the device nodes, the sysfs tree, ioctl and close. Everything that is not the virtual GPU's goes to
// the C library unchanged; a process that never opens a device pays one string compare a call.
// These symbols are called before this library's constructors have run and while exit handlers run, so nothing here
// has a constructor or destructor.
#include <dirent.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>

#include "vgpu/kfd/device.hpp"
#include "vgpu/kfd/files.hpp"
#include "vgpu/kfd/ioctls.hpp"
#include "vgpu/kfd/next.hpp"
#include "vgpu/kfd/topology.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

constexpr std::string_view kKfd = "/dev/kfd", kRender = "/dev/dri/renderD";

struct Answer {
  bool ours = false;
  int fd = -1;  // errno is set when it is negative
};

int file_descriptor(const std::string& text) {
  const int fd = ::memfd_create("kerncap-vgpu-sysfs", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    ::close(fd);
    errno = ENOMEM;
    return -1;
  }
  ::lseek(fd, 0, SEEK_SET);
  return fd;
}

Answer open_virtual(const char* path) noexcept {
  if (!may_be_ours(path)) return {};
  try {
    const bool sysfs = topology::covers(path);
    const int node = sysfs ? -1 : device_node(path);
    if (!sysfs && node < 0) return {};
    const Config* config = active_config();
    if (config == nullptr) return {};
    if (node >= 0) return {true, open_node(static_cast<unsigned>(node))};
    const auto text = topology::file(*config, path);
    if (!text) {
      errno = ENOENT;
      return {true, -1};
    }
    return {true, file_descriptor(*text)};
  } catch (const std::exception&) {
    errno = ENOMEM;
    return {true, -1};
  }
}

FILE* fopen_virtual(const char* path, bool& ours) noexcept {
  const Answer answer = open_virtual(path);
  ours = answer.ours;
  if (answer.fd < 0) return nullptr;
  FILE* file = ::fdopen(answer.fd, "r");
  if (file == nullptr) ::close(answer.fd);
  return file;
}

// A directory of the virtual tree, handed out as a DIR*. Known by address; never mixed up with the C library's.
struct VirtualDirectory {
  std::vector<std::string> names;
  std::size_t next = 0;
  dirent entry = {};
  VirtualDirectory* link = nullptr;
};
constinit std::mutex g_directories_mutex;
constinit VirtualDirectory* g_directories = nullptr;
constinit std::atomic<int> g_open_directories{0};

VirtualDirectory* find_directory(DIR* handle) {
  if (g_open_directories.load(std::memory_order_acquire) == 0) return nullptr;
  const std::lock_guard lock(g_directories_mutex);
  for (VirtualDirectory* d = g_directories; d != nullptr; d = d->link)
    if (static_cast<void*>(d) == static_cast<void*>(handle)) return d;
  return nullptr;
}

DIR* open_directory(const char* path, bool& ours) noexcept {
  ours = false;
  if (!may_be_ours(path) || !topology::covers(path)) return nullptr;
  const Config* config = active_config();
  if (config == nullptr) return nullptr;
  ours = true;
  try {
    auto names = topology::directory(*config, path);
    if (!names) {
      errno = ENOENT;
      return nullptr;
    }
    names->insert(names->begin(), {".", ".."});
    auto* directory = new VirtualDirectory{.names = std::move(*names)};
    const std::lock_guard lock(g_directories_mutex);
    directory->link = g_directories;
    g_directories = directory;
    g_open_directories.fetch_add(1, std::memory_order_release);
    return reinterpret_cast<DIR*>(directory);
  } catch (const std::exception&) {
    errno = ENOMEM;
    return nullptr;
  }
}

dirent* next_entry(VirtualDirectory& d) {
  if (d.next == d.names.size()) return nullptr;
  d.entry = {};
  d.entry.d_ino = d.next + 1;
  d.entry.d_off = static_cast<off_t>(d.next + 1);
  d.entry.d_reclen = sizeof d.entry;
  d.entry.d_type = DT_UNKNOWN;
  const std::string& name = d.names[d.next++];
  std::memcpy(d.entry.d_name, name.c_str(), std::min(name.size() + 1, sizeof d.entry.d_name - 1));
  return &d.entry;
}

void close_directory(VirtualDirectory* directory) {
  {
    const std::lock_guard lock(g_directories_mutex);
    for (VirtualDirectory** at = &g_directories; *at != nullptr; at = &(*at)->link) {
      if (*at != directory) continue;
      *at = directory->link;
      break;
    }
    g_open_directories.fetch_sub(1);
  }
  delete directory;
}

int open_with(const char* symbol, const char* path, int flags, mode_t mode) {
  if (const Answer answer = open_virtual(path); answer.ours) return answer.fd;
  return next<int (*)(const char*, int, ...)>(symbol)(path, flags, mode);
}

int openat_with(const char* symbol, int directory, const char* path, int flags, mode_t mode) {
  if (const Answer answer = open_virtual(path); answer.ours) return answer.fd;
  return next<int (*)(int, const char*, int, ...)>(symbol)(directory, path, flags, mode);
}

}  // namespace

bool may_be_ours(const char* path) noexcept {
  return path != nullptr && (std::strncmp(path, "/dev/", 5) == 0 || std::strncmp(path, "/sys/", 5) == 0);
}

int device_node(std::string_view path) noexcept {
  if (path == kKfd) return 0;
  if (!path.starts_with(kRender)) return -1;
  const Config* config = active_config();
  const int minor = std::atoi(path.data() + kRender.size());
  const int first = static_cast<int>(kFirstRenderMinor);
  return config != nullptr && minor >= first && minor < first + static_cast<int>(config->gpus) ? minor : -1;
}

int open_node(unsigned node) noexcept {
  const Config* config = active_config();
  Device* device = config == nullptr ? nullptr : Device::open(*config);
  if (device == nullptr) return -1;
  const int fd = device->backing().open_descriptor(node);
  report::log(1, "open node %u -> descriptor %d", node, fd);
  return fd;
}

}  // namespace kerncap::vgpu

using namespace kerncap::vgpu;

// The declarations of <fcntl.h> and <dirent.h> for these symbols; the definitions replace the C library's.
#pragma GCC visibility push(default)  // the symbols of vgpu.map
extern "C" {

int open(const char* path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const auto mode = static_cast<mode_t>(va_arg(args, int));
  va_end(args);
  return open_with("open", path, flags, mode);
}

int open64(const char* path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const auto mode = static_cast<mode_t>(va_arg(args, int));
  va_end(args);
  return open_with("open64", path, flags, mode);
}

int openat(int directory, const char* path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const auto mode = static_cast<mode_t>(va_arg(args, int));
  va_end(args);
  return openat_with("openat", directory, path, flags, mode);
}

int openat64(int directory, const char* path, int flags, ...) {
  va_list args;
  va_start(args, flags);
  const auto mode = static_cast<mode_t>(va_arg(args, int));
  va_end(args);
  return openat_with("openat64", directory, path, flags, mode);
}

// What open() with unknown flags becomes in programs built with _FORTIFY_SOURCE.
int __open_2(const char* path, int flags) { return open_with("open", path, flags, 0); }
int __open64_2(const char* path, int flags) { return open_with("open64", path, flags, 0); }

FILE* fopen(const char* path, const char* mode) {
  bool ours = false;
  FILE* file = fopen_virtual(path, ours);
  return ours ? file : next<FILE* (*)(const char*, const char*)>("fopen")(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  bool ours = false;
  FILE* file = fopen_virtual(path, ours);
  return ours ? file : next<FILE* (*)(const char*, const char*)>("fopen64")(path, mode);
}

DIR* opendir(const char* path) {
  bool ours = false;
  DIR* directory = open_directory(path, ours);
  return ours ? directory : next<DIR* (*)(const char*)>("opendir")(path);
}

struct dirent* readdir(DIR* handle) {
  if (VirtualDirectory* directory = find_directory(handle)) return next_entry(*directory);
  return next<dirent* (*)(DIR*)>("readdir")(handle);
}

struct dirent64* readdir64(DIR* handle) {
  static_assert(sizeof(dirent) == sizeof(dirent64) && offsetof(dirent, d_name) == offsetof(dirent64, d_name));
  if (VirtualDirectory* directory = find_directory(handle)) return reinterpret_cast<dirent64*>(next_entry(*directory));
  return next<dirent64* (*)(DIR*)>("readdir64")(handle);
}

void rewinddir(DIR* handle) noexcept {
  if (VirtualDirectory* directory = find_directory(handle))
    directory->next = 0;
  else
    next<void (*)(DIR*)>("rewinddir")(handle);
}

int closedir(DIR* handle) {
  if (VirtualDirectory* directory = find_directory(handle)) {
    close_directory(directory);
    return 0;
  }
  return next<int (*)(DIR*)>("closedir")(handle);
}

int close(int fd) {
  if (Device* device = Device::current()) device->descriptor_closed(fd);
  static const auto next_close = next<int (*)(int)>("close");
  return next_close(fd);
}

int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list args;
  va_start(args, request);
  void* argument = va_arg(args, void*);
  va_end(args);
  const bool driver = _IOC_TYPE(request) == AMDKFD_IOCTL_BASE || _IOC_TYPE(request) == 'd';
  if (driver && Device::inherited()) {
    // Source: kfd_chardev.c: the driver refuses a descriptor in another process than the one that opened it.
    if (Device::inherited_descriptor(fd)) {
      errno = EBADF;
      return -1;
    }
  } else if (Device* device = driver ? Device::current() : nullptr) {
    if (const auto node = device->backing().node_of(fd)) {
      int error = EINVAL;
      if (*node == 0 && _IOC_TYPE(request) == AMDKFD_IOCTL_BASE)
        error = kfd_ioctl(*device, request, argument);
      else
        report_unknown_drm(request);
      if (error == 0) return 0;
      errno = error;
      return -1;
    }
  }
  static const auto next_ioctl = next<int (*)(int, unsigned long, ...)>("ioctl");
  return next_ioctl(fd, request, argument);
}

// Docker's default seccomp profile refuses mbind without CAP_SYS_NICE and libhsakmt takes that for a failure; where
// memory of the virtual GPU lies cannot be observed.
long mbind(void* start, unsigned long length, int mode, const unsigned long* nodes, unsigned long max_node,
           unsigned flags) {
  if (Device::current() != nullptr) return 0;
  return ::syscall(SYS_mbind, start, length, mode, nodes, max_node, flags);
}

}  // extern "C"
#pragma GCC visibility pop
