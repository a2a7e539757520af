// A runtime without a GPU: API tables whose entries run on the host, so that the library's entry points, hooks and the whole
// capture protocol can be tested where there is nothing else. Device memory is host memory that only the fake copies read.
#pragma once

#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <hsa/hsa_api_trace.h>

#include <array>
#include <cstdint>
#include <map>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace kerncap::intercept::fake {

inline constexpr hsa_agent_t cpu{1};
inline constexpr hsa_agent_t gpu{2};
inline constexpr hsa_amd_memory_pool_t host_pool{10};
inline constexpr hsa_amd_memory_pool_t device_pool{20};
inline constexpr std::uint64_t kernel_object = 0x7f0000001000;
inline constexpr hsa_executable_t executable{40};

struct Runtime {
  // Tables of these sizes in bytes; 0: whole.
  explicit Runtime(std::uint32_t core_bytes = 0, std::uint32_t amd_bytes = 0);

  // What the packet processor would do with everything that was written, until it is blocked: barriers wait for their signal,
  // dispatches run `kernel` and complete. Returns when the queue is empty or `stop` says so.
  void run_queue(const std::vector<hsa_signal_t>& until_done);

  HsaApiTable table{};
  CoreApiTable core{};
  // Longer than the headers' own, for the entries of newer runtimes; empty there, and not counted unless `amd_bytes` does.
  struct Amd : AmdExtTable {
    std::array<void (*)(), 64> more{};
  };
  Amd amd{};
  hsa_queue_t* queue = nullptr;  // the application's, as the library handed it out
};

// State that the entries share; one runtime a process.
struct State {
  std::mutex mutex;
  std::vector<hsa_kernel_dispatch_packet_t> written;  // in order, barriers included
  hsa_amd_queue_intercept_handler handler = nullptr;
  void* handler_data = nullptr;
  void (*kernel)(const hsa_kernel_dispatch_packet_t& packet) = nullptr;
  std::function<void(void* to)> before_copy;  // in the call that starts one
  std::string code_object;
  std::uint64_t signals_alive = 0;
  std::size_t processed = 0;  // of the packets that were written
};
State& state();

void writer(const void* packets, std::uint64_t count);
hsa_signal_value_t value_of(hsa_signal_t signal);

}  // namespace kerncap::intercept::fake
