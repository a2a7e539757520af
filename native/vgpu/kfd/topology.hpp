// The sysfs tree that the kernel driver would show, made on request: nothing is written to disk.
// In: an absolute path. Out: the file's text, or the names in a directory. Called by files.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/config.hpp"

namespace kerncap::vgpu::topology {

// Whether the path belongs to the virtual tree (so that a name not in it does not exist).
bool covers(std::string_view path) noexcept;
// The text of a file, or nullopt when there is no such file.
std::optional<std::string> file(const Config& config, std::string_view path);
// The entries of a directory, or nullopt when there is no such directory.
std::optional<std::vector<std::string>> directory(const Config& config, std::string_view path);
// The target of a symbolic link, or nullopt when there is none of that name.
std::optional<std::string> link(const Config& config, std::string_view path);

}  // namespace kerncap::vgpu::topology
