// Permutes through an array in private memory, indexed by data so that it must live in scratch.
#include "program.hpp"

#include <vector>

__global__ void private_array(const int* x, int* y, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  volatile int table[96];
  for (int k = 0; k < 96; ++k) table[k] = k * constant(5, 7) + x[i];
  int at = x[i] & 63;
  for (int k = 0; k < 8; ++k) {
    table[at] = table[at] + k;
    at = (at + table[(at + 17) & 63]) & 63;
  }
  y[i] = table[at] ^ at;
}

int main() {
  const int n = 500;
  std::vector<int> x(n), y(n);
  for (int i = 0; i < n; ++i) x[i] = (i * 131 + 7) & 1023;
  int *dx, *dy;
  HIP_CHECK(hipMalloc(&dx, n * sizeof(int)));
  HIP_CHECK(hipMalloc(&dy, n * sizeof(int)));
  HIP_CHECK(hipMemcpy(dx, x.data(), n * sizeof(int), hipMemcpyHostToDevice));
  private_array<<<(n + 63) / 64, 64>>>(dx, dy, n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipMemcpy(y.data(), dy, n * sizeof(int), hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) {
    int table[96];
    for (int k = 0; k < 96; ++k) table[k] = k * 5 + x[i];
    int at = x[i] & 63;
    for (int k = 0; k < 8; ++k) {
      table[at] += k;
      at = (at + table[(at + 17) & 63]) & 63;
    }
    right &= y[i] == (table[at] ^ at);
  }
  return finish(right);
}
