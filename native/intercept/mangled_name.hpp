// Scopes and name out of a mangled name, for what the C++ runtime cannot demangle.
//
// In: an Itanium-mangled function name. Out: `ns::scale<...>`. Called by selection: people name kernels by their base name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace kerncap::intercept {

// Without template arguments and parameters; nullopt where even that is not sure. The runtimes of GCC 14 and 15 do not know
// the constraints (`Tk`) that clang 18 and later mangle into names of C++20 templates.
// Source: Itanium C++ ABI, 5.1 External Names; its template arguments are only skipped here.
std::optional<std::string> name_of_mangled(std::string_view mangled);

}  // namespace kerncap::intercept
