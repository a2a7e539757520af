// What every test program shares: error checks, variants, deterministic data.
//
// Each program is one small HIP application that checks its own results and prints EXIT-SUCCESS. The same source gives the
// variants of its kernel: compile it device-only with -DVARIANT=1 (a kernel that does nothing) or -DVARIANT=2 (a wrong constant).
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#ifndef VARIANT
#define VARIANT 0
#endif

constexpr bool does_nothing = VARIANT == 1;

// The right value, or another one in the variant with a wrong constant.
template <class T>
__host__ __device__ constexpr T constant(T right, T wrong) {
  return VARIANT == 2 ? wrong : right;
}

#define HIP_CHECK(call)                                                                                  \
  do {                                                                                                   \
    const hipError_t hip_status = (call);                                                                \
    if (hip_status != hipSuccess) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(hip_status)); \
      std::exit(2);                                                                                      \
    }                                                                                                    \
  } while (0)

inline int finish(bool right) {
  std::puts(right ? "EXIT-SUCCESS" : "EXIT-WRONG-RESULT");
  return right ? 0 : 1;
}

// Small values whose sums and products by powers of two are exact in fp32.
inline float sample(int i) { return static_cast<float>((i * 7919 + 13) % 1024) * 0.25f - 100.0f; }
