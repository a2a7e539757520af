// Messages on stderr, one line each, "kerncap: <level>: <text>", written with one write(2) so that lines of several
// threads and processes do not mix. stdout belongs to data (and, in an injected library, to the application).
#pragma once

#include <string_view>

namespace kerncap::log {

enum class Level : int { error = 0, warning = 1, info = 2, debug = 3 };

// Messages above this level are dropped; the start value is KERNCAP_LOG (0..3), else warning.
void set_level(Level level) noexcept;
bool enabled(Level level) noexcept;
void write(Level level, std::string_view text) noexcept;

inline void error(std::string_view text) noexcept { write(Level::error, text); }
inline void warning(std::string_view text) noexcept { write(Level::warning, text); }
inline void info(std::string_view text) noexcept { write(Level::info, text); }
inline void debug(std::string_view text) noexcept { write(Level::debug, text); }

}  // namespace kerncap::log
