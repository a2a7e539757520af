// What C++ asks of a device: constant and global variables, private arrays, calls of every kind, structs by value,
// pointers whose address space is not known, LDS of every size, grids of three dimensions, printf.
#include "matrix.hpp"

#include <hip/hip_ext.h>
#include <unistd.h>

__constant__ float filter[64];
__device__ int big_sums;
__device__ float weights[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
KERNEL void filtered(const float* x, float* y, int n, int taps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int j = 0; j < taps; ++j) sum += filter[j] * x[i + j];
  y[i] = sum * weights[i & 15];
  if (sum > 100) atomicAdd(&big_sums, 1);
}
CASE(filtered) {
  const int n = 200, taps = 9;
  const auto taps_of = whole<float>(64, -9, 9, 70), x = whole<float>(n + taps, -9, 9, 71);
  std::vector<float> want(n);
  int big = 0;
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = 0; j < taps; ++j) sum += taps_of[j] * x[i + j];
    want[i] = sum * static_cast<float>(i % 16 + 1);
    big += sum > 100;
  }
  t.set_symbol("filter", taps_of);
  t.set_symbol("big_sums", std::vector<int>{0});
  Device dx(x);
  Device<float> y(n);
  t.LAUNCH(filtered, 2, 128, 0, dx, y, n, taps);
  t.same("y", y.read(), want);
  t.same("big sums", {t.symbol_value<int>("big_sums")}, std::vector<int>{big});
}

// Elements chosen at run time: scratch, indexed registers or selects.
SHARED int shuffled(const int* x) {
  int a[48];
  for (int j = 0; j < 48; ++j) a[j] = x[j];
  for (int j = 0; j < 48; ++j) {
    const int k = (a[j] & 0xffff) % 48, old = a[k];
    a[k] = a[j];
    a[j] = old;
  }
  unsigned sum = 0;
  for (int j = 0; j < 48; ++j) sum = sum * 31 + static_cast<unsigned>(a[j]);
  return static_cast<int>(sum);
}
SHARED double picked(const int* x, int turn) {
  double a[6], sum = 0;
  short s[8];
  for (int j = 0; j < 6; ++j) a[j] = x[j] * 0.5;
  for (int j = 0; j < 8; ++j) s[j] = static_cast<short>(x[j + 6]);
  for (int j = 0; j < 9; ++j) {
    a[(turn + j) % 6] = a[(j + 2 * turn) % 6] * 0.5 + s[(turn * 3 + j) & 7];
    sum += a[j % 6];
  }
  return sum;
}
KERNEL void private_arrays(const int* x, int* out, double* doubles, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = shuffled(x + i * 48);
  doubles[i] = picked(x + i * 48, i % 6);
}
CASE(private_arrays) {
  const int n = 80;
  const auto x = whole<int>(n * 48, -30000, 30000, 72);
  std::vector<int> want(n);
  std::vector<double> doubles(n);
  for (int i = 0; i < n; ++i) want[i] = shuffled(&x[i * 48]), doubles[i] = picked(&x[i * 48], i % 6);
  Device dx(x);
  Device<int> out(n);
  Device<double> dd(n);
  t.LAUNCH(private_arrays, 2, 64, 0, dx, out, dd, n);
  t.same("ints", out.read(), want);
  t.same("doubles", dd.read(), doubles);
}

using Unary = float (*)(float);
__device__ __attribute__((noinline)) float twice(float x) { return x * 2 + 1; }
__device__ __attribute__((noinline)) float square(float x) { return x * x - 3; }
__device__ __attribute__((noinline)) float halved(float x) { return floorf(x) * 0.5f; }
__device__ Unary functions[3] = {twice, square, halved};
KERNEL void call_by_pointer(const float* x, const int* which, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = functions[which[i] % 3](x[i]) + twice(x[i]);
}
CASE(call_by_pointer) {
  const int n = 150;
  const auto x = whole<float>(n, -50, 50, 73);
  const auto which = whole<int>(n, 0, 1000, 74);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i)
    want[i] = (which[i] % 3 == 0 ? x[i] * 2 + 1 : which[i] % 3 == 1 ? x[i] * x[i] - 3 : x[i] * 0.5f) + x[i] * 2 + 1;
  Device dx(x);
  Device dw(which);
  Device<float> y(n);
  t.LAUNCH(call_by_pointer, 3, 64, 0, dx, dw, y, n);
  t.same("y", y.read(), want);
}

