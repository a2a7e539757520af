// Module variables that the HSA runtime cannot name. In: the bytes of a code object. Out: names. Called by capture.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace kerncap::intercept {

// Writable data objects that are in the symbol table but not in the dynamic one (internal linkage, never touched by the host).
// Empty for what is not a well-formed ELF file or has been stripped.
std::vector<std::string> hidden_variables(std::span<const std::byte> code_object);

}  // namespace kerncap::intercept
