// One kernel over memory of one kind, named on the command line:
//   pool        stream-ordered allocations, one freed and its addresses used again before the kernel
//   expandable  a wide reservation with physical memory mapped in parts of it, as PyTorch's expandable segments do
//   aliased     one physical allocation mapped twice, wholly and in part
//   peer        memory of another GPU (two GPUs)
//   ipc         memory of another process: this one starts itself again, and the child runs the kernel
#include "program.hpp"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#define HSA_CHECK(call)                                                                     \
  do {                                                                                      \
    const hsa_status_t hsa_status = (call);                                                 \
    if (hsa_status != HSA_STATUS_SUCCESS) {                                                 \
      std::fprintf(stderr, "%s:%d: %s: status %#x\n", __FILE__, __LINE__, #call, hsa_status); \
      std::exit(2);                                                                         \
    }                                                                                       \
  } while (0)

constexpr int kCount = 5000;

// Reads what `in` holds, adds it to `out`, and counts in `in` how often that has been done.
__global__ void add_up(int* in, int* out, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  out[i] += in[i] * constant(3, 5);
  in[i] += 1;
}

static void launch(int* in, int* out, hipStream_t stream = nullptr) {
  add_up<<<(kCount + 255) / 256, 256, 0, stream>>>(in, out, kCount);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

// By kernels: not every HIP copies from and to memory that the runtime below it has allocated.
__global__ void count_from(int* out, int first, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = first + i;
}

__global__ void copy(const int* in, int* out, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = in[i];
}

static void fill(int* to, int first) {
  count_from<<<(kCount + 255) / 256, 256>>>(to, first, kCount);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

static bool holds(const int* device, const std::function<int(int)>& expected) {
  int* plain;
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&plain), kCount * sizeof(int)));
  copy<<<(kCount + 255) / 256, 256>>>(device, plain, kCount);
  HIP_CHECK(hipGetLastError());
  std::vector<int> got(kCount);
  HIP_CHECK(hipMemcpy(got.data(), plain, kCount * sizeof(int), hipMemcpyDeviceToHost));
  HIP_CHECK(hipFree(plain));
  for (int i = 0; i < kCount; ++i)
    if (got[i] != expected(i)) return false;
  return true;
}

// `in` held 10 + i, `out` held 1000 + i.
static bool added_up(const int* in, const int* out) {
  return holds(in, [](int i) { return 11 + i; }) && holds(out, [](int i) { return 1000 + i + 3 * (10 + i); });
}

static bool pool() {
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  int *first, *in, *out;
  HIP_CHECK(hipMallocAsync(reinterpret_cast<void**>(&first), 4 * kCount * sizeof(int), stream));
  HIP_CHECK(hipFreeAsync(first, stream));
  HIP_CHECK(hipMallocAsync(reinterpret_cast<void**>(&in), kCount * sizeof(int), stream));
  HIP_CHECK(hipMallocAsync(reinterpret_cast<void**>(&out), kCount * sizeof(int), stream));
  HIP_CHECK(hipStreamSynchronize(stream));
  fill(in, 10);
  fill(out, 1000);
  launch(in, out, stream);
  const bool right = added_up(in, out);
  HIP_CHECK(hipFreeAsync(in, stream));
  HIP_CHECK(hipFreeAsync(out, stream));
  HIP_CHECK(hipStreamDestroy(stream));
  return right;
}

// The GPU and its memory, as the runtime below HIP has them.
struct Vmem {
  hsa_agent_t gpu{};
  hsa_amd_memory_pool_t pool{};
  std::size_t granule = 0;

  Vmem() {
    HSA_CHECK(hsa_iterate_agents(
        [](hsa_agent_t agent, void* data) {
          hsa_device_type_t type;
          hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
          if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
          static_cast<Vmem*>(data)->gpu = agent;
          return HSA_STATUS_INFO_BREAK;
        },
        this) == HSA_STATUS_INFO_BREAK ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR);
    hsa_amd_agent_iterate_memory_pools(
        gpu,
        [](hsa_amd_memory_pool_t candidate, void* data) {
          bool allocates = false;
          hsa_amd_memory_pool_get_info(candidate, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allocates);
          if (!allocates) return HSA_STATUS_SUCCESS;
          static_cast<Vmem*>(data)->pool = candidate;
          return HSA_STATUS_INFO_BREAK;
        },
        this);
    HSA_CHECK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_REC_GRANULE, &granule));
    granule = std::max<std::size_t>(granule, 64 << 10);  // more than the kernel's arrays take
  }
  char* reserve(std::size_t granules) const {
    void* va = nullptr;
    HSA_CHECK(hsa_amd_vmem_address_reserve(&va, granules * granule, 0, 0));
    return static_cast<char*>(va);
  }
  hsa_amd_vmem_alloc_handle_t create(std::size_t granules) const {
    hsa_amd_vmem_alloc_handle_t handle{};
    HSA_CHECK(hsa_amd_vmem_handle_create(pool, granules * granule, MEMORY_TYPE_PINNED, 0, &handle));
    return handle;
  }
  void drop(char* va, std::size_t granules) const { HSA_CHECK(hsa_amd_vmem_unmap(va, granules * granule)); }
  // From the start of the allocation: runtimes know no other place.
  void map(char* va, std::size_t granules, hsa_amd_vmem_alloc_handle_t handle) const {
    HSA_CHECK(hsa_amd_vmem_map(va, granules * granule, 0, handle, 0));
    const hsa_amd_memory_access_desc_t access{HSA_ACCESS_PERMISSION_RW, gpu};
    HSA_CHECK(hsa_amd_vmem_set_access(va, granules * granule, &access, 1));
  }
};

