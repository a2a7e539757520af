// Behind the target, at once and without waiting: an event, another stream that waits for it, copies back on both streams.
// A capture whose own copies queued up behind those would never end. 7 before the first target, 14 after it.
#include "program.hpp"

__global__ void fill(int* p, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) p[i] = 7;
}

__global__ void times_two(int* p, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) p[i] *= constant(2, 3);
}

int main() {
  const int n = 1 << 14;
  int *device, *host;
  HIP_CHECK(hipMalloc(&device, n * sizeof(int)));
  HIP_CHECK(hipHostMalloc(&host, n * sizeof(int)));
  hipStream_t first, second;
  HIP_CHECK(hipStreamCreate(&first));
  HIP_CHECK(hipStreamCreate(&second));
  hipEvent_t done;
  HIP_CHECK(hipEventCreate(&done));
  fill<<<n / 256, 256, 0, first>>>(device, n);
  times_two<<<n / 256, 256, 0, first>>>(device, n);
  HIP_CHECK(hipEventRecord(done, first));
  HIP_CHECK(hipStreamWaitEvent(second, done, 0));
  times_two<<<n / 256, 256, 0, second>>>(device, n);
  HIP_CHECK(hipMemcpyAsync(host, device, n * sizeof(int), hipMemcpyDeviceToHost, second));
  HIP_CHECK(hipMemcpyAsync(host, device, n * sizeof(int), hipMemcpyDeviceToHost, first));
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipStreamSynchronize(second));
  HIP_CHECK(hipStreamSynchronize(first));
  HIP_CHECK(hipMemcpy(host, device, n * sizeof(int), hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right &= host[i] == 28;
  return finish(right);
}
