// Names the kernel and does not have it: "__global__ void clamp_kernel(float*) {" in a comment is no definition.
#include <hip/hip_runtime.h>

__global__ void clamp_kernel_of_another_name(float* data) { data[threadIdx.x] = 0.0f; }

const char* unrelated() { return "__global__ void clamp_kernel(float* data) {"; }
