#include "bundle/hidden_variables.hpp"

#include <algorithm>

#include "bundle/elf_symbols.hpp"

namespace kerncap {
namespace {

std::vector<ElfSymbol> writable_objects(std::span<const std::byte> code_object, SymbolTable table) {
  auto symbols = elf_symbols(code_object, table);
  std::erase_if(symbols, [](const ElfSymbol& symbol) { return symbol.type != STT_OBJECT || !symbol.writable; });
  return symbols;
}

}  // namespace

std::vector<HiddenVariable> hidden_variables(std::span<const std::byte> code_object) {
  const auto exported = writable_objects(code_object, SymbolTable::Dynamic);
  auto symbols = writable_objects(code_object, SymbolTable::Whole);
  std::erase_if(symbols, [&](const ElfSymbol& symbol) {
    return std::any_of(exported.begin(), exported.end(), [&](const ElfSymbol& other) { return other.name == symbol.name; });
  });
  number_names(symbols);
  std::vector<HiddenVariable> hidden;
  for (auto& symbol : symbols) hidden.push_back({std::move(symbol.name), symbol.address, symbol.size});
  return hidden;
}

std::optional<HiddenVariable> find_hidden_variable(std::span<const std::byte> code_object, const std::string& name) {
  for (auto& variable : hidden_variables(code_object)) {
    if (variable.name == name) return variable;
  }
  return std::nullopt;
}

}  // namespace kerncap
