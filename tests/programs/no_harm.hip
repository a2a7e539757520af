// Applications that a tool library might harm, one for each argument; each dispatches `target` and checks what came of it.
// A 16 becomes a 48.
#include "program.hpp"

#include <dlfcn.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

extern char** environ;

__global__ void target(int* p) {
  if (does_nothing) return;
  p[threadIdx.x] *= constant(3, 4);
}

// Until a kernel that is launched later, in another stream, says so.
__global__ void wait_then_target(int* p, int* flag) {
  if (does_nothing) return;
  while (atomicAdd(flag, 0) == 0) {
  }
  p[threadIdx.x] *= constant(3, 4);
}

__global__ void wait_for(int* flag) {
  while (atomicAdd(flag, 0) == 0) {
  }
}

__global__ void say(int* flag) { atomicExch(flag, 1); }

static int* sixteens(std::size_t bytes = 260) {
  int* device;
  HIP_CHECK(hipMalloc(&device, bytes));
  const std::vector<int> values(64, 16);
  HIP_CHECK(hipMemcpy(device, values.data(), 256, hipMemcpyHostToDevice));
  return device;
}

static bool tripled(const int* device) {
  std::vector<int> got(64);
  HIP_CHECK(hipMemcpy(got.data(), device, 256, hipMemcpyDeviceToHost));
  return got == std::vector<int>(64, 48);
}

static hipStream_t stream() {
  hipStream_t made;
  HIP_CHECK(hipStreamCreateWithFlags(&made, hipStreamNonBlocking));
  return made;
}

static bool plain() {
  int* device = sixteens();
  target<<<1, 64>>>(device);
  return tripled(device);
}

// The thread that launched the target has to go on, or the target never ends.
static bool later_kernel() {
  int *device = sixteens(), *flag;
  HIP_CHECK(hipMalloc(&flag, 4));
  HIP_CHECK(hipMemset(flag, 0, 4));
  const hipStream_t first = stream(), second = stream();
  say<<<1, 1, 0, second>>>(device + 64);  // its queue exists from now on
  HIP_CHECK(hipDeviceSynchronize());
  wait_then_target<<<1, 64, 0, first>>>(device, flag);
  usleep(1000000);  // the capture is under way
  say<<<1, 1, 0, second>>>(flag);
  HIP_CHECK(hipStreamSynchronize(first));
  return tripled(device);
}

static bool later_store() {
  int *device = sixteens(), *flag;
  HIP_CHECK(hipHostMalloc(&flag, 4));
  *flag = 0;
  wait_then_target<<<1, 64>>>(device, flag);
  __atomic_store_n(flag, 1, __ATOMIC_SEQ_CST);
  HIP_CHECK(hipDeviceSynchronize());
  return tripled(device);
}

// A queue that is held waits for a third one, which is held as well.
static bool later_bystander() {
  int *device = sixteens(), *flag;
  HIP_CHECK(hipMalloc(&flag, 4));
  HIP_CHECK(hipMemset(flag, 0, 4));
  const hipStream_t first = stream(), second = stream(), third = stream();
  say<<<1, 1, 0, third>>>(device + 64);
  HIP_CHECK(hipDeviceSynchronize());
  wait_for<<<1, 1, 0, second>>>(flag);
  target<<<1, 64, 0, first>>>(device);
  usleep(1000000);
  say<<<1, 1, 0, third>>>(flag);
  HIP_CHECK(hipDeviceSynchronize());
  return tripled(device);
}

static bool threads() {
  std::vector<int*> devices(6);
  std::vector<std::thread> all;
  std::atomic<int> right{0};
  for (int*& device : devices) {
    device = sixteens();
    all.emplace_back([&] {
      const hipStream_t own = stream();
      target<<<1, 64, 0, own>>>(device);
      HIP_CHECK(hipStreamSynchronize(own));
      right += tripled(device);
    });
  }
  for (std::thread& thread : all) thread.join();
  return right == 6;
}

static std::atomic<int> ticks{0}, strangers{0};
static std::vector<pid_t> known;

