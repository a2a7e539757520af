// Memory of the device that nobody writes, used or only copied: `uninitialised used|copied|cleared|uploaded|kernel`.
#include <cstring>
#include <vector>

#include "program.hpp"

struct Padded {
  char tag;
  int value;
};
constexpr int kItems = 4096;

__global__ void fill(Padded* out) {
  out[threadIdx.x].tag = 1;
  out[threadIdx.x].value = static_cast<int>(threadIdx.x);
}
__global__ void increment(const Padded* in, Padded* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
  out[i].value = in[i].value + 1;
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "";
  Padded *in = nullptr, *other = nullptr, *out = nullptr;
  for (Padded** p : {&in, &other, &out}) HIP_CHECK(hipMalloc(p, kItems * sizeof(Padded)));
  const std::vector<Padded> host(kItems, Padded{2, 3});
  if (!std::strcmp(how, "cleared")) HIP_CHECK(hipMemset(in, 0, kItems * sizeof(Padded)));
  if (!std::strcmp(how, "uploaded")) HIP_CHECK(hipMemcpy(in, host.data(), kItems * sizeof(Padded), hipMemcpyHostToDevice));
  if (!std::strcmp(how, "kernel")) fill<<<1, 64>>>(in);
  if (!std::strcmp(how, "copied") || !std::strcmp(how, "kernel")) {
    HIP_CHECK(hipMemcpy(other, in, 64 * sizeof(Padded), hipMemcpyDeviceToDevice));
    std::swap(in, other);
  }
  increment<<<1, 64>>>(in, out);
  HIP_CHECK(hipDeviceSynchronize());
  std::vector<Padded> result(64);
  HIP_CHECK(hipMemcpy(result.data(), out, 64 * sizeof(Padded), hipMemcpyDeviceToHost));
  return finish(true);
}
