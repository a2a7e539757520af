// What the tool was asked to do. In: the control file (docs/interfaces.md, "Tool library"). Out: typed values.
// Called by entry.cpp, and by attach.cpp for each request.
#pragma once

#include <cstdint>
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

// Several dispatches of one queue, from the n-th that is meant on.
struct SequenceControl {
  std::optional<std::uint64_t> count;      // up to so many that are meant, the first included
  std::optional<std::string> last_kernel;  // or up to the next of this kernel
  MatchMode last_match = MatchMode::Auto;
  bool per_queue = false;   // `dispatch` counts every dispatch of each queue
  bool each_state = false;  // the state behind each of them is captured
};

// Which processes of a parallel application capture: the first that comes to it, each for itself, or the one with that rank.
struct Ranks {
  bool all = false;
  std::optional<std::uint32_t> only;
};

struct Control {
  Mode mode = Mode::Capture;
  std::filesystem::path work_dir;
  std::optional<std::string> kernel;
  MatchMode match = MatchMode::Auto;
  std::uint64_t dispatch = 0;
  LaunchFilter launch;
  std::vector<Predicate> when;  // none: every dispatch that matches
  std::optional<std::uint64_t> budget_bytes;  // of the memory before a dispatch that may meet them; absent: half of the free space
  double after_ms = 0;  // dispatches before this, from the loading of the tool on, do not count
  std::optional<SequenceControl> sequence;
  bool trials = false;  // dispatches of an autotuner's trials count as well
  bool stop_after = false;
  Ranks ranks;
  double timeout_s = 300;
  unsigned threads = 2;
  int zstd_level = 1;
};

// Throws Error("capture.control").
Control read_control(const std::filesystem::path& path);

// `work_dir` alone, as far as it can be read: where an error about the rest of the file is written.
std::optional<std::filesystem::path> work_dir_of(const std::filesystem::path& path) noexcept;

}  // namespace kerncap::intercept
