#include "bundle/code_object.hpp"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "base/json.hpp"

namespace kerncap {
namespace {

constexpr std::string_view kCode = "bundle.bad-code-object";
constexpr std::size_t kMaxKernels = 1u << 16;
constexpr std::size_t kMaxArguments = 4096;
constexpr std::uint32_t kMaxKernargBytes = 1u << 20;

// Source: LLVM AMDGPUUsage.rst, "ELF Header" and "Note Records".
constexpr std::uint16_t kMachineAmdgpu = 224;
constexpr std::uint8_t kOsAbiAmdgpuHsa = 64;
constexpr std::uint32_t kNoteMetadata = 32;  // NT_AMDGPU_METADATA: MessagePack

[[noreturn]] void fail(const std::string& what) { throw Error(std::string(kCode), "code object: " + what); }

template <typename T>
T load(std::span<const std::byte> bytes, std::uint64_t offset, const char* what) {
  if (offset > bytes.size() || sizeof(T) > bytes.size() - offset) fail(std::string(what) + " lies outside the file");
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::span<const std::byte> slice(std::span<const std::byte> bytes, std::uint64_t offset, std::uint64_t size, const char* what) {
  if (offset > bytes.size() || size > bytes.size() - offset) fail(std::string(what) + " lies outside the file");
  return bytes.subspan(offset, size);
}

Elf64_Ehdr read_header(std::span<const std::byte> elf) {
  const auto begins = [&elf](std::string_view magic) {
    return elf.size() >= magic.size() && std::memcmp(elf.data(), magic.data(), magic.size()) == 0;
  };
  if (begins("__CLANG_OFFLOAD_BUNDLE__") || begins("CCOB")) {
    throw Error(std::string(kCode), "this is an offload bundle, not a code object",
                "clang-offload-bundler --unbundle --type=o --targets=hipv4-amdgcn-amd-amdhsa--<gfx> --input=F --output=F.hsaco");
  }
  const auto header = load<Elf64_Ehdr>(elf, 0, "the ELF header");
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) fail("not an ELF file");
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB) fail("not 64-bit little-endian");
  if (header.e_machine != kMachineAmdgpu || header.e_ident[EI_OSABI] != kOsAbiAmdgpuHsa) fail("not for AMD GPUs under HSA");
  if (header.e_type != ET_DYN) fail("not linked");
  if (header.e_phentsize != sizeof(Elf64_Phdr)) fail("program headers of unknown size");
  return header;
}

struct ElfContents {
  std::vector<std::span<const std::byte>> metadata;  // of each file that was linked into one, where the linker kept them apart
  std::uint64_t load_bytes = 0;
};

// The NT_AMDGPU_METADATA descriptors in one PT_NOTE segment. Compilers write one; Tensile's libraries have one for each kernel.
std::vector<std::span<const std::byte>> find_metadata(std::span<const std::byte> notes) {
  std::vector<std::span<const std::byte>> found;
  std::uint64_t at = 0;
  const auto padded = [](std::uint64_t size) { return (size + 3) & ~std::uint64_t{3}; };
  while (at + sizeof(Elf64_Nhdr) <= notes.size()) {
    const auto note = load<Elf64_Nhdr>(notes, at, "a note");
    at += sizeof note;
    const auto name = slice(notes, at, note.n_namesz, "a note's name");
    at += padded(note.n_namesz);
    const auto descriptor = slice(notes, at, note.n_descsz, "a note");
    at += padded(note.n_descsz);
    const std::string_view name_text(reinterpret_cast<const char*>(name.data()), name.size());
    if (note.n_type == kNoteMetadata && name_text.substr(0, name_text.find('\0')) == "AMDGPU") found.push_back(descriptor);
  }
  return found;
}

ElfContents read_elf(std::span<const std::byte> elf, const Elf64_Ehdr& header) {
  ElfContents contents;
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    if (header.e_phoff > elf.size()) fail("program headers lie outside the file");
    const auto segment = load<Elf64_Phdr>(elf, header.e_phoff + i * sizeof(Elf64_Phdr), "a program header");
    if (segment.p_type == PT_LOAD) {
      slice(elf, segment.p_offset, segment.p_filesz, "a loaded segment");
      if (segment.p_memsz > (std::uint64_t{1} << 40) || segment.p_vaddr > (std::uint64_t{1} << 40)) fail("a loaded segment is too large");
      low = std::min(low, segment.p_vaddr);
      high = std::max(high, segment.p_vaddr + segment.p_memsz);
    } else if (segment.p_type == PT_NOTE && contents.metadata.empty()) {
      contents.metadata = find_metadata(slice(elf, segment.p_offset, segment.p_filesz, "the notes"));
    }
  }
  if (high > low) contents.load_bytes = high - low;
  if (contents.metadata.empty()) fail("no AMDGPU metadata note (code object version 3 or newer is needed)");
  return contents;
}

