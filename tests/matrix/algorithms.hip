// Small programs as people write them: sorts, transforms, solvers, grids, attention, grid barriers.
#include "matrix.hpp"

#include <hip/hip_cooperative_groups.h>

#include <complex>
#include <numeric>

KERNEL void bitonic_sort(unsigned* x) {
  __shared__ unsigned values[256];
  const unsigned item = threadIdx.x;
  values[item] = x[blockIdx.x * 256 + item];
  __syncthreads();
  for (unsigned size = 2; size <= 256; size *= 2)
    for (unsigned step = size / 2; step > 0; step /= 2) {
      const unsigned other = item ^ step;
      if (other > item && (values[item] > values[other]) == ((item & size) == 0)) {
        const unsigned swap = values[item];
        values[item] = values[other];
        values[other] = swap;
      }
      __syncthreads();
    }
  x[blockIdx.x * 256 + item] = values[item];
}
CASE(bitonic_sort) {
  auto x = any_bits<unsigned>(512, 130);
  Device dx(x);
  std::sort(x.begin(), x.begin() + 256);
  std::sort(x.begin() + 256, x.end());
  t.LAUNCH(bitonic_sort, 2, 256, 0, dx);
  t.same("sorted", dx.read(), x);
}

// One pass of a radix sort a bit: ballots give every lane its place.
KERNEL void radix_sort(unsigned short* x, int* order) {
  __shared__ unsigned short keys[128];
  __shared__ int indices[128], ones[4], zeros;
  const int wave = WAVE_WIDTH, item = threadIdx.x, lane = item % wave, index = item / wave, waves = 128 / wave;
  unsigned short key = x[item];
  int place = item;
  for (int bit = 0; bit < 16; ++bit) {
    const bool one = key >> bit & 1;
    const unsigned long long mask = __ballot(one);
    if (lane == 0) ones[index] = __popcll(mask);
    __syncthreads();
    int ones_before = __popcll(mask & ((1ull << lane) - 1)), all = 0;
    for (int w = 0; w < waves; ++w) {
      if (w < index) ones_before += ones[w];
      all += ones[w];
    }
    const int to = one ? 128 - all + ones_before : item - ones_before;
    keys[to] = key, indices[to] = place;
    __syncthreads();
    key = keys[item], place = indices[item];
    __syncthreads();
  }
  x[item] = key, order[item] = place;
}
CASE(radix_sort) {
  const auto x = any_bits<unsigned short>(128, 131);
  std::vector<int> order(128);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return x[a] < x[b]; });
  std::vector<unsigned short> sorted;
  for (const int i : order) sorted.push_back(x[i]);
  Device dx(x);
  Device<int> places(128);
  t.LAUNCH(radix_sort, 1, 128, 0, dx, places);
  t.same("keys", dx.read(), sorted);
  t.same("order", places.read(), order);
}

KERNEL void fourier(float2* x) {
  __shared__ float2 values[128];
  const int item = threadIdx.x;
  values[__brev(item) >> 25] = x[blockIdx.x * 128 + item];
  __syncthreads();
  for (int half = 1; half < 128; half *= 2) {
    if (item < 64) {
      const int k = item % half, low = (item / half) * half * 2 + k;
      float s, c;
      sincospif(-static_cast<float>(k) / static_cast<float>(half), &s, &c);
      const float2 a = values[low], b = values[low + half];
      const float2 turned = make_float2(b.x * c - b.y * s, b.x * s + b.y * c);
      values[low] = make_float2(a.x + turned.x, a.y + turned.y);
      values[low + half] = make_float2(a.x - turned.x, a.y - turned.y);
    }
    __syncthreads();
  }
  x[blockIdx.x * 128 + item] = values[item];
}
CASE(fourier) {
  const auto x = random<float>(256 * 2, -1, 1, 132);
  std::vector<float> want(256 * 2);
  for (int block = 0; block < 2; ++block)
    for (int k = 0; k < 128; ++k) {
      std::complex<double> sum = 0;
      for (int i = 0; i < 128; ++i)
        sum += std::complex<double>(x[(block * 128 + i) * 2], x[(block * 128 + i) * 2 + 1]) *
               std::polar(1.0, -2 * M_PI * (i * k % 128) / 128);
      want[(block * 128 + k) * 2] = static_cast<float>(sum.real()),
                               want[(block * 128 + k) * 2 + 1] = static_cast<float>(sum.imag());
    }
  Device dx(x);
  t.LAUNCH(fourier, 2, 128, 0, reinterpret_cast<float2*>(static_cast<float*>(dx)));
  t.close("spectrum", dx.read(), want, {1e-5, 2e-5});
}

