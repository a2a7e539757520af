// A small loader for the interpreter's tests: code object into memory, kernarg segment, one dispatch.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/isa/check/check.hpp"
#include "vgpu/isa/executor.hpp"

namespace kerncap::vgpu::isa::test {

// Device memory whose addresses are the host's. Only what was added is mapped.
class HostMemory final : public Memory {
 public:
  // Takes the place of every mapping that it overlaps.
  void add(void* at, std::size_t bytes, bool writable = true);
  Mapping find(std::uint64_t device_va) const noexcept override;
  const std::atomic<std::uint64_t>& generation() const noexcept override { return generation_; }

 private:
  std::map<std::uint64_t, Mapping> by_end_;
  std::atomic<std::uint64_t> generation_{1};
};

#ifdef KERNCAP_ISA_TARGETS
// The targets whose test kernels this tool chain compiles (native/vgpu/CMakeLists.txt), those that begin with `prefix`.
inline std::vector<std::string> compiled_targets(std::string_view prefix = "gfx") {
  std::vector<std::string> out;
  std::istringstream names(KERNCAP_ISA_TARGETS);
  for (std::string name; std::getline(names, name, ',');)
    if (name.starts_with(prefix)) out.push_back(name);
  return out;
}
#endif

// An ELF code object, loaded and relocated.
class CodeObject {
 public:
  explicit CodeObject(const std::string& path);
  std::uint64_t symbol(const std::string& name) const;  // address; throws when there is none
  std::vector<std::string> kernels() const;             // names without .kd
  // Executable bytes of the text section: address and size.
  std::uint64_t text_va() const { return text_va_; }
  std::size_t text_bytes() const { return text_bytes_; }
  std::uint64_t text_offset() const { return text_va_ - reinterpret_cast<std::uintptr_t>(base_); }  // as linked
  void map(HostMemory& memory);

 private:
  std::vector<std::byte> image_;
  std::byte* base_ = nullptr;
  std::map<std::string, std::uint64_t> symbols_;
  std::uint64_t text_va_ = 0;
  std::size_t text_bytes_ = 0;
};

// Kernel arguments laid out by their alignment, then the hidden arguments of code object v5 and later.
class Arguments {
 public:
  template <class T>
  Arguments& add(const T& value) {
    bytes_.resize((bytes_.size() + alignof(T) - 1) / alignof(T) * alignof(T));
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof value);
    std::memcpy(bytes_.data() + at, &value, sizeof value);
    return *this;
  }
  const std::vector<std::byte>& explicit_bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

struct Launch {
  Target target = Target::gfx942;
  std::uint32_t grid[3] = {1, 1, 1};       // workitems
  std::uint32_t workgroup[3] = {1, 1, 1};
  std::uint32_t group_bytes = 0, private_bytes = 0;
  Trace* trace = nullptr;
  unsigned threads = 1;
  const std::atomic<bool>* cancel = nullptr;
  check::Report* report = nullptr;         // set: the checked mode, with the checks that it names
  std::vector<check::Region> regions;
  check::WrittenBytes* written = nullptr;
  GlobalSync* sync = nullptr;
};

Outcome run(const Launch& launch, CodeObject& code, const std::string& kernel, const Arguments& arguments,
            HostMemory& memory);

// Set: run() ends in it instead of execute().
inline Outcome (*instead_of_execute)(const Launch&, const Dispatch&, const HostMemory&) = nullptr;

}  // namespace kerncap::vgpu::isa::test
