// What HIP programs ask of a device, one section each: `vgpu_hip [SECTION...]`, all that need no argument by default.
// Every section checks its own results and says so; used by tests/e2e/test_vgpu.py.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <ctime>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "program.hpp"

__constant__ int weights[4];

__global__ void add(const int* a, const int* b, int* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
__global__ void scale(int* a, int by, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] *= by;
}
__global__ void weigh(int* a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) a[i] = weights[i % 4];
}
__global__ void scratch(int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int local[32];
  for (int k = 0; k < 32; ++k) local[k] = i + k;
  for (int k = 0; k < 32; ++k) local[(k * 7 + i) % 32] += k;
  int sum = 0;
  for (int k = 0; k < 32; ++k) sum += local[(k + i) % 32];
  if (i < n) out[i] = sum;
}
__global__ void wait_for(volatile int* flag, int* seen) {
  while (*flag == 0) {
  }
  *seen = 1;
}
__global__ void touch(int* p) { *p = 1; }

namespace {

constexpr int kCount = 1000;
constexpr int kBlocks = (kCount + 63) / 64;

template <class T>
T* device(std::size_t count) {
  T* p = nullptr;
  HIP_CHECK(hipMalloc(&p, count * sizeof(T)));
  return p;
}
std::vector<int> counted(int from = 0) {
  std::vector<int> v(kCount);
  for (int i = 0; i < kCount; ++i) v[i] = from + i;
  return v;
}
std::vector<int> download(const int* p, std::size_t count = kCount) {
  std::vector<int> v(count);
  HIP_CHECK(hipMemcpy(v.data(), p, count * sizeof(int), hipMemcpyDeviceToHost));
  return v;
}
int* upload(const std::vector<int>& v) {
  int* p = device<int>(v.size());
  HIP_CHECK(hipMemcpy(p, v.data(), v.size() * sizeof(int), hipMemcpyHostToDevice));
  return p;
}

bool copies() {
  const auto source = counted(5);
  int *a = upload(source), *b = device<int>(kCount);
  HIP_CHECK(hipMemcpy(b, a, kCount * sizeof(int), hipMemcpyDeviceToDevice));
  bool right = download(b) == source;
  HIP_CHECK(hipMemset(b, 0x5a, kCount * sizeof(int)));
  right = right && download(b) == std::vector<int>(kCount, 0x5a5a5a5a);
  // 10 rows of 7 ints, between different pitches.
  HIP_CHECK(hipMemcpy2D(b, 20 * sizeof(int), source.data(), 10 * sizeof(int), 7 * sizeof(int), 10, hipMemcpyHostToDevice));
  const auto pitched = download(b);
  for (int row = 0; row < 10; ++row)
    for (int i = 0; i < 20; ++i) right = right && pitched[row * 20 + i] == (i < 7 ? source[row * 10 + i] : 0x5a5a5a5a);
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  std::vector<int> back(kCount);
  HIP_CHECK(hipMemcpyAsync(back.data(), a, kCount * sizeof(int), hipMemcpyDeviceToHost, stream));
  HIP_CHECK(hipStreamSynchronize(stream));
  return right && back == source;
}

bool big() {
  const std::size_t count = std::size_t{16} << 20;  // 64 MiB
  std::vector<int> source(count);
  for (std::size_t i = 0; i < count; ++i) source[i] = static_cast<int>(i * 2654435761u);
  int* p = upload(source);
  int* q = device<int>(count);
  HIP_CHECK(hipMemcpy(q, p, count * sizeof(int), hipMemcpyDeviceToDevice));
  return download(q, count) == source;
}

bool kernels() {
  int *a = upload(counted()), *b = upload(counted(100)), *c = device<int>(kCount);
  add<<<kBlocks, 64>>>(a, b, c, kCount);
  const auto sum = download(c);
  bool right = true;
  for (int i = 0; i < kCount; ++i) right = right && sum[i] == 2 * i + 100;
  const int values[4] = {3, 1, 4, 1};
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(weights), values, sizeof values));
  weigh<<<kBlocks, 64>>>(c, kCount);
  const auto weighed = download(c);
  for (int i = 0; i < kCount; ++i) right = right && weighed[i] == values[i % 4];
  scratch<<<kBlocks, 64>>>(c, kCount);
  const auto sums = download(c);
  for (int i = 0; i < kCount; ++i) right = right && sums[i] == 32 * i + 496 + 496;
  return right;
}

