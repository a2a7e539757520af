#include "base/log.hpp"

#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/quiet_writes.hpp"

namespace kerncap::log {
namespace {

std::atomic<int>& threshold() noexcept {
  static std::atomic<int> value = [] {
    const char* text = std::getenv("KERNCAP_LOG");
    const bool valid = text != nullptr && text[0] >= '0' && text[0] <= '3' && text[1] == '\0';
    return valid ? text[0] - '0' : static_cast<int>(Level::warning);
  }();
  return value;
}

}  // namespace

void set_level(Level level) noexcept { threshold().store(static_cast<int>(level), std::memory_order_relaxed); }

bool enabled(Level level) noexcept { return static_cast<int>(level) <= threshold().load(std::memory_order_relaxed); }

void write(Level level, std::string_view text) noexcept {
  if (!enabled(level)) return;
  constexpr std::string_view names[] = {"error", "warning", "info", "debug"};
  const int saved = errno;
  try {
    std::string line = "kerncap: ";
    line += names[static_cast<int>(level)];
    line += ": ";
    line += text;
    line += '\n';
    const QuietWrites quiet;
    const ssize_t ignored = ::write(STDERR_FILENO, line.data(), line.size());
    static_cast<void>(ignored);
  } catch (...) {
    // Out of memory: a lost message is the lesser evil in an injected library.
  }
  errno = saved;
}

}  // namespace kerncap::log
