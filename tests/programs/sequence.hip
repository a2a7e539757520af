// A chain of dispatches, each working on what the one before left: x = i; x = 2x + 1; y += x; x = y - x. Launched
// one by one (stream), with events that measure the time between them (timed), as a graph, or with something between them that
// breaks the chain for whoever captures it as one: sync (the host waits), copy (a copy back on the stream), small (a copy of a few
// bytes, which some runtimes do with a kernel on the stream), event (another stream's kernel between), host (a host function on the
// stream, on whose result the next kernel works). fault: the second kernel stores where nothing is mapped.
#include <unistd.h>

#include <string>
#include <vector>

#include "program.hpp"

__device__ int calls;  // counts the dispatches of `mix`, which adds them up

__global__ void fill(int* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = i;
}

__global__ void stretch(int* x, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = constant(2, 3) * x[i] + 1;
}

__global__ void accumulate(const int* x, int* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] += x[i];
}

__global__ void mix(int* x, const int* y, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i == 0) calls += 1;
  if (i < n) x[i] = y[i] - x[i];
}

// Adds what the host function left to where it may be seen: once for each that came in time.
__global__ void follow(int* seen, const int* left) { *seen += *left; }

void leave_one(void* left) {
  usleep(20000);
  *static_cast<int*>(left) = 1;
}

constexpr int count = 3000;
constexpr size_t buffer_bytes = 256 << 10;  // more than the runtimes copy with a kernel
constexpr int blocks = (count + 255) / 256;

struct Chain {
  int *x, *y;
  hipStream_t stream, other;
  std::string mode;
  int* copied;
  hipEvent_t begun, ended;

  void between() {
    if (mode == "sync") HIP_CHECK(hipStreamSynchronize(stream));
    if (mode == "copy") HIP_CHECK(hipMemcpyAsync(copied, x, buffer_bytes, hipMemcpyDeviceToHost, stream));
    if (mode == "small") HIP_CHECK(hipMemcpyAsync(copied, x, 64, hipMemcpyDeviceToHost, stream));
    if (mode == "host") {
      HIP_CHECK(hipLaunchHostFunc(stream, leave_one, copied));
      follow<<<1, 1, 0, stream>>>(copied + 1, copied);
      HIP_CHECK(hipMemsetAsync(copied, 0, sizeof(int), stream));
    }
    if (mode != "event") return;
    hipEvent_t first, second;
    HIP_CHECK(hipEventCreate(&first));
    HIP_CHECK(hipEventCreate(&second));
    HIP_CHECK(hipEventRecord(first, stream));
    HIP_CHECK(hipStreamWaitEvent(other, first, 0));
    stretch<<<blocks, 256, 0, other>>>(x, count);
    HIP_CHECK(hipEventRecord(second, other));
    HIP_CHECK(hipStreamWaitEvent(stream, second, 0));
  }

  void launch() {
    if (mode == "timed") HIP_CHECK(hipEventRecord(begun, stream));
    stretch<<<blocks, 256, 0, stream>>>(x, count);
    between();
    accumulate<<<blocks, 256, 0, stream>>>(x, mode == "fault" ? reinterpret_cast<int*>(0x7a5500000000) : y, count);
    if (mode == "timed") HIP_CHECK(hipEventRecord(ended, stream));
    mix<<<blocks, 256, 0, stream>>>(x, y, count);
    HIP_CHECK(hipGetLastError());
  }
};

int main(int argc, char** argv) {
  Chain chain{};
  chain.mode = argc > 1 ? argv[1] : "stream";
  HIP_CHECK(hipMalloc(&chain.x, buffer_bytes));
  HIP_CHECK(hipMalloc(&chain.y, count * sizeof(int)));
  HIP_CHECK(hipHostMalloc(&chain.copied, buffer_bytes));
  HIP_CHECK(hipEventCreate(&chain.begun));
  HIP_CHECK(hipEventCreate(&chain.ended));
  chain.copied[0] = chain.copied[1] = 0;
  HIP_CHECK(hipMemset(chain.y, 0, count * sizeof(int)));
  HIP_CHECK(hipStreamCreate(&chain.stream));
  HIP_CHECK(hipStreamCreate(&chain.other));
  fill<<<blocks, 256, 0, chain.stream>>>(chain.x, count);
  HIP_CHECK(hipStreamSynchronize(chain.stream));
  if (chain.mode == "graph") {
    hipGraph_t graph;
    hipGraphExec_t executable;
    HIP_CHECK(hipStreamBeginCapture(chain.stream, hipStreamCaptureModeGlobal));
    chain.launch();
    HIP_CHECK(hipStreamEndCapture(chain.stream, &graph));
    HIP_CHECK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
    for (int round = 0; round < 2; ++round) HIP_CHECK(hipGraphLaunch(executable, chain.stream));
  } else {
    for (int round = 0; round < 2; ++round) chain.launch();
  }
  HIP_CHECK(hipStreamSynchronize(chain.stream));

  std::vector<int> x(count), y(count);
  int called = 0;
  HIP_CHECK(hipMemcpy(x.data(), chain.x, count * sizeof(int), hipMemcpyDeviceToHost));
  HIP_CHECK(hipMemcpy(y.data(), chain.y, count * sizeof(int), hipMemcpyDeviceToHost));
  HIP_CHECK(hipMemcpyFromSymbol(&called, HIP_SYMBOL(calls), sizeof called));
  bool right = called == 2 && (chain.mode != "host" || chain.copied[1] == 2);
  if (chain.mode == "timed") {
    float took_ms = 0;
    HIP_CHECK(hipEventElapsedTime(&took_ms, chain.begun, chain.ended));
    right &= took_ms > 0 && took_ms < 1000;
  }
  for (int i = 0; i < count; ++i) {
    int wanted_x = i, wanted_y = 0;
    for (int round = 0; round < 2; ++round) {
      for (int times = 0; times < (chain.mode == "event" ? 2 : 1); ++times) wanted_x = 2 * wanted_x + 1;
      wanted_y += wanted_x;
      wanted_x = wanted_y - wanted_x;
    }
    right &= x[i] == wanted_x && y[i] == wanted_y;
  }
  return finish(right);
}
