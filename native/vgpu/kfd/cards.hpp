// The graphics cards' part of sysfs, /sys/class/drm, by which tools other than the HSA runtime (rocm_smi) find a GPU and
// its address on the PCI bus. In: a path below /sys/class/drm. Out: text, names or a link's target. Called by topology.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/config.hpp"

namespace kerncap::vgpu::cards {

inline constexpr std::string_view kRoot = "/sys/class/drm";

// `path`: below kRoot, without slashes at either end.
std::optional<std::string> file(const Config& config, std::string_view path);
std::optional<std::vector<std::string>> directory(const Config& config, std::string_view path);
std::optional<std::string> link(const Config& config, std::string_view path);

}  // namespace kerncap::vgpu::cards
