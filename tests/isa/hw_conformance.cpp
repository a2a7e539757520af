// Runs single-instruction kernels on the first GPU, through the HSA runtime alone.
//   hw_conformance CODE.hsaco PLAN INPUTS OUTPUTS WORKGROUP INPUT_BYTES OUTPUT_BYTES
// PLAN: a line a dispatch, "SYMBOL INPUT_NUMBER EXEC VCC MODE SCC DEVICE" (numbers hex; DEVICE 1: the outputs
// lie in memory of the GPU, where float atomics work on all hardware). INPUTS: blocks of INPUT_BYTES. OUTPUTS gets a
// block of OUTPUT_BYTES a line; stdout "agent", "isa", "product", "runtime" and "driver", a line each. Written by conformance.py.
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(hsa_status_t status, const char* what) {
  if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK) return;
  const char* text = nullptr;
  hsa_status_string(status, &text);
  throw std::runtime_error(std::string(what) + ": " + (text ? text : "?"));
}

std::string read_file(const char* path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error(std::string(path) + " cannot be read");
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Machine {
  hsa_agent_t gpu{}, cpu{};
  hsa_amd_memory_pool_t memory{}, kernarg{}, device{};
  bool has_gpu = false;
};

// 0 for a pool that is not global memory.
std::uint32_t global_flags(hsa_amd_memory_pool_t pool) {
  hsa_amd_segment_t segment;
  std::uint32_t flags = 0;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return 0;
  hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags);
  return flags;
}

hsa_status_t on_pool(hsa_amd_memory_pool_t pool, void* data) {
  auto& machine = *static_cast<Machine*>(data);
  const std::uint32_t flags = global_flags(pool);
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_KERNARG_INIT) machine.kernarg = pool;
  if (flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) machine.memory = pool;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t on_gpu_pool(hsa_amd_memory_pool_t pool, void* data) {
  if (global_flags(pool) & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) static_cast<Machine*>(data)->device = pool;
  return HSA_STATUS_SUCCESS;
}

hsa_status_t on_agent(hsa_agent_t agent, void* data) {
  auto& machine = *static_cast<Machine*>(data);
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type == HSA_DEVICE_TYPE_GPU && !machine.has_gpu) {
    machine.gpu = agent;
    machine.has_gpu = true;
    hsa_amd_agent_iterate_memory_pools(agent, on_gpu_pool, &machine);
  }
  if (type == HSA_DEVICE_TYPE_CPU && !machine.cpu.handle) {
    machine.cpu = agent;
    hsa_amd_agent_iterate_memory_pools(agent, on_pool, &machine);
  }
  return HSA_STATUS_SUCCESS;
}

void* allocate(const Machine& machine, hsa_amd_memory_pool_t pool, std::size_t bytes) {
  void* at = nullptr;
  check(hsa_amd_memory_pool_allocate(pool, bytes, 0, &at), "allocate");
  check(hsa_amd_agents_allow_access(1, &machine.gpu, nullptr, at), "allow access");
  return at;
}

void describe(const Machine& machine) {
  char text[64] = {};
  hsa_agent_get_info(machine.gpu, HSA_AGENT_INFO_NAME, text);
  std::cout << "agent " << text << "\n";
  hsa_isa_t isa{};
  hsa_agent_get_info(machine.gpu, HSA_AGENT_INFO_ISA, &isa);
  char isa_name[256] = {};
  hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, isa_name);
  std::cout << "isa " << isa_name << "\n";
  char product[64] = {};
  hsa_agent_get_info(machine.gpu, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_PRODUCT_NAME), product);
  std::cout << "product " << product << "\n";
  std::uint16_t major = 0, minor = 0;
  hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major);
  hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  std::cout << "runtime HSA " << major << "." << minor << "\n";
  std::ifstream module("/sys/module/amdgpu/version");
  std::string driver;
  if (!(module >> driver)) driver = "in-tree or none";
  std::cout << "driver " << driver << "\n";
}

struct Kernel {
  std::uint64_t object = 0;
  std::uint32_t lds_bytes = 0;
};

