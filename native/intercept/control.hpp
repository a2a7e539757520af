// What the tool was asked to do. In: the control file (docs/interfaces.md, "Tool library"). Out: typed values.
// Called by entry.cpp, and by attach.cpp for each request.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "intercept/predicate.hpp"
#include "intercept/selection.hpp"

namespace kerncap::intercept {

enum class Mode {
  Capture,  // one dispatch of `kernel`
  List,     // nothing is captured: what would match is written down
  Profile,  // nothing is captured: every dispatch is timed
  Attach,   // nothing is captured until a request comes (attach.hpp)
};

struct Control {
  Mode mode = Mode::Capture;
  std::filesystem::path work_dir;
  std::optional<std::string> kernel;
  MatchMode match = MatchMode::Auto;
  std::uint64_t dispatch = 0;
  LaunchFilter launch;
  std::vector<Predicate> when;  // none: every dispatch that matches
  double after_ms = 0;  // dispatches before this, from the loading of the tool on, do not count
  bool stop_after = false;
  double timeout_s = 300;
  unsigned threads = 2;
  int zstd_level = 1;
};

// Throws Error("capture.control").
Control read_control(const std::filesystem::path& path);

// `work_dir` alone, as far as it can be read: where an error about the rest of the file is written.
std::optional<std::filesystem::path> work_dir_of(const std::filesystem::path& path) noexcept;

}  // namespace kerncap::intercept
