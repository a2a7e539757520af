// Workitems that work together: reductions and scans over LDS, shuffles, ballots and DPP; histograms; compaction.
#include "matrix.hpp"

#pragma clang fp contract(off)

KERNEL void wave_width(int* width) { *width = WAVE_WIDTH; }
int matrix::Case::wave() {
  Device<int> width(1);
  LAUNCH(wave_width, 1, 1, 0, width);
  return width.read()[0];
}

KERNEL void reduce_in_lds(const float* x, float* sums, int n) {
  __shared__ float partial[256];
  const int item = threadIdx.x;
  float sum = 0;
  for (int i = blockIdx.x * 256 + item; i < n; i += gridDim.x * 256) sum += x[i];
  partial[item] = sum;
  __syncthreads();
  for (int width = 128; width > 0; width /= 2) {
    if (item < width) partial[item] += partial[item + width];
    __syncthreads();
  }
  if (item == 0) sums[blockIdx.x] = partial[0];
}
CASE(reduce_in_lds) {
  const int n = 1900, groups = 3;
  const auto x = random<float>(n, -1, 1, 20);
  std::vector<float> want(groups);
  for (int g = 0; g < groups; ++g) {
    std::vector<float> partial(256);
    for (int item = 0; item < 256; ++item)
      for (int i = g * 256 + item; i < n; i += groups * 256) partial[item] += x[i];
    for (int width = 128; width > 0; width /= 2)
      for (int item = 0; item < width; ++item) partial[item] += partial[item + width];
    want[g] = partial[0];
  }
  Device dx(x);
  Device<float> sums(groups);
  t.LAUNCH(reduce_in_lds, groups, 256, 0, dx, sums, n);
  t.same("sums", sums.read(), want, Bound{1e-4, 1e-4});
}

KERNEL void reduce_by_shuffles(const float* x, float* total, int n) {
  __shared__ float waves[32];
  const int wave = WAVE_WIDTH, lane = threadIdx.x % wave, index = threadIdx.x / wave;
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
  for (int step = wave / 2; step > 0; step /= 2) sum += __shfl_down(sum, step, wave);
  if (lane == 0) waves[index] = sum;
  __syncthreads();
  if (index != 0) return;
  sum = lane < blockDim.x / wave ? waves[lane] : 0;
  for (int step = wave / 2; step > 0; step /= 2) sum += __shfl_xor(sum, step, wave);
  if (lane == 0) atomicAdd(total, sum);
}
CASE(reduce_by_shuffles) {
  const auto x = whole<float>(5000, -40, 40, 21);
  float want = 0;
  for (const float v : x) want += v;
  Device dx(x);
  Device<float> total(1);
  t.LAUNCH(reduce_by_shuffles, 4, 192, 0, dx, total, 5000);
  t.same("total", total.read(), {want});
}

template <int kControl, int kRows = 0xf, bool kBound = true>
__device__ float dpp(float v) {
  return __builtin_bit_cast(float,
                            __builtin_amdgcn_update_dpp(0, __builtin_bit_cast(int, v), kControl, kRows, 0xf, kBound));
}
// Sums of 32 lanes on wave32, of 64 on wave64.
KERNEL void reduce_by_dpp(const float* x, float* sums) {
#ifdef __HIP_DEVICE_COMPILE__
  float a = x[blockIdx.x * blockDim.x + threadIdx.x];
  a += dpp<0xb1>(a);   // quad_perm [1,0,3,2]
  a += dpp<0x4e>(a);   // quad_perm [2,3,0,1]
  a += dpp<0x141>(a);  // row_half_mirror
  a += dpp<0x140>(a);  // row_mirror
#if ON_GFX9
  a += dpp<0x142, 0xa, false>(a);  // row_bcast:15
  a += dpp<0x143, 0xc, false>(a);  // row_bcast:31
  const int last = 63;
#else
  a += __builtin_bit_cast(
      float, __builtin_amdgcn_permlanex16(0, __builtin_bit_cast(int, a), 0x76543210, 0xfedcba98, true, true));
  const int last = 0;
#endif
  const float sum = __builtin_bit_cast(float, __builtin_amdgcn_readlane(__builtin_bit_cast(int, a), last));
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
#endif
}
CASE(reduce_by_dpp) {
  const int wave = t.rdna() ? 32 : 64;
  const auto x = whole<float>(3 * wave, -100, 100, 22);
  std::vector<float> want(3);
  for (int i = 0; i < 3 * wave; ++i) want[i / wave] += x[i];
  Device dx(x);
  Device<float> sums(3);
  t.LAUNCH(reduce_by_dpp, 3, wave, 0, dx, sums);
  t.same("sums", sums.read(), want);
}

