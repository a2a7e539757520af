#include "vgpu/trace/trace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "vgpu/kfd/next.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu {

std::string TraceFile::line(std::uint64_t kernel_object, std::uint64_t pid, std::uint64_t dispatch,
                            const AccessRanges& ranges, const std::string& stopped) {
  nlohmann::ordered_json json = {{"kernel_object", kernel_object}, {"pid", pid}, {"dispatch", dispatch}};
  json["read"] = ranges.read();
  json["written"] = ranges.written();
  json["read_first"] = ranges.read_first();
  if (!stopped.empty()) json["stopped"] = stopped;
  return json.dump() + "\n";
}

void TraceFile::append(std::uint64_t kernel_object, const AccessRanges& ranges, const std::string& stopped) {
  const std::lock_guard lock(mutex_);
  const std::string text =
      line(kernel_object, static_cast<std::uint64_t>(::getpid()), dispatches_++, ranges, stopped);
  if (fd_ < 0) {
    static const auto next_open = next<int (*)(const char*, int, ...)>("open");
    fd_ = next_open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  }
  // One write a line: several processes may append to one file.
  if (fd_ < 0 || ::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    report::stopped("vgpu.trace-not-written", path_ + ": " + std::strerror(errno));
}

}  // namespace kerncap::vgpu
