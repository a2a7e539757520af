#include "replay/program.hpp"

#include <hsa/hsa_ven_amd_loader.h>

#include <algorithm>

#include "base/error.hpp"
#include "bundle/hidden_variables.hpp"

namespace kerncap::replay {
namespace {
constexpr const char* kBadCode = "replay.bad-code-object";

template <class T>
std::optional<T> loaded_info(hsa_loaded_code_object_t loaded, hsa_ven_amd_loader_loaded_code_object_info_t what) {
  hsa_ven_amd_loader_1_01_pfn_t loader{};
  if (hsa_system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader) != HSA_STATUS_SUCCESS) return std::nullopt;
  T value{};
  const auto info = loader.hsa_ven_amd_loader_loaded_code_object_get_info;
  if (info == nullptr || info(loaded, what, &value) != HSA_STATUS_SUCCESS) return std::nullopt;
  return value;
}

}  // namespace

Program::Program(const Device& device, std::vector<std::byte> code, const std::string& kernel_name)
    : code_(std::move(code)), metadata_(parse_code_object(code_)), agent_(device.gpu) {
  check_target(device, metadata_.isa);
  describe(kernel_name);
  try {
    load(device);
  } catch (...) {
    release();
    throw;
  }
}

Program::~Program() { release(); }

const KernelDescription& Program::describe(const std::string& name) const {
  if (const KernelDescription* found = metadata_.find(name)) return *found;
  std::string others;
  for (std::size_t i = 0; i < metadata_.kernels.size() && i < 5; ++i) others += (i == 0 ? "" : ", ") + printable(metadata_.kernels[i].name);
  throw Error("replay.missing-kernel", "the code object has no kernel " + printable(name) +
                                           (others.empty() ? ", and no other" : "; it has " + others));
}

LoadedKernel Program::kernel(const std::string& name) const {
  LoadedKernel kernel{&describe(name), 0};
  hsa_executable_symbol_t symbol{};
  check(hsa_executable_get_symbol_by_name(executable_, kernel.description->symbol.c_str(), &agent_, &symbol), "the kernel's symbol",
        "replay.missing-kernel");
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &kernel.object_va), "the kernel's symbol", kBadCode);
  return kernel;
}

void Program::load(const Device& device) {
  check(hsa_code_object_reader_create_from_memory(code_.data(), code_.size(), &reader_), "reading the code object", kBadCode);
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_), "executable");
  check(hsa_executable_load_agent_code_object(executable_, device.gpu, reader_, nullptr, &loaded_), "loading the code object", kBadCode);
  check(hsa_executable_freeze(executable_, nullptr), "loading the code object", kBadCode);
}

void Program::release() noexcept {
  if (executable_.handle != 0) hsa_executable_destroy(executable_);
  if (reader_.handle != 0) hsa_code_object_reader_destroy(reader_);
}

std::optional<std::uint64_t> Program::load_va() const {
  return loaded_info<std::uint64_t>(loaded_, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE);
}

std::optional<Variable> Program::find_variable(const std::string& name) const {
  hsa_executable_symbol_t symbol{};
  if (hsa_executable_get_symbol_by_name(executable_, name.c_str(), &agent_, &symbol) != HSA_STATUS_SUCCESS) {
    const auto hidden = find_hidden_variable(code_, name);
    const auto delta = hidden ? loaded_info<std::int64_t>(loaded_, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA) : std::nullopt;
    if (!delta) return std::nullopt;
    return Variable{hidden->address + static_cast<std::uint64_t>(*delta), hidden->size};
  }
  hsa_symbol_kind_t kind{};
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind), "a variable's symbol", kBadCode);
  if (kind != HSA_SYMBOL_KIND_VARIABLE) return std::nullopt;
  Variable variable;
  std::uint32_t size = 0;
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &variable.va), "a variable's symbol", kBadCode);
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size), "a variable's symbol", kBadCode);
  variable.size = size;
  return variable;
}

}  // namespace kerncap::replay
