#include "vgpu/cores.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "vgpu/kfd/next.hpp"

namespace kerncap::vgpu {
namespace {

// Source: Linux cgroup v2 documentation, "cpu.max". Inside a container this is the container's own group.
constexpr const char* kQuotaFile = "/sys/fs/cgroup/cpu.max";

}  // namespace

unsigned quota_cores(std::string_view text) noexcept {
  unsigned long long quota = 0, period = 0;
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, quota);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != ' ') return 0;  // "max 100000"
  if (std::from_chars(first.ptr + 1, end, period).ec != std::errc() || period == 0 || quota == 0) return 0;
  return static_cast<unsigned>((quota + period - 1) / period);
}

unsigned usable_cores() noexcept {
  cpu_set_t set;
  unsigned cores = ::sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<unsigned>(CPU_COUNT(&set)) : 1;
  static const auto next_open = next<int (*)(const char*, int, ...)>("open");
  if (const int fd = next_open(kQuotaFile, O_RDONLY | O_CLOEXEC); fd >= 0) {
    char text[64];
    const ssize_t n = ::read(fd, text, sizeof text);
    ::close(fd);
    if (const unsigned quota = n > 0 ? quota_cores({text, static_cast<std::size_t>(n)}) : 0; quota != 0)
      cores = std::min(cores, quota);
  }
  return std::max(cores, 1u);
}

}  // namespace kerncap::vgpu
