// The one exception type of the native parts: what happened, a dotted code, a hint that can be typed, an exit code.
// In: nothing. Out: exceptions that a program's main() turns into a result document and an exit status.
// Thrown everywhere inside, never across a C ABI.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace kerncap {

// Exit status by who must act; docs/architecture.md, "Errors". The Python side has the same table (kerncap/errors.py).
enum class ExitCode : int {
  ok = 0,
  usage = 2,
  host = 3,
  bundle = 4,
  capture = 5,
  replay = 6,
  transport = 7,
  compile = 8,
  internal = 70,
};

// From the first word of a dotted code ("bundle.truncated" -> bundle); an unknown word is internal.
ExitCode exit_code_of(std::string_view code) noexcept;

class Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message, std::optional<std::string> hint = std::nullopt);

  const std::string& code() const noexcept { return code_; }
  const std::optional<std::string>& hint() const noexcept { return hint_; }
  ExitCode exit_code() const noexcept { return exit_code_of(code_); }

 private:
  std::string code_;
  std::optional<std::string> hint_;
};

// "<what>: <strerror>"; `error_number` is an errno value.
std::string system_message(std::string_view what, int error_number);

// ENOSPC and EDQUOT become host.disk-full, EACCES and EPERM host.permission, ENOMEM host.memory, the rest host.io.
Error system_error(std::string_view what, int error_number);

// Makes a string of foreign origin fit for a message: control characters, backslashes and bytes over 0x7e as \xNN, cut at `limit`.
std::string printable(std::string_view text, std::size_t limit = 200);

}  // namespace kerncap
