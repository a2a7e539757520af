// KERNCAP_VGPU: what the virtual GPU is to be. In: the variable's text (docs/interfaces.md). Out: Config.
// Read once, by the first call in the process that touches the device; a process without a device never parses it.
#pragma once

#include <string>
#include <string_view>

#include "vgpu/isa/check/check.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu {

struct Config {
  isa::Target target = isa::Target::gfx942;
  unsigned gpus = 1;
  bool large_bar = false;
  std::string trace_file;
  isa::check::Checks checks;       // none: the fast run loop
  std::string check_report, check_regions;
  std::string stops_file;
  int log_level = 0;
  bool wall_time = false;  // timestamps: not by the cost model
  unsigned vram_mib = 0;   // device memory, MiB; 0: what the target's model has
  unsigned threads = 1;  // host threads that one dispatch may use
};

inline constexpr unsigned kMaxGpus = 16;
inline constexpr unsigned kMaxThreads = 256;
inline constexpr unsigned kMinVramMib = 64, kMaxVramMib = 1u << 20;

// Throws std::invalid_argument naming the word that is wrong.
Config parse_config(std::string_view text);

// The process's configuration, or nullptr when KERNCAP_VGPU is unset, empty or wrong (said once on stderr).
const Config* active_config() noexcept;

}  // namespace kerncap::vgpu
