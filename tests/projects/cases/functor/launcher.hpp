// As Kokkos launches: one generic kernel, the functor in a constant buffer, its operator() is the code.
#pragma once

#include "program.hpp"

namespace cases {

constexpr int buffer_bytes = 512;
__constant__ static unsigned long long constant_buffer[buffer_bytes / 8];

template <class Functor>
__global__ void launch_from_constant(int n) {
  const Functor& functor = *reinterpret_cast<const Functor*>(constant_buffer);
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) functor(i);
}

template <class Functor>
void parallel_for(int n, const Functor& functor) {
  static_assert(sizeof(Functor) <= buffer_bytes);
  HIP_CHECK(hipMemcpyToSymbol(HIP_SYMBOL(constant_buffer), &functor, sizeof functor));
  launch_from_constant<Functor><<<(n + 255) / 256, 256>>>(n);
  HIP_CHECK(hipDeviceSynchronize());
}

}  // namespace cases

void fill(float* out, int n);
void scale(const float* in, float* out, int n);
