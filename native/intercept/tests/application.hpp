// An application on the fake runtime: the library loaded into this process, a code object, a queue, a kernel that doubles `n`
// integers. For tests that run in a process of their own: a process has one tool. Called by entry_test.cpp, sequence_test.cpp.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/json.hpp"
#include "intercept/tests/fake_runtime.hpp"

namespace kerncap::intercept::fake {

namespace fs = std::filesystem;

inline constexpr int n = 256;

inline Json control_for(const fs::path& work_dir, const Json& kernel, double timeout_s = 20) {
  return {{"schema", "kerncap.capture-control/1"}, {"work_dir", work_dir.string()}, {"kernel", kernel},
          {"match", "auto"}, {"dispatch", 1}, {"timeout_s", timeout_s}};
}

struct Application {
  explicit Application(const Json& kernel, double timeout_s = 20, const char* mode = "capture") {
    work_dir = fs::temp_directory_path() / ("kerncap-entry-" + std::to_string(getpid()));
    fs::remove_all(work_dir);
    fs::create_directories(work_dir);
    Json control = control_for(work_dir, kernel, timeout_s);
    control["mode"] = mode;
    std::ofstream(work_dir / "control.json") << control.dump();
    setenv("KERNCAP_CAPTURE_CONTROL", (work_dir / "control.json").c_str(), 1);
    library = dlopen(KERNCAP_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
  }

  template <class Function>
  Function entry(const char* name) const {
    return reinterpret_cast<Function>(dlsym(library, name));
  }

  // The runtime shuts down; the number of the tool's signals that are left.
  std::uint64_t unload(std::uint64_t own_signals) const {
    entry<void (*)()>("OnUnload")();
    return state().signals_alive - own_signals;
  }

  void load(Runtime& runtime) const {
    const auto on_load = entry<bool (*)(HsaApiTable*, std::uint64_t, std::uint64_t, const char* const*)>("OnLoad");
    ASSERT_TRUE(on_load(&runtime.table, 3, 0, nullptr));
  }

  // What HIP does before its first launch, through the table as the library left it.
  void start(Runtime& runtime) {
    std::ifstream file(KERNCAP_CODE_OBJECT, std::ios::binary);
    state().code_object.assign(std::istreambuf_iterator<char>(file), {});
    hsa_code_object_reader_t reader{};
    const auto& code = state().code_object;
    runtime.core.hsa_code_object_reader_create_from_memory_fn(code.data(), code.size(), &reader);
    runtime.core.hsa_executable_load_agent_code_object_fn(executable, gpu, reader, nullptr, &loaded);
    runtime.core.hsa_executable_freeze_fn(executable, nullptr);
    runtime.core.hsa_queue_create_fn(gpu, 64, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &runtime.queue);
    runtime.amd.hsa_amd_memory_pool_allocate_fn(device_pool, n * sizeof(int), 0, reinterpret_cast<void**>(&data));
    runtime.amd.hsa_amd_memory_pool_allocate_fn(host_pool, 4096, 0, reinterpret_cast<void**>(&kernarg));
    runtime.amd.hsa_amd_agents_allow_access_fn(1, &gpu, nullptr, kernarg);
    for (int i = 0; i < n; ++i) data[i] = i;
    std::memset(kernarg, 0, 4096);
    std::memcpy(kernarg, &data, sizeof data);
    state().kernel = [](const hsa_kernel_dispatch_packet_t& packet) {
      int* values = nullptr;
      std::memcpy(&values, packet.kernarg_address, sizeof values);
      for (int i = 0; i < n; ++i) values[i] *= 2;
    };
  }

  hsa_kernel_dispatch_packet_t launch(hsa_signal_t completion) const {
    hsa_kernel_dispatch_packet_t packet{};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
    packet.setup = 1;
    packet.grid_size_x = packet.workgroup_size_x = n;
    packet.grid_size_y = packet.grid_size_z = packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.kernel_object = kernel_object;
    packet.kernarg_address = kernarg;
    packet.completion_signal = completion;
    return packet;
  }

  // A report of this process, in the work directory or a request's.
  static fs::path said(const fs::path& directory, const char* stem) {
    return directory / (stem + ("-" + std::to_string(getpid())) + ".json");
  }

  fs::path work_dir;
  void* library = nullptr;
  hsa_loaded_code_object_t loaded{};
  int* data = nullptr;
  void* kernarg = nullptr;
};

inline void submit(const std::vector<hsa_kernel_dispatch_packet_t>& batch) {
  state().handler(batch.data(), batch.size(), 0, state().handler_data, writer);
}

inline bool wait_for(const fs::path& path) {
  for (int i = 0; i < 2000 && !fs::exists(path); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return fs::exists(path);
}

inline Json read(const fs::path& path) {
  std::ifstream file(path);
  return Json::parse(file);
}

[[noreturn]] inline void leave() {
  std::fflush(nullptr);
  _exit(testing::Test::HasFailure() ? 1 : 0);
}

}  // namespace kerncap::intercept::fake
