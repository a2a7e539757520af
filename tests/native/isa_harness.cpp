#include "isa_harness.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace kerncap::vgpu::isa::test {

void HostMemory::add(void* at, std::size_t bytes, bool writable) {
  const auto va = reinterpret_cast<std::uintptr_t>(at);
  // What was mapped there has been freed: the heap gave its address away again, perhaps for something smaller.
  for (auto old = by_end_.upper_bound(va); old != by_end_.end() && old->second.va < va + bytes;) old = by_end_.erase(old);
  by_end_[va + bytes] = Mapping{va, va + bytes, static_cast<std::byte*>(at), writable};
  ++generation_;
}

Memory::Mapping HostMemory::find(std::uint64_t device_va) const noexcept {
  const auto found = by_end_.upper_bound(device_va);
  return found != by_end_.end() && found->second.va <= device_va ? found->second : Mapping{};
}

CodeObject::CodeObject(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> file{std::istreambuf_iterator<char>(in), {}};
  if (file.size() < sizeof(Elf64_Ehdr)) throw std::runtime_error("no code object: " + path);
  const auto* header = reinterpret_cast<const Elf64_Ehdr*>(file.data());
  const auto* segments = reinterpret_cast<const Elf64_Phdr*>(file.data() + header->e_phoff);
  const auto* sections = reinterpret_cast<const Elf64_Shdr*>(file.data() + header->e_shoff);
  std::uint64_t end = 0;
  for (unsigned i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD) end = std::max(end, segments[i].p_vaddr + segments[i].p_memsz);
  image_.resize(end + 4096 + 64);
  // Page-aligned, so that code addresses look like the loader's.
  base_ = reinterpret_cast<std::byte*>((reinterpret_cast<std::uintptr_t>(image_.data()) + 4095) & ~std::uintptr_t{4095});
  for (unsigned i = 0; i < header->e_phnum; ++i)
    if (segments[i].p_type == PT_LOAD)
      std::memcpy(base_ + segments[i].p_vaddr, file.data() + segments[i].p_offset, segments[i].p_filesz);
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  const char* names = file.data() + sections[header->e_shstrndx].sh_offset;
  const Elf64_Sym* dynamic_symbols = nullptr;
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    const Elf64_Shdr& section = sections[i];
    if (std::string(names + section.sh_name) == ".text") {
      text_va_ = base + section.sh_addr;
      text_bytes_ = section.sh_size;
    }
    if (section.sh_type != SHT_DYNSYM && section.sh_type != SHT_SYMTAB) continue;
    const auto* symbols = reinterpret_cast<const Elf64_Sym*>(file.data() + section.sh_offset);
    if (section.sh_type == SHT_DYNSYM) dynamic_symbols = symbols;
    const char* strings = file.data() + sections[section.sh_link].sh_offset;
    for (std::size_t s = 0; s < section.sh_size / sizeof(Elf64_Sym); ++s)
      if (symbols[s].st_shndx != SHN_UNDEF) symbols_[strings + symbols[s].st_name] = base + symbols[s].st_value;
  }
  for (unsigned i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type != SHT_RELA) continue;
    const auto* entries = reinterpret_cast<const Elf64_Rela*>(file.data() + sections[i].sh_offset);
    for (std::size_t r = 0; r < sections[i].sh_size / sizeof(Elf64_Rela); ++r) {
      std::uint64_t value = base + static_cast<std::uint64_t>(entries[r].r_addend);
      constexpr unsigned kAbs64 = 3, kRelative64 = 13;  // R_AMDGPU_*
      const auto type = ELF64_R_TYPE(entries[r].r_info);
      if (type == kAbs64) value += dynamic_symbols[ELF64_R_SYM(entries[r].r_info)].st_value;
      else if (type != kRelative64) throw std::runtime_error("relocation type " + std::to_string(type));
      std::memcpy(base_ + entries[r].r_offset, &value, sizeof value);
    }
  }
}

std::uint64_t CodeObject::symbol(const std::string& name) const {
  const auto found = symbols_.find(name);
  if (found == symbols_.end()) throw std::runtime_error("no symbol " + name);
  return found->second;
}

std::vector<std::string> CodeObject::kernels() const {
  std::vector<std::string> out;
  for (const auto& [name, va] : symbols_)
    if (name.size() > 3 && name.ends_with(".kd")) out.push_back(name.substr(0, name.size() - 3));
  return out;
}

void CodeObject::map(HostMemory& memory) {
  memory.add(base_, image_.size() - static_cast<std::size_t>(base_ - image_.data()));
}

