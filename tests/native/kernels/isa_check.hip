// Faults that the checked mode must find, each beside its clean twin (`_ok`). Compiled for every target.
#include <hip/hip_runtime.h>

#if defined(__gfx1100__) || defined(__gfx1201__)
#define LOAD "global_load_b32 "
#define LDS_LOAD "ds_load_b32 "
#define SCALAR_LOAD "s_load_b32 "
#else
#define LOAD "global_load_dword "
#define LDS_LOAD "ds_read_b32 "
#define SCALAR_LOAD "s_load_dword "
#endif

// Waits until that many operations of a kind are left.
#if defined(__gfx1201__)
#define WAIT_LOADS(LEFT) "s_wait_loadcnt " LEFT "\n"
#define WAIT_LDS(LEFT) "s_wait_dscnt " LEFT "\n"
#define WAIT_SCALAR(LEFT) "s_wait_kmcnt " LEFT "\n"
#else
#define WAIT_LOADS(LEFT) "s_waitcnt vmcnt(" LEFT ")\n"
#define WAIT_LDS(LEFT) "s_waitcnt lgkmcnt(" LEFT ")\n"
#define WAIT_SCALAR(LEFT) "s_waitcnt lgkmcnt(" LEFT ")\n"
#endif

// --- waits. Inline assembly is left alone by the compiler. ---
#define WAIT_KERNEL(NAME, FIRST, SECOND)                                                              \
  extern "C" __global__ void NAME(const int* in, int* out) {                                          \
    int a, b;                                                                                         \
    asm volatile(LOAD "%0, %2, off\n" FIRST "v_mov_b32 %1, %0\n" SECOND : "=&v"(a), "=&v"(b) : "v"(in)); \
    out[threadIdx.x] = b;                                                                             \
  }
WAIT_KERNEL(vector_load, "", WAIT_LOADS("0"))
WAIT_KERNEL(vector_load_ok, WAIT_LOADS("0"), "")

// One load may still be under way, the first is complete: in order.
#define TWO_LOADS(NAME, USED)                                                                          \
  extern "C" __global__ void NAME(const int* in, int* out) {                                          \
    int a, b, c;                                                                                      \
    asm volatile(LOAD "%0, %3, off\n" LOAD "%1, %3, off\n" WAIT_LOADS("1") "v_mov_b32 %2, " USED     \
                 "\n" WAIT_LOADS("0") : "=&v"(a), "=&v"(b), "=&v"(c) : "v"(in));                    \
    out[threadIdx.x] = c;                                                                             \
  }
TWO_LOADS(second_load, "%1")
TWO_LOADS(second_load_ok, "%0")

#define OVERWRITE(NAME, WAIT)                                                                          \
  extern "C" __global__ void NAME(const int* in, int* out) {                                          \
    int a;                                                                                            \
    asm volatile(LOAD "%0, %1, off\n" WAIT "v_mov_b32 %0, 7\n" WAIT_LOADS("0") : "=&v"(a) : "v"(in)); \
    out[threadIdx.x] = a;                                                                             \
  }
OVERWRITE(overwritten, "")
OVERWRITE(overwritten_ok, WAIT_LOADS("0"))

#define LDS_WAIT(NAME, FIRST, SECOND)                                                                  \
  extern "C" __global__ void NAME(int* out) {                                                         \
    __shared__ int s[64];                                                                             \
    s[threadIdx.x] = threadIdx.x;                                                                     \
    __syncthreads();                                                                                  \
    int a, b;                                                                                         \
    asm volatile(LDS_LOAD "%0, %2\n" FIRST "v_mov_b32 %1, %0\n" SECOND                                \
                 : "=&v"(a), "=&v"(b) : "v"((unsigned)(size_t)(__attribute__((address_space(3))) int*)&s[threadIdx.x])); \
    out[threadIdx.x] = b;                                                                             \
  }
LDS_WAIT(lds_load, "", WAIT_LDS("0"))
LDS_WAIT(lds_load_ok, WAIT_LDS("0"), "")

// Scalar loads come back in any order: only lgkmcnt(0) helps.
#define SCALAR_WAIT(NAME, COUNT)                                                                       \
  extern "C" __global__ void NAME(const int* in, int* out) {                                          \
    int a, b, c;                                                                                      \
    asm volatile(SCALAR_LOAD "%0, %3, 0\n" SCALAR_LOAD "%1, %3, 4\n" WAIT_SCALAR(COUNT) "s_mov_b32 %2, %0\n" \
                 WAIT_SCALAR("0") : "=&s"(a), "=&s"(b), "=&s"(c) : "s"(in));                    \
    out[threadIdx.x] = c;                                                                             \
  }
