// What the tool library costs an application, measured by the application: the submitting thread's CPU time a dispatch, the wall
// time of many short kernels, and the time to load many code objects. Plain HSA. Called by benchmarks/intercept.py.
// Usage: intercept_bench FILE.hsaco (empty N | short N | load N)   prints one number: ns a dispatch, or ns a code object.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  std::fprintf(stderr, "%s: HSA status %d\n", what, static_cast<int>(status));
  std::exit(2);
}

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

hsa_agent_t find_gpu() {
  hsa_agent_t gpu{};
  check(hsa_iterate_agents(
            [](hsa_agent_t agent, void* data) {
              hsa_device_type_t type{};
              hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
              if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
              *static_cast<hsa_agent_t*>(data) = agent;
              return HSA_STATUS_INFO_BREAK;
            },
            &gpu),
        "hsa_iterate_agents");
  return gpu;
}

hsa_executable_t load(hsa_agent_t gpu, const std::string& code) {
  hsa_code_object_reader_t reader{};
  hsa_executable_t executable{};
  check(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader), "reader");
  check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable), "executable");
  check(hsa_executable_load_agent_code_object(executable, gpu, reader, nullptr, nullptr), "load");
  check(hsa_executable_freeze(executable, nullptr), "freeze");
  return executable;
}

std::uint64_t kernel_object(hsa_executable_t executable, hsa_agent_t gpu, const char* name) {
  hsa_executable_symbol_t symbol{};
  std::uint64_t object = 0;
  check(hsa_executable_get_symbol_by_name(executable, name, &gpu, &symbol), name);
  check(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object), name);
  return object;
}

// Fills the ring half, rings, and goes on when there is room again. Returns the CPU seconds of writing packets and ringing.
double submit(hsa_queue_t* queue, const hsa_kernel_dispatch_packet_t& packet, int count) {
  auto* const ring = static_cast<hsa_kernel_dispatch_packet_t*>(queue->base_address);
  double cpu = 0;
  for (int i = 0; i < count; ++i) {
    while (hsa_queue_load_write_index_relaxed(queue) - hsa_queue_load_read_index_scacquire(queue) >= queue->size / 2) {
      const timespec nap{0, 20000};
      nanosleep(&nap, nullptr);
    }
    const double begun = seconds(CLOCK_THREAD_CPUTIME_ID);
    const std::uint64_t index = hsa_queue_add_write_index_screlease(queue, 1);
    hsa_kernel_dispatch_packet_t* const slot = ring + index % queue->size;
    std::memcpy(reinterpret_cast<char*>(slot) + 4, reinterpret_cast<const char*>(&packet) + 4, sizeof packet - 4);
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(slot), packet.header | (std::uint32_t{packet.setup} << 16), __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    cpu += seconds(CLOCK_THREAD_CPUTIME_ID) - begun;
  }
  return cpu;
}

double dispatches(hsa_agent_t gpu, const std::string& code, const char* kernel, int count, bool wall) {
  const hsa_executable_t executable = load(gpu, code);
  hsa_queue_t* queue = nullptr;
  hsa_signal_t done{};
  check(hsa_queue_create(gpu, 4096, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue), "queue");
  check(hsa_signal_create(1, 0, nullptr, &done), "signal");
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = (HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE) | (1 << HSA_PACKET_HEADER_BARRIER);
  packet.setup = 1;
  packet.workgroup_size_x = packet.grid_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = kernel_object(executable, gpu, kernel);
  submit(queue, packet, 200);  // warm
  const double begun = seconds(CLOCK_MONOTONIC);
  const double cpu = submit(queue, packet, count - 1);
  packet.completion_signal = done;
  submit(queue, packet, 1);
  hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, ~std::uint64_t{0}, HSA_WAIT_STATE_BLOCKED);
  return (wall ? seconds(CLOCK_MONOTONIC) - begun : cpu) / count;
}

double loads(hsa_agent_t gpu, const std::string& code, int count) {
  const double begun = seconds(CLOCK_MONOTONIC);
  for (int i = 0; i < count; ++i) load(gpu, code);
  return (seconds(CLOCK_MONOTONIC) - begun) / count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  std::ifstream file(argv[1], std::ios::binary);
  const std::string code((std::istreambuf_iterator<char>(file)), {}), what = argv[2];
  const int count = std::atoi(argv[3]);
  check(hsa_init(), "hsa_init");
  const hsa_agent_t gpu = find_gpu();
  double value = 0;
  if (what == "empty") value = dispatches(gpu, code, "empty.kd", count, false);
  if (what == "short") value = dispatches(gpu, code, "brief.kd", count, true);
  if (what == "load") value = loads(gpu, code, count);
  std::printf("%.1f\n", value * 1e9);
  std::fflush(stdout);
  std::_Exit(0);  // what ends a process is not measured
}
