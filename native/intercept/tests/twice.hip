// Device code of entry_test.cpp's fake application: only its metadata matters there.
#include <hip/hip_runtime.h>
__global__ void twice(int* values) { values[threadIdx.x] *= 2; }