// V3 metadata has no target name: the ELF flags say it. Source: LLVM AMDGPUUsage.rst, "AMDGPU ELF Header e_flags".
std::string isa_from_flags(std::uint32_t flags, std::uint8_t abi_version) {
  constexpr std::pair<std::uint32_t, const char*> machines[] = {
      {0x2c, "gfx900"},  {0x2f, "gfx906"},  {0x30, "gfx908"},  {0x3f, "gfx90a"},  {0x40, "gfx940"},  {0x4b, "gfx941"},
      {0x4c, "gfx942"},  {0x4f, "gfx950"},  {0x33, "gfx1010"}, {0x36, "gfx1030"}, {0x37, "gfx1031"}, {0x38, "gfx1032"},
      {0x41, "gfx1100"}, {0x46, "gfx1101"}, {0x47, "gfx1102"}, {0x44, "gfx1103"}, {0x43, "gfx1150"}, {0x4a, "gfx1151"},
      {0x48, "gfx1200"}, {0x4e, "gfx1201"}};
  const char* name = nullptr;
  for (const auto& [machine, text] : machines) {
    if (machine == (flags & 0xff)) name = text;
  }
  if (name == nullptr) fail("unknown target: ELF flags " + std::to_string(flags));
  std::string isa = std::string("amdgcn-amd-amdhsa--") + name;
  constexpr std::uint8_t kAbiV3 = 1;
  if (abi_version == kAbiV3) {
    if ((flags & 0x200) != 0) isa += ":sramecc+";
    if ((flags & 0x100) != 0) isa += ":xnack+";
    return isa;
  }
  constexpr const char* sramecc[] = {"", "", ":sramecc-", ":sramecc+"};
  constexpr const char* xnack[] = {"", "", ":xnack-", ":xnack+"};
  return isa + sramecc[(flags >> 10) & 3] + xnack[(flags >> 8) & 3];
}

// Newer LLVM writes its whole triple, with the processor's version in it and no environment spelled out; the runtime's names of agents are
// as before. Source: the metadata of code objects by Triton 3.9.0, "amdgpu9.42-amd-amdhsa-unknown-gfx942".
std::string as_runtime_names_it(std::string target) {
  constexpr std::string_view no_environment = "-amd-amdhsa-unknown-";
  const auto at = target.find(no_environment);
  if (at == std::string::npos || !(target.starts_with("amdgpu") || target.starts_with("amdgcn"))) return target;
  return "amdgcn-amd-amdhsa--" + target.substr(at + no_environment.size());
}

KernelArgument read_argument(const Json& value, const std::string& where) {
  const Fields fields(value, where, kCode);
  KernelArgument argument;
  argument.offset = fields.u32(".offset", kMaxKernargBytes);
  argument.size = fields.u32(".size", kMaxKernargBytes);
  argument.value_kind = fields.string(".value_kind");
  if (fields.has(".name")) argument.name = fields.string(".name");
  if (fields.has(".type_name")) argument.type_name = fields.string(".type_name");
  return argument;
}

