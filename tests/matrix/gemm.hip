// Matrix products of whole numbers, exact however the compiler orders and contracts them; a transposition.
#include "matrix.hpp"

#include <hip/hip_fp16.h>

namespace {

constexpr int kTile = 16;

template <class T>
std::vector<T> product(const std::vector<T>& a, const std::vector<T>& b, int m, int n, int k) {
  std::vector<T> c(m * n);
  for (int row = 0; row < m; ++row)
    for (int column = 0; column < n; ++column) {
      double sum = 0;
      for (int i = 0; i < k; ++i) sum += static_cast<double>(a[row * k + i]) * static_cast<double>(b[i * n + column]);
      c[row * n + column] = static_cast<T>(sum);
    }
  return c;
}

}  // namespace

KERNEL void gemm_plain(const float* a, const float* b, float* c, int m, int n, int k) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= m || column >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
  c[row * n + column] = sum;
}
template <class T, class Sum>
__device__ void tiled(const T* a, const T* b, T* c, int m, int n, int k) {
  __shared__ T left[kTile][kTile], right[kTile][kTile];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  Sum sum = 0;
  for (int i = 0; i < k; i += kTile) {
    left[y][x] = row < m && i + x < k ? a[row * k + i + x] : T(0);
    right[y][x] = i + y < k && column < n ? b[(i + y) * n + column] : T(0);
    __syncthreads();
    for (int j = 0; j < kTile; ++j) sum += static_cast<Sum>(left[y][j]) * static_cast<Sum>(right[j][x]);
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = static_cast<T>(sum);
}
KERNEL void gemm_tiled(const float* a, const float* b, float* c, int m, int n, int k) {
  tiled<float, float>(a, b, c, m, n, k);
}
KERNEL void gemm_tiled_f64(const double* a, const double* b, double* c, int m, int n, int k) {
  tiled<double, double>(a, b, c, m, n, k);
}
KERNEL void gemm_tiled_f16(const _Float16* a, const _Float16* b, _Float16* c, int m, int n, int k) {
  tiled<_Float16, float>(a, b, c, m, n, k);
}
CASE(gemm_tiles) {
  const int m = 37, n = 50, k = 29;
  const auto a = whole<float>(m * k, -9, 9, 40), b = whole<float>(k * n, -9, 9, 41);
  const std::vector<double> a64(a.begin(), a.end()), b64(b.begin(), b.end());
  const std::vector<_Float16> a16(a.begin(), a.end()), b16(b.begin(), b.end());
  const auto want = product(a, b, m, n, k);
  Device da(a), db(b);
  Device dda(a64), ddb(b64);
  Device dha(a16), dhb(b16);
  Device<float> plain(m * n), c(m * n);
  Device<double> c64(m * n);
  Device<_Float16> c16(m * n);
  const dim3 groups(4, 3), items(kTile, kTile);
  t.LAUNCH(gemm_plain, groups, items, 0, da, db, plain, m, n, k);
  t.LAUNCH(gemm_tiled, groups, items, 0, da, db, c, m, n, k);
  t.LAUNCH(gemm_tiled_f64, groups, items, 0, dda, ddb, c64, m, n, k);
  t.LAUNCH(gemm_tiled_f16, groups, items, 0, dha, dhb, c16, m, n, k);
  t.same("plain", plain.read(), want);
  t.same("tiled", c.read(), want);
  t.same("doubles", c64.read(), product(a64, b64, m, n, k));
  t.same("halves", c16.read(), product(a16, b16, m, n, k), kFastHalf);
}

// 64x64 of the result a workgroup, 4x4 a workitem, loads of four floats.
KERNEL __launch_bounds__(256) void gemm_blocked(const float* __restrict__ a, const float* __restrict__ b,
                                                float* __restrict__ c, int n, int k, float alpha, float beta) {
  __shared__ float left[16][64], right[16][64];
  const int item = threadIdx.x, x = item % 16, y = item / 16;
  float sums[4][4] = {};
  const float* rows = a + static_cast<size_t>(blockIdx.y) * 64 * k;
  const float* columns = b + blockIdx.x * 64;
  for (int i = 0; i < k; i += 16) {
    const float4 l = *reinterpret_cast<const float4*>(rows + static_cast<size_t>(item / 4) * k + i + item % 4 * 4);
    left[item % 4 * 4][item / 4] = l.x, left[item % 4 * 4 + 1][item / 4] = l.y;
    left[item % 4 * 4 + 2][item / 4] = l.z, left[item % 4 * 4 + 3][item / 4] = l.w;
    *reinterpret_cast<float4*>(&right[y][x * 4]) =
        *reinterpret_cast<const float4*>(columns + static_cast<size_t>(i + y) * n + x * 4);
    __syncthreads();
    for (int j = 0; j < 16; ++j) {
      const float4 p = *reinterpret_cast<float4*>(&left[j][y * 4]), q = *reinterpret_cast<float4*>(&right[j][x * 4]);
      const float ps[4] = {p.x, p.y, p.z, p.w}, qs[4] = {q.x, q.y, q.z, q.w};
      for (int r = 0; r < 4; ++r)
        for (int s = 0; s < 4; ++s) sums[r][s] += ps[r] * qs[s];
    }
    __syncthreads();
  }
  for (int r = 0; r < 4; ++r)
    for (int s = 0; s < 4; ++s) {
      float& out = c[(blockIdx.y * 64ull + y * 4 + r) * n + blockIdx.x * 64 + x * 4 + s];
      out = alpha * sums[r][s] + beta * out;
    }
}
CASE(gemm_blocked) {
  const int m = 64, n = 128, k = 48;
  const auto a = whole<float>(m * k, -9, 9, 42), b = whole<float>(k * n, -9, 9, 43), c = whole<float>(m * n, -9, 9, 44);
  std::vector<float> want = product(a, b, m, n, k);
  for (int i = 0; i < m * n; ++i) want[i] = 2.0f * want[i] - 0.5f * c[i];
  Device da(a), db(b), dc(c);
  t.LAUNCH(gemm_blocked, dim3(2, 1), 256, 0, da, db, dc, n, k, 2.0f, -0.5f);
  t.same("c", dc.read(), want);
}

KERNEL void transpose(const float* x, float* y, int width, int height) {
  __shared__ float tile[32][33];
  int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (column < width && row + j < height) tile[threadIdx.y + j][threadIdx.x] = x[(row + j) * width + column];
  __syncthreads();
  column = blockIdx.y * 32 + threadIdx.x, row = blockIdx.x * 32 + threadIdx.y;
  for (int j = 0; j < 32; j += 8)
    if (column < height && row + j < width) y[(row + j) * height + column] = tile[threadIdx.x][threadIdx.y + j];
}
CASE(transpose) {
  const int width = 45, height = 70;
  const auto x = random<float>(width * height, -1, 1, 45);
  std::vector<float> want(width * height);
  for (int i = 0; i < width * height; ++i) want[i % width * height + i / width] = x[i];
  Device dx(x);
  Device<float> y(width * height);
  t.LAUNCH(transpose, dim3(2, 3), dim3(32, 8), 0, dx, y, width, height);
  t.same("y", y.read(), want);
}

KERNEL void gemm_batch(const float* const* a, const float* const* b, float* const* c, int n) {
  const float *left = a[blockIdx.z], *right = b[blockIdx.z];
  const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n || column >= n) return;
  float sum = 0;
  for (int i = 0; i < n; ++i) sum = fmaf(left[row * n + i], right[i * n + column], sum);
  c[blockIdx.z][row * n + column] = sum;
}
CASE(gemm_batch) {
  const int n = 13, batch = 3;
  const auto a = random<float>(batch * n * n, -1, 1, 46), b = random<float>(batch * n * n, -1, 1, 47);
  std::vector<float> want(batch * n * n);
  for (int i = 0; i < batch * n * n; ++i)
    for (int j = 0; j < n; ++j) want[i] = std::fma(a[i / n * n + j], b[i / (n * n) * n * n + j * n + i % n], want[i]);
  Device da(a), db(b);
  Device<float> c(batch * n * n);
  std::vector<float*> lefts, rights, outs;
  for (int i = 0; i < batch; ++i) {
    lefts.push_back(da + i * n * n), rights.push_back(db + i * n * n), outs.push_back(c + i * n * n);
  }
  Device dl(lefts), dr(rights), douts(outs);
  t.LAUNCH(gemm_batch, dim3(2, 2, batch), dim3(8, 8), 0, dl, dr, douts, n);
  t.same("c", c.read(), want);
}