KERNEL void scan_by_dpp(const int* x, int* out) {
#ifdef __HIP_DEVICE_COMPILE__
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  int a = x[i];
  a += __builtin_amdgcn_update_dpp(0, a, 0x111, 0xf, 0xf, false);  // row_shr:1, 2, 4, 8
  a += __builtin_amdgcn_update_dpp(0, a, 0x112, 0xf, 0xf, false);
  a += __builtin_amdgcn_update_dpp(0, a, 0x114, 0xf, 0xf, false);
  a += __builtin_amdgcn_update_dpp(0, a, 0x118, 0xf, 0xf, false);
#if ON_GFX9
  a += __builtin_amdgcn_update_dpp(0, a, 0x142, 0xa, 0xf, false);
  a += __builtin_amdgcn_update_dpp(0, a, 0x143, 0xc, 0xf, false);
#else
  const int before = __builtin_amdgcn_permlanex16(0, a, 0xffffffff, 0xffffffff, true, true);
  if (threadIdx.x & 16) a += before;
#endif
  out[i] = a;
#endif
}
CASE(scan_by_dpp) {
  const int wave = t.rdna() ? 32 : 64, n = 2 * wave;
  const auto x = any_bits<int>(n, 23);
  std::vector<int> want(n);
  for (int i = 0; i < n; ++i)
    want[i] = static_cast<int>(static_cast<unsigned>(i % wave ? want[i - 1] : 0) + static_cast<unsigned>(x[i]));
  Device dx(x);
  Device<int> out(n);
  t.LAUNCH(scan_by_dpp, 2, wave, 0, dx, out);
  t.same("sums", out.read(), want);
}

KERNEL void scan_in_lds(const int* x, int* out, int* sums, int n) {
  __shared__ int buffer[2][512];
  const int item = threadIdx.x, i = blockIdx.x * 512 + item;
  int from = 0;
  buffer[0][item] = i < n ? x[i] : 0;
  __syncthreads();
  for (int step = 1; step < 512; step *= 2) {
    buffer[1 - from][item] = buffer[from][item] + (item >= step ? buffer[from][item - step] : 0);
    from = 1 - from;
    __syncthreads();
  }
  if (i < n) out[i] = buffer[from][item];
  if (item == 511) sums[blockIdx.x] = buffer[from][item];
}
CASE(scan_in_lds) {
  const int n = 900;
  const auto x = whole<int>(n, -1000, 1000, 24);
  std::vector<int> want(n), totals(2);
  for (int i = 0; i < n; ++i) {
    want[i] = x[i] + (i % 512 ? want[i - 1] : 0);
    totals[i / 512] = want[i];
  }
  Device dx(x);
  Device<int> out(n), sums(2);
  t.LAUNCH(scan_in_lds, 2, 512, 0, dx, out, sums, n);
  t.same("scan", out.read(), want);
  t.same("totals", sums.read(), totals);
}

KERNEL void compact(const int* x, int* out, int* counts, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < n && x[i] > 0;
  const unsigned long long mask = __ballot(keep);
  const unsigned lane = __lane_id();
  int base = 0;
  if (lane == 0) base = atomicAdd(counts, __popcll(mask));
  base = __shfl(base, 0);
  if (keep) out[base + __popcll(mask & ((1ull << lane) - 1))] = x[i];
  if (__any(keep) && __all(i < n) && lane == 0) atomicOr(counts + 1, 1);
}
CASE(compact) {
  const int n = 700;
  const auto x = whole<int>(n, -1000, 1000, 25);
  std::vector<int> want;
  for (const int v : x)
    if (v > 0) want.push_back(v);
  Device dx(x);
  Device<int> out(n), counts(2);
  t.LAUNCH(compact, 6, 128, 0, dx, out, counts, n);
  std::vector<int> got = out.read();
  got.resize(counts.read()[0]);
  std::sort(got.begin(), got.end());
  std::sort(want.begin(), want.end());
  t.same("kept", got, want);
  t.same("flag", {counts.read()[1]}, std::vector<int>{1});
}