KernelDescription read_kernel(const Json& value, const std::string& where) {
  const Fields fields(value, where, kCode);
  KernelDescription kernel;
  kernel.name = fields.string(".name");
  kernel.symbol = fields.string(".symbol");
  kernel.kernarg_bytes = fields.u32(".kernarg_segment_size", kMaxKernargBytes);
  kernel.group_segment_bytes = fields.u32(".group_segment_fixed_size");
  kernel.private_segment_bytes = fields.u32(".private_segment_fixed_size");
  kernel.max_workgroup_workitems = fields.u32(".max_flat_workgroup_size");
  kernel.wavefront_size = fields.u32(".wavefront_size");
  kernel.sgprs = fields.u32(".sgpr_count");
  kernel.vgprs = fields.u32(".vgpr_count");
  if (fields.has(".agpr_count")) kernel.agprs = fields.u32(".agpr_count");
  if (fields.has(".sgpr_spill_count")) kernel.sgpr_spills = fields.u32(".sgpr_spill_count");
  if (fields.has(".vgpr_spill_count")) kernel.vgpr_spills = fields.u32(".vgpr_spill_count");
  if (fields.has(".uses_dynamic_stack")) kernel.dynamic_stack = fields.boolean(".uses_dynamic_stack");
  if (fields.has(".reqd_workgroup_size")) {
    const Json& sizes = fields.array(".reqd_workgroup_size", 3);
    std::array<std::uint32_t, 3> required{};
    if (sizes.size() != 3) fields.fail(".reqd_workgroup_size", "has not 3 entries");
    for (std::size_t i = 0; i < 3; ++i) {
      if (!sizes[i].is_number_unsigned()) fields.fail(".reqd_workgroup_size", "holds something else than unsigned integers");
      required[i] = sizes[i].get<std::uint32_t>();
    }
    kernel.required_workgroup = required;
  }
  if (fields.has(".args")) {
    for (const Json& argument : fields.array(".args", kMaxArguments)) {
      kernel.arguments.push_back(read_argument(argument, where + ".args[" + std::to_string(kernel.arguments.size()) + "]"));
      const KernelArgument& last = kernel.arguments.back();
      if (std::uint64_t{last.offset} + last.size > kernel.kernarg_bytes) fail(where + ": an argument lies outside the kernarg segment");
    }
  }
  std::ranges::stable_sort(kernel.arguments, {}, &KernelArgument::offset);
  return kernel;
}

// nlohmann's MessagePack reader recurses: a first pass that only counts stops a hostile note before it uses up the stack.
// Real metadata is 5 levels deep.
class DepthCheck final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool key(string_t&) override { return true; }
  bool start_object(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_object() override { return depth_-- > 0; }
  bool start_array(std::size_t) override { return ++depth_ <= kMaxDepth; }
  bool end_array() override { return depth_-- > 0; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  static constexpr int kMaxDepth = 16;
  int depth_ = 0;
};

Json read_metadata(std::span<const std::byte> bytes) {
  const auto* first = reinterpret_cast<const std::uint8_t*>(bytes.data());
  DepthCheck depth;
  if (!Json::sax_parse(first, first + bytes.size(), &depth, Json::input_format_t::msgpack, /*strict=*/true)) {
    fail("metadata is not MessagePack, or nested too deeply");
  }
  return Json::from_msgpack(first, first + bytes.size());
}

}  // namespace

const KernelDescription* CodeObject::find(std::string_view name) const noexcept {
  const auto it = std::ranges::find(kernels, name, &KernelDescription::name);
  return it == kernels.end() ? nullptr : &*it;
}

const KernelDescription* CodeObject::find_symbol(std::string_view symbol) const noexcept {
  const auto it = std::ranges::find(kernels, symbol, &KernelDescription::symbol);
  return it == kernels.end() ? nullptr : &*it;
}

CodeObject parse_code_object(std::span<const std::byte> elf) {
  const Elf64_Ehdr header = read_header(elf);
  const ElfContents contents = read_elf(elf, header);
  CodeObject result;
  result.load_bytes = contents.load_bytes;
  for (const auto note : contents.metadata) {
    const Json metadata = read_metadata(note);
    const Fields fields(metadata, "metadata", kCode);
    if (result.isa.empty() && fields.has("amdhsa.target")) result.isa = as_runtime_names_it(fields.string("amdhsa.target"));
    if (!fields.has("amdhsa.kernels")) continue;
    for (const Json& kernel : fields.array("amdhsa.kernels", kMaxKernels - result.kernels.size())) {
      result.kernels.push_back(read_kernel(kernel, "kernel " + std::to_string(result.kernels.size())));
    }
  }
  if (result.isa.empty()) result.isa = isa_from_flags(header.e_flags, header.e_ident[EI_ABIVERSION]);
  return result;
}

}  // namespace kerncap
