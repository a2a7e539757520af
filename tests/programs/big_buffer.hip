// Incompressible data, so that a capture takes long and much disk; optionally dies while the capture is under way.
// big_buffer MEBIBYTES [abort|kill|narrow]   narrow: numbers of 20 bits, which zstd makes a third of
#include "program.hpp"

#include <csignal>
#include <cstring>
#include <unistd.h>
#include <vector>

__global__ void touch(std::uint64_t* x) {
  if (does_nothing) return;
  x[threadIdx.x] += constant(1u, 2u);
}

int main(int argc, char** argv) {
  const std::size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64) << 20;
  std::vector<std::uint64_t> host(bytes / 8), got(64);
  std::uint64_t random = 88172645463325252u;
  for (std::uint64_t& v : host) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    v = random;
  }
  if (argc > 2 && std::strcmp(argv[2], "narrow") == 0)
    for (std::uint64_t& v : host) v &= (1u << 20) - 1;
  HIP_CHECK(hipSetDeviceFlags(hipDeviceScheduleBlockingSync));  // a thread that spins would take a processor from the capture
  std::uint64_t* device;
  HIP_CHECK(hipMalloc(&device, bytes));
  HIP_CHECK(hipMemcpy(device, host.data(), bytes, hipMemcpyHostToDevice));
  touch<<<1, 64>>>(device);
  HIP_CHECK(hipGetLastError());
  if (argc > 2 && (std::strcmp(argv[2], "abort") == 0 || std::strcmp(argv[2], "kill") == 0)) {
    usleep(20000);  // the capture has begun, and 64 MiB take much longer than this
    if (std::strcmp(argv[2], "kill") == 0) kill(getpid(), SIGKILL);
    std::abort();
  }
  HIP_CHECK(hipMemcpy(got.data(), device, 512, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < 64; ++i) right &= got[i] == host[i] + 1;
  return finish(right);
}