class Runner {
 public:
  Runner(const Machine& machine, const std::string& code) : machine_(machine) {
    check(hsa_code_object_reader_create_from_memory(code.data(), code.size(), &reader_), "read code object");
    check(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT, nullptr, &executable_), "executable");
    check(hsa_executable_load_agent_code_object(executable_, machine.gpu, reader_, nullptr, nullptr), "load code object");
    check(hsa_executable_freeze(executable_, nullptr), "freeze");
    check(hsa_queue_create(machine.gpu, 1024, HSA_QUEUE_TYPE_SINGLE, &on_error, nullptr, UINT32_MAX, UINT32_MAX, &queue_), "queue");
    check(hsa_signal_create(1, 0, nullptr, &done_), "signal");
  }
  Kernel kernel(const std::string& symbol) {
    Kernel& known = kernels_[symbol];
    if (known.object) return known;
    hsa_executable_symbol_t found{};
    check(hsa_executable_get_symbol_by_name(executable_, (symbol + ".kd").c_str(), &machine_.gpu, &found), symbol.c_str());
    check(hsa_executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &known.object), "kernel object");
    check(hsa_executable_symbol_get_info(found, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &known.lds_bytes), "LDS size");
    return known;
  }
  void dispatch(const Kernel& kernel, void* kernarg, std::uint16_t workgroup) {
    hsa_signal_store_relaxed(done_, 1);
    const std::uint64_t index = hsa_queue_add_write_index_relaxed(queue_, 1);
    auto* packet = static_cast<hsa_kernel_dispatch_packet_t*>(queue_->base_address) + index % queue_->size;
    std::memset(reinterpret_cast<char*>(packet) + 4, 0, sizeof *packet - 4);
    packet->workgroup_size_x = workgroup;
    packet->workgroup_size_y = packet->workgroup_size_z = 1;
    packet->grid_size_x = workgroup;
    packet->grid_size_y = packet->grid_size_z = 1;
    packet->group_segment_size = kernel.lds_bytes;
    packet->kernel_object = kernel.object;
    packet->kernarg_address = kernarg;
    packet->completion_signal = done_;
    const std::uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                 HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE | 1u << 16;
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(packet), header, __ATOMIC_RELEASE);
    hsa_signal_store_screlease(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(index));
    // A kernel of a few hundred instructions: a minute is an error on a busy machine, too.
    constexpr std::uint64_t kTicks = 60'000'000'000;
    if (hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_LT, 1, kTicks, HSA_WAIT_STATE_BLOCKED) != 0)
      throw std::runtime_error("a dispatch did not end");
  }

 private:
  static void on_error(hsa_status_t status, hsa_queue_t*, void*) {
    const char* text = nullptr;
    hsa_status_string(status, &text);
    std::fprintf(stderr, "hw_conformance: queue error: %s\n", text ? text : "?");
    std::_Exit(6);
  }
  const Machine& machine_;
  hsa_code_object_reader_t reader_{};
  hsa_executable_t executable_{};
  hsa_queue_t* queue_ = nullptr;
  hsa_signal_t done_{};
  std::map<std::string, Kernel> kernels_;
};

struct Arguments {
  void *inputs, *outputs;
  std::uint64_t exec, vcc;
  std::uint32_t mode, scc;
};

int run(char** argv) {
  check(hsa_init(), "hsa_init");
  Machine machine;
  check(hsa_iterate_agents(on_agent, &machine), "agents");
  if (!machine.has_gpu) {
    std::fprintf(stderr, "hw_conformance: no GPU\n");
    return 3;
  }
  describe(machine);
  const std::string code = read_file(argv[1]), inputs = read_file(argv[3]);
  const auto workgroup = static_cast<std::uint16_t>(std::atoi(argv[5]));
  const std::size_t input_bytes = std::strtoull(argv[6], nullptr, 10), output_bytes = std::strtoull(argv[7], nullptr, 10);
  void* in = allocate(machine, machine.memory, input_bytes);
  void* out = allocate(machine, machine.memory, output_bytes);
  void* device_out = nullptr;
  check(hsa_amd_memory_pool_allocate(machine.device, output_bytes, 0, &device_out), "allocate memory of the GPU");
  void* kernarg = allocate(machine, machine.kernarg, sizeof(Arguments));
  Runner runner(machine, code);
  std::ifstream plan(argv[2]);
  std::ofstream results(argv[4], std::ios::binary);
  for (std::string line; std::getline(plan, line);) {
    std::istringstream words(line);
    std::string symbol;
    std::size_t number = 0;
    unsigned on_device = 0;
    Arguments arguments{in, out, 0, 0, 0, 0};
    words >> symbol >> std::hex >> number >> arguments.exec >> arguments.vcc >> arguments.mode >> arguments.scc >> on_device;
    if (on_device) arguments.outputs = device_out;
    if (!words || (number + 1) * input_bytes > inputs.size()) throw std::runtime_error("plan: " + line);
    std::memcpy(in, inputs.data() + number * input_bytes, input_bytes);
    std::memset(out, 0xcd, output_bytes);
    if (on_device) check(hsa_memory_copy(device_out, out, output_bytes), "copy to the GPU");
    std::memcpy(kernarg, &arguments, sizeof arguments);
    const Kernel kernel = runner.kernel(symbol);
    std::fprintf(stderr, "%s\n", line.c_str());  // the last line names what a queue error is about
    runner.dispatch(kernel, kernarg, workgroup);
    if (on_device) check(hsa_memory_copy(out, device_out, output_bytes), "copy from the GPU");
    results.write(static_cast<const char*>(out), static_cast<std::streamsize>(output_bytes));
  }
  return results.flush() ? 0 : 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) {
    std::fprintf(stderr, "usage: hw_conformance CODE PLAN INPUTS OUTPUTS WORKGROUP INPUT_BYTES OUTPUT_BYTES\n");
    return 2;
  }
  try {
    return run(argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "hw_conformance: %s\n", error.what());
    return 70;
  }
}
