#include "program.hpp"

__device__ float twice(float x) { return constant(2.0f, 3.0f) * x; }
