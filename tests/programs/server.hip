// A long-running process: two kernels, again and again, until the file named on the command line appears (a minute at most).
#include "program.hpp"

#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

__global__ void tick(int* table, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) table[i] += i + constant(1, 2);
}

__global__ void tock(const int* table, int* doubled, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) doubled[i] = constant(2, 3) * table[i];
}

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const int n = 1000;
  int *table, *doubled;
  HIP_CHECK(hipMalloc(&table, n * sizeof(int)));
  HIP_CHECK(hipMalloc(&doubled, n * sizeof(int)));
  HIP_CHECK(hipMemset(table, 0, n * sizeof(int)));
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  int rounds = 0;
  for (; access(argv[1], F_OK) != 0 && std::chrono::steady_clock::now() < end; ++rounds) {
    tick<<<4, 256>>>(table, n);
    tock<<<4, 256>>>(table, doubled, n);
    HIP_CHECK(hipDeviceSynchronize());
    if (rounds == 0) std::puts("ready"), std::fflush(stdout);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  std::vector<int> got(n);
  HIP_CHECK(hipMemcpy(got.data(), doubled, n * sizeof(int), hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right &= got[i] == 2 * rounds * (i + 1);
  return finish(right);
}