SCALAR_WAIT(scalar_load, "1")
SCALAR_WAIT(scalar_load_ok, "0")

// gfx1100 keeps the halves of a register apart.
#if defined(__gfx1100__) || defined(__gfx1201__)
#define HALVES(NAME, USE)                                                                              \
  extern "C" __global__ void NAME(const int* in, int* out) {                                          \
    int a = 0, b;                                                                                     \
    asm volatile("global_load_d16_hi_u8 %0, %2, off\n" USE "\n" WAIT_LOADS("0") : "+&v"(a), "=&v"(b) : "v"(in)); \
    out[threadIdx.x] = b;                                                                             \
  }
HALVES(half_load, "v_lshrrev_b32 %1, 16, %0")
HALVES(half_load_ok, "v_lshlrev_b16 %1, 8, %0")
#endif

// --- wait states of gfx9 targets ---
#if !defined(__gfx1100__) && !defined(__gfx1201__)
#define DPP(NAME, NOP)                                                                                 \
  extern "C" __global__ void NAME(int* out) {                                                         \
    int a, b = 0;                                                                                     \
    asm volatile("s_nop 7\nv_mov_b32 %0, 5\n" NOP "v_mov_b32_dpp %1, %0 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf\ns_nop 4" \
                 : "=&v"(a), "+&v"(b));                                                               \
    out[threadIdx.x] = b;                                                                             \
  }
DPP(dpp_read, "s_nop 0\n")
DPP(dpp_read_ok, "s_nop 1\n")

#define SGPR_VMEM(NAME, NOP)                                                                           \
  extern "C" __global__ void NAME(const int* in, int* out) {                                          \
    int b;                                                                                            \
    unsigned long long base;                                                                          \
    asm volatile("v_readfirstlane_b32 s20, %1\nv_readfirstlane_b32 s21, %2\n" NOP                     \
                 "global_load_dword %0, %3, s[20:21]\ns_waitcnt vmcnt(0)"                             \
                 : "=&v"(b) : "v"((unsigned)(size_t)in), "v"((unsigned)((size_t)in >> 32)), "v"(threadIdx.x * 4) : "s20", "s21"); \
    out[threadIdx.x] = b;                                                                             \
  }
SGPR_VMEM(scalar_to_memory, "s_nop 3\n")
SGPR_VMEM(scalar_to_memory_ok, "s_nop 4\n")

typedef float float4_ __attribute__((ext_vector_type(4)));
typedef _Float16 half4_ __attribute__((ext_vector_type(4)));
#if defined(__gfx942__) || defined(__gfx950__)
#define MFMA "v_mfma_f32_4x4x4_16b_f16 "
#else
#define MFMA "v_mfma_f32_4x4x4f16 "
#endif
#define MATRIX_READ(NAME, NOP)                                                                         \
  extern "C" __global__ void NAME(float* out, int* as_int) {                                          \
    float4_ c;                                                                                        \
    half4_ a = {1, 2, 3, 4};                                                                          \
    asm volatile("v_mov_b32 v40, 0\nv_mov_b32 v41, 0\nv_mov_b32 v42, 0\nv_mov_b32 v43, 0\ns_nop 7\n"  \
                 MFMA "v[40:43], %1, %1, v[40:43]\n" NOP "global_store_dword %2, v40, off\ns_waitcnt vmcnt(0)\ns_nop 7" \
                 : "=v"(c) : "v"(a), "v"(out + threadIdx.x) : "v40", "v41", "v42", "v43");            \
  }
MATRIX_READ(matrix_result, "s_nop 3\n")
MATRIX_READ(matrix_result_ok, "s_nop 4\n")

// v40..v47 are clobbered, v48..v49 hold factors.
#define CHAIN(NAME, BODY)                                                                              \
  extern "C" __global__ void NAME(float* out) {                                                       \
    asm volatile("v_mov_b32 v48, 0\nv_mov_b32 v49, 0\nv_mov_b32 v40, 0\nv_mov_b32 v41, 0\nv_mov_b32 v42, 0\n" \
                 "v_mov_b32 v43, 0\nv_mov_b32 v44, 0\nv_mov_b32 v45, 0\nv_mov_b32 v46, 0\nv_mov_b32 v47, 0\ns_nop 7\n" \
                 BODY "\ns_nop 15\ns_nop 7" ::                                                         \
                 : "v40", "v41", "v42", "v43", "v44", "v45", "v46", "v47", "v48", "v49");             \
    out[threadIdx.x] = 1;                                                                             \
  }
