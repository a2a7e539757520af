// The trace=FILE of KERNCAP_VGPU: one JSON line a dispatch, appended whole (docs/interfaces.md).
// In: a finished dispatch. Out: the file. Called by the queue threads, one line at a time.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "vgpu/trace/ranges.hpp"

namespace kerncap::vgpu {

class TraceFile {
 public:
  explicit TraceFile(std::string path) : path_(std::move(path)) {}
  bool enabled() const { return !path_.empty(); }
  // `stopped`: why the dispatch did not complete; empty when it did.
  void append(std::uint64_t kernel_object, const AccessRanges& ranges, const std::string& stopped);

  static std::string line(std::uint64_t kernel_object, std::uint64_t pid, std::uint64_t dispatch,
                          const AccessRanges& ranges, const std::string& stopped);

 private:
  std::string path_;
  std::mutex mutex_;
  std::uint64_t dispatches_ = 0;
  int fd_ = -1;
};

}  // namespace kerncap::vgpu