// Escape times: lanes leave at different iterations; fused on both sides, so that they agree to the bit.
SHARED int escape(float cx, float cy, int limit) {
  float x = 0, y = 0;
  int n = 0;
  for (; n < limit && __builtin_fmaf(x, x, y * y) < 4.0f; ++n) {
    const float next = __builtin_fmaf(x, x, __builtin_fmaf(-y, y, cx));
    y = __builtin_fmaf(x + x, y, cy);
    x = next;
  }
  return n;
}
KERNEL void mandelbrot(int* out, int width, int height, int limit) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[y * width + x] = escape(static_cast<float>(x) * 0.0625f - 2.0f, static_cast<float>(y) * 0.0625f - 1.0f, limit);
}
CASE(mandelbrot) {
  const int width = 45, height = 33;
  std::vector<int> want(width * height);
  for (int i = 0; i < width * height; ++i)
    want[i] =
        escape(static_cast<float>(i % width) * 0.0625f - 2.0f, static_cast<float>(i / width) * 0.0625f - 1.0f, 100);
  Device<int> out(width * height);
  t.LAUNCH(mandelbrot, dim3(3, 5), dim3(16, 8), 0, out, width, height, 100);
  if (t.setting().fast) {  // -ffast-math may turn points at the edge
    const auto got = out.read();
    int other = 0;
    for (int i = 0; i < width * height; ++i) other += got[i] != want[i];
    if (other > width * height / 50) t.complain(std::to_string(other) + " points differ");
  } else {
    t.same("times", out.read(), want);
  }
}

KERNEL void life(const unsigned char* from, unsigned char* to, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  int around = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) around += from[(y + dy + height) % height * width + (x + dx + width) % width];
  to[y * width + x] = around == 3 || (around == 2 && from[y * width + x]);
}
CASE(life) {
  const int width = 30, height = 20;
  auto cells = any_bits<unsigned char>(width * height, 133);
  for (unsigned char& c : cells) c &= 1;
  Device a(cells), b(cells);
  for (int turn = 0; turn < 4; ++turn) {
    if (turn % 2)
      t.LAUNCH(life, dim3(2, 3), dim3(16, 8), 0, b, a, width, height);
    else
      t.LAUNCH(life, dim3(2, 3), dim3(16, 8), 0, a, b, width, height);
    std::vector<unsigned char> next(cells.size());
    for (int i = 0; i < width * height; ++i) {
      int around = 0;
      for (int k = 0; k < 9; ++k)
        if (k != 4)
          around += cells[(i / width + k / 3 - 1 + height) % height * width + (i % width + k % 3 - 1 + width) % width];
      next[i] = around == 3 || (around == 2 && cells[i]);
    }
    cells = next;
  }
  t.same("cells", a.read(), cells);
}

KERNEL void shortest_paths(int* distance, int n) {
  for (int via = 0; via < n; ++via) {
    for (int i = threadIdx.x; i < n * n; i += blockDim.x) {
      const int path = distance[i / n * n + via] + distance[via * n + i % n];
      if (path < distance[i]) distance[i] = path;
    }
    __syncthreads();
  }
}
CASE(shortest_paths) {
  const int n = 20;
  auto want = whole<int>(n * n, 1, 1000, 134);
  for (int i = 0; i < n; ++i) want[i * n + i] = 0;
  Device distance(want);
  for (int via = 0; via < n; ++via)
    for (int i = 0; i < n * n; ++i) want[i] = std::min(want[i], want[i / n * n + via] + want[via * n + i % n]);
  t.LAUNCH(shortest_paths, 1, 128, 0, distance, n);
  t.same("distances", distance.read(), want);
}

