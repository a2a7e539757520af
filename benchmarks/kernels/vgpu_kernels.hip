// The kernels of benchmarks/vgpu.py: compiled by hipcc for the virtual GPU and by clang -O2 for the host.
#include "portable.hpp"

// Sixteen chains of fused multiply-adds: what the VALU gives at most.
KERNEL(fma_peak, 256, float* out, int rounds) {
  EACH_THREAD(t, 256) {
    float x[16];
    for (int k = 0; k < 16; ++k) x[k] = static_cast<float>(t + k);
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int k = 0; k < 16; ++k) x[k] = __builtin_fmaf(x[k], 0.999f, 0.25f);
    float sum = 0;
    for (int k = 0; k < 16; ++k) sum += x[k];
    out[BLOCK_X * 256 + t] = sum;
  }
}

KERNEL(vector_add, 256, const float* a, const float* b, float* c, int n) {
  EACH_THREAD(t, 256) {
    const int i = static_cast<int>(BLOCK_X * 256 + t);
    if (i < n) c[i] = a[i] + b[i];
  }
}

// C = A B, n x n, a 16 x 16 tile a workgroup.
KERNEL(sgemm_tiled, 256, const float* a, const float* b, float* c, int n) {
  SHARED float ta[16][16], tb[16][16];
  Private<float, 256> sum;
  EACH_THREAD(t, 256) sum[t] = 0;
  for (int k0 = 0; k0 < n; k0 += 16) {
    EACH_THREAD(t, 256) {
      const int r = static_cast<int>(t / 16), col = static_cast<int>(t % 16);
      ta[r][col] = a[(static_cast<int>(BLOCK_Y) * 16 + r) * n + k0 + col];
      tb[r][col] = b[(k0 + r) * n + static_cast<int>(BLOCK_X) * 16 + col];
    }
    BARRIER();
    EACH_THREAD(t, 256) {
      float s = sum[t];
      for (int k = 0; k < 16; ++k) s += ta[t / 16][k] * tb[k][t % 16];
      sum[t] = s;
    }
    BARRIER();
  }
  EACH_THREAD(t, 256)
    c[(static_cast<int>(BLOCK_Y) * 16 + static_cast<int>(t / 16)) * n + static_cast<int>(BLOCK_X * 16 + t % 16)] = sum[t];
}

// The same with a 64 x 64 tile a workgroup and 4 x 4 results a thread.
struct Block4 {
  float v[4][4];
};
KERNEL(sgemm_blocked, 256, const float* a, const float* b, float* c, int n) {
  SHARED float ta[16][64], tb[16][64];
  Private<Block4, 256> sum;
  EACH_THREAD(t, 256) sum[t] = Block4{};
  for (int k0 = 0; k0 < n; k0 += 16) {
    EACH_THREAD(t, 256) {
      for (int e = 0; e < 4; ++e) {
        const int i = static_cast<int>(t) + 256 * e;
        ta[i % 16][i / 16] = a[(static_cast<int>(BLOCK_Y) * 64 + i / 16) * n + k0 + i % 16];
        tb[i / 64][i % 64] = b[(k0 + i / 64) * n + static_cast<int>(BLOCK_X) * 64 + i % 64];
      }
    }
    BARRIER();
    EACH_THREAD(t, 256) {
      Block4 s = sum[t];
      const uint32 row = t / 16 * 4, column = t % 16 * 4;
#pragma unroll
      for (int k = 0; k < 16; ++k)
#pragma unroll
        for (int i = 0; i < 4; ++i)
#pragma unroll
          for (int j = 0; j < 4; ++j) s.v[i][j] += ta[k][row + i] * tb[k][column + j];
      sum[t] = s;
    }
    BARRIER();
  }
  EACH_THREAD(t, 256)
    for (int i = 0; i < 4; ++i)
      for (int j = 0; j < 4; ++j)
        c[(static_cast<int>(BLOCK_Y * 64 + t / 16 * 4) + i) * n + static_cast<int>(BLOCK_X * 64 + t % 16 * 4) + j] = sum[t].v[i][j];
}

