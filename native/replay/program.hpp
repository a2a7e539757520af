// A loaded code object: kernels and module variables. In: the bytes of a code object. Out: device addresses.
// Called by modules.cpp, once for each captured code object and once for each variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bundle/code_object.hpp"
#include "replay/device.hpp"

namespace kerncap::replay {

struct Variable {
  std::uint64_t va = 0;
  std::uint64_t size = 0;
};

struct LoadedKernel {
  const KernelDescription* description = nullptr;
  std::uint64_t object_va = 0;
};

class Program {
 public:
  // Throws host.wrong-target, replay.bad-code-object; replay.missing-kernel unless it has this one (its mangled name).
  Program(const Device& device, std::vector<std::byte> code, const std::string& kernel_name);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  bool has_kernel(const std::string& name) const noexcept { return metadata_.find(name) != nullptr; }
  // By mangled name. Throws replay.missing-kernel.
  LoadedKernel kernel(const std::string& name) const;
  std::span<const std::byte> code() const noexcept { return code_; }
  // Where the loader put the first byte; nothing when the runtime does not say.
  std::optional<std::uint64_t> load_va() const;
  // By name, of what the code object exports and of what it does not.
  std::optional<Variable> find_variable(const std::string& symbol) const;

 private:
  const KernelDescription& describe(const std::string& name) const;
  void load(const Device& device);
  void release() noexcept;

  std::vector<std::byte> code_;
  CodeObject metadata_;
  hsa_agent_t agent_{};
  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
  hsa_loaded_code_object_t loaded_{};
};

}  // namespace kerncap::replay
