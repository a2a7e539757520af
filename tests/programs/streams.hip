// Three busy streams, one of which waits for the captured dispatch by an event; the target writes device and pinned host memory
// and is timed by events. Before it, every element is 11; after it, 111.
#include "program.hpp"

#include <vector>

__global__ void accumulate(int* p, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) p[i] += 1;
}

__global__ void add_hundred(int* p, int* host, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  p[i] += constant(100, 101);
  host[i] = p[i];
}

int main() {
  const int n = 1 << 13, streams = 3, rounds = 30, target_round = 10;
  int *d[streams], *host;
  hipStream_t stream[streams];
  for (int s = 0; s < streams; ++s) {
    HIP_CHECK(hipMalloc(&d[s], n * sizeof(int)));
    HIP_CHECK(hipMemset(d[s], 0, n * sizeof(int)));
    HIP_CHECK(hipStreamCreate(&stream[s]));
  }
  HIP_CHECK(hipHostMalloc(&host, n * sizeof(int)));
  HIP_CHECK(hipDeviceSynchronize());
  hipEvent_t before, after;
  HIP_CHECK(hipEventCreate(&before));
  HIP_CHECK(hipEventCreate(&after));
  for (int round = 0; round < rounds; ++round) {
    for (int s = 0; s < streams; ++s) accumulate<<<n / 256, 256, 0, stream[s]>>>(d[s], n);
    if (round != target_round) continue;
    HIP_CHECK(hipEventRecord(before, stream[0]));
    add_hundred<<<n / 256, 256, 0, stream[0]>>>(d[0], host, n);
    HIP_CHECK(hipEventRecord(after, stream[0]));
    HIP_CHECK(hipStreamWaitEvent(stream[1], after, 0));
  }
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
  float milliseconds = -1;
  HIP_CHECK(hipEventElapsedTime(&milliseconds, before, after));
  bool right = milliseconds > 0;
  std::vector<int> got(n);
  for (int s = 0; s < streams; ++s) {
    HIP_CHECK(hipMemcpy(got.data(), d[s], n * sizeof(int), hipMemcpyDeviceToHost));
    for (const int value : got) right &= value == rounds + (s == 0 ? 100 : 0);
  }
  for (int i = 0; i < n; ++i) right &= host[i] == target_round + 1 + 100;
  return finish(right);
}
