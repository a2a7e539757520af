// How the library gets in. In: the runtime's HsaApiTable, through HSA_TOOLS_LIB (OnLoad) or rocprofiler-register
// (rocprofiler_configure, library preloaded). Out: hooks in that table. Nothing here throws, and whatever fails, the
// application runs on as if the library were not there.
#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <string>

#include "base/digest.hpp"
#include "base/log.hpp"
#include "base/virtual_gpu.hpp"
#include "intercept/guard.hpp"
#include "intercept/hooks.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/rank.hpp"
#include "intercept/reports.hpp"
#include "intercept/tool.hpp"
#include "intercept/trials.hpp"

#define KERNCAP_EXPORT extern "C" __attribute__((visibility("default")))

namespace kerncap::intercept {
namespace {

constexpr const char* control_variable = "KERNCAP_CAPTURE_CONTROL";

void forked_child() {
  // The child has no GPU state and one thread: it must find no lock taken and write nothing.
  stepped_aside.store(true, std::memory_order_relaxed);
}

void exit_handler() {
  if (Tool* const loaded = tool_if_loaded()) loaded->at_exit();
}

void report(const std::filesystem::path& control_path, const Error& error) noexcept {
  auto work_dir = work_dir_of(control_path);
  // Not even that could be read, and it lies in the work directory.
  if (!work_dir && control_path.is_absolute()) work_dir = control_path.parent_path();
  report_error(work_dir, error);
}

// A runtime leaves out the virtual GPU when it does not know its target.
void require_the_virtual_gpu() {
  const char* const config = std::getenv("KERNCAP_VGPU");
  if (config == nullptr) return;
  bool found = false;
  const auto visit = [](hsa_agent_t agent, void* data) {
    hsa_device_type_t device{};
    check(hsa().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_DEVICE, &device), "hsa_agent_get_info");
    *static_cast<bool*>(data) |= device == HSA_DEVICE_TYPE_GPU;
    return HSA_STATUS_SUCCESS;
  };
  check(hsa().core.hsa_iterate_agents_fn(visit, &found), "hsa_iterate_agents");
  if (found) return;
  throw Error("host.no-agent", "the HSA runtime here lists no GPU: it does not know the virtual GPU's target " + virtual_target(config),
              std::string(kNewerRuntime) + ", or another target");
}

void start(HsaApiTable& table, const char* control_path) {
  create_tool(for_this_process(read_control(control_path)));
  say_loaded(tool().control.work_dir);
  save_originals(table);
  require_the_virtual_gpu();
  install_memory_hooks(table);
  install_code_hooks(table);
  install_queue_hooks(table);
  install_copy_hooks(table);
  pthread_atfork(nullptr, nullptr, forked_child);
  // libcrypto registers its own clean-up when it is first used; handlers run in reverse, and ours may still need it.
  static_cast<void>(sha256({}));
  // HIP 5.7.1 never calls hsa_shut_down, so OnUnload cannot be relied on.
  std::atexit(exit_handler);
  std::at_quick_exit(exit_handler);
}

bool attach(HsaApiTable* table) noexcept {
  const char* const control_path = std::getenv(control_variable);
  if (table == nullptr || control_path == nullptr || tool_if_loaded() != nullptr) return true;
  // A daemon outlives the command that started it, and keeps its environment.
  if (::access(control_path, F_OK) != 0 && errno == ENOENT) {
    log::info(std::string(control_path) + " is gone, and with it who asked");
    return true;
  }
  try {
    start(*table, control_path);
  } catch (const Error& error) {
    report(control_path, error);
  } catch (const std::exception& error) {
    report(control_path, Error("internal.exception", error.what()));
  }
  return true;
}

// rocprofiler-sdk's ABI, of which no package exists where this is built.
// Source: rocprofiler-sdk, registration.h and intercept_table.h.
using InterceptCallback = void (*)(int type, std::uint64_t version, std::uint64_t instance, void** tables, std::uint64_t count,
                                   void* data);
using RegisterIntercept = int (*)(InterceptCallback callback, int libraries, void* data);
constexpr int rocprofiler_hsa_table = 1 << 0;

struct ConfigureResult {
  std::size_t size;
  int (*initialize)(void (*finalize)(void*), void* data);
  void (*finalize)(void* data);
  void* data;
};

void on_table(int type, std::uint64_t, std::uint64_t, void** tables, std::uint64_t count, void*) {
  if (type == rocprofiler_hsa_table && count > 0) attach(static_cast<HsaApiTable*>(tables[0]));
}

}  // namespace
}  // namespace kerncap::intercept

// Tools are loaded in ascending order of priority; entries from HSA_TOOLS_LIB come first anyway.
KERNCAP_EXPORT const std::uint32_t HSA_AMD_TOOL_PRIORITY = 50;

KERNCAP_EXPORT bool OnLoad(HsaApiTable* table, std::uint64_t, std::uint64_t, const char* const*) {
  return kerncap::intercept::attach(table);
}

KERNCAP_EXPORT void OnUnload() { kerncap::intercept::exit_handler(); }

// Whether `--match regex` can take it, before an application is started for it: null, or what is wrong with it.
KERNCAP_EXPORT const char* kerncap_regex_error(const char* pattern) {
  static thread_local std::string said;
  try {
    const kerncap::intercept::KernelSelector selector(std::string(pattern), kerncap::intercept::MatchMode::Regex);
    return nullptr;
  } catch (const std::exception& error) {
    said = error.what();
  }
  return said.c_str();
}

// From the shim in a Python application that is about to end by _exit, which runs no handlers (multiprocessing's children do).
KERNCAP_EXPORT void kerncap_before_exit() { kerncap::intercept::exit_handler(); }

// From Triton's shim in the application: dispatches of this kernel are an autotuner's trials from here on, and no more.
KERNCAP_EXPORT void kerncap_trials_begin(const char* kernel) {
  try {
    kerncap::intercept::trials().begin(kernel);
  } catch (const std::exception& error) {
    kerncap::log::error(std::string("a trial may be taken for a launch: ") + error.what());
  }
}

KERNCAP_EXPORT void kerncap_trials_end(const char* kernel) {
  try {
    kerncap::intercept::trials().end(kernel);
  } catch (const std::exception& error) {
    kerncap::log::error(std::string("a launch may be taken for a trial: ") + error.what());
  }
}

KERNCAP_EXPORT void* rocprofiler_configure(std::uint32_t, const char*, std::uint32_t, void*) {
  using namespace kerncap::intercept;
  // Looked up at run time: the library loads where rocprofiler-sdk is absent.
  const auto enroll = reinterpret_cast<RegisterIntercept>(dlsym(RTLD_DEFAULT, "rocprofiler_at_intercept_table_registration"));
  if (enroll == nullptr || enroll(on_table, rocprofiler_hsa_table, nullptr) != 0) {
    kerncap::log::error("rocprofiler-sdk does not offer its intercept tables: nothing can be captured in this process");
    return nullptr;
  }
  static ConfigureResult result{sizeof(ConfigureResult), nullptr, nullptr, nullptr};
  return &result;
}