bool streams() {
  constexpr int n = 4;
  hipStream_t stream[n];
  hipEvent_t begin, end;
  HIP_CHECK(hipEventCreate(&begin));
  HIP_CHECK(hipEventCreate(&end));
  int* a[n];
  for (int s = 0; s < n; ++s) {
    HIP_CHECK(hipStreamCreate(&stream[s]));
    a[s] = upload(counted(s));
  }
  HIP_CHECK(hipEventRecord(begin, stream[0]));
  for (int s = 0; s < n; ++s) scale<<<kBlocks, 64, 0, stream[s]>>>(a[s], s + 2, kCount);
  HIP_CHECK(hipEventRecord(end, stream[0]));
  HIP_CHECK(hipStreamWaitEvent(stream[1], end, 0));
  scale<<<kBlocks, 64, 0, stream[1]>>>(a[0], 10, kCount);  // after stream 0's
  HIP_CHECK(hipDeviceSynchronize());
  float ms = -1;
  HIP_CHECK(hipEventElapsedTime(&ms, begin, end));
  bool right = ms > 0;
  for (int s = 0; s < n; ++s) {
    const auto v = download(a[s]);
    for (int i = 0; i < kCount; ++i) right = right && v[i] == (i + s) * (s + 2) * (s == 0 ? 10 : 1);
  }
  return right;
}

// Milliseconds between two events around kernels that are all in the queue before the first of them starts.
float between_events(int kernels) {
  int *flag = nullptr, *a = upload(counted(1));
  HIP_CHECK(hipHostMalloc(&flag, 2 * sizeof(int)));
  flag[0] = flag[1] = 0;
  hipStream_t stream;
  hipEvent_t begin, end;
  HIP_CHECK(hipStreamCreate(&stream));
  HIP_CHECK(hipEventCreate(&begin));
  HIP_CHECK(hipEventCreate(&end));
  wait_for<<<1, 1, 0, stream>>>(flag, flag + 1);
  HIP_CHECK(hipEventRecord(begin, stream));
  for (int k = 0; k < kernels; ++k) scale<<<kBlocks, 64, 0, stream>>>(a, 3, kCount);
  HIP_CHECK(hipEventRecord(end, stream));
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  HIP_CHECK(hipStreamSynchronize(stream));
  float ms = -1;
  HIP_CHECK(hipEventElapsedTime(&ms, begin, end));
  return ms;
}
// What the cost model makes of them: the same each time, and more for more kernels.
bool timestamps() {
  const float four = between_events(4), again = between_events(4), eight = between_events(8);
  std::printf("  events: %.5f %.5f %.5f ms\n", four, again, eight);
  return four > 0.004f && four < 0.1f && std::abs(four - again) < 1e-4f && std::abs(eight - 2 * four) < 1e-3f;
}
bool wall_timestamps() { return between_events(4) > 0; }

bool graphs() {
  hipStream_t stream;
  HIP_CHECK(hipStreamCreate(&stream));
  int* a = upload(counted(1));
  hipGraph_t graph;
  hipGraphExec_t exec;
  HIP_CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  scale<<<kBlocks, 64, 0, stream>>>(a, 3, kCount);
  scale<<<kBlocks, 64, 0, stream>>>(a, 2, kCount);
  HIP_CHECK(hipStreamEndCapture(stream, &graph));
  HIP_CHECK(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) HIP_CHECK(hipGraphLaunch(exec, stream));
  HIP_CHECK(hipStreamSynchronize(stream));
  return download(a)[9] == 10 * 6 * 6 * 6;
}

