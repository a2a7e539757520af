// The code object reader on ELF files built here: right ones, cut ones, hostile notes.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "base/json.hpp"
#include "bundle/code_object.hpp"

namespace kerncap {
namespace {

using Bytes = std::vector<std::byte>;

template <typename T>
void put(Bytes& out, const T& value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), bytes, bytes + sizeof value);
}

Bytes elf_with_notes(const std::vector<std::vector<std::uint8_t>>& documents, std::uint32_t flags = 0x4c) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_OSABI] = 64;
  header.e_ident[EI_ABIVERSION] = 2;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_flags = flags;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Bytes notes;
  for (const auto& metadata : documents) {
    notes.resize((notes.size() + 3) / 4 * 4);
    put(notes, Elf64_Nhdr{7, static_cast<Elf64_Word>(metadata.size()), 32});
    const char name[8] = "AMDGPU";
    put(notes, name);
    for (const std::uint8_t byte : metadata) notes.push_back(static_cast<std::byte>(byte));
  }
  Bytes elf;
  put(elf, header);
  Elf64_Phdr note{};
  note.p_type = PT_NOTE;
  note.p_offset = sizeof header + 2 * sizeof note;
  note.p_filesz = notes.size();
  put(elf, note);
  Elf64_Phdr load{};
  load.p_type = PT_LOAD;
  load.p_vaddr = 0x1000;
  load.p_memsz = 0x2345;
  put(elf, load);
  elf.insert(elf.end(), notes.begin(), notes.end());
  return elf;
}

Bytes elf_with(const std::vector<std::uint8_t>& metadata, std::uint32_t flags = 0x4c) { return elf_with_notes({metadata}, flags); }

Json metadata() {
  return {{"amdhsa.version", {1, 2}},
          {"amdhsa.target", "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"},
          {"amdhsa.kernels",
           {{{".name", "_Z1kPf"},
             {".symbol", "_Z1kPf.kd"},
             {".kernarg_segment_size", 16},
             {".group_segment_fixed_size", 64},
             {".private_segment_fixed_size", 0},
             {".max_flat_workgroup_size", 256},
             {".wavefront_size", 64},
             {".sgpr_count", 10},
             {".vgpr_count", 3},
             {".reqd_workgroup_size", {64, 1, 1}},
             {".args",
              {{{".offset", 8}, {".size", 4}, {".value_kind", "hidden_block_count_x"}},
               {{".offset", 0}, {".size", 8}, {".value_kind", "global_buffer"}, {".name", "a"}}}}}}}};
}

std::string code_of(const Bytes& elf) {
  try {
    parse_code_object(elf);
  } catch (const Error& error) {
    return error.code();
  }
  return "no error";
}

TEST(CodeObject, ReadsKernelsAndArguments) {
  const CodeObject object = parse_code_object(elf_with(Json::to_msgpack(metadata())));
  EXPECT_EQ(object.isa, "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-");
  EXPECT_EQ(object.load_bytes, 0x2345u);
  const KernelDescription* kernel = object.find("_Z1kPf");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(object.find_symbol("_Z1kPf.kd"), kernel);
  EXPECT_EQ(object.find("_Z1k"), nullptr);
  EXPECT_EQ(kernel->kernarg_bytes, 16u);
  EXPECT_EQ(kernel->required_workgroup->at(0), 64u);
  ASSERT_EQ(kernel->arguments.size(), 2u);
  EXPECT_EQ(kernel->arguments[0].name, "a");
  EXPECT_TRUE(kernel->arguments[1].hidden());
}

// As in Tensile's libraries, which are linked from a file for each kernel.
TEST(CodeObject, EveryNoteHasKernels) {
  Json other = metadata();
  other["amdhsa.kernels"][0][".name"] = "other";
  other["amdhsa.kernels"][0][".symbol"] = "other.kd";
  const auto first = metadata();
  const CodeObject object = parse_code_object(elf_with_notes({Json::to_msgpack(first), Json::to_msgpack(other)}));
  EXPECT_EQ(object.kernels.size(), 2 * first["amdhsa.kernels"].size());
  ASSERT_NE(object.find_symbol("other.kd"), nullptr);
  EXPECT_EQ(object.find_symbol("other.kd")->arguments.size(), object.kernels[0].arguments.size());
}