__device__ __attribute__((noinline)) int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
struct Matrix2 {
  long long a, b, c, d;
};
__device__ __attribute__((noinline)) Matrix2 multiply(Matrix2 l, Matrix2 r) {
  return {l.a * r.a + l.b * r.c, l.a * r.b + l.b * r.d, l.c * r.a + l.d * r.c, l.c * r.b + l.d * r.d};
}
__device__ __attribute__((noinline)) Matrix2 power(Matrix2 m, int n) {
  if (n == 0) return {1, 0, 0, 1};
  const Matrix2 half = power(m, n / 2), whole_power = multiply(half, half);
  return n & 1 ? multiply(whole_power, m) : whole_power;
}
KERNEL void recursive(const int* x, long long* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = fibonacci(x[i] & 7) + 1000 * power({1, 1, 1, 0}, x[i]).b;
}
CASE(recursive) {
  const int n = 70;
  const auto x = whole<int>(n, 0, 50, 75);
  std::vector<long long> fib{0, 1}, want(n);
  for (int i = 2; i < 60; ++i) fib.push_back(fib[i - 1] + fib[i - 2]);
  for (int i = 0; i < n; ++i) want[i] = fib[x[i] & 7] + 1000 * fib[x[i]];
  Device dx(x);
  Device<long long> out(n);
  HIP_OK(hipDeviceSetLimit(hipLimitStackSize, 8192));
  t.LAUNCH(recursive, 2, 64, 0, dx, out, n);
  t.same("out", out.read(), want);
}

struct Shape {
  __device__ virtual float of(float x) const = 0;
  __device__ virtual ~Shape() {}
};
struct Scaled : Shape {
  float by;
  __device__ explicit Scaled(float factor) : by(factor) {}
  __device__ float of(float x) const override { return by * x; }
};
struct Moved : Shape {
  float by;
  __device__ explicit Moved(float offset) : by(offset) {}
  __device__ float of(float x) const override { return by + x; }
};
KERNEL void virtual_calls(const float* x, const int* which, float* y, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Scaled scaled(2.0f);
  Moved moved(3.0f);
  const Shape* shape = which[i] & 1 ? static_cast<Shape*>(&scaled) : static_cast<Shape*>(&moved);
  y[i] = shape->of(x[i]);
}
CASE(virtual_calls) {
  const int n = 90;
  const auto x = whole<float>(n, -99, 99, 76);
  const auto which = whole<int>(n, 0, 9, 77);
  std::vector<float> want(n);
  for (int i = 0; i < n; ++i) want[i] = which[i] & 1 ? 2 * x[i] : 3 + x[i];
  Device dx(x);
  Device dw(which);
  Device<float> y(n);
  t.LAUNCH(virtual_calls, 2, 64, 0, dx, dw, y, n);
  t.same("y", y.read(), want);
}

struct Many {
  float factors[16];
  int n;
  short flags[5];
  const float* rows[4];
  char tag;
};
KERNEL void large_argument(Many many, float* out, unsigned char scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 16; ++k) sum += many.factors[k] * many.rows[k & 3][i] * many.flags[k % 5];
  if (i < many.n) out[i] = sum * scale + many.tag;
}
CASE(large_argument) {
  const auto rows = whole<float>(4 * 128, -9, 9, 78);
  Device dr(rows);
  Many many{};
  std::vector<float> want(128);
  many.n = 100, many.tag = 'k';
  for (int k = 0; k < 16; ++k) many.factors[k] = static_cast<float>(k - 5);
  for (int k = 0; k < 5; ++k) many.flags[k] = static_cast<short>(k * 3 - 4);
  for (int k = 0; k < 4; ++k) many.rows[k] = dr + k * 128;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 16; ++k) want[i] += many.factors[k] * rows[(k & 3) * 128 + i] * many.flags[k % 5];
    want[i] = want[i] * 7 + 'k';
  }
  Device<float> out(128);
  t.LAUNCH(large_argument, 2, 64, 0, many, out, 7);
  t.same("out", out.read(), want);
}

KERNEL void either_space(float* global, const int* local_or_global, int add) {
  __shared__ float local[64];
  local[threadIdx.x] = static_cast<float>(threadIdx.x);
  __syncthreads();
  float* p = local_or_global[threadIdx.x] ? &local[threadIdx.x] : &global[threadIdx.x];
  const float v = *p;
  __syncthreads();
  *p = v * 2;
  if (add) atomicAdd(p, 1.0f);
  __syncthreads();
  global[64 + threadIdx.x] = local[63 - threadIdx.x];
}
CASE(either_space) {
  const auto which = whole<int>(64, 0, 1, 79);
  std::vector<float> data(128), want(128);
  for (int i = 0; i < 64; ++i) data[i] = static_cast<float>(i * 10);
  for (int i = 0; i < 64; ++i) {
    want[i] = which[i] ? data[i] : data[i] * 2 + 1;
    want[127 - i] = which[i] ? static_cast<float>(i * 2 + 1) : static_cast<float>(i);
  }
  Device global(data);
  Device dw(which);
  t.LAUNCH(either_space, 1, 64, 0, global, dw, 1);
  t.same("data", global.read(), want);
}