bool host_memory() {
  int *pinned = nullptr, *managed = nullptr;
  HIP_CHECK(hipHostMalloc(&pinned, kCount * sizeof(int)));
  HIP_CHECK(hipMallocManaged(&managed, kCount * sizeof(int)));
  std::vector<int> registered = counted(7);
  HIP_CHECK(hipHostRegister(registered.data(), kCount * sizeof(int), 0));
  int* device_view = nullptr;
  HIP_CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&device_view), registered.data(), 0));
  for (int i = 0; i < kCount; ++i) pinned[i] = managed[i] = i;
  scale<<<kBlocks, 64>>>(pinned, 2, kCount);
  scale<<<kBlocks, 64>>>(managed, 3, kCount);
  scale<<<kBlocks, 64>>>(device_view, 4, kCount);
  HIP_CHECK(hipDeviceSynchronize());
  bool right = true;
  for (int i = 0; i < kCount; ++i) right = right && pinned[i] == 2 * i && managed[i] == 3 * i && registered[i] == 4 * (i + 7);
  HIP_CHECK(hipHostUnregister(registered.data()));
  return right;
}

// Memory that the CPU could not write to is refused, as the driver does, and not found out by the first kernel that uses it.
// The thunk may choose the very range that was unmapped, which is mapped again then, without access.
bool bad_host_memory() {
  constexpr std::size_t kBytes = 1 << 16;
  for (const int kind : {-1, PROT_NONE, PROT_READ}) {
    for (int i = 0; i < 32; ++i) {
      void* const p = mmap(nullptr, kBytes, kind < 0 ? PROT_NONE : kind, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (kind < 0) munmap(p, kBytes);
      if (hipHostRegister(p, kBytes, 0) == hipSuccess) return std::printf("  registered: protection %d\n", kind), false;
      (void)hipGetLastError();
    }
  }
  return true;
}

// A kernel that waits for the host, on every thread that the device has, must not hold up another queue.
bool spin() {
  int *flag = nullptr, *seen = nullptr;
  HIP_CHECK(hipHostMalloc(&flag, sizeof(int)));
  HIP_CHECK(hipHostMalloc(&seen, sizeof(int)));
  *flag = *seen = 0;
  hipStream_t spinning, other;
  HIP_CHECK(hipStreamCreateWithFlags(&spinning, hipStreamNonBlocking));
  HIP_CHECK(hipStreamCreateWithFlags(&other, hipStreamNonBlocking));
  int* a = upload(counted(1));
  wait_for<<<64, 64, 0, spinning>>>(flag, seen);
  scale<<<kBlocks, 64, 0, other>>>(a, 5, kCount);
  HIP_CHECK(hipStreamSynchronize(other));
  const bool still_waiting = *seen == 0;
  *static_cast<volatile int*>(flag) = 1;
  HIP_CHECK(hipStreamSynchronize(spinning));
  return still_waiting && *seen == 1 && download(a)[9] == 50;
}

bool peers() {
  int count = 0, can = 0;
  HIP_CHECK(hipGetDeviceCount(&count));
  if (count != 2) return false;
  int* p[2];
  for (int d = 0; d < 2; ++d) {
    HIP_CHECK(hipSetDevice(d));
    p[d] = device<int>(kCount);
  }
  HIP_CHECK(hipDeviceCanAccessPeer(&can, 1, 0));
  HIP_CHECK(hipDeviceEnablePeerAccess(0, 0));
  HIP_CHECK(hipMemcpy(p[0], counted(1).data(), kCount * sizeof(int), hipMemcpyHostToDevice));
  HIP_CHECK(hipMemcpyPeer(p[1], 1, p[0], 0, kCount * sizeof(int)));
  scale<<<kBlocks, 64>>>(p[0], 2, kCount);  // runs on GPU 1, memory of GPU 0
  HIP_CHECK(hipDeviceSynchronize());
  return can == 1 && download(p[1])[4] == 5 && download(p[0])[4] == 10;
}

// GPU 1 touches memory of GPU 0 that it was not given access to: ends the process.
bool foreign_memory() {
  int* p = device<int>(kCount);
  HIP_CHECK(hipSetDevice(1));
  scale<<<kBlocks, 64>>>(p, 2, kCount);
  HIP_CHECK(hipDeviceSynchronize());
  return false;
}

bool out_of_memory() {
  std::size_t free_bytes = 0, total = 0;
  HIP_CHECK(hipMemGetInfo(&free_bytes, &total));
  void *all = nullptr, *more = nullptr;
  HIP_CHECK(hipMalloc(&all, total / 2));
  const bool refused = hipMalloc(&more, total / 2 + (std::size_t{64} << 20)) == hipErrorOutOfMemory;
  HIP_CHECK(hipFree(all));
  HIP_CHECK(hipMalloc(&more, total / 2 + (std::size_t{64} << 20)));
  return refused && total > (std::size_t{16} << 30);
}

// A child that leaves the GPU alone is not disturbed, one that uses it fails cleanly, and the parent goes on.
bool forked() {
  int* a = upload(counted(1));
  const auto child = [](const std::function<int()>& body) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(100);
      _exit(body());
    }
    int status = 0;
    waitpid(pid, &status, 0);
    return status;
  };
  const int idle = child([] {
    std::FILE* file = std::fopen("/proc/self/stat", "r");
    return file != nullptr && std::fclose(file) == 0 ? 0 : 1;
  });
  const int user = child([] {
    void* p = nullptr;
    return hipMalloc(&p, std::size_t{1} << 22) == hipSuccess ? 0 : 7;
  });
  const int executed = std::system("exit 3");
  scale<<<kBlocks, 64>>>(a, 2, kCount);
  std::printf("  children: %d %d %d\n", idle, user, executed);
  return idle == 0 && WIFEXITED(user) && WEXITSTATUS(user) == 7 && WEXITSTATUS(executed) == 3 && download(a)[1] == 4;
}

