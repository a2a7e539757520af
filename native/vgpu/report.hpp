// What the virtual GPU says on stderr. `stopped` lines are part of the interface (docs/interfaces.md); log lines are not.
#pragma once

#include <string_view>

namespace kerncap::vgpu::report {

// "kerncap-vgpu: <code>: <text>": something stopped; always printed, as one write.
void stopped(std::string_view code, std::string_view text) noexcept;
// From now on such lines are appended to this file too: whoever started the application may not see its stderr.
// `path` must live as long as the process.
void set_stops_file(const char* path) noexcept;

void set_log_level(int level) noexcept;
bool logs(int level) noexcept;
// Level 1: device and queues, 2: buffers, packets, signals, 3: maps, 4: every ioctl.
void log(int level, const char* format, ...) noexcept __attribute__((format(printf, 2, 3)));

}  // namespace kerncap::vgpu::report
