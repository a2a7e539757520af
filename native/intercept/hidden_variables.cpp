#include "intercept/hidden_variables.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

namespace kerncap::intercept {
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

bool is_writable_object(const Elf64_Sym& symbol, const std::vector<Elf64_Shdr>& sections) {
  return ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && symbol.st_size > 0 && symbol.st_shndx < sections.size() &&
         (sections[symbol.st_shndx].sh_flags & SHF_WRITE) != 0;
}

std::vector<std::string> writable_objects(Bytes image, const std::vector<Elf64_Shdr>& sections, std::uint32_t table_type) {
  std::vector<std::string> names;
  for (const auto& section : sections) {
    if (section.sh_type != table_type || section.sh_link >= sections.size()) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = record_at<Elf64_Sym>(image, section.sh_offset + at);
      if (!symbol) break;
      if (is_writable_object(*symbol, sections)) names.emplace_back(text_at(image, sections[section.sh_link], symbol->st_name));
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> hidden_variables(Bytes code_object) {
  const auto sections = section_headers(code_object);
  const auto exported = writable_objects(code_object, sections, SHT_DYNSYM);
  std::vector<std::string> hidden;
  for (auto& name : writable_objects(code_object, sections, SHT_SYMTAB)) {
    if (std::find(exported.begin(), exported.end(), name) == exported.end()) hidden.push_back(std::move(name));
  }
  return hidden;
}

}  // namespace kerncap::intercept
