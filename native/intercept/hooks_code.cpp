// Code objects and executables, seen as they are read, loaded, frozen and destroyed, and told to the KernelRegistry.
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "intercept/guard.hpp"
#include "intercept/hooks.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/tool.hpp"

namespace kerncap::intercept {
namespace {

// The loader's own memory may go after the reader is destroyed, so the bytes are copied; kernels.cpp drops what is not meant.
CodeBytes copy_bytes(const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  return std::make_shared<std::vector<std::byte>>(first, first + size);
}

// The runtime reads the whole file, wherever its offset stands. Source: ROCr, CodeObjectReaderImpl::SetFile.
CodeBytes read_whole(int fd) {
  const auto size = file_size(fd, "code object");
  auto bytes = std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(size));
  if (!read_at(fd, 0, *bytes, "code object")) throw Error("capture.code-object", "code object file is shorter than its size");
  return bytes;
}

hsa_status_t reader_from_memory(const void* data, size_t size, hsa_code_object_reader_t* reader) noexcept {
  return observe([&] { return hsa().core.hsa_code_object_reader_create_from_memory_fn(data, size, reader); },
                 [&] { tool().kernels.reader_created(*reader, copy_bytes(data, size)); });
}

hsa_status_t reader_from_file(hsa_file_t file, hsa_code_object_reader_t* reader) noexcept {
  return observe([&] { return hsa().core.hsa_code_object_reader_create_from_file_fn(file, reader); },
                 [&] { tool().kernels.reader_created(*reader, read_whole(file)); });
}

hsa_status_t reader_destroy(hsa_code_object_reader_t reader) noexcept {
  return observe([&] { return hsa().core.hsa_code_object_reader_destroy_fn(reader); },
                 [&] { tool().kernels.reader_destroyed(reader); });
}

hsa_status_t load_agent_code_object(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                                    const char* options, hsa_loaded_code_object_t* loaded) noexcept {
  // The tool needs the handle even where the caller does not ask for it.
  hsa_loaded_code_object_t own{};
  hsa_loaded_code_object_t* const out = loaded != nullptr ? loaded : &own;
  return observe([&] { return hsa().core.hsa_executable_load_agent_code_object_fn(executable, agent, reader, options, out); },
                 [&] { tool().kernels.code_loaded(executable, agent, reader, *out); });
}

hsa_status_t executable_freeze(hsa_executable_t executable, const char* options) noexcept {
  return observe([&] { return hsa().core.hsa_executable_freeze_fn(executable, options); },
                 [&] { tool().kernels.executable_frozen(executable); });
}

hsa_status_t executable_destroy(hsa_executable_t executable) noexcept {
  if (Inside::already()) return hsa().core.hsa_executable_destroy_fn(executable);
  // Module variables are read from the executable's memory: like any release, this waits for a snapshot.
  const auto guard = tool().memory.lock_for_release();
  return observe([&] { return hsa().core.hsa_executable_destroy_fn(executable); },
                 [&] { tool().kernels.executable_destroyed(executable); });
}

hsa_status_t symbol_get_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute, void* value) noexcept {
  const auto call = [&] { return hsa().core.hsa_executable_symbol_get_info_fn(symbol, attribute, value); };
  if (attribute != HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT) return call();
  return observe(call, [&] { tool().kernels.symbol_resolved(symbol, *static_cast<const std::uint64_t*>(value)); });
}

}  // namespace

void install_code_hooks(HsaApiTable& table) {
  auto& core = *table.core_;
  install(core, &CoreApiTable::hsa_code_object_reader_create_from_memory_fn, reader_from_memory);
  install(core, &CoreApiTable::hsa_code_object_reader_create_from_file_fn, reader_from_file);
  install(core, &CoreApiTable::hsa_code_object_reader_destroy_fn, reader_destroy);
  install(core, &CoreApiTable::hsa_executable_load_agent_code_object_fn, load_agent_code_object);
  install(core, &CoreApiTable::hsa_executable_freeze_fn, executable_freeze);
  install(core, &CoreApiTable::hsa_executable_destroy_fn, executable_destroy);
  install(core, &CoreApiTable::hsa_executable_symbol_get_info_fn, symbol_get_info);
}

}  // namespace kerncap::intercept