static bool expandable() {
  const Vmem vmem;
  char* const base = vmem.reserve(64);
  const hsa_amd_vmem_alloc_handle_t handles[] = {vmem.create(1), vmem.create(1), vmem.create(2), vmem.create(1)};
  vmem.map(base, 1, handles[0]);
  vmem.map(base + vmem.granule, 1, handles[1]);
  vmem.map(base + 7 * vmem.granule, 2, handles[2]);
  vmem.map(base + 40 * vmem.granule, 1, handles[3]);
  vmem.drop(base + 40 * vmem.granule, 1);  // shrunk again
  // Across the seam of the first two, and inside the third.
  int* const in = reinterpret_cast<int*>(base + vmem.granule) - kCount / 2;
  int* const out = reinterpret_cast<int*>(base + 8 * vmem.granule) - 100;
  fill(in, 10);
  fill(out, 1000);
  launch(in, out);
  const bool right = added_up(in, out);
  vmem.drop(base, 1);
  vmem.drop(base + vmem.granule, 1);
  vmem.drop(base + 7 * vmem.granule, 2);
  for (const auto handle : handles) HSA_CHECK(hsa_amd_vmem_handle_release(handle));
  HSA_CHECK(hsa_amd_vmem_address_free(base, 64 * vmem.granule));
  return right;
}

static bool aliased() {
  const Vmem vmem;
  char* const whole = vmem.reserve(4);
  char* const part = vmem.reserve(2);
  const auto handle = vmem.create(4);
  vmem.map(whole, 4, handle);
  vmem.map(part, 2, handle);  // the first half once more
  int* const in = reinterpret_cast<int*>(part);
  int* const out = reinterpret_cast<int*>(whole + vmem.granule);
  fill(in, 10);
  fill(out, 1000);
  launch(in, out);
  const int* const same_in = reinterpret_cast<const int*>(whole);
  const int* const same_out = reinterpret_cast<const int*>(part + vmem.granule);
  const bool right = added_up(in, out) && added_up(same_in, same_out);
  vmem.drop(part, 2);
  vmem.drop(whole, 4);
  HSA_CHECK(hsa_amd_vmem_handle_release(handle));
  HSA_CHECK(hsa_amd_vmem_address_free(part, 2 * vmem.granule));
  HSA_CHECK(hsa_amd_vmem_address_free(whole, 4 * vmem.granule));
  return right;
}

static bool peer() {
  int* memory[2];
  for (int d = 0; d < 2; ++d) {
    HIP_CHECK(hipSetDevice(d));
    HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&memory[d]), kCount * sizeof(int)));
    fill(memory[d], d == 0 ? 10 : 1000);
  }
  HIP_CHECK(hipDeviceEnablePeerAccess(0, 0));
  launch(memory[0], memory[1]);  // on GPU 1
  return added_up(memory[0], memory[1]);
}

static bool ipc_child(int descriptor) {
  hipIpcMemHandle_t handle;
  if (read(descriptor, &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle)) return false;
  int *in, *out;
  HIP_CHECK(hipIpcOpenMemHandle(reinterpret_cast<void**>(&in), handle, hipIpcMemLazyEnablePeerAccess));
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&out), kCount * sizeof(int)));
  fill(out, 1000);
  launch(in, out);
  const bool right = added_up(in, out);
  HIP_CHECK(hipIpcCloseMemHandle(in));
  return right;
}

static bool ipc(const char* self) {
  int ends[2];
  if (pipe(ends) != 0) return false;
  // Before this process uses the GPU: a forked child could not.
  const pid_t child = fork();
  if (child == 0) {
    close(ends[1]);
    const std::string descriptor = std::to_string(ends[0]);
    execl(self, self, "ipc-child", descriptor.c_str(), static_cast<char*>(nullptr));
    _exit(9);
  }
  int* memory;
  HIP_CHECK(hipMalloc(reinterpret_cast<void**>(&memory), kCount * sizeof(int)));
  fill(memory, 10);
  HIP_CHECK(hipDeviceSynchronize());
  hipIpcMemHandle_t handle;
  HIP_CHECK(hipIpcGetMemHandle(&handle, memory));
  if (write(ends[1], &handle, sizeof handle) != static_cast<ssize_t>(sizeof handle)) return false;
  int status = 0;
  const bool child_right = waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  return child_right && holds(memory, [](int i) { return 11 + i; });
}

int main(int argc, char** argv) {
  const std::string kind = argc > 1 ? argv[1] : "";
  if (kind == "pool") return finish(pool());
  if (kind == "expandable" || kind == "aliased") {
    HIP_CHECK(hipFree(nullptr));  // starts HIP and the runtime below it
    return finish(kind == "aliased" ? aliased() : expandable());
  }
  if (kind == "peer") return finish(peer());
  if (kind == "ipc") return finish(ipc(argv[0]));
  if (kind == "ipc-child" && argc == 3) return ipc_child(std::atoi(argv[2])) ? 0 : 1;
  std::fprintf(stderr, "usage: closure_kinds pool|expandable|aliased|peer|ipc\n");
  return 2;
}
