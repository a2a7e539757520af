#include <hip/hip_runtime.h>

__device__ float half_of(float x) { return 0.5f * x; }
