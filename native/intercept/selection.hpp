// Which kernel and which of its dispatches are meant. In: the control file's `kernel`, `match`, `dispatch`, `grid`, `workgroup`.
// Out: a yes or no per kernel name, decided once when its symbol is resolved. Called by kernels.cpp and queues.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <string_view>

#include "intercept/packets.hpp"

namespace kerncap::intercept {

enum class MatchMode { Auto, Exact, Base, Glob, Regex, Mangled };

// Throws Error("capture.control") for a word that is no mode.
MatchMode parse_match_mode(std::string_view word);

// Demangled name of an Itanium-mangled symbol; the symbol itself when it is not mangled.
std::string demangle(const std::string& mangled);

// "void ns::(anonymous namespace)::scale<float, 4>(float*, int) [clone .x]" -> "ns::(anonymous namespace)::scale<float, 4>"
std::string_view qualified_name(std::string_view demangled);

// The same without scope and template arguments: "scale". Operators keep their symbol ("operator<<", "operator()").
std::string_view base_name(std::string_view demangled);

class KernelSelector {
 public:
  // `pattern` absent: nothing matches. Throws Error("capture.pattern") for a regular expression that does not compile.
  KernelSelector(std::optional<std::string> pattern, MatchMode mode);
  bool matches(const std::string& mangled, const std::string& demangled) const;

 private:
  bool matches_exact(const std::string& demangled) const;
  bool matches_base(const std::string& demangled) const;
  bool matches_glob(const std::string& mangled, const std::string& demangled) const;

  std::optional<std::string> pattern_;
  MatchMode mode_;
  std::optional<std::regex> regex_;
};

// Launch geometry that a dispatch must have; absent means any.
struct LaunchFilter {
  std::optional<Dim3> grid;
  std::optional<Dim3> workgroup;
  bool accepts(const Dim3& launch_grid, const Dim3& launch_workgroup) const {
    return (!grid || *grid == launch_grid) && (!workgroup || *workgroup == launch_workgroup);
  }
};

}  // namespace kerncap::intercept
