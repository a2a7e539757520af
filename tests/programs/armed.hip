// Twenty dispatches in a row, submitted without waiting, of which one misbehaves: which one is named on the command line.
//   numbers   buffers `a` and `b` in turn; dispatch 12 divides `a` by zero, dispatch 17 `b`
//   slow      dispatch 14 takes much longer than the others
//   fault     dispatch 9 stores to an address that is mapped nowhere
//   streams   as numbers, `a` and `b` each in a stream of its own, and a third stream that waits for both after every round
#include "program.hpp"

#include <cmath>
#include <cstring>
#include <vector>

constexpr int dispatches = 20;
constexpr int count = 1000;
constexpr int bad_a = 12, bad_b = 17, bad_slow = 14, bad_fault = 9;

// In place: what an element is before a dispatch says how many there were.
template <class T>
__global__ void grow(T* data, const int* index, int n, int round, float divisor) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[index[i]] = data[index[i]] / static_cast<T>(divisor) + static_cast<T>(constant(1, 2));
}

// The metadata says of no argument what it is.
extern "C" __global__ void grow_plain(void* data, int n, float divisor) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  auto* values = static_cast<float*>(data);
  if (i < n) values[i] = values[i] / divisor + constant(1.0f, 2.0f);
}

__global__ void spin(int* data, int loops) {
  if (does_nothing) return;
  int value = data[threadIdx.x];
  for (int i = 0; i < loops; ++i) value = value * 3 + i;
  data[threadIdx.x] = value;
}

__global__ void sum(const float* a, const _Float16* b, float* c) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) c[i] = a[i] + static_cast<float>(b[i]);
}

template <class T>
T* device(const std::vector<T>& values) {
  T* data;
  HIP_CHECK(hipMalloc(&data, values.size() * sizeof(T)));
  HIP_CHECK(hipMemcpy(data, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return data;
}

template <class T>
std::vector<T> host(const T* data, std::size_t n) {
  std::vector<T> values(n);
  HIP_CHECK(hipMemcpy(values.data(), data, n * sizeof(T), hipMemcpyDeviceToHost));
  return values;
}

// Element 0 is zero when it is divided by zero (NaN), all others are not (infinity).
template <class T>
std::vector<T> start(int before) {
  std::vector<T> values(count, static_cast<T>(1));
  values[0] = static_cast<T>(-before);
  return values;
}

template <class T>
bool grown(const std::vector<T>& values) {
  bool right = std::isnan(static_cast<float>(values[0]));
  for (int i = 1; i < count; ++i) right &= std::isinf(static_cast<float>(values[static_cast<std::size_t>(i)]));
  return right;
}

bool numbers(bool streams) {
  // a is grown by the even dispatches, b by the odd ones.
  float* a = device(start<float>(bad_a / 2));
  auto* b = device(start<_Float16>(bad_b / 2));
  float* plain = device(start<float>(3));
  float* c = device(std::vector<float>(count));
  std::vector<int> order(count);
  for (int i = 0; i < count; ++i) order[static_cast<std::size_t>(i)] = i;
  int* index = device(order);
  hipStream_t s[3] = {};
  hipEvent_t done[2], first, last;
  if (streams) for (auto& stream : s) HIP_CHECK(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (auto& event : done) HIP_CHECK(hipEventCreate(&event));
  HIP_CHECK(hipEventCreate(&first));
  HIP_CHECK(hipEventCreate(&last));
  HIP_CHECK(hipDeviceSynchronize());
  HIP_CHECK(hipEventRecord(first, s[0]));
  for (int round = 0; round < dispatches; ++round) {
    const float divisor = round == bad_a || round == bad_b ? 0.0f : 1.0f;
    const int of = round % 2;
    if (of == 0) grow<<<4, 256, 0, s[0]>>>(a, index, count, round, divisor);
    if (of == 1) grow<<<4, 256, 0, s[1]>>>(b, index, count, round, divisor);
    HIP_CHECK(hipEventRecord(done[of], s[of]));
    if (of == 1) {
      for (auto& event : done) HIP_CHECK(hipStreamWaitEvent(s[2], event, 0));
      sum<<<4, 256, 0, s[2]>>>(a, b, c);
    }
  }
  HIP_CHECK(hipEventRecord(last, s[0]));
  for (int round = 0; round < 5; ++round) grow_plain<<<4, 256, 0, s[0]>>>(plain, count, round == 3 ? 0.0f : 1.0f);
  HIP_CHECK(hipDeviceSynchronize());
  float milliseconds = -1;
  HIP_CHECK(hipEventElapsedTime(&milliseconds, first, last));
  return milliseconds > 0 && grown(host(a, count)) && grown(host(b, count)) && grown(host(plain, count)) && std::isnan(host(c, count)[0]);
}

bool slow() {
  std::vector<int> expected(64);
  for (int i = 0; i < 64; ++i) expected[static_cast<std::size_t>(i)] = i;
  int* data = device(expected);
  for (int round = 0; round < dispatches; ++round) {
    const int loops = round == bad_slow ? 40000 : 400 + round;
    spin<<<1, 64>>>(data, loops);
    for (int& value : expected)
      for (int i = 0; i < loops; ++i) value = static_cast<int>(static_cast<unsigned>(value) * 3u + static_cast<unsigned>(i));
  }
  return host(data, 64) == expected;
}

bool fault() {
  float* data = device(start<float>(0));
  std::vector<int> order(count);
  int* index = device(order);
  for (int round = 0; round < dispatches; ++round) {
    auto* to = round == bad_fault ? reinterpret_cast<float*>(0x123456789000ull) : data;
    grow<<<1, 64>>>(to, index, 1, round, 1.0f);
  }
  HIP_CHECK(hipDeviceSynchronize());
  return false;
}

int main(int argc, char** argv) {
  const auto is = [&](const char* word) { return argc == 2 && std::strcmp(argv[1], word) == 0; };
  if (is("numbers") || is("streams")) return finish(numbers(is("streams")));
  if (is("slow")) return finish(slow());
  if (is("fault")) return finish(fault());
  return 2;
}
