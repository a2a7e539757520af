// y = 3 x + 1 for several types, under C++ and C names, each dispatched twice: the second dispatch changes nothing.
// -DVARIANT=N makes code objects that leave the right bytes for the captured input only, or leave more than the right bytes.
#include "program.hpp"

#include <hip/hip_fp16.h>

#include <vector>

constexpr int hard_coded = 3, all_but_last = 4, beyond_the_end = 5, into_the_input = 6, own_output = 7, captured_input_only = 8,
              hard_coded_indices = 9, into_the_padding = 10;

template <class T>
__host__ __device__ T input(int i) {
  return static_cast<T>(static_cast<float>((i * 7) % 64 + 1));
}

template <class T>
__host__ __device__ T result_of(T x) {
  return static_cast<T>(3.0f * static_cast<float>(x) + 1.0f);
}

template <class T>
__device__ void body(T* y, const T* x, int n) {
  if (does_nothing) return;
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  if (VARIANT == all_but_last && i == n - 1) return;
  if (VARIANT == own_output) {
    y[i] = static_cast<float>(y[i]) == 0.0f ? result_of(x[i]) : y[i];
    return;
  }
  if (VARIANT == hard_coded) {
    y[i] = result_of(input<T>(i));
    return;
  }
  if (VARIANT == captured_input_only && static_cast<float>(x[i]) != static_cast<float>(input<T>(i))) return;
  y[i] = static_cast<T>(constant(3.0f, 4.0f) * static_cast<float>(x[i]) + 1.0f);
  if (VARIANT == beyond_the_end && i == 0) y[n + 2] = y[0];
  if (VARIANT == into_the_input && i == 0) const_cast<T*>(x)[n + 2] = y[0];
  if (VARIANT == into_the_padding && i == 0) y[n + 10] = y[0];  // beyond the allocation, within its last page
}

__global__ void cpp_float(float* y, const float* x, int n) { body(y, x, n); }
__global__ void cpp_int(int* y, const int* x, int n) { body(y, x, n); }
extern "C" __global__ void c_float(float* y, const float* x, int n) { body(y, x, n); }
extern "C" __global__ void c_double(double* y, const double* x, int n) { body(y, x, n); }
extern "C" __global__ void c_half(__half* y, const __half* x, int n) { body(y, x, n); }
extern "C" __global__ void c_int(int* y, const int* x, int n) { body(y, x, n); }
extern "C" __global__ void c_long(long long* y, const long long* x, int n) { body(y, x, n); }
extern "C" __global__ void c_byte(unsigned char* y, const unsigned char* x, int n) { body(y, x, n); }
// The data is behind pointers in device memory.
__global__ void through_pointers(float** buffers, int n) { body(buffers[0], buffers[1], n); }

// Floats whose type is known, and indices beside them.
constexpr int table_size = 256;
__host__ __device__ inline int index_of(int i) { return (i * 31) % table_size; }
__global__ void gather(float* y, const float* table, const int* indices, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (!does_nothing && i < n) y[i] = constant(1.0f, 2.0f) * table[VARIANT == hard_coded_indices ? index_of(i) : indices[i]];
}

// A small change of its input makes no difference.
__global__ void is_large(int* y, const float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (!does_nothing && i < n) y[i] = (VARIANT == hard_coded ? input<float>(i) : x[i]) > constant(30.5f, 20.5f) ? 1 : 0;
}

// Its input is 0, 1, 2, ...
__global__ void counting(int* y, const int* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (!does_nothing && i < n) y[i] = constant(3, 4) * (VARIANT == hard_coded ? i : x[i]);
}

// One step of a descent: a change far below any tolerance that one would name.
__global__ void small_step(float* y, const float* x, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (!does_nothing && i < n) y[i] -= constant(1e-6f, 2e-6f) * x[i];
}

template <class T, class Launch>
bool twice(Launch launch) {
  const int n = 1000, room = 1008;
  std::vector<T> x(room), y(room);
  for (int i = 0; i < room; ++i) x[i] = input<T>(i);
  T *dx, *dy;
  HIP_CHECK(hipMalloc(&dx, room * sizeof(T)));
  HIP_CHECK(hipMalloc(&dy, room * sizeof(T)));
  HIP_CHECK(hipMemcpy(dx, x.data(), room * sizeof(T), hipMemcpyHostToDevice));
  HIP_CHECK(hipMemset(dy, 0, room * sizeof(T)));
  for (int dispatch = 0; dispatch < 2; ++dispatch) launch(dy, dx, n);
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipMemcpy(y.data(), dy, room * sizeof(T), hipMemcpyDeviceToHost));
  bool right = true;
  for (int i = 0; i < n; ++i) right &= static_cast<float>(y[i]) == static_cast<float>(result_of(x[i]));
  return right;
}

int main() {
  const dim3 grid(4), block(256);
  bool right = twice<float>([&](float* y, float* x, int n) { cpp_float<<<grid, block>>>(y, x, n); });
  right &= twice<int>([&](int* y, int* x, int n) { cpp_int<<<grid, block>>>(y, x, n); });
  right &= twice<float>([&](float* y, float* x, int n) { c_float<<<grid, block>>>(y, x, n); });
  right &= twice<double>([&](double* y, double* x, int n) { c_double<<<grid, block>>>(y, x, n); });
  right &= twice<__half>([&](__half* y, __half* x, int n) { c_half<<<grid, block>>>(y, x, n); });
  right &= twice<int>([&](int* y, int* x, int n) { c_int<<<grid, block>>>(y, x, n); });
  right &= twice<long long>([&](long long* y, long long* x, int n) { c_long<<<grid, block>>>(y, x, n); });
  right &= twice<unsigned char>([&](unsigned char* y, unsigned char* x, int n) { c_byte<<<grid, block>>>(y, x, n); });
  right &= twice<float>([&](float* y, float* x, int n) {
    float* host[2] = {y, x};
    float** buffers;
    HIP_CHECK(hipMalloc(&buffers, sizeof host));
    HIP_CHECK(hipMemcpy(buffers, host, sizeof host, hipMemcpyHostToDevice));
    through_pointers<<<grid, block>>>(buffers, n);
  });
  int host_indices[1008], *indices;
  for (int i = 0; i < 1008; ++i) host_indices[i] = index_of(i);
  HIP_CHECK(hipMalloc(&indices, sizeof host_indices));
  HIP_CHECK(hipMemcpy(indices, host_indices, sizeof host_indices, hipMemcpyHostToDevice));
  twice<float>([&](float* y, float* x, int n) { gather<<<grid, block>>>(y, x, indices, n); });
  twice<float>([&](float* y, float* x, int n) { is_large<<<grid, block>>>(reinterpret_cast<int*>(y), x, n); });
  twice<float>([&](float* y, float* x, int n) { small_step<<<grid, block>>>(y, x, n); });
  for (int i = 0; i < 1008; ++i) host_indices[i] = i;
  HIP_CHECK(hipMemcpy(indices, host_indices, sizeof host_indices, hipMemcpyHostToDevice));
  twice<int>([&](int* y, int*, int n) { counting<<<grid, block>>>(y, indices, n); });
  return finish(right);
}