KERNEL void three_dimensions(float* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz)
    out[(static_cast<size_t>(z) * ny + y) * nx + x] =
        static_cast<float>(x + 100 * y + 10000 * z + 1000000 * static_cast<int>(gridDim.y + gridDim.z));
}
CASE(three_dimensions) {
  const int nx = 13, ny = 7, nz = 5;
  std::vector<float> want(nx * ny * nz);
  for (int i = 0; i < nx * ny * nz; ++i)
    want[i] = static_cast<float>(i % nx + 100 * (i / nx % ny) + 10000 * (i / (nx * ny)) + 1000000 * 7);
  Device<float> out(nx * ny * nz);
  t.LAUNCH(three_dimensions, dim3(2, 4, 3), dim3(8, 2, 2), 0, out, nx, ny, nz);
  t.same("out", out.read(), want);
}

// The grid ends inside a workgroup, in two dimensions, where the code is built for it: every workitem that there is
// counts itself.
KERNEL void partial_groups(unsigned* counts, unsigned* sizes) {
  atomicAdd(&counts[(blockIdx.y * 8 + threadIdx.y) * 64 + blockIdx.x * 16 + threadIdx.x], 1u);
  if (threadIdx.x == 0 && threadIdx.y == 0) sizes[blockIdx.y * 3 + blockIdx.x] = threadIdx.z;
}
CASE(partial_groups) {
  const unsigned width = t.setting().partial ? 41 : 48, height = t.setting().partial ? 19 : 24;
  Device<unsigned> counts(64 * 24), sizes(9, 7u);
  std::vector<unsigned> want(64 * 24);
  for (unsigned i = 0; i < width * height; ++i) want[i / width * 64 + i % width] = 1;
  unsigned *c = counts, *s = sizes;
  void* arguments[] = {&c, &s};
  HIP_OK(hipExtModuleLaunchKernel(t.function("partial_groups"), width, height, 1, 16, 8, 1, 0, nullptr, arguments,
                                  nullptr, nullptr, nullptr));
  HIP_OK(hipDeviceSynchronize());
  t.same("counts", counts.read(), want);
  t.same("groups", sizes.read(), std::vector<unsigned>(9, 0u));
}

KERNEL void lds_of_every_width(const double2* x, double2* y) {
  __shared__ double2 wide[128];
  __shared__ unsigned short halves[256];
  __shared__ unsigned char bytes[256];
  const int item = threadIdx.x;
  wide[item] = x[item];
  halves[item] = static_cast<unsigned short>(item * 3), halves[item + 128] = static_cast<unsigned short>(item * 5);
  bytes[item] = static_cast<unsigned char>(item * 7), bytes[item + 128] = static_cast<unsigned char>(item * 11);
  __syncthreads();
  double2 v = wide[127 - item];
  v.x += halves[255 - item];
  v.y += bytes[item * 7 & 255];
  y[item] = v;
}
CASE(lds_of_every_width) {
  const auto x = whole<double>(256, -1000, 1000, 80);
  std::vector<double> want(256);
  for (int i = 0; i < 128; ++i) {
    const int b = i * 7 & 255;
    want[i * 2] = x[(127 - i) * 2] + (127 - i) * 5;
    want[i * 2 + 1] = x[(127 - i) * 2 + 1] + static_cast<unsigned char>(b < 128 ? b * 7 : (b - 128) * 11);
  }
  Device dx(x);
  Device<double> y(256);
  t.LAUNCH(lds_of_every_width, 1, 128, 0, reinterpret_cast<double2*>(static_cast<double*>(dx)),
           reinterpret_cast<double2*>(static_cast<double*>(y)));
  t.same("y", y.read(), want);
}

KERNEL void dynamic_lds(const int* x, int* y, int shift) {
  extern __shared__ int lds[];
  const int items = blockDim.x, item = threadIdx.x;
  for (int i = item; i < 16384; i += items) lds[i] = x[i & 1023] + i;
  __syncthreads();
  int sum = 0;
  for (int i = item; i < 16384; i += items) sum += lds[16383 - i] ^ lds[(i + shift) & 16383];
  y[blockIdx.x * items + item] = sum;
}
CASE(dynamic_lds) {
  const auto x = whole<int>(1024, -1000, 1000, 81);
  std::vector<int> lds(16384), want(512);
  for (int i = 0; i < 16384; ++i) lds[i] = x[i & 1023] + i;
  for (int i = 0; i < 16384; ++i) want[i % 256] += lds[16383 - i] ^ lds[(i + 77) & 16383];
  std::copy(want.begin(), want.begin() + 256, want.begin() + 256);
  Device dx(x);
  Device<int> y(512);
  t.LAUNCH(dynamic_lds, 2, 256, 65536, dx, y, 77);
  t.same("y", y.read(), want);
}

