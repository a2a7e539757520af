// Reductions of device memory, each of a translation unit of its own.
#pragma once

#include <hip/hip_runtime.h>

#include <cstddef>

hipError_t sum_int(const int* in, int* out, std::size_t count);
hipError_t sum_float(const float* in, float* out, std::size_t count);
hipError_t sum_double(const double* in, double* out, std::size_t count);
hipError_t cub_max(const int* in, int* out, std::size_t count);

// Such libraries are called twice: for the size of their scratch memory, then to do the work.
template <class Call>
hipError_t call_twice(Call call) {
  std::size_t bytes = 0;
  void* scratch = nullptr;
  if (const hipError_t status = call(nullptr, bytes); status != hipSuccess) return status;
  if (const hipError_t status = hipMalloc(&scratch, bytes + 1); status != hipSuccess) return status;
  const hipError_t status = call(scratch, bytes);
  if (const hipError_t freed = hipFree(scratch); freed != hipSuccess) return freed;
  return status;
}
