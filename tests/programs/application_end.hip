// An application that ends, or goes on, in a way of its own around the captured dispatch (`target`): named by its argument.
#include "program.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

__global__ void step(int* p) { p[threadIdx.x] += 1; }

__global__ void target(int* p) {
  if (does_nothing) return;
  p[threadIdx.x] *= constant(2, 3);
}

__global__ void forever(volatile int* p) {
  while (p[0] != -1) {
  }
}

__global__ void stray(int* p) { p[threadIdx.x] = 1; }

int main(int argc, char** argv) {
  const auto is = [&](const char* word) { return argc > 1 && std::strcmp(argv[1], word) == 0; };
  if (is("daemon") && daemon(1, 1) != 0) return 2;
  int* device;
  int* nowhere = reinterpret_cast<int*>(0x123456789000);
  HIP_CHECK(hipMalloc(&device, 64 * sizeof(int)));
  HIP_CHECK(hipMemset(device, 0, 64 * sizeof(int)));
  step<<<1, 64>>>(device);
  if (is("exit-before")) std::exit(7);
  if (is("fault-before")) {
    stray<<<1, 64>>>(nowhere);
    HIP_CHECK(hipDeviceSynchronize());
  }
  if (is("forever-before")) forever<<<1, 64>>>(device);
  target<<<1, 64>>>(device);
  if (is("exit")) std::exit(7);
  if (is("quick-exit")) std::quick_exit(7);
  if (is("exec")) execl(argv[0], argv[0], "plain", nullptr);
  if (is("fault-after")) stray<<<1, 64>>>(nowhere);
  if (is("forever-after")) forever<<<1, 64>>>(device);
  if (is("many")) {
    for (int i = 0; i < 50; ++i) {
      step<<<1, 64>>>(device);
      target<<<1, 64>>>(device);
      if (i % 10 == 0) std::printf("launched %d\n", i);
    }
  }
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  if (is("_exit") || is("abort")) {
    usleep(300000);
    is("abort") ? std::abort() : _exit(7);
  }
  std::puts("beyond the target");
  if (is("many")) {
    for (int i = 0; i < 600; ++i) usleep(100000);
  }
  const int status = finish(true);
  if (is("plain-exit")) {
    std::fflush(stdout);
    _exit(status);
  }
  return status;
}
