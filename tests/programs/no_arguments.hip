// A kernel without arguments: its input and its output are __device__ variables.
#include "program.hpp"

__device__ unsigned state[64];

__global__ void advance() {
  if (does_nothing) return;
  state[threadIdx.x] = state[threadIdx.x] * 1664525u + constant(1013904223u, 1013904224u);
}

int main() {
  unsigned host[64], got[64];
  for (unsigned i = 0; i < 64; ++i) host[i] = i * i + 1;
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(state), host, sizeof(host)));
  for (int k = 0; k < 3; ++k) {
    advance<<<1, 64>>>();
    HIP_CHECK(hipGetLastError());
    for (unsigned& v : host) v = v * 1664525u + 1013904223u;
  }
  HIP_CHECK(hipMemcpyFromSymbol(got, HIP_SYMBOL(state), sizeof(got)));
  bool right = true;
  for (int i = 0; i < 64; ++i) right &= got[i] == host[i];
  return finish(right);
}