KERNEL void assembly(const unsigned* x, unsigned* out) {
#ifdef __HIP_DEVICE_COMPILE__
  const unsigned v = x[threadIdx.x];
  unsigned r, s;
  asm volatile("v_bfrev_b32 %0, %1" : "=v"(r) : "v"(v));
  asm volatile("s_mov_b32 %0, 0x1234" : "=s"(s));
  asm volatile("v_add_u32 %0, %0, %1" : "+v"(r) : "s"(s));
  out[threadIdx.x] = r;
#endif
}
#if ON_RDNA
#define v_add_u32 v_add_nc_u32
#endif
CASE_ON(assembly, "gfx90a gfx942") {
  const auto x = any_bits<unsigned>(64, 82);
  std::vector<unsigned> want(64);
  for (int i = 0; i < 64; ++i) {
    unsigned reverse = 0;
    for (int k = 0; k < 32; ++k) reverse |= (x[i] >> k & 1) << (31 - k);
    want[i] = reverse + 0x1234;
  }
  Device dx(x);
  Device<unsigned> out(64);
  t.LAUNCH(assembly, 1, 64, 0, dx, out);
  t.same("out", out.read(), want);
}

KERNEL void allocate(int** out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int* p = static_cast<int*>(malloc(16));
  if (p) p[0] = i, p[3] = i * 2;
  out[i] = p;
}
KERNEL void collect(int** in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i] ? in[i][0] + in[i][3] : -1;
  free(in[i]);
}
CASE(allocate) {
  const int n = 80;
  Device<int*> pointers(n);
  Device<int> out(n);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i) want[i] = i * 3;
  t.LAUNCH(allocate, 2, 64, 0, pointers, n);
  t.LAUNCH(collect, 2, 64, 0, pointers, out, n);
  t.same("out", out.read(), want);
}

KERNEL void speak(const int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && x[i] < 0) printf("bad %d at %d %.2f %s\n", x[i], i, 1.5 * x[i], "here");
}
CASE(speak) {
  const auto x = whole<int>(100, -3, 30, 83);
  std::vector<std::string> want, got;
  for (int i = 0; i < 100; ++i) {
    char line[80];
    std::snprintf(line, sizeof line, "bad %d at %d %.2f here\n", x[i], i, 1.5 * x[i]);
    if (x[i] < 0) want.push_back(line);
  }
  Device dx(x);
  std::FILE* said = std::tmpfile();
  const int out = dup(1);
  std::fflush(stdout);
  dup2(fileno(said), 1);
  t.LAUNCH(speak, 2, 64, 0, dx, 100);
  std::fflush(stdout);
  dup2(out, 1);
  close(out);
  std::rewind(said);
  char line[160];
  while (std::fgets(line, sizeof line, said)) got.push_back(line);
  std::fclose(said);
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  if (got != want || want.empty())
    t.complain("printed " + std::to_string(got.size()) + " lines of " + std::to_string(want.size()));
}

KERNEL void clocks(unsigned long long* out, unsigned* unit) {
  if (threadIdx.x != 0) return;
  const long long before = clock64(), wall = wall_clock64();
  __builtin_amdgcn_s_sleep(2);
  out[blockIdx.x * 2] = clock64() - before, out[blockIdx.x * 2 + 1] = wall_clock64() - wall;
#if defined(__gfx1100__) || defined(__gfx11_generic__)  // SHADER_CYCLES has 20 bits there: clock64() begins anew every millisecond or so
  out[blockIdx.x * 2] &= (1 << 20) - 1;
#endif
#if ON_GFX12  // HIP 5.7 reads a register that is another one there
  unit[blockIdx.x] = __builtin_amdgcn_s_getreg(31 << 11 | 23);  // HW_ID1
#else
  unit[blockIdx.x] = __smid();
#endif
}
CASE(clocks) {
  Device<unsigned long long> out(8);
  Device<unsigned> unit(4, ~0u);
  t.LAUNCH(clocks, 4, 64, 0, out, unit);
  for (const unsigned long long passed : out.read())
    if (passed > 1ull << 40) t.complain("time ran backwards");
  for (const unsigned u : unit.read())
    if (u == ~0u) t.complain("no compute unit");
}