// Weights of four bits in blocks of 32 with a scale each, as quantised language models have them; a row a wave.
struct Block4 {
  _Float16 scale;
  unsigned char nibbles[16];
};
KERNEL void quantised_product(const Block4* rows, const float* x, float* y, int blocks) {
  const int wave = WAVE_WIDTH, lane = threadIdx.x % wave, row = (blockIdx.x * blockDim.x + threadIdx.x) / wave;
  float sum = 0;
  for (int b = lane; b < blocks; b += wave) {
    const Block4& block = rows[row * blocks + b];
    float part = 0;
    for (int i = 0; i < 16; ++i) {
      part += static_cast<float>((block.nibbles[i] & 15) - 8) * x[b * 32 + i];
      part += static_cast<float>((block.nibbles[i] >> 4) - 8) * x[b * 32 + 16 + i];
    }
    sum += part * static_cast<float>(block.scale);
  }
  for (int step = wave / 2; step > 0; step /= 2) sum += __shfl_xor(sum, step, wave);
  if (lane == 0) y[row] = sum;
}
CASE(quantised_product) {
  const int blocks = 9, rows = 256 / t.wave();
  const auto bytes = any_bits<unsigned char>(rows * blocks * 16, 135);
  const auto x = whole<float>(blocks * 32, -5, 5, 136);
  std::vector<unsigned char> packed(rows * blocks * sizeof(Block4));
  std::vector<float> want(rows);
  for (int b = 0; b < rows * blocks; ++b) {
    Block4 block{static_cast<_Float16>(0.25 * (b % 4 + 1)), {}};
    std::copy_n(&bytes[b * 16], 16, block.nibbles);
    std::memcpy(&packed[b * sizeof block], &block, sizeof block);
    for (int i = 0; i < 32; ++i)
      want[b / blocks] += static_cast<float>((block.nibbles[i % 16] >> (i / 16 * 4) & 15) - 8) *
                          x[b % blocks * 32 + i] * static_cast<float>(block.scale);
  }
  Device dp(packed);
  Device dx(x);
  Device<float> y(rows);
  t.LAUNCH(quantised_product, 2, 128, 0, reinterpret_cast<Block4*>(static_cast<unsigned char*>(dp)), dx, y, blocks);
  t.same("y", y.read(), want);
}

// Attention of one head, a query a workgroup: scores in LDS, softmax, the weighted sum of values.
KERNEL void attention(const _Float16* q, const _Float16* k, const _Float16* v, _Float16* out, int length) {
  __shared__ float scores[256], reduced[64];
  const int item = threadIdx.x, query = blockIdx.x;
  for (int key = item; key < length; key += 64) {
    float dot = 0;
    for (int d = 0; d < 64; ++d) dot += static_cast<float>(q[query * 64 + d]) * static_cast<float>(k[key * 64 + d]);
    scores[key] = dot * 0.125f;
  }
  __syncthreads();
  float most = -1e30f;
  for (int key = item; key < length; key += 64) most = fmaxf(most, scores[key]);
  reduced[item] = most;
  __syncthreads();
  for (int width = 32; width > 0; width /= 2) {
    if (item < width) reduced[item] = fmaxf(reduced[item], reduced[item + width]);
    __syncthreads();
  }
  most = reduced[0];
  __syncthreads();
  float weight = 0;
  for (int key = item; key < length; key += 64) weight += scores[key] = expf(scores[key] - most);
  reduced[item] = weight;
  __syncthreads();
  for (int width = 32; width > 0; width /= 2) {
    if (item < width) reduced[item] += reduced[item + width];
    __syncthreads();
  }
  float sum = 0;
  for (int key = 0; key < length; ++key) sum += scores[key] * static_cast<float>(v[key * 64 + item]);
  out[query * 64 + item] = static_cast<_Float16>(sum / reduced[0]);
}
CASE(attention) {
  const int length = 90;
  const auto q = random<_Float16>(4 * 64, -1, 1, 137), k = random<_Float16>(length * 64, -1, 1, 138),
             v = random<_Float16>(length * 64, -1, 1, 139);
  std::vector<_Float16> want(4 * 64);
  for (int query = 0; query < 4; ++query) {
    std::vector<double> p(length);
    double total = 0;
    for (int key = 0; key < length; ++key) {
      for (int d = 0; d < 64; ++d)
        p[key] += static_cast<double>(q[query * 64 + d]) * static_cast<double>(k[key * 64 + d]) / 8;
      total += p[key] = std::exp(p[key]);
    }
    for (int d = 0; d < 64; ++d) {
      double sum = 0;
      for (int key = 0; key < length; ++key) sum += p[key] / total * static_cast<double>(v[key * 64 + d]);
      want[query * 64 + d] = static_cast<_Float16>(sum);
    }
  }
  Device dq(q), dk(k), dv(v);
  Device<_Float16> out(4 * 64);
  t.LAUNCH(attention, 4, 64, 0, dq, dk, dv, out, length);
  t.close("out", out.read(), want, {0x1p-9, 0x1p-12});
}