TEST(CodeObject, TargetFromFlagsWhenTheNoteHasNone) {
  Json document = metadata();
  document.erase("amdhsa.target");
  EXPECT_EQ(parse_code_object(elf_with(Json::to_msgpack(document), 0x4c | 0xc00 | 0x200)).isa,
            "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-");
  EXPECT_EQ(parse_code_object(elf_with(Json::to_msgpack(document), 0x41)).isa, "amdgcn-amd-amdhsa--gfx1100");
  EXPECT_EQ(code_of(elf_with(Json::to_msgpack(document), 0xfe)), "bundle.bad-code-object");
}

TEST(CodeObject, TargetAsNewerCompilersSpellIt) {
  for (const auto& [written, read] : {std::pair{"amdgpu9.42-amd-amdhsa-unknown-gfx942:xnack-", "amdgcn-amd-amdhsa--gfx942:xnack-"},
                                      std::pair{"amdgpu11.00-amd-amdhsa-unknown-gfx1100", "amdgcn-amd-amdhsa--gfx1100"},
                                      std::pair{"amdgcn-amd-amdhsa--gfx9-4-generic", "amdgcn-amd-amdhsa--gfx9-4-generic"},
                                      std::pair{"spirv64-amd-amdhsa-unknown-amdgcnspirv", "spirv64-amd-amdhsa-unknown-amdgcnspirv"}}) {
    Json document = metadata();
    document["amdhsa.target"] = written;
    EXPECT_EQ(parse_code_object(elf_with(Json::to_msgpack(document))).isa, read);
  }
}

TEST(CodeObject, EveryTruncationIsRefused) {
  const Bytes elf = elf_with(Json::to_msgpack(metadata()));
  for (std::size_t n = 0; n < elf.size(); ++n) {
    EXPECT_EQ(code_of(Bytes(elf.begin(), elf.begin() + static_cast<std::ptrdiff_t>(n))), "bundle.bad-code-object") << n;
  }
}

TEST(CodeObject, EveryFlippedByteIsReadOrRefusedButNeverCrashes) {
  const Bytes elf = elf_with(Json::to_msgpack(metadata()));
  for (std::size_t i = 0; i < elf.size(); ++i) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      Bytes bad = elf;
      bad[i] ^= static_cast<std::byte>(flip);
      const std::string code = code_of(bad);
      EXPECT_TRUE(code == "no error" || code == "bundle.bad-code-object") << i << " " << code;
    }
  }
}

TEST(CodeObject, HostileMetadata) {
  EXPECT_EQ(code_of(elf_with(std::vector<std::uint8_t>(4u << 20, 0x91))), "bundle.bad-code-object");
  std::vector<std::uint8_t> alternating;  // [0, [0, [0, ...
  for (int i = 0; i < (1 << 20); ++i) alternating.insert(alternating.end(), {0x92, 0x00});
  EXPECT_EQ(code_of(elf_with(alternating)), "bundle.bad-code-object");
  EXPECT_EQ(code_of(elf_with({0xdd, 0xff, 0xff, 0xff, 0xff})), "bundle.bad-code-object");
  Json outside = metadata();
  outside["amdhsa.kernels"][0][".args"][0][".offset"] = 13;
  EXPECT_EQ(code_of(elf_with(Json::to_msgpack(outside))), "bundle.bad-code-object");
}

TEST(CodeObject, OffloadBundleHasAHint) {
  const std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__ and more";
  const auto bytes = std::as_bytes(std::span(magic));
  try {
    parse_code_object(bytes);
    FAIL();
  } catch (const Error& error) {
    ASSERT_TRUE(error.hint());
    EXPECT_NE(error.hint()->find("clang-offload-bundler"), std::string::npos);
  }
}

}  // namespace
}  // namespace kerncap
