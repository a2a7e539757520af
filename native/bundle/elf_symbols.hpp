// The symbols of a code object. In: the bytes of an ELF file, which may be hostile. Out: names and places, as the file has them:
// the loader adds its load delta. Called by hidden_variables.cpp and by kerncap-replay (where addresses of code lead).
#pragma once

#include <elf.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kerncap {

struct ElfSymbol {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  unsigned type = STT_NOTYPE;
  bool writable = false;  // by the program: not what is read-only once it has been relocated (tables of virtual functions)
};

enum class SymbolTable { Dynamic, Whole };

// Functions and objects with a size. Empty for what is not a well-formed ELF file, or has no such table.
std::vector<ElfSymbol> elf_symbols(std::span<const std::byte> code_object, SymbolTable table);

// Of the first byte that is loaded: what the loader's load base stands for. 0 where nothing is loaded.
std::uint64_t first_loaded_address(std::span<const std::byte> code_object);

// Makes names unique: the n-th of one name, from the second on, has "#n" behind it.
void number_names(std::vector<ElfSymbol>& symbols);

}  // namespace kerncap