// Gaussian elimination of whole numbers modulo a prime: 64-bit products and remainders.
constexpr unsigned kPrime = 998244353;
SHARED unsigned product_modulo(unsigned a, unsigned b) {
  return static_cast<unsigned>(static_cast<unsigned long long>(a) * b % kPrime);
}
SHARED unsigned inverse(unsigned a) {
  unsigned r = 1;
  for (unsigned e = kPrime - 2; e; e >>= 1, a = product_modulo(a, a))
    if (e & 1) r = product_modulo(r, a);
  return r;
}
KERNEL void determinant(unsigned* matrix, unsigned* out, int n) {
  __shared__ unsigned factor, det;
  if (threadIdx.x == 0) det = 1;
  for (int column = 0; column < n; ++column) {
    __syncthreads();
    if (threadIdx.x == 0) {
      factor = inverse(matrix[column * n + column]);
      det = product_modulo(det, matrix[column * n + column]);
    }
    __syncthreads();
    const int row = threadIdx.x;
    if (row > column && row < n) {
      const unsigned by = product_modulo(matrix[row * n + column], factor);
      for (int i = column; i < n; ++i)
        matrix[row * n + i] = (matrix[row * n + i] + kPrime - product_modulo(by, matrix[column * n + i])) % kPrime;
    }
  }
  if (threadIdx.x == 0) *out = det;
}
CASE(determinant) {
  const int n = 12;
  auto m = whole<unsigned>(n * n, 1, kPrime - 1, 140);
  Device dm(m);
  unsigned want = 1;
  for (int column = 0; column < n; ++column) {
    const unsigned factor = inverse(m[column * n + column]);
    want = product_modulo(want, m[column * n + column]);
    for (int row = column + 1; row < n; ++row) {
      const unsigned by = product_modulo(m[row * n + column], factor);
      for (int i = column; i < n; ++i)
        m[row * n + i] = (m[row * n + i] + kPrime - product_modulo(by, m[column * n + i])) % kPrime;
    }
  }
  Device<unsigned> out(1);
  t.LAUNCH(determinant, 1, 64, 0, dm, out, n);
  t.same("determinant", out.read(), {want});
}

// All workgroups of the grid. gfx12 has no semaphores of global wave sync, which the device library names where nothing is
// optimised away, and LLVM stops there: then by hand, for the n-th time.
__device__ unsigned arrived;
__device__ void meet(unsigned n) {
#if ON_GFX12 && !defined(__OPTIMIZE__)
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(&arrived, 1u);
    while (atomicAdd(&arrived, 0u) < n * gridDim.x) __builtin_amdgcn_s_sleep(1);
    __threadfence();
  }
  __syncthreads();
#else
  cooperative_groups::this_grid().sync();
#endif
}
// Heat on a rod: all workgroups meet after every step.
KERNEL void heat(double* from, double* to, int n, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int step = 0; step < steps; ++step) {
    if (i > 0 && i + 1 < n) to[i] = from[i] + (from[i - 1] - from[i] + from[i + 1] - from[i]) * 0.25;
    meet(step + 1);
    double* other = from;
    from = to;
    to = other;
  }
}
CASE(heat) {
  const int n = 300;
  std::vector<double> rod(n);
  for (int i = 0; i < n; ++i) rod[i] = static_cast<double>(i * 37 % 64);
  Device a(rod), b(rod);
  std::vector<double> next(rod);
  for (int step = 0; step < 4; ++step) {
    for (int i = 1; i + 1 < n; ++i) next[i] = rod[i] + (rod[i - 1] - rod[i] + rod[i + 1] - rod[i]) * 0.25;
    std::swap(rod, next);
  }
  double *from = a, *to = b;
  int size = n, steps = 4;
  void* arguments[] = {&from, &to, &size, &steps};
  HIP_OK(hipModuleLaunchCooperativeKernel(t.function("heat"), 3, 1, 1, 128, 1, 1, 0, nullptr, arguments));
  HIP_OK(hipDeviceSynchronize());
  t.same("rod", a.read(), rod);
}
