// Atomics on LDS and memory, of every width and kind; locks, flags between workgroups, the last workgroup to finish.
#include "matrix.hpp"

KERNEL void count_in_memory(const int* x, int* bins, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[x[i] & 127], 1);
}
CASE(count_in_memory) {
  const auto x = any_bits<int>(1500, 30);
  std::vector<int> want(128);
  for (const int v : x) ++want[v & 127];
  Device dx(x);
  Device<int> bins(128);
  t.LAUNCH(count_in_memory, 6, 256, 0, dx, bins, 1500);
  t.same("bins", bins.read(), want);
}

// Whole numbers: any order gives the same sum.
KERNEL void add_floats(const float* x, float* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(sums, x[i]);
  unsafeAtomicAdd(sums + 1, x[i]);
  sums[4 + i] = atomicAdd(sums + 2, 0.0f) * 0.0f;  // the old value is asked for
}
KERNEL void add_doubles(const double* x, double* sums, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(sums, x[i]);
  unsafeAtomicAdd(sums + 1, x[i]);
  atomicMin(sums + 2, x[i]);
  atomicMax(sums + 3, x[i]);
}
CASE(add_floats_and_doubles) {
  const int n = 500;
  const auto x = whole<float>(n, -1000, 1000, 31);
  const std::vector<double> wide(x.begin(), x.end());
  float sum = 0;
  for (const float v : x) sum += v;
  std::vector<float> want(4 + n);
  want[0] = want[1] = sum;
  Device dx(x);
  Device dw(wide);
  Device<float> sums(4 + n);
  Device<double> doubles(4);
  t.LAUNCH(add_floats, 4, 128, 0, dx, sums, n);
  t.LAUNCH(add_doubles, 4, 128, 0, dw, doubles, n);
  t.same("floats", sums.read(), want);
  t.same("doubles", doubles.read(),
         {sum, sum, *std::min_element(wide.begin(), wide.end()), *std::max_element(wide.begin(), wide.end())});
}

KERNEL void add_floats_in_lds(const float* x, const int* bin, float* out, int n) {
  __shared__ float sums[64];
  __shared__ double wide;
  if (threadIdx.x < 64) sums[threadIdx.x] = 0;
  if (threadIdx.x == 0) wide = 0;
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    atomicAdd(&sums[bin[i] & 63], x[i]);
    atomicAdd(&wide, static_cast<double>(x[i]));
  }
  __syncthreads();
  if (threadIdx.x < 64) atomicAdd(&out[threadIdx.x], sums[threadIdx.x]);
  if (threadIdx.x == 0) atomicAdd(&out[64], static_cast<float>(wide));
}
CASE(add_floats_in_lds) {
  const int n = 600;
  const auto x = whole<float>(n, -50, 50, 32);
  const auto bin = any_bits<int>(n, 33);
  std::vector<float> want(65);
  for (int i = 0; i < n; ++i) {
    want[bin[i] & 63] += x[i];
    want[64] += x[i];
  }
  Device dx(x);
  Device db(bin);
  Device<float> out(65);
  t.LAUNCH(add_floats_in_lds, 3, 256, 0, dx, db, out, n);
  t.same("sums", out.read(), want);
}

KERNEL void every_atomic(int* s, unsigned* u, unsigned long long* w, int* seen, const int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int v = x[i];
  atomicMin(s, v);
  atomicMax(s + 1, v);
  atomicSub(s + 2, v);
  seen[i] = atomicExch(s + 3, v);
  atomicCAS(s + 4, -7, i);
  atomicAnd(u, ~(1u << (v & 15)));
  atomicOr(u + 1, 1u << (v & 31));
  atomicXor(u + 2, static_cast<unsigned>(v));
  atomicInc(u + 3, 6);
  atomicDec(u + 4, 9);
  atomicAdd(w, static_cast<unsigned long long>(v));
  atomicMin(w + 1, static_cast<unsigned long long>(v) << 8);
  atomicMax(w + 2, static_cast<unsigned long long>(v) << 8);
  atomicXor(w + 3, static_cast<unsigned long long>(v) << 20);
  atomicAnd(w + 4, ~(1ull << (v & 63)));
  atomicOr(w + 5, 1ull << (v & 63));
  if (i == 5) atomicCAS(w + 6, 11ull, 1ull << 40);
  if (i == 6) atomicExch(w + 7, 1ull << 41);
}
CASE(every_atomic) {
  const int n = 300;
  const auto x = any_bits<int>(n, 34);
  std::vector<int> s{5, 5, 5, 5, -8};
  std::vector<unsigned> u{~0u, 0, 0, 0, 0};
  std::vector<unsigned long long> w{0, ~0ull, 0, 0, ~0ull, 0, 11, 0}, wide = w;
  Device ds(s);
  Device du(u);
  Device dw(w);
  Device dx(x);
  Device<int> seen(n);
  std::vector<int> exchanged{5};
  for (const int v : x) {
    s[0] = std::min(s[0], v), s[1] = std::max(s[1], v);
    s[2] = static_cast<int>(static_cast<unsigned>(s[2]) - static_cast<unsigned>(v));
    u[0] &= ~(1u << (v & 15)), u[1] |= 1u << (v & 31), u[2] ^= static_cast<unsigned>(v);
    u[3] = u[3] >= 6 ? 0 : u[3] + 1, u[4] = u[4] == 0 || u[4] > 9 ? 9 : u[4] - 1;
    const auto e = static_cast<unsigned long long>(v);
    w[0] += e, w[1] = std::min(w[1], e << 8), w[2] = std::max(w[2], e << 8), w[3] ^= e << 20;
    w[4] &= ~(1ull << (v & 63)), w[5] |= 1ull << (v & 63);
    exchanged.push_back(v);
  }
  w[6] = 1ull << 40, w[7] = 1ull << 41;
  t.LAUNCH(every_atomic, 3, 128, 0, ds, du, dw, seen, dx, n);
  std::vector<int> got = ds.read(), old = seen.read();
  old.push_back(got[3]);  // what was exchanged and what is left: each value once
  std::sort(old.begin(), old.end());
  std::sort(exchanged.begin(), exchanged.end());
  s[3] = got[3];
  t.same("signed", got, s);
  t.same("unsigned", du.read(), u);
  t.same("wide", dw.read(), w);
  t.same("exchanged", old, exchanged);
}