// The result is the next one's factor.
CHAIN(matrix_factor, MFMA "v[40:43], v[48:49], v[48:49], v[40:43]\ns_nop 3\n" MFMA "v[44:47], v[40:41], v[48:49], v[44:47]")
CHAIN(matrix_factor_ok, MFMA "v[40:43], v[48:49], v[48:49], v[40:43]\ns_nop 4\n" MFMA "v[44:47], v[40:41], v[48:49], v[44:47]")
// A part of the result is a part of the next one's accumulator.
CHAIN(matrix_overlap, MFMA "v[40:43], v[48:49], v[48:49], v[40:43]\ns_nop 0\n" MFMA "v[42:45], v[48:49], v[48:49], v[42:45]")
CHAIN(matrix_overlap_ok, MFMA "v[40:43], v[48:49], v[48:49], v[40:43]\ns_nop 2\n" MFMA "v[42:45], v[48:49], v[48:49], v[42:45]")
// All of it: gfx90a forwards it.
CHAIN(matrix_sum, MFMA "v[40:43], v[48:49], v[48:49], v[40:43]\ns_nop 0\n" MFMA "v[40:43], v[48:49], v[48:49], v[40:43]")
CHAIN(matrix_sum_ok, MFMA "v[40:43], v[48:49], v[48:49], v[40:43]\ns_nop 1\n" MFMA "v[40:43], v[48:49], v[48:49], v[40:43]")
CHAIN(matrix_operand, "v_mov_b32 v48, 1.0\ns_nop 0\n" MFMA "v[40:43], v[48:49], v[48:49], v[40:43]")
CHAIN(matrix_operand_ok, "v_mov_b32 v48, 1.0\ns_nop 1\n" MFMA "v[40:43], v[48:49], v[48:49], v[40:43]")
// The accumulator is overwritten while it is read.
CHAIN(matrix_accumulator, MFMA "v[40:43], v[48:49], v[48:49], v[44:47]\nv_mov_b32 v44, 1.0")
CHAIN(matrix_accumulator_ok, MFMA "v[40:43], v[48:49], v[48:49], v[44:47]\ns_nop 0\nv_mov_b32 v44, 1.0")
#if defined(__gfx942__) || defined(__gfx950__)
#define MFMA_F64 "v_mfma_f64_16x16x4_f64 "
#else
#define MFMA_F64 "v_mfma_f64_16x16x4f64 "
#endif
CHAIN(matrix_doubles, MFMA_F64 "v[40:47], v[48:49], v[48:49], 0\nv_fma_f64 v[48:49], v[48:49], v[48:49], v[48:49]")
CHAIN(matrix_doubles_ok, MFMA_F64 "v[40:47], v[48:49], v[48:49], 0\ns_nop 1\nv_fma_f64 v[48:49], v[48:49], v[48:49], v[48:49]")
CHAIN(dot_result, "v_dot2_f32_f16 v40, v48, v48, v49\ns_nop 1\nv_mov_b32 v40, 1.0")
CHAIN(dot_result_ok, "v_dot2_f32_f16 v40, v48, v48, v49\ns_nop 2\nv_mov_b32 v40, 1.0")
#endif

// --- races ---
extern "C" __global__ void lds_race(int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = threadIdx.x;
  out[threadIdx.x] = s[255 - threadIdx.x];
}
extern "C" __global__ void lds_race_ok(int* out) {
  __shared__ int s[256];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = s[255 - threadIdx.x];
}
// Other bytes of the same word are other data.
extern "C" __global__ void neighbours_ok(unsigned char* out) { out[threadIdx.x * 4 % 256 + threadIdx.x / 64] = threadIdx.x; }

extern "C" __global__ void global_race(int* sum) {
  if (threadIdx.x == 0) sum[0] += blockIdx.x + 1;
}
extern "C" __global__ void global_race_ok(int* sum) {
  if (threadIdx.x == 0) atomicAdd(sum, (int)blockIdx.x + 1);
}
// Workgroups that meet at global wave sync, then read what the next one wrote.
#if !defined(__gfx1100__) && !defined(__gfx1201__)
#define MEET(NAME, WAIT)                                                                              \
  extern "C" __global__ void NAME(int* out, unsigned others) {                                        \
    for (unsigned round = 0; round < 3; ++round) {                                                    \
      int* const row = out + round * 1024;                                                            \
      row[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x + round;                                \
      asm volatile(WAIT "s_mov_b32 m0, 0\ns_nop 0\nds_gws_barrier %0 gds\ns_waitcnt lgkmcnt(0)"      \
                   : : "{v2}"(others) : "memory", "m0");                                              \
      row[512 + blockIdx.x * blockDim.x + threadIdx.x] = row[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x]; \
    }                                                                                                 \
  }
MEET(meet_race, "")
MEET(meet_ok, WAIT_LOADS("0"))
#endif

extern "C" __global__ void same_value(int* flag) { flag[0] = 1; }
extern "C" __global__ void lanes_race(int* out) { out[threadIdx.x / 2] = threadIdx.x; }

template <bool barrier>
__device__ void last_block(int* partial, unsigned* done, int* out) {
  __shared__ bool last;
  partial[blockIdx.x * 256 + threadIdx.x] = blockIdx.x + threadIdx.x;
  __threadfence();
  if (barrier) __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(done, 1u) == gridDim.x - 1;
    __threadfence();
  }
  __syncthreads();
  if (last) {
    int sum = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) sum += partial[b * 256 + threadIdx.x];
    out[threadIdx.x] = sum;
  }
}
extern "C" __global__ void last_block_race(int* partial, unsigned* done, int* out) { last_block<false>(partial, done, out); }
extern "C" __global__ void last_block_ok(int* partial, unsigned* done, int* out) { last_block<true>(partial, done, out); }

