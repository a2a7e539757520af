// A program without kernels of its own that returns from main while the GPU has work. The HIP runtime then waits for it in
// a destructor of its library, which may come after those of preloaded ones.
#include "program.hpp"

int main() {
  void* memory = nullptr;
  HIP_CHECK(hipMalloc(&memory, 64 << 20));
  HIP_CHECK(hipMemsetAsync(memory, 1, 64 << 20, nullptr));
  std::puts("leaving");
  return 5;
}
