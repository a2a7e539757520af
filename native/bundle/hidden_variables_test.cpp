// Variables of internal linkage, in ELF files built here: names and places, what is none, hostile tables.
#include "bundle/hidden_variables.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

namespace kerncap {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::uint64_t symbols_at = 1024, dynamic_at = 2048, names_at = 3072, sections_at = 4096;
constexpr std::uint16_t data_section = 1, read_only_section = 2;

template <typename T>
void put(Bytes& image, std::uint64_t at, const T& value) {
  if (image.size() < at + sizeof value) image.resize(at + sizeof value);
  std::memcpy(image.data() + at, &value, sizeof value);
}

struct Symbol {
  const char* name;
  std::uint64_t address;
  std::uint64_t size;
  unsigned char type = STT_OBJECT;
  std::uint16_t section = data_section;
};

Elf64_Shdr section(std::uint32_t type, std::uint64_t flags, std::uint64_t at, std::uint64_t size, std::uint32_t link = 0) {
  Elf64_Shdr header{};
  header.sh_type = type;
  header.sh_flags = flags;
  header.sh_offset = at;
  header.sh_size = size;
  header.sh_link = link;
  return header;
}

// Sections: none, .data, .rodata, .symtab, .dynsym, .strtab. Segment: PT_GNU_RELRO over [0x8000, 0x8100).
Bytes image_with(const std::vector<Symbol>& symbols, const std::vector<Symbol>& exported) {
  Bytes image;
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_shoff = sections_at;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 6;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  put(image, 0, header);
  Elf64_Phdr read_only{};
  read_only.p_type = PT_GNU_RELRO;
  read_only.p_vaddr = 0x8000;
  read_only.p_filesz = 0x100;
  put(image, header.e_phoff, read_only);
  std::uint64_t name_at = 1;
  const auto add = [&](const std::vector<Symbol>& list, std::uint64_t at) {
    for (const Symbol& symbol : list) {
      Elf64_Sym entry{};
      entry.st_name = static_cast<Elf64_Word>(name_at);
      entry.st_info = ELF64_ST_INFO(STB_LOCAL, symbol.type);
      entry.st_shndx = symbol.section;
      entry.st_value = symbol.address;
      entry.st_size = symbol.size;
      put(image, at, entry);
      at += sizeof entry;
      for (const char* c = symbol.name;; ++c) {
        put(image, names_at + name_at++, *c);
        if (*c == 0) break;
      }
    }
  };
  add(symbols, symbols_at);
  add(exported, dynamic_at);
  const Elf64_Shdr table[] = {section(SHT_NULL, 0, 0, 0),
                              section(SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 0),
                              section(SHT_PROGBITS, SHF_ALLOC, 0, 0),
                              section(SHT_SYMTAB, 0, symbols_at, symbols.size() * sizeof(Elf64_Sym), 5),
                              section(SHT_DYNSYM, 0, dynamic_at, exported.size() * sizeof(Elf64_Sym), 5),
                              section(SHT_STRTAB, 0, names_at, name_at)};
  for (std::size_t i = 0; i < 6; ++i) put(image, sections_at + i * sizeof table[0], table[i]);
  return image;
}

TEST(HiddenVariables, AreWritableAndNotExported) {
  const auto image = image_with({{"_ZL7counter", 0x9000, 4},
                                 {"exported", 0x9004, 4},
                                 {"function", 0x9008, 4, STT_FUNC},
                                 {"constant", 0x900c, 4, STT_OBJECT, read_only_section},
                                 {"empty", 0x9010, 0},
                                 {"_ZTV5Shape", 0x8010, 24}},
                                {{"exported", 0x9004, 4}});
  const auto found = hidden_variables(image);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, "_ZL7counter");
  EXPECT_EQ(found[0].address, 0x9000u);
  EXPECT_EQ(found[0].size, 4u);
}

TEST(HiddenVariables, OfOneNameAreNumbered) {
  const auto image = image_with({{"_ZL1x", 0x9000, 4}, {"_ZL1x", 0x9004, 8}}, {});
  ASSERT_EQ(hidden_variables(image).size(), 2u);
  EXPECT_EQ(find_hidden_variable(image, "_ZL1x")->address, 0x9000u);
  EXPECT_EQ(find_hidden_variable(image, "_ZL1x#2")->size, 8u);
  EXPECT_FALSE(find_hidden_variable(image, "_ZL1x#3"));
}

TEST(HiddenVariables, NothingIsReadBeyondAFile) {
  const auto image = image_with({{"_ZL7counter", 0x9000, 4}}, {});
  for (std::size_t size = 0; size < image.size(); size += 7) {
    static_cast<void>(hidden_variables(std::span(image).first(size)));
  }
  auto hostile = image;
  Elf64_Shdr table = section(SHT_SYMTAB, 0, ~std::uint64_t{0} - 8, ~std::uint64_t{0}, 5);
  put(hostile, sections_at + 3 * sizeof table, table);
  EXPECT_TRUE(hidden_variables(hostile).empty());
}

}  // namespace
}  // namespace kerncap