struct Body {
  float x, y, z, mass;
};
struct Pull {
  float x, y, z;
};
KERNEL(nbody, 256, const Body* bodies, Pull* pulls, int n) {
  SHARED Body tile[256];
  Private<Pull, 256> pull;
  EACH_THREAD(t, 256) pull[t] = Pull{0, 0, 0};
  for (int first = 0; first < n; first += 256) {
    EACH_THREAD(t, 256) tile[t] = bodies[first + static_cast<int>(t)];
    BARRIER();
    EACH_THREAD(t, 256) {
      const Body me = bodies[BLOCK_X * 256 + t];
      Pull p = pull[t];
      for (int k = 0; k < 256; ++k) {
        const float dx = tile[k].x - me.x, dy = tile[k].y - me.y, dz = tile[k].z - me.z;
        const float inverse = reciprocal_root(dx * dx + dy * dy + dz * dz + 0.01f);
        const float f = tile[k].mass * inverse * inverse * inverse;
        p.x += f * dx, p.y += f * dy, p.z += f * dz;
      }
      pull[t] = p;
    }
    BARRIER();
  }
  EACH_THREAD(t, 256) pulls[BLOCK_X * 256 + t] = pull[t];
}

KERNEL(mandelbrot, 256, int* out, int width, int limit) {
  EACH_THREAD(t, 256) {
    const int i = static_cast<int>(BLOCK_X * 256 + t);
    const float cx = -2.0f + 3.0f * static_cast<float>(i % width) / static_cast<float>(width);
    const float cy = -1.5f + 3.0f * static_cast<float>(i / width) / static_cast<float>(width);
    float x = 0, y = 0;
    int n = 0;
    for (; n < limit && x * x + y * y < 4.0f; ++n) {
      const float next = x * x - y * y + cx;
      y = 2.0f * x * y + cy;
      x = next;
    }
    out[i] = n;
  }
}

// 2048 elements a workgroup.
KERNEL(lds_reduce, 256, const float* in, float* out) {
  SHARED float partial[256];
  EACH_THREAD(t, 256) {
    float sum = 0;
    for (int k = 0; k < 8; ++k) sum += in[BLOCK_X * 2048 + static_cast<uint32>(k) * 256 + t];
    partial[t] = sum;
  }
  BARRIER();
  for (uint32 width = 128; width > 0; width /= 2) {
    EACH_THREAD(t, 256) if (t < width) partial[t] += partial[t + width];
    BARRIER();
  }
  EACH_THREAD(t, 256) if (t == 0) out[BLOCK_X] = partial[0];
}

// One row of 1024 a workgroup.
KERNEL(layernorm, 256, const float* in, const float* weight, const float* bias, float* out) {
  SHARED float partial[256], squares[256];
  EACH_THREAD(t, 256) {
    float sum = 0, square = 0;
    for (uint32 k = 0; k < 4; ++k) {
      const float v = in[BLOCK_X * 1024 + k * 256 + t];
      sum += v, square += v * v;
    }
    partial[t] = sum, squares[t] = square;
  }
  BARRIER();
  for (uint32 width = 128; width > 0; width /= 2) {
    EACH_THREAD(t, 256) if (t < width) partial[t] += partial[t + width], squares[t] += squares[t + width];
    BARRIER();
  }
  EACH_THREAD(t, 256) {
    const float mean = partial[0] / 1024, inverse = reciprocal_root(squares[0] / 1024 - mean * mean + 1e-5f);
    for (uint32 k = 0; k < 4; ++k) {
      const uint32 i = k * 256 + t;
      out[BLOCK_X * 1024 + i] = (in[BLOCK_X * 1024 + i] - mean) * inverse * weight[i] + bias[i];
    }
  }
}

