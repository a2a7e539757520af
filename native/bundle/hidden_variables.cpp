#include "bundle/hidden_variables.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

namespace kerncap {
namespace {

using Bytes = std::span<const std::byte>;

// Copies a record out of the image: nothing in it need be aligned, and every offset comes from the file.
template <class T>
std::optional<T> record_at(Bytes image, std::uint64_t offset) {
  if (offset > image.size() || image.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, image.data() + offset, sizeof value);
  return value;
}

std::vector<Elf64_Shdr> section_headers(Bytes image) {
  std::vector<Elf64_Shdr> sections;
  const auto header = record_at<Elf64_Ehdr>(image, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_ident[EI_CLASS] != ELFCLASS64) return sections;
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = record_at<Elf64_Shdr>(image, header->e_shoff + i * header->e_shentsize);
    if (!section) return {};
    sections.push_back(*section);
  }
  return sections;
}

std::string_view text_at(Bytes image, const Elf64_Shdr& strings, std::uint32_t at) {
  const std::uint64_t offset = strings.sh_offset + at;
  if (at >= strings.sh_size || offset >= image.size()) return {};
  const auto* text = reinterpret_cast<const char*>(image.data()) + offset;
  return {text, strnlen(text, std::min<std::uint64_t>(strings.sh_size - at, image.size() - offset))};
}

// Source: LLVM and GNU linkers: PT_GNU_RELRO covers .data.rel.ro, which a loader makes read-only after relocation.
std::vector<Elf64_Phdr> read_only_segments(Bytes image) {
  std::vector<Elf64_Phdr> segments;
  const auto header = record_at<Elf64_Ehdr>(image, 0);
  for (std::uint64_t i = 0; header && i < header->e_phnum; ++i) {
    const auto segment = record_at<Elf64_Phdr>(image, header->e_phoff + i * header->e_phentsize);
    if (segment && segment->p_type == PT_GNU_RELRO) segments.push_back(*segment);
  }
  return segments;
}

struct Table {
  Bytes image;
  std::vector<Elf64_Shdr> sections;
  std::vector<Elf64_Phdr> read_only;

  bool is_writable(const Elf64_Sym& symbol) const {
    if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_size == 0 || symbol.st_shndx >= sections.size()) return false;
    if ((sections[symbol.st_shndx].sh_flags & SHF_WRITE) == 0) return false;
    return std::none_of(read_only.begin(), read_only.end(), [&](const Elf64_Phdr& segment) {
      return symbol.st_value >= segment.p_vaddr && symbol.st_value - segment.p_vaddr < segment.p_filesz;
    });
  }

  std::vector<HiddenVariable> writable_objects(std::uint32_t table_type) const {
    std::vector<HiddenVariable> found;
    for (const auto& section : sections) {
      if (section.sh_type != table_type || section.sh_link >= sections.size()) continue;
      for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
        const auto symbol = record_at<Elf64_Sym>(image, section.sh_offset + at);
        if (!symbol) break;
        if (!is_writable(*symbol)) continue;
        found.push_back({std::string(text_at(image, sections[section.sh_link], symbol->st_name)), symbol->st_value, symbol->st_size});
      }
    }
    return found;
  }
};

}  // namespace

std::vector<HiddenVariable> hidden_variables(Bytes code_object) {
  const Table table{code_object, section_headers(code_object), read_only_segments(code_object)};
  const auto exported = table.writable_objects(SHT_DYNSYM);
  std::vector<HiddenVariable> hidden;
  std::map<std::string, int> seen;
  for (auto& variable : table.writable_objects(SHT_SYMTAB)) {
    const bool known = std::any_of(exported.begin(), exported.end(), [&](const auto& other) { return other.name == variable.name; });
    if (known) continue;
    if (const int number = ++seen[variable.name]; number > 1) variable.name += "#" + std::to_string(number);
    hidden.push_back(std::move(variable));
  }
  return hidden;
}

std::optional<HiddenVariable> find_hidden_variable(Bytes code_object, const std::string& name) {
  for (auto& variable : hidden_variables(code_object)) {
    if (variable.name == name) return variable;
  }
  return std::nullopt;
}

}  // namespace kerncap
