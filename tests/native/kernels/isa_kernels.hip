// Kernels of the interpreter's tests. Each does one kind of thing; the expected result is computed by the test.
#include <hip/hip_runtime.h>

extern "C" __global__ void vector_add(const float* a, const float* b, float* c, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

extern "C" __global__ void vector_scale(float* x, float factor, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] *= factor;
}

extern "C" __global__ void bias_relu(float* x, const float* bias, int rows, int columns) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y * blockDim.y + threadIdx.y;
  if (r < rows && c < columns) {
    const float v = x[r * columns + c] + bias[c];
    x[r * columns + c] = v > 0.0f ? v : 0.0f;
  }
}

extern "C" __global__ void histogram(const unsigned char* data, unsigned* bins, int n) {
  __shared__ unsigned local[256];
  for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[data[i]], 1u);
  __syncthreads();
  for (int i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], local[i]);
}

extern "C" __global__ void lds_reduce(const float* in, float* out) {
  __shared__ float partial[256];
  partial[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = partial[0];
}

extern "C" __global__ void private_array(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int values[32];
  for (int k = 0; k < 32; ++k) values[k] = in[i] * k + 7;
  int sum = 0;
  for (int k = 0; k < 32; ++k) sum += values[(in[i] + k * 5) & 31] * (k + 1);
  values[in[i] & 31] = sum;
  out[i] = values[(in[i] + 1) & 31] + values[in[i] & 31];
}

extern "C" __global__ void batched_scale(float** batch, float factor, int n) {
  float* x = batch[blockIdx.y];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] *= factor * (blockIdx.y + 1);
}

extern "C" __global__ void no_arguments() {
  if (threadIdx.x > 2000) __builtin_trap();
}

extern "C" __global__ void trap_now(int* x) {
  if (x[threadIdx.x] == 3) __builtin_trap();
}

// Flat pointers that may be LDS, private or global.
__device__ __attribute__((noinline)) int sum_of(const int* p, int n) {
  int s = 0;
  for (int i = 0; i < n; ++i) s += p[i];
  return s;
}
extern "C" __global__ void flat_pointers(const int* in, int* out) {
  __shared__ int shared[64];
  int own[8];
  shared[threadIdx.x] = in[threadIdx.x] * 2;
  for (int k = 0; k < 8; ++k) own[k] = in[threadIdx.x] + k;
  __syncthreads();
  out[threadIdx.x] = sum_of(own, 8) + 1000 * sum_of(shared, 4) + 1000000 * sum_of(in, 3);
}

extern "C" __global__ void sub_dword(const signed char* b, const short* h, signed char* bo, unsigned short* ho, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  bo[i] = static_cast<signed char>(b[i] + 3);
  ho[i] = static_cast<unsigned short>(h[i] * 2 + b[i]);
}

extern "C" __global__ void wide_copy(const float4* in, float4* out, const double2* din, double2* dout) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float4 v = in[i];
  v.w += v.x;
  out[i] = v;
  double2 d = din[i];
  d.x = d.x * 0.5 + d.y;
  dout[i] = d;
}

extern "C" __global__ void atomics(unsigned* u, int* s, unsigned long long* w, float* f, unsigned* cas) {
  const unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&u[0], t);
  atomicMax(&u[1], t * 7 % 1000);
  atomicMin(&s[0], static_cast<int>(500 - t));
  atomicOr(&u[2], 1u << (t & 31));
  atomicXor(&u[3], t);
  atomicAdd(&w[0], 0x100000000ull + t);
  atomicAdd(&f[0], 1.0f);
  unsigned seen = cas[0], assumed;
  do {
    assumed = seen;
    seen = atomicCAS(&cas[0], assumed, assumed * 1u + 2u);
  } while (seen != assumed);
}

extern "C" __global__ void shuffles(const int* in, int* out, unsigned long long* ballots) {
  const int v = in[threadIdx.x];
  int sum = v;
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor(sum, offset, 32);
  out[threadIdx.x] = sum + 1000 * __shfl(v, 5, 32) + 100000 * __shfl_up(v, 1, 32);
  const unsigned long long b = __ballot(v & 1);
  ballots[threadIdx.x] = b;
}

__device__ __attribute__((noinline)) int times_three(int v) { return v * 3; }
__device__ __attribute__((noinline)) int minus_nine(int v) { return v - 9; }
__device__ __attribute__((noinline)) int squared(int v) { return v * v; }
extern "C" __global__ void indirect(const int* in, int* out) {
  int (*const table[3])(int) = {times_three, minus_nine, squared};
  out[threadIdx.x] = table[in[threadIdx.x] % 3](in[threadIdx.x]);
}

extern "C" __global__ void integers(const long long* a, const long long* b, long long* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const long long x = a[i], y = b[i];
  long long r = x * y + (x >> 3) - (y << 2);
  r ^= y != 0 ? x / y : 17;
  r += y != 0 ? x % y : 5;
  r += __popcll(x) + __clzll(y) + __ffsll(x);
  out[i] = r;
}

extern "C" __global__ void partial_groups(unsigned* out) { out[blockIdx.x * 128 + threadIdx.x] = blockIdx.x * 128 + threadIdx.x + 1; }

extern "C" __global__ void three_dimensions(int* out, int nx, int ny) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny) out[(z * ny + y) * nx + x] = x + 100 * y + 10000 * z;
}
