// Kernels whose workgroups work together through global memory: the interpreter runs them on several host threads.
#include <hip/hip_runtime.h>

__device__ unsigned load_agent(unsigned* p) { return __hip_atomic_load(p, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT); }
__device__ void store_agent(unsigned* p, unsigned v) { __hip_atomic_store(p, v, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT); }

// Work that takes a while and whose result is checked.
__device__ unsigned churn(unsigned x, int rounds) {
  for (int i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  return x;
}

extern "C" __global__ void churned(unsigned* out, int rounds) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = churn(i, rounds);
}

extern "C" __global__ void count_up(unsigned* counters, unsigned long long* sum, unsigned* largest) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&counters[0], 1u);
  atomicAdd(&counters[1 + i % 7], 3u);
  atomicAdd(sum, static_cast<unsigned long long>(i));
  atomicMax(largest, i);
}

// The last workgroup to finish adds up what all have left, without any other order between them.
extern "C" __global__ void last_block(const unsigned* in, unsigned* partial, unsigned* done, unsigned* total) {
  __shared__ unsigned shared[64];
  __shared__ bool last;
  shared[threadIdx.x] = churn(in[blockIdx.x * 64 + threadIdx.x], 20);
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned sum = 0;
    for (int i = 0; i < 64; ++i) sum += shared[i];
    partial[blockIdx.x] = sum;
    __threadfence();
    last = atomicAdd(done, 1u) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    __threadfence();
    unsigned sum = 0;
    for (unsigned g = 0; g < gridDim.x; ++g) sum += *static_cast<volatile unsigned*>(&partial[g]);
    *total = sum;
  }
}

// Each workgroup waits for its neighbour's flag: the one before (step -1, the first waits for none) or behind (step 1).
extern "C" __global__ void chain(unsigned* flags, unsigned* values, int step) {
  if (threadIdx.x != 0) return;
  const int before = static_cast<int>(blockIdx.x) + step;
  unsigned value = 1;
  if (before >= 0 && before < static_cast<int>(gridDim.x)) {
    while (load_agent(&flags[before]) == 0) {
    }
    value += values[before];
  }
  values[blockIdx.x] = value;
  store_agent(&flags[blockIdx.x], 1u);
}

// Decoupled look-back inclusive scan: state[g] is 0, or flag << 30 | sum with flag 1 (of the group) or 2 (of all up to it).
extern "C" __global__ void scan(const unsigned* in, unsigned* out, unsigned* state, unsigned* ticket) {
  __shared__ unsigned shared[64], group, base;
  const unsigned t = threadIdx.x;
  if (t == 0) group = atomicAdd(ticket, 1u);
  __syncthreads();
  shared[t] = in[group * 64 + t];
  __syncthreads();
  for (unsigned width = 1; width < 64; width *= 2) {
    const unsigned add = t >= width ? shared[t - width] : 0;
    __syncthreads();
    shared[t] += add;
    __syncthreads();
  }
  if (t == 0) {
    const unsigned sum = shared[63];
    base = 0;
    if (group != 0) {
      store_agent(&state[group], 1u << 30 | sum);
      for (unsigned g = group - 1;; --g) {
        unsigned seen;
        while (((seen = load_agent(&state[g])) >> 30) == 0) {
        }
        base += seen & 0x3fffffff;
        if (seen >> 30 == 2) break;
      }
    }
    store_agent(&state[group], 2u << 30 | (base + sum));
  }
  __syncthreads();
  out[group * 64 + t] = base + shared[t];
}

// Group `bad` stores through a pointer that is not mapped; all others spin until they are stopped.
extern "C" __global__ void one_faults(unsigned* x, unsigned* wild, unsigned bad) {
  if (blockIdx.x == bad) {
    wild[threadIdx.x] = 1;
    return;
  }
  while (load_agent(x) == 0) {
  }
}

// Aligned elements are whole: every 64-bit word that a reader meets has two equal halves.
extern "C" __global__ void torn(unsigned long long* words, unsigned* bad, int rounds) {
  volatile unsigned long long* p = words;
  unsigned wrong = 0;
  const unsigned i = threadIdx.x;
  for (int r = 0; r < rounds; ++r) {
    if (blockIdx.x % 2 == 0) {
      const unsigned long long half = static_cast<unsigned>(r) * 64u + blockIdx.x;
      p[i] = half << 32 | half;
    } else {
      const unsigned long long seen = p[i];
      wrong += static_cast<unsigned>(seen) != static_cast<unsigned>(seen >> 32);
    }
  }
  if (wrong != 0) atomicAdd(bad, wrong);
}

// Two groups, each: store own flag, then look at the other's. Sequential consistency: not both may see zero.
extern "C" __global__ void dekker(unsigned* flags, unsigned* saw, int rounds) {
  if (threadIdx.x != 0 || blockIdx.x > 1) return;
  const unsigned me = blockIdx.x;
  for (int r = 0; r < rounds; ++r) {
    __hip_atomic_store(&flags[2 * r + me], 1u, __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
    saw[2 * r + me] = __hip_atomic_load(&flags[2 * r + 1 - me], __ATOMIC_SEQ_CST, __HIP_MEMORY_SCOPE_AGENT);
  }
}