KERNEL void every_atomic_in_lds(const unsigned* x, unsigned* out, unsigned long long* wide) {
  __shared__ unsigned u[8];
  __shared__ unsigned long long w[4];
  if (threadIdx.x < 8) u[threadIdx.x] = threadIdx.x == 1 ? ~0u : 0;
  if (threadIdx.x < 4) w[threadIdx.x] = threadIdx.x == 1 ? ~0ull : 0;
  __syncthreads();
  const unsigned v = x[threadIdx.x];
  atomicAdd(&u[0], v);
  atomicMin(&u[1], v);
  atomicMax(&u[2], v);
  atomicOr(&u[3], v & 0xff00ff);
  atomicXor(&u[4], v);
  atomicInc(&u[5], 10);
  atomicMax(reinterpret_cast<int*>(&u[6]), static_cast<int>(v));
  atomicCAS(&u[7], 0u, v | 1);
  atomicAdd(&w[0], static_cast<unsigned long long>(v) << 16);
  atomicMin(&w[1], static_cast<unsigned long long>(v) << 30);
  atomicXor(&w[2], static_cast<unsigned long long>(v) << 7);
  atomicMax(&w[3], static_cast<unsigned long long>(v) * v);
  __syncthreads();
  if (threadIdx.x < 7) out[threadIdx.x] = u[threadIdx.x];
  if (threadIdx.x == 7) out[7] = u[7] & 1;
  if (threadIdx.x < 4) wide[threadIdx.x] = w[threadIdx.x];
}
CASE(every_atomic_in_lds) {
  const auto x = any_bits<unsigned>(160, 35);
  std::vector<unsigned> u{0, ~0u, 0, 0, 0, 0, 0, 1};
  std::vector<unsigned long long> w{0, ~0ull, 0, 0};
  for (const unsigned v : x) {
    u[0] += v, u[1] = std::min(u[1], v), u[2] = std::max(u[2], v), u[3] |= v & 0xff00ff, u[4] ^= v;
    u[5] = u[5] >= 10 ? 0 : u[5] + 1, u[6] = std::max(static_cast<int>(u[6]), static_cast<int>(v));
    const unsigned long long e = v;
    w[0] += e << 16, w[1] = std::min(w[1], e << 30), w[2] ^= e << 7, w[3] = std::max(w[3], e * e);
  }
  Device dx(x);
  Device<unsigned> out(8);
  Device<unsigned long long> wide(4);
  t.LAUNCH(every_atomic_in_lds, 1, 160, 0, dx, out, wide);
  t.same("words", out.read(), u);
  t.same("wide", wide.read(), w);
}

KERNEL void locked(int* lock, int* data, int add) {
  if (threadIdx.x != 0) return;
  while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
  __threadfence();
  data[0] += add;
  data[1] = data[0] * 3;
  __threadfence();
  atomicExch(lock, 0);
}
CASE(locked) {
  Device<int> lock(1), data(2);
  t.LAUNCH(locked, 9, 64, 0, lock, data, 5);
  t.same("data", data.read(), {45, 135});
}

KERNEL void last_group(const float* x, float* partial, unsigned* count, float* total, int n) {
  __shared__ float sums[128];
  __shared__ bool last;
  const int item = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * 128 + item; i < n; i += gridDim.x * 128) sum += x[i];
  sums[item] = sum;
  __syncthreads();
  for (int width = 64; width; width /= 2) {
    if (item < width) sums[item] += sums[item + width];
    __syncthreads();
  }
  if (item == 0) {
    partial[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicInc(count, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last || item != 0) return;
  float all = 0;
  for (unsigned g = 0; g < gridDim.x; ++g)
    all += __hip_atomic_load(&partial[g], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
  *total = all;
}
CASE(last_group) {
  const auto x = whole<float>(2000, -99, 99, 36);
  float want = 0;
  for (const float v : x) want += v;
  Device dx(x);
  Device<float> partial(5), total(1);
  Device<unsigned> count(1);
  t.LAUNCH(last_group, 5, 128, 0, dx, partial, count, total, 2000);
  t.same("total", total.read(), {want});
}

KERNEL void raise_flag(int* flag, int* data) {
  data[threadIdx.x] = threadIdx.x * 3;
  __threadfence_system();
  if (threadIdx.x == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
CASE(raise_flag) {
  Device<int> flag(1), data(64);
  std::vector<int> want(64);
  for (int i = 0; i < 64; ++i) want[i] = i * 3;
  t.LAUNCH(raise_flag, 1, 64, 0, flag, data);
  t.same("flag", flag.read(), {1});
  t.same("data", data.read(), want);
}