// Forward attention with running maximum and sum: 64 queries of 64 elements a workgroup, keys and values 32 at a time.
struct Row64 {
  float v[64];
};
KERNEL(flash_attention, 64, const half* q, const half* k, const half* v, half* out, int keys) {
  SHARED half tk[32][64], tv[32][64];
  Private<Row64, 64> query, sum;
  Private<float, 64> largest, total;
  EACH_THREAD(t, 64) {
    for (int e = 0; e < 64; ++e) {
      query[t].v[e] = static_cast<float>(q[(BLOCK_X * 64 + t) * 64 + static_cast<uint32>(e)]) * 0.18033688f;  // log2(e) / 8
      sum[t].v[e] = 0;
    }
    largest[t] = -1e30f, total[t] = 0;
  }
  for (int first = 0; first < keys; first += 32) {
    EACH_THREAD(t, 64)
      for (int r = 0; r < 32; ++r) {
        tk[r][t] = k[static_cast<uint32>(first + r) * 64 + t];
        tv[r][t] = v[static_cast<uint32>(first + r) * 64 + t];
      }
    BARRIER();
    EACH_THREAD(t, 64) {
      Row64& qt = query[t];
      Row64& st = sum[t];
      for (int r = 0; r < 32; ++r) {
        float score = 0;
#pragma unroll
        for (int e = 0; e < 64; ++e) score += qt.v[e] * static_cast<float>(tk[r][e]);
        const float before = largest[t], now = score > before ? score : before;
        const float shrink = power_of_two(before - now), p = power_of_two(score - now);
        largest[t] = now;
        total[t] = total[t] * shrink + p;
#pragma unroll
        for (int e = 0; e < 64; ++e) st.v[e] = st.v[e] * shrink + p * static_cast<float>(tv[r][e]);
      }
    }
    BARRIER();
  }
  EACH_THREAD(t, 64)
    for (int e = 0; e < 64; ++e) out[(BLOCK_X * 64 + t) * 64 + static_cast<uint32>(e)] = static_cast<half>(sum[t].v[e] / total[t]);
}

// y = W x, W in groups of 32 signed bytes with one scale; a row a workgroup of 64.
KERNEL(quantised_matvec, 64, const signed char* weights, const half* scales, const float* x, float* y, int columns) {
  SHARED float partial[64];
  EACH_THREAD(t, 64) {
    float sum = 0;
    const int groups = columns / 32;
    for (int g = static_cast<int>(t); g < groups; g += 64) {
      const signed char* w = weights + (static_cast<long>(BLOCK_X) * groups + g) * 32;
      float s = 0;
      for (int e = 0; e < 32; ++e) s += static_cast<float>(w[e]) * x[g * 32 + e];
      sum += s * static_cast<float>(scales[static_cast<long>(BLOCK_X) * groups + g]);
    }
    partial[t] = sum;
  }
  BARRIER();
  for (uint32 width = 32; width > 0; width /= 2) {
    EACH_THREAD(t, 64) if (t < width) partial[t] += partial[t + width];
    BARRIER();
  }
  EACH_THREAD(t, 64) if (t == 0) y[BLOCK_X] = partial[0];
}

// C = A B^T in fp16 with fp32 sums: a 32 x 32 tile a wave, by matrix instructions where the target has them.
KERNEL(mfma_gemm, 64, const half* a, const half* b, float* c, int n) {
#if defined(__HIP_DEVICE_COMPILE__) && (defined(__gfx942__) || defined(__gfx90a__))
  using half4 = __attribute__((ext_vector_type(4))) half;
  using float16 = __attribute__((ext_vector_type(16))) float;
  const uint32 lane = threadIdx.x;
  const half* pa = a + (BLOCK_Y * 32 + lane % 32) * static_cast<uint32>(n) + lane / 32 * 4;
  const half* pb = b + (BLOCK_X * 32 + lane % 32) * static_cast<uint32>(n) + lane / 32 * 4;
  float16 sum = {};
  for (int k = 0; k < n; k += 8)
    sum = __builtin_amdgcn_mfma_f32_32x32x8f16(*reinterpret_cast<const half4*>(pa + k), *reinterpret_cast<const half4*>(pb + k), sum, 0, 0, 0);
  for (uint32 r = 0; r < 16; ++r)
    c[(BLOCK_Y * 32 + 8 * (r / 4) + 4 * (lane / 32) + r % 4) * static_cast<uint32>(n) + BLOCK_X * 32 + lane % 32] = sum[r];
#else
  EACH_THREAD(t, 64)
    for (uint32 e = t; e < 32 * 32; e += 64) {
      const half* pa = a + (BLOCK_Y * 32 + e / 32) * static_cast<uint32>(n);
      const half* pb = b + (BLOCK_X * 32 + e % 32) * static_cast<uint32>(n);
      float sum = 0;
      for (int k = 0; k < n; ++k) sum += static_cast<float>(pa[k]) * static_cast<float>(pb[k]);
      c[(BLOCK_Y * 32 + e / 32) * static_cast<uint32>(n) + BLOCK_X * 32 + e % 32] = sum;
    }
#endif
}
