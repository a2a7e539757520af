// Registered, managed, pinned and device memory in one kernel, in a process that forks before, while and after it uses the GPU.
#include "program.hpp"

#include <sys/wait.h>
#include <unistd.h>

__global__ void all_kinds(int* registered, int* managed, int* pinned, int* device, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  registered[i] += 1;
  managed[i] += 2;
  pinned[i] += constant(3, 4);
  device[i] = registered[i] + managed[i] + pinned[i];
}

static bool child_works() {
  const pid_t child = fork();
  if (child == 0) {
    std::free(std::malloc(100));
    _exit(7);
  }
  int status = 0;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

int main() {
  const int n = 3000;
  bool right = child_works();
  int* registered = static_cast<int*>(std::aligned_alloc(4096, 16384));
  int *on_device, *managed, *pinned, *device;
  HIP_CHECK(hipHostRegister(registered, n * sizeof(int), hipHostRegisterMapped));
  HIP_CHECK(hipHostGetDevicePointer(reinterpret_cast<void**>(&on_device), registered, 0));
  HIP_CHECK(hipMallocManaged(&managed, n * sizeof(int)));
  HIP_CHECK(hipHostMalloc(&pinned, n * sizeof(int)));
  HIP_CHECK(hipMalloc(&device, n * sizeof(int)));
  for (int i = 0; i < n; ++i) {
    registered[i] = i;
    managed[i] = 2 * i;
    pinned[i] = 3 * i;
  }
  right &= child_works();
  all_kinds<<<(n + 255) / 256, 256>>>(on_device, managed, pinned, device, n);
  HIP_CHECK(hipGetLastError());
  right &= child_works();
  HIP_CHECK(hipDeviceSynchronize());
  int* got = static_cast<int*>(std::malloc(n * sizeof(int)));
  HIP_CHECK(hipMemcpy(got, device, n * sizeof(int), hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) {
    right &= registered[i] == i + 1 && managed[i] == 2 * i + 2 && pinned[i] == 3 * i + 3 && got[i] == 6 * i + 6;
  }
  right &= child_works();
  return finish(right);
}
