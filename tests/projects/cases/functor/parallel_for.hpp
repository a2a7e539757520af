#pragma once

#include <hip/hip_runtime.h>

#include <cstring>

namespace tasks {
namespace detail {

inline __constant__ unsigned long constant_buffer[512];

template <class Driver>
__global__ __launch_bounds__(256, 1) static void launch_constant_memory() {
  const Driver& driver = *reinterpret_cast<const Driver*>(constant_buffer);
  driver();
}

template <class Functor>
struct ParallelFor {
  Functor functor;
  int count;
  __device__ void operator()() const {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) functor(i);
  }
};

}  // namespace detail

template <class Functor>
hipError_t parallel_for(int count, const Functor& functor) {
  const detail::ParallelFor<Functor> driver{functor, count};
  static_assert(sizeof driver <= sizeof detail::constant_buffer);
  const hipError_t status = hipMemcpyToSymbol(HIP_SYMBOL(detail::constant_buffer), &driver, sizeof driver);
  if (status != hipSuccess) return status;
  detail::launch_constant_memory<detail::ParallelFor<Functor>><<<3, 64>>>();
  return hipGetLastError();
}

}  // namespace tasks
