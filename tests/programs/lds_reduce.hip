// Tree reduction in LDS with barriers: one sum a workgroup.
#include "program.hpp"

#include <vector>

__global__ void lds_reduce(const int* x, int* sums, int n) {
  if (does_nothing) return;
  __shared__ int partial[256];
  const int t = static_cast<int>(threadIdx.x);
  const int i = static_cast<int>(blockIdx.x) * 256 + t;
  partial[t] = i < n ? constant(1, 3) * x[i] : 0;
  __syncthreads();
  for (int half = 128; half > 0; half >>= 1) {
    if (t < half) partial[t] += partial[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = partial[0];
}

int main() {
  const int n = 2000, blocks = (n + 255) / 256;
  std::vector<int> x(n), sums(blocks), want(blocks, 0);
  for (int i = 0; i < n; ++i) {
    x[i] = (i * 2654435) % 1000 - 300;
    want[i / 256] += x[i];
  }
  int *dx, *dsums;
  HIP_CHECK(hipMalloc(&dx, n * sizeof(int)));
  HIP_CHECK(hipMalloc(&dsums, blocks * sizeof(int)));
  HIP_CHECK(hipMemcpy(dx, x.data(), n * sizeof(int), hipMemcpyHostToDevice));
  lds_reduce<<<blocks, 256>>>(dx, dsums, n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipMemcpy(sums.data(), dsums, blocks * sizeof(int), hipMemcpyDeviceToHost));
  return finish(sums == want);
}
