#include "vgpu/tool/code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>

namespace kerncap::vgpu::tool {
namespace {

// Source: LLVM AMDGPUUsage, "AMDGPU EF_AMDGPU_MACH Values". Generic targets share the encoding of the one they run on.
constexpr std::uint32_t kMachMask = 0xff, kMach90a = 0x3f, kMach942 = 0x4c, kMach950 = 0x4f, kMach1100 = 0x41, kMach1201 = 0x4e;

constexpr std::uint16_t kMachineAmdgpu = 224;
// kernel_code_properties of the descriptor, at byte 56; bit 10: wave32.
constexpr std::size_t kDescriptorBytes = 64, kPropertiesAt = 56;
constexpr unsigned kWave32 = 1u << 10;

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}
  template <class T>
  T at(std::uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) throw std::runtime_error("the ELF file is cut short");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }
  std::string text(std::uint64_t offset) const {
    if (offset >= bytes_.size()) throw std::runtime_error("a name lies outside of the ELF file");
    const std::size_t end = bytes_.find('\0', offset);
    if (end == std::string::npos) throw std::runtime_error("a name does not end");
    return bytes_.substr(offset, end - offset);
  }
  std::size_t size() const { return bytes_.size(); }

 private:
  const std::string& bytes_;
};

// Where a virtual address lies in the file, when `size` bytes of it do.
std::optional<std::uint64_t> file_offset(const std::vector<Elf64_Shdr>& sections, std::uint64_t va, std::uint64_t size) {
  for (const Elf64_Shdr& s : sections)
    if (s.sh_type == SHT_PROGBITS && (s.sh_flags & SHF_ALLOC) && va >= s.sh_addr && va - s.sh_addr <= s.sh_size &&
        size <= s.sh_size - (va - s.sh_addr))
      return s.sh_offset + (va - s.sh_addr);
  return std::nullopt;
}

void set_target(CodeObject& object, std::uint32_t flags) {
  object.known_target = true;
  switch (flags & kMachMask) {
    case kMach90a: object.target = isa::Target::gfx90a; break;
    case kMach942: object.target = isa::Target::gfx942; break;
    case kMach950: object.target = isa::Target::gfx950; break;
    case kMach1100: object.target = isa::Target::gfx1100; break;
    case kMach1201: object.target = isa::Target::gfx1201; break;
    default:
      object.known_target = false;
      object.target_name = "mach " + std::to_string(flags & kMachMask);
      return;
  }
  object.target_name = name(object.target);
}

}  // namespace

CodeObject read_code_object(const std::string& bytes) {
  const Reader file(bytes);
  const auto header = file.at<Elf64_Ehdr>(0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_machine != kMachineAmdgpu || header.e_shentsize != sizeof(Elf64_Shdr))
    throw std::runtime_error("not an AMDGPU code object");
  CodeObject object;
  set_target(object, header.e_flags);
  std::vector<Elf64_Shdr> sections;
  for (unsigned i = 0; i < header.e_shnum; ++i) sections.push_back(file.at<Elf64_Shdr>(header.e_shoff + std::uint64_t{i} * sizeof(Elf64_Shdr)));
  // The full symbol table names device functions as well; a stripped object has the dynamic one.
  const auto has = [&](std::uint32_t type) {
    return std::any_of(sections.begin(), sections.end(), [&](const Elf64_Shdr& s) { return s.sh_type == type; });
  };
  const std::uint32_t wanted = has(SHT_SYMTAB) ? SHT_SYMTAB : SHT_DYNSYM;
  std::vector<std::string> kernels;
  bool wave32 = true, described = false;
  for (const Elf64_Shdr& s : sections) {
    if (s.sh_type != wanted) continue;
    if (s.sh_link >= sections.size() || s.sh_size > file.size()) throw std::runtime_error("a symbol table that does not fit");
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= s.sh_size; at += sizeof(Elf64_Sym)) {
      const auto symbol = file.at<Elf64_Sym>(s.sh_offset + at);
      if (symbol.st_shndx == SHN_UNDEF) continue;
      const std::string symbol_name = file.text(sections[s.sh_link].sh_offset + symbol.st_name);
      if (symbol_name.ends_with(".kd") && symbol.st_size == kDescriptorBytes) {
        kernels.push_back(symbol_name.substr(0, symbol_name.size() - 3));
        if (const auto where = file_offset(sections, symbol.st_value, kDescriptorBytes)) {
          described = true;
          wave32 = wave32 && (file.at<std::uint16_t>(*where + kPropertiesAt) & kWave32);
        }
        continue;
      }
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0) continue;
      const auto where = file_offset(sections, symbol.st_value, symbol.st_size);
      if (!where || symbol.st_size > file.size()) throw std::runtime_error("function " + symbol_name + " lies outside of the file");
      Function function{symbol_name, false, symbol.st_value, std::vector<std::uint32_t>(symbol.st_size / 4)};
      for (std::size_t w = 0; w < function.words.size(); ++w) function.words[w] = file.at<std::uint32_t>(*where + 4 * w);
      object.functions.push_back(std::move(function));
    }
  }
  object.wave_size = family(object.target) != isa::Family::gfx9 && (wave32 || !described) ? 32 : 64;
  for (Function& f : object.functions) f.kernel = std::find(kernels.begin(), kernels.end(), f.name) != kernels.end();
  return object;
}

void each_instruction(const Function& function, const CodeObject& object,
                      const std::function<void(const isa::Decoded&, std::size_t offset)>& visit) {
  const std::span<const std::uint32_t> words(function.words);
  for (std::size_t at = 0; at < words.size();) {
    const isa::Decoded decoded = isa::decode(object.target, object.wave_size,
                                             words.subspan(at, std::min<std::size_t>(4, words.size() - at)), function.va + 4 * at);
    visit(decoded, 4 * at);
    at += std::max<std::size_t>(1, decoded.inst.size_bytes / 4u);
  }
}

}  // namespace kerncap::vgpu::tool