namespace {

// Source: LLVM AMDGPUUsage, "AMDHSA Code Object V5 Kernel Argument Metadata".
void fill_hidden(std::byte* at, const Launch& launch) {
  const auto put32 = [&](std::size_t offset, std::uint32_t value) { std::memcpy(at + offset, &value, 4); };
  const auto put16 = [&](std::size_t offset, std::uint32_t value) {
    const auto narrow = static_cast<std::uint16_t>(value);
    std::memcpy(at + offset, &narrow, 2);
  };
  std::uint16_t dims = 1;
  for (unsigned i = 0; i < 3; ++i) {
    put32(i * 4, launch.grid[i] / launch.workgroup[i]);
    put16(12 + i * 2, launch.workgroup[i]);
    put16(18 + i * 2, launch.grid[i] % launch.workgroup[i]);
    if (launch.grid[i] > 1) dims = static_cast<std::uint16_t>(i + 1);
  }
  put16(64, dims);
  put32(120, launch.group_bytes);
}

}  // namespace

namespace {

Outcome run_clean(const Launch& launch, const Dispatch& dispatch, const HostMemory& memory, const check::Checks& checks) {
  const std::atomic<bool> cancel{false};
  check::Report report;
  Outcome outcome = check::execute_checked(launch.target, dispatch, memory, launch.trace, launch.cancel ? *launch.cancel : cancel, checks, {launch.regions, launch.written}, report);
  for (const check::Finding& f : report.findings) {
    if (f.benign || outcome.kind != Outcome::Kind::completed) continue;
    outcome.kind = Outcome::Kind::bad_dispatch;
    outcome.text = std::string(f.check) + " " + f.kind + ": " + f.site.text + ": " + f.message;
    char where[96];
    std::snprintf(where, sizeof where, " at %llx of %llx", static_cast<unsigned long long>(f.site.pc), static_cast<unsigned long long>(dispatch.packet.kernel_object));
    outcome.text += where;
    if (f.other) outcome.text += "; other: " + f.other->text;
  }
  return outcome;
}

}  // namespace

Outcome run(const Launch& launch, CodeObject& code, const std::string& kernel, const Arguments& arguments,
            HostMemory& memory) {
  code.map(memory);
  const std::size_t hidden = (arguments.explicit_bytes().size() + 7) / 8 * 8;
  alignas(64) static thread_local std::byte kernarg[4096];
  std::memset(kernarg, 0, sizeof kernarg);
  if (!arguments.explicit_bytes().empty())
    std::memcpy(kernarg, arguments.explicit_bytes().data(), arguments.explicit_bytes().size());
  fill_hidden(kernarg + hidden, launch);
  Dispatch dispatch{};
  dispatch.sync = launch.sync;
  hsa_kernel_dispatch_packet_t& p = dispatch.packet;
  p.setup = 3;
  p.workgroup_size_x = static_cast<std::uint16_t>(launch.workgroup[0]);
  p.workgroup_size_y = static_cast<std::uint16_t>(launch.workgroup[1]);
  p.workgroup_size_z = static_cast<std::uint16_t>(launch.workgroup[2]);
  p.grid_size_x = launch.grid[0];
  p.grid_size_y = launch.grid[1];
  p.grid_size_z = launch.grid[2];
  p.kernel_object = code.symbol(kernel + ".kd");
  // As a runtime does: no less than the descriptor says.
  std::uint32_t fixed[2];
  std::memcpy(fixed, reinterpret_cast<const void*>(p.kernel_object), sizeof fixed);
  p.group_segment_size = std::max(fixed[0], launch.group_bytes);
  p.private_segment_size = std::max(fixed[1], launch.private_bytes);
  p.kernarg_address = kernarg;
  static thread_local hsa_kernel_dispatch_packet_t packet_copy;
  packet_copy = p;
  memory.add(kernarg, sizeof kernarg);
  memory.add(&packet_copy, sizeof packet_copy);
  dispatch.packet_va = reinterpret_cast<std::uintptr_t>(&packet_copy);
  dispatch.shared_aperture_hi = 0x10000;
  dispatch.private_aperture_hi = 0x20000;
  const std::atomic<bool> never{false};
  if (launch.report)
    return check::execute_checked(launch.target, dispatch, memory, launch.trace, never, launch.report->checks,
                                  {launch.regions, launch.written}, *launch.report);
  // Every kernel of the tests in the checked mode: what compilers and these sources make must be clean.
  if (const char* checks = std::getenv("KERNCAP_TEST_CHECK"))
    return run_clean(launch, dispatch, memory, *check::parse_checks(checks));
  if (instead_of_execute) return instead_of_execute(launch, dispatch, memory);
  return execute(launch.target, dispatch, memory, launch.trace, launch.cancel ? *launch.cancel : never, launch.threads);
}

}  // namespace kerncap::vgpu::isa::test
