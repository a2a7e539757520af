#include "bundle/elf_symbols.hpp"

#include <algorithm>
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

std::vector<Elf64_Phdr> segments_of(Bytes image, std::uint32_t type) {
  std::vector<Elf64_Phdr> segments;
  const auto header = record_at<Elf64_Ehdr>(image, 0);
  for (std::uint64_t i = 0; header && i < header->e_phnum; ++i) {
    const auto segment = record_at<Elf64_Phdr>(image, header->e_phoff + i * header->e_phentsize);
    if (segment && segment->p_type == type) segments.push_back(*segment);
  }
  return segments;
}

// Source: LLVM and GNU linkers: PT_GNU_RELRO covers .data.rel.ro, which a loader makes read-only after relocation.
bool is_writable(const Elf64_Sym& symbol, const std::vector<Elf64_Shdr>& sections, const std::vector<Elf64_Phdr>& read_only) {
  if (symbol.st_shndx >= sections.size() || (sections[symbol.st_shndx].sh_flags & SHF_WRITE) == 0) return false;
  return std::none_of(read_only.begin(), read_only.end(), [&](const Elf64_Phdr& segment) {
    return symbol.st_value >= segment.p_vaddr && symbol.st_value - segment.p_vaddr < segment.p_filesz;
  });
}

}  // namespace

std::vector<ElfSymbol> elf_symbols(Bytes image, SymbolTable table) {
  const auto sections = section_headers(image);
  const auto read_only = segments_of(image, PT_GNU_RELRO);
  std::vector<ElfSymbol> found;
  for (const auto& section : sections) {
    const bool meant = section.sh_type == (table == SymbolTable::Dynamic ? SHT_DYNSYM : SHT_SYMTAB);
    if (!meant || section.sh_link >= sections.size()) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = record_at<Elf64_Sym>(image, section.sh_offset + at);
      if (!symbol) break;
      const unsigned type = ELF64_ST_TYPE(symbol->st_info);
      if ((type != STT_OBJECT && type != STT_FUNC) || symbol->st_size == 0 || symbol->st_shndx == SHN_UNDEF) continue;
      found.push_back({std::string(text_at(image, sections[section.sh_link], symbol->st_name)), symbol->st_value,
                       symbol->st_size, type, is_writable(*symbol, sections, read_only)});
    }
  }
  return found;
}

std::uint64_t first_loaded_address(Bytes image) {
  const auto loaded = segments_of(image, PT_LOAD);
  const auto first = std::min_element(loaded.begin(), loaded.end(),
                                      [](const Elf64_Phdr& a, const Elf64_Phdr& b) { return a.p_vaddr < b.p_vaddr; });
  return first == loaded.end() ? 0 : first->p_vaddr;
}

void number_names(std::vector<ElfSymbol>& symbols) {
  std::map<std::string, int> seen;
  for (auto& symbol : symbols) {
    if (const int number = ++seen[symbol.name]; number > 1) symbol.name += "#" + std::to_string(number);
  }
}

}  // namespace kerncap
