#include "base/error.hpp"

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

namespace kerncap {

ExitCode exit_code_of(std::string_view code) noexcept {
  constexpr std::array<std::pair<std::string_view, ExitCode>, 8> table{{
      {"usage", ExitCode::usage},
      {"host", ExitCode::host},
      {"bundle", ExitCode::bundle},
      {"capture", ExitCode::capture},
      {"replay", ExitCode::replay},
      {"vgpu", ExitCode::replay},
      {"transport", ExitCode::transport},
      {"compile", ExitCode::compile},
  }};
  const std::string_view first = code.substr(0, code.find('.'));
  for (const auto& [prefix, exit_code] : table) {
    if (prefix == first) return exit_code;
  }
  return ExitCode::internal;
}

Error::Error(std::string code, const std::string& message, std::optional<std::string> hint)
    : std::runtime_error(message), code_(std::move(code)), hint_(std::move(hint)) {}

std::string system_message(std::string_view what, int error_number) {
  return std::string(what) + ": " + std::generic_category().message(error_number);
}

Error system_error(std::string_view what, int error_number) {
  const std::string message = system_message(what, error_number);
  switch (error_number) {
    case ENOSPC:
    case EDQUOT:
      return Error("host.disk-full", message, "df -h");
    case EACCES:
    case EPERM:
      return Error("host.permission", message);
    case ENOMEM:
      return Error("host.memory", message, "free -m");
    case EMFILE:
    case ENFILE:
      return Error("host.descriptors", message, "ulimit -n 65536  # then the same command");
    case EFBIG:
      return Error("host.io", message, "ulimit -f unlimited  # then the same command");
    default:
      return Error("host.io", message);
  }
}

std::string printable(std::string_view text, std::size_t limit) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte <= 0x7e && c != '\\') {
      out += c;
    } else {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  if (text.size() > limit) out += "...";
  return out;
}

}  // namespace kerncap