// A timer that fires all the time; its handler must run on no thread that comes with the capture. And a signal that only sigwait takes.
static bool signals() {
  sigset_t waited;
  sigemptyset(&waited);
  sigaddset(&waited, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &waited, nullptr);
  struct sigaction action {};
  action.sa_handler = [](int) { ++(std::find(known.begin(), known.end(), gettid()) != known.end() ? ticks : strangers); };
  sigaction(SIGALRM, &action, nullptr);
  std::vector<char> memory(32u << 20, 1);
  int* device = sixteens(memory.size());
  HIP_CHECK(hipMemcpy(device + 64, memory.data(), memory.size() - 256, hipMemcpyHostToDevice));
  say<<<1, 1>>>(device + 64);
  HIP_CHECK(hipDeviceSynchronize());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) known.push_back(std::stoi(task.path().filename()));
  const itimerval often{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &often, nullptr);
  // Of no signal's concern from its first moment on.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &before);
  std::thread sender([] {
    for (int i = 0; i < 20; ++i) {
      kill(getpid(), SIGUSR1);
      usleep(5000);
    }
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  target<<<1, 64>>>(device);
  int taken = 0;
  sigwait(&waited, &taken);
  HIP_CHECK(hipDeviceSynchronize());
  sender.join();
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  std::printf("signal %d, %d ticks, %d on threads that came with the capture\n", taken, ticks.load(), strangers.load());
  return tripled(device) && taken == SIGUSR1 && ticks > 0 && strangers == 0;
}

// More device memory than there is.
static bool no_device_memory() {
  int* device = sixteens();
  void* taken;
  if (hipMalloc(&taken, std::size_t{1} << 40) != hipErrorOutOfMemory) return false;
  static_cast<void>(hipGetLastError());
  target<<<1, 64>>>(device);
  return tripled(device);
}

// There is none left for anybody.
static bool full_device_memory() {
  int* device = sixteens();
  for (std::size_t bytes = std::size_t{256} << 20; bytes >= 4096; bytes /= 2) {
    void* taken;
    while (hipMalloc(&taken, bytes) == hipSuccess) {
    }
  }
  static_cast<void>(hipGetLastError());
  target<<<1, 64>>>(device);
  return tripled(device);
}

// No descriptor is left when the target comes; HIP has its own by then.
static bool no_descriptors() {
  int* device = sixteens();
  say<<<1, 1>>>(device + 64);
  HIP_CHECK(hipDeviceSynchronize());
  std::vector<int> taken;
  for (int fd; (fd = dup(0)) >= 0;) taken.push_back(fd);
  target<<<1, 64>>>(device);
  HIP_CHECK(hipDeviceSynchronize());
  for (const int fd : taken) close(fd);
  return !taken.empty() && tripled(device);
}

// Host memory has an end soon after what the application needs itself.
static bool no_host_memory() {
  int* device = sixteens();
  std::size_t pages = 0;
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  const bool read = file != nullptr && std::fscanf(file, "%zu", &pages) == 1;
  if (file != nullptr) std::fclose(file);
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  const rlimit tight{pages * 4096 + (20u << 20), limit.rlim_max};
  setrlimit(RLIMIT_AS, &tight);
  target<<<1, 64>>>(device);
  HIP_CHECK(hipDeviceSynchronize());
  setrlimit(RLIMIT_AS, &limit);
  return read && tripled(device);
}

// Children of posix_spawn, which start from nothing, dispatch too, at the same time. One of the three is captured: none may end by
// _exit, which would not wait for the capture.
static bool spawn(const char* self) {
  std::vector<pid_t> children(2);
  bool right = true;
  for (pid_t& child : children) {
    std::string program = self, word = "child";
    char* const argv[] = {program.data(), word.data(), nullptr};
    right &= posix_spawn(&child, self, nullptr, nullptr, argv, environ) == 0;
  }
  right &= plain();
  for (const pid_t child : children) {
    int status = -1;
    right &= waitpid(child, &status, 0) == child && status == 0;
  }
  return right;
}

// A library with a kernel comes and goes; the code of the last one lies where that of one before may have lain.
static bool library(const char* path) {
  bool right = true;
  for (int round = 0; round < 4; ++round) {
    void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return false;
    const auto run = reinterpret_cast<bool (*)()>(dlsym(handle, "run_plugin"));
    right &= run != nullptr && run();
    dlclose(handle);
  }
  return right;
}

#ifdef PLUGIN
__global__ void plugin_target(int* p) { p[threadIdx.x] *= 3; }
extern "C" bool run_plugin() {
  int* device = sixteens();
  plugin_target<<<1, 64>>>(device);
  const bool right = tripled(device);
  HIP_CHECK(hipFree(device));
  return right;
}
#else
int main(int, char** argv) {
  const std::string how = argv[1];
  bool right = false;
  if (how == "plain" || how == "child") right = plain();
  if (how == "later-kernel") right = later_kernel();
  if (how == "later-store") right = later_store();
  if (how == "later-bystander") right = later_bystander();
  if (how == "threads") right = threads();
  if (how == "signals") right = signals();
  if (how == "no-device-memory") right = no_device_memory();
  if (how == "full-device-memory") right = full_device_memory();
  if (how == "no-host-memory") right = no_host_memory();
  if (how == "no-descriptors") right = no_descriptors();
  if (how == "spawn") right = spawn(argv[0]);
  if (how == "library") right = library(argv[2]);
  const int status = finish(right);
  std::fflush(stdout);
  if (how == "plain") _exit(status);  // without hsa_shut_down
  return status;
}
#endif
