// Module variables that the HSA runtime cannot name. In: the bytes of a code object. Out: names and places.
// Called by the tool library (what to capture) and by kerncap-replay (where to restore it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kerncap {

struct HiddenVariable {
  std::string name;           // the n-th of one name, from the second on, has "#n" behind it
  std::uint64_t address = 0;  // as the file has it; the loader adds its load delta
  std::uint64_t size = 0;
};

// Writable data objects that are in the symbol table but not in the dynamic one (internal linkage, never touched by the host).
// What is read-only once it has been relocated (tables of virtual functions) is none. Empty for what is not a well-formed ELF file
// or has been stripped.
std::vector<HiddenVariable> hidden_variables(std::span<const std::byte> code_object);

std::optional<HiddenVariable> find_hidden_variable(std::span<const std::byte> code_object, const std::string& name);

}  // namespace kerncap
