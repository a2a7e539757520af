#include "vgpu/report.hpp"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace kerncap::vgpu::report {
namespace {

constinit std::atomic<int> g_level{0};
constinit std::atomic<const char*> g_stops_file{nullptr};

// write(2), not stdio: called from device threads while the application may be exiting.
void write_all(int descriptor, const char* data, std::size_t size) noexcept {
  while (size != 0) {
    const ssize_t n = ::write(descriptor, data, size);
    if (n <= 0) return;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
}

void append_to_stops_file(const std::string& line) noexcept {
  const char* const path = g_stops_file.load(std::memory_order_relaxed);
  if (path == nullptr) return;
  // The system call itself: open(2) of this process is the virtual GPU's own.
  const long descriptor = ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  write_all(static_cast<int>(descriptor), line.data(), line.size());
  ::syscall(SYS_close, descriptor);
}

}  // namespace

void stopped(std::string_view code, std::string_view text) noexcept {
  std::string line = "kerncap-vgpu: ";
  line.append(code).append(": ");
  for (const char c : text) line.push_back(c == '\n' ? ' ' : c);
  line.push_back('\n');
  write_all(STDERR_FILENO, line.data(), line.size());
  append_to_stops_file(line);
}

void set_stops_file(const char* path) noexcept { g_stops_file.store(path, std::memory_order_relaxed); }

void set_log_level(int level) noexcept { g_level.store(level, std::memory_order_relaxed); }
bool logs(int level) noexcept { return g_level.load(std::memory_order_relaxed) >= level; }

void log(int level, const char* format, ...) noexcept {
  if (!logs(level)) return;
  char line[512];
  const int prefix = std::snprintf(line, sizeof line, "kerncap-vgpu[%d]: ", level);
  va_list args;
  va_start(args, format);
  int body = std::vsnprintf(line + prefix, sizeof line - static_cast<std::size_t>(prefix) - 1, format, args);
  va_end(args);
  if (body < 0) return;
  std::size_t size = static_cast<std::size_t>(prefix) + static_cast<std::size_t>(body);
  if (size > sizeof line - 2) size = sizeof line - 2;
  line[size++] = '\n';
  write_all(STDERR_FILENO, line, size);
}

}  // namespace kerncap::vgpu::report
