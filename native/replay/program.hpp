// A loaded code object: the kernel and the module variables of one run. In: the bytes of a code object. Out: device addresses.
// Called by the runner, once for the captured code object and once for each variant.
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

class Program {
 public:
  // `kernel_name` is the mangled name. Throws host.wrong-target, replay.missing-kernel, replay.bad-code-object.
  Program(const Device& device, std::vector<std::byte> code, const std::string& kernel_name);
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  const KernelDescription& kernel() const noexcept { return *kernel_; }
  std::span<const std::byte> code() const noexcept { return code_; }
  // Where the loader put the first byte; nothing when the runtime does not say.
  std::optional<std::uint64_t> load_va() const;
  std::uint64_t kernel_object_va() const noexcept { return kernel_object_va_; }
  // By name, of what the code object exports and of what it does not.
  std::optional<Variable> find_variable(const std::string& symbol) const;

 private:
  void load(const Device& device);
  void release() noexcept;

  std::vector<std::byte> code_;
  CodeObject metadata_;
  const KernelDescription* kernel_ = nullptr;
  hsa_agent_t agent_{};
  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
  hsa_loaded_code_object_t loaded_{};
  std::uint64_t kernel_object_va_ = 0;
};

}  // namespace kerncap::replay