bool idle() {
  touch<<<1, 1>>>(device<int>(1));
  HIP_CHECK(hipDeviceSynchronize());
  sleep(2);
  const auto cpu_seconds = [] {
    rusage use = {};
    getrusage(RUSAGE_SELF, &use);
    return static_cast<double>(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
  };
  const double before = cpu_seconds();
  sleep(5);
  const double used = (cpu_seconds() - before) / 5;
  std::printf("  idle: %.4f of a core\n", used);
  return used < 0.05;
}

// These end the process, or are expected to.
bool page_fault() {
  touch<<<1, 1>>>(reinterpret_cast<int*>(0x123456789000));
  HIP_CHECK(hipDeviceSynchronize());
  return false;
}
bool host_reads_device() {
  volatile int* p = upload(counted(1));
  std::printf("read %d\n", p[4]);
  return p[4] == 5;
}
bool leave_running() {  // the process ends while a kernel still runs
  int* flag = nullptr;
  HIP_CHECK(hipHostMalloc(&flag, 2 * sizeof(int)));
  *flag = 0;
  wait_for<<<64, 64>>>(flag, flag + 1);
  std::puts("leaving");
  std::fflush(stdout);
  _exit(5);
}

const std::map<std::string, bool (*)()> kSections = {
    {"copies", copies}, {"big", big}, {"kernels", kernels}, {"streams", streams}, {"timestamps", timestamps},
    {"wall_timestamps", wall_timestamps}, {"graphs", graphs}, {"host_memory", host_memory},
    {"bad_host_memory", bad_host_memory}, {"spin", spin}, {"peers", peers}, {"foreign_memory", foreign_memory}, {"out_of_memory", out_of_memory},
    {"forked", forked}, {"idle", idle}, {"page_fault", page_fault}, {"host_reads_device", host_reads_device},
    {"leave_running", leave_running}};

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) names = {"copies", "big", "kernels", "streams", "graphs", "host_memory", "bad_host_memory", "spin"};
  bool right = true;
  for (const std::string& name : names) {
    const bool passed = kSections.at(name)();
    std::printf("%s: %s\n", name.c_str(), passed ? "right" : "WRONG");
    right = right && passed;
  }
  return finish(right);
}