// Decoupled look-back: each workgroup waits for the flag of the one before and adds to its value.
template <int release, int acquire>
__device__ void look_back(int* value, int* flag) {
  if (threadIdx.x != 0) return;
  int before = 0;
  if (blockIdx.x > 0) {
    while (__hip_atomic_load(&flag[blockIdx.x - 1], acquire, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
    before = value[blockIdx.x - 1];
  }
  value[blockIdx.x] = before + 1;
  __hip_atomic_store(&flag[blockIdx.x], 1, release, __HIP_MEMORY_SCOPE_AGENT);
}
extern "C" __global__ void look_back_race(int* value, int* flag) { look_back<__ATOMIC_RELAXED, __ATOMIC_RELAXED>(value, flag); }
extern "C" __global__ void look_back_ok(int* value, int* flag) { look_back<__ATOMIC_RELEASE, __ATOMIC_ACQUIRE>(value, flag); }

// --- memory ---
extern "C" __global__ void lds_outside(int* out, int index) {
  extern __shared__ int dynamic[];
  dynamic[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = dynamic[threadIdx.x + index];
}
extern "C" __global__ void lds_unwritten(int* out, int n) {
  __shared__ int s[256];
  if ((int)threadIdx.x < n) s[threadIdx.x] = 1;
  __syncthreads();
  out[threadIdx.x] = s[threadIdx.x];
}
extern "C" __global__ void copy(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}

// The second workgroup has the line in its cache when the first one stores there; without an acquire it may see the old value.
template <bool acquire>
__device__ void second_look(int* data, int* flags, int* out) {
  if (threadIdx.x != 0) return;
  int at = 0;
  asm volatile("" : "+v"(at));  // no scalar loads
  const auto wait = [](int* flag) {
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == 0) __builtin_amdgcn_s_sleep(1);
  };
  if (blockIdx.x == 0) {
    wait(&flags[0]);
    data[at] = 7;
    __hip_atomic_store(&flags[64], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    return;
  }
  const int before = data[at];
  asm volatile("" ::"v"(before) : "memory");
  __hip_atomic_store(&flags[0], 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  wait(&flags[64]);
  if (acquire) __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
  asm volatile("" ::: "memory");
  out[0] = data[at] + before;
}
extern "C" __global__ void stale_look(int* data, int* flags, int* out) { second_look<false>(data, flags, out); }
extern "C" __global__ void stale_look_ok(int* data, int* flags, int* out) { second_look<true>(data, flags, out); }

// --- memory that nobody has written ---
struct Padded {
  char tag;
  int value;
};
extern "C" __global__ void increment(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] + 1;
}
extern "C" __global__ void increment_uniform(const int* in, int* out) { out[threadIdx.x] = in[blockIdx.x] + 1; }
extern "C" __global__ void increment_shorts(const short* in, short* out) { out[threadIdx.x] = in[threadIdx.x] + 1; }
extern "C" __global__ void copy_padded(const Padded* in, Padded* out) { out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void fill_padded(Padded* out) {
  out[threadIdx.x].tag = 1;
  out[threadIdx.x].value = threadIdx.x;
}
extern "C" __global__ void sum_padded(const Padded* in, int* out) { out[threadIdx.x] = in[threadIdx.x].tag + in[threadIdx.x].value; }
extern "C" __global__ void copy_shorts(const short* in, short* out) { out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void choose(const int* in, int* out, int n) {
  const int value = in[threadIdx.x];
  out[threadIdx.x] = (int)threadIdx.x < n ? value : 7;
}
extern "C" __global__ void count_up(int* counters) { atomicAdd(&counters[threadIdx.x], 1); }
extern "C" __global__ void exchange(int* slots, int* out) { out[threadIdx.x] = atomicExch(&slots[threadIdx.x], 5); }
