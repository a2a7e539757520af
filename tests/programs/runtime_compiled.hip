// A kernel that is compiled while the program runs (hiprtc), from text that is in no file. runtime_compiled [OPTION...] of the compiler.
#include "program.hpp"

#include <hip/hiprtc.h>

#include <string>
#include <vector>

#define RTC_CHECK(call)                                                                     \
  do {                                                                                      \
    const hiprtcResult rtc_status = (call);                                                 \
    if (rtc_status != HIPRTC_SUCCESS) {                                                     \
      std::fprintf(stderr, "%s: %s\n", #call, hiprtcGetErrorString(rtc_status));            \
      std::exit(2);                                                                         \
    }                                                                                       \
  } while (0)

static const char* const text = R"(
extern "C" __global__ void triple(float* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= 3.0f;
}
)";

int main(int argc, char** argv) {
  constexpr int n = 300;
  hipDeviceProp_t properties;
  HIP_CHECK(hipGetDeviceProperties(&properties, 0));
  const std::string target = std::string("--offload-arch=") + properties.gcnArchName;
  std::vector<const char*> options{target.c_str()};
  for (int i = 1; i < argc; ++i) options.push_back(argv[i]);
  hiprtcProgram program;
  RTC_CHECK(hiprtcCreateProgram(&program, text, "triple.hip", 0, nullptr, nullptr));
  RTC_CHECK(hiprtcCompileProgram(program, static_cast<int>(options.size()), options.data()));
  std::size_t bytes = 0;
  RTC_CHECK(hiprtcGetCodeSize(program, &bytes));
  std::vector<char> code(bytes);
  RTC_CHECK(hiprtcGetCode(program, code.data()));
  hipModule_t module;
  hipFunction_t function;
  HIP_CHECK(hipModuleLoadData(&module, code.data()));
  HIP_CHECK(hipModuleGetFunction(&function, module, "triple"));
  std::vector<float> values(n), got(n);
  for (int i = 0; i < n; ++i) values[i] = sample(i);
  float* x;
  HIP_CHECK(hipMalloc(&x, n * 4));
  HIP_CHECK(hipMemcpy(x, values.data(), n * 4, hipMemcpyHostToDevice));
  int count = n;
  void* arguments[] = {&x, &count};
  HIP_CHECK(hipModuleLaunchKernel(function, 5, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  HIP_CHECK(hipMemcpy(got.data(), x, n * 4, hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && got[i] == 3.0f * values[i];
  return finish(right);
}
