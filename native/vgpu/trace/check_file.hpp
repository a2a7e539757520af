// The check=... of KERNCAP_VGPU: dispatches run in the checked mode, and what is found goes to check-report=FILE, one JSON
// line a dispatch, or to stderr without a file (docs/interfaces.md).
// In: dispatches. Out: their Outcome; the file. Called by the queue threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "vgpu/isa/check/check.hpp"
#include "vgpu/isa/check/written.hpp"

namespace kerncap::vgpu {

class CheckFile {
 public:
  // `regions_path`: "va size" a line, in decimal; empty: sizes are not known. Throws std::invalid_argument.
  CheckFile(isa::check::Checks checks, std::string path, const std::string& regions_path);
  isa::Outcome run(isa::Target target, const isa::Dispatch& dispatch, const isa::Memory& memory, isa::Trace* trace,
                   const std::atomic<bool>& cancel);

  // What is known of memory that nobody has written, for who writes it; nullptr when no check asks.
  isa::check::WrittenBytes* written() { return checks_.memory ? &written_ : nullptr; }

  static std::string line(std::uint64_t kernel_object, std::uint64_t pid, std::uint64_t dispatch,
                          const isa::check::Report& report, const isa::Outcome& outcome);

 private:
  void append(std::uint64_t kernel_object, const isa::check::Report& report, const isa::Outcome& outcome);

  const isa::check::Checks checks_;
  const std::string path_;
  std::vector<isa::check::Region> regions_;
  isa::check::WrittenBytes written_;
  std::mutex mutex_;
  std::uint64_t dispatches_ = 0;
  int fd_ = -1;
};

}  // namespace kerncap::vgpu