KERNEL void extremes_f64(const double* x, double* out, int n) {
  __shared__ double least[256], most[256];
  const int item = threadIdx.x;
  double low = 1e300, high = -1e300;
  for (int i = item; i < n; i += 256) {
    low = fmin(low, x[i]);
    high = fmax(high, x[i]);
  }
  least[item] = low, most[item] = high;
  __syncthreads();
  for (int width = 128; width; width /= 2) {
    if (item < width) {
      least[item] = fmin(least[item], least[item + width]);
      most[item] = fmax(most[item], most[item + width]);
    }
    __syncthreads();
  }
  if (item == 0) out[0] = least[0], out[1] = most[0];
}
CASE(extremes_f64) {
  const auto x = random<double>(777, -1e9, 1e9, 26);
  Device dx(x);
  Device<double> out(2);
  t.LAUNCH(extremes_f64, 1, 256, 0, dx, out, 777);
  t.same("extremes", out.read(), {*std::min_element(x.begin(), x.end()), *std::max_element(x.begin(), x.end())});
}

SHARED unsigned long long ordered_key(float value, unsigned index) {
  const auto bits = __builtin_bit_cast(unsigned, value);
  return static_cast<unsigned long long>(bits >> 31 ? ~bits : bits | 0x80000000u) << 32 | index;
}
KERNEL void index_of_least(const float* x, unsigned long long* best, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicMin(best, ordered_key(x[i], i));
}
CASE(index_of_least) {
  const auto x = random<float>(1000, -5, 5, 27);
  unsigned long long want = ~0ull;
  for (unsigned i = 0; i < 1000; ++i) want = std::min(want, ordered_key(x[i], i));
  Device dx(x);
  Device<unsigned long long> best(1, ~0ull);
  t.LAUNCH(index_of_least, 4, 256, 0, dx, best, 1000);
  t.same("best", best.read(), {want});
}

// Every kind of cross-lane function, with widths below the wave's.
KERNEL void lanes(const int* x, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int v = x[i % n];
  int* mine = out + i * 8;
  mine[0] = __shfl(v, i * 7, 16);
  mine[1] = __shfl_up(v, 3, 8);
  mine[2] = __shfl_down(v, 5, 32);
  mine[3] = __shfl_xor(v, 9, 16);
  mine[4] = __popcll(__ballot(v & 1));
  mine[5] = __any(v > 900) + 2 * __all(v > -900);
  mine[6] = __builtin_amdgcn_readfirstlane(v);
  mine[7] = static_cast<int>(__shfl(1.5 * v, (i + 1) % 4, 4) * 2.0);
}
CASE(lanes) {
  const int n = 192, wave = t.wave();
  const auto x = whole<int>(n, -1000, 1000, 28);
  std::vector<int> want(n * 8);
  for (int i = 0; i < n; ++i) {
    const int first = i / wave * wave;
    int odd = 0, any = 0, all = 1;
    for (int l = first; l < first + wave; ++l) {
      odd += x[l] & 1;
      any |= x[l] > 900;
      all &= x[l] > -900;
    }
    const int values[] = {x[i / 16 * 16 + i * 7 % 16],
                          i % 8 >= 3 ? x[i - 3] : x[i],
                          i % 32 < 27 ? x[i + 5] : x[i],
                          x[i / 16 * 16 + (i % 16 ^ 9)],
                          odd,
                          any + 2 * all,
                          x[first],
                          3 * x[i / 4 * 4 + (i + 1) % 4]};
    std::copy(values, values + 8, want.begin() + i * 8);
  }
  Device dx(x);
  Device<int> out(n * 8);
  t.LAUNCH(lanes, 3, 64, 0, dx, out, n);
  t.same("lanes", out.read(), want);
}

KERNEL void histogram_in_lds(const unsigned char* x, unsigned* bins, int n) {
  __shared__ unsigned mine[256];
  mine[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) atomicAdd(&mine[x[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], mine[threadIdx.x]);
}
CASE(histogram_in_lds) {
  const auto x = any_bits<unsigned char>(3000, 29);
  std::vector<unsigned> want(256);
  for (const unsigned char v : x) ++want[v];
  Device dx(x);
  Device<unsigned> bins(256);
  t.LAUNCH(histogram_in_lds, 3, 256, 0, dx, bins, 3000);
  t.same("bins", bins.read(), want);
}
