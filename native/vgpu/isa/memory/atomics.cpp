// Atomics on FLAT, GLOBAL and MUBUF.
#include "vgpu/isa/memory/atomic_ops.hpp"
#include "vgpu/isa/memory/lanes.hpp"
#include "vgpu/isa/memory/tables.hpp"

namespace kerncap::vgpu::isa::memory {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Data: the new value, then the one to compare with.
template <class T, auto exchange = compare_exchange<T>>
void compare_swap(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, sizeof(T), Access::atomic, lanes)) return;
  w.stored = true;
  const u32* data = w.vreg(i.src[1].index);
  const u32* expected = data + sizeof(T) / 4 * kLanes;
  u32* out = i.dst.kind == OperandKind::none ? nullptr : w.vreg(i.dst.index);
  for_each_lane(lanes.mask, [&](unsigned l) {
    const T old = exchange(lanes.ptr[l], gather<T>(expected, l), gather<T>(data, l));
    if (out) scatter<T>(out, l, old);
  });
}

#define ONE(PREFIX, FORMAT, NAME9, NAME11, OP9, OP11, TARGETS, DST, DATA, ...) \
  Row { PREFIX NAME9, PREFIX NAME11, Format::FORMAT, OP9, OP11, TARGETS, Type::DST, Type::b64, Type::DATA, Type::none, __VA_ARGS__, kReturns }
#define ATOMIC(NAME9, NAME11, OP9, OP11, DST, DATA, ...) \
  ONE("flat_", flat, NAME9, NAME11, OP9, OP11, kAllTargets, DST, DATA, __VA_ARGS__), \
  ONE("global_", global, NAME9, NAME11, OP9, OP11, kAllTargets, DST, DATA, __VA_ARGS__), \
  ONE("buffer_", mubuf, NAME9, NAME11, OP9, OP11, kAllTargets, DST, DATA, __VA_ARGS__)
#define ATOMIC12(NAME, OP, DST, DATA, ...) \
  ONE("flat_", flat, NAME, NAME, no, OP, kGfx12, DST, DATA, __VA_ARGS__), \
  ONE("global_", global, NAME, NAME, no, OP, kGfx12, DST, DATA, __VA_ARGS__), \
  ONE("buffer_", mubuf, NAME, NAME, no, OP, kGfx12, DST, DATA, __VA_ARGS__)
#define PAIR(NAME9, NAME11A, NAME11B, OP9, OP11, OP11_64, F) \
  ATOMIC("atomic_" NAME9, "atomic_" NAME11A, OP9, OP11, b32, b32, atomic<u32, F>), \
  ATOMIC("atomic_" NAME9 "_x2", "atomic_" NAME11B, OP9 + 0x20, OP11_64, b64, b64, atomic<u64, F>)
constexpr std::uint16_t no = kNoOpcode;

const Row rows[] = {
    PAIR("swap", "swap_b32", "swap_b64", 0x40, 0x33, 0x41, f_swap),
    ATOMIC("atomic_cmpswap", "atomic_cmpswap_b32", 0x41, 0x34, b32, b64, compare_swap<u32>),
    ATOMIC("atomic_cmpswap_x2", "atomic_cmpswap_b64", 0x61, 0x42, b64, b128, compare_swap<u64>),
    PAIR("add", "add_u32", "add_u64", 0x42, 0x35, 0x43, f_add),
    PAIR("sub", "sub_u32", "sub_u64", 0x43, 0x36, 0x44, f_sub),
    PAIR("smin", "min_i32", "min_i64", 0x44, 0x38, 0x45, f_smin),
    PAIR("umin", "min_u32", "min_u64", 0x45, 0x39, 0x46, f_umin),
    PAIR("smax", "max_i32", "max_i64", 0x46, 0x3a, 0x47, f_smax),
    PAIR("umax", "max_u32", "max_u64", 0x47, 0x3b, 0x48, f_umax),
    PAIR("and", "and_b32", "and_b64", 0x48, 0x3c, 0x49, f_and),
    PAIR("or", "or_b32", "or_b64", 0x49, 0x3d, 0x4a, f_or),
    PAIR("xor", "xor_b32", "xor_b64", 0x4a, 0x3e, 0x4b, f_xor),
    PAIR("inc", "inc_u32", "inc_u64", 0x4b, 0x3f, 0x4c, f_inc),
    PAIR("dec", "dec_u32", "dec_u64", 0x4c, 0x40, 0x4d, f_dec),
    ONE("global_", global, "atomic_csub_u32", "atomic_csub_u32", no, 0x37, kRdna, b32, b32, atomic<u32, f_clamped_sub>),
    ONE("buffer_", mubuf, "atomic_csub_u32", "atomic_csub_u32", no, 0x37, kRdna, b32, b32, atomic<u32, f_clamped_sub>),

    ONE("flat_", flat, "atomic_add_f32", "atomic_add_f32", 0x4d, 0x56, kGfx940 | kRdna, b32, b32, atomic_add_f32),
    ONE("global_", global, "atomic_add_f32", "atomic_add_f32", 0x4d, 0x56, kAllTargets, b32, b32, atomic_add_f32),
    ONE("buffer_", mubuf, "atomic_add_f32", "atomic_add_f32", 0x4d, 0x56, kAllTargets, b32, b32, atomic_add_f32),
    ATOMIC("atomic_min_f32", "atomic_min_f32", no, 0x51, b32, b32, atomic<u32, f_fmin>),
    ATOMIC("atomic_max_f32", "atomic_max_f32", no, 0x52, b32, b32, atomic<u32, f_fmax>),
    ATOMIC("atomic_cmpswap_f32", "atomic_cmpswap_f32", no, 0x50, b32, b64, (compare_swap<u32, compare_exchange_float<u32>>)),
    ATOMIC12("atomic_cond_sub_u32", 0x50, b32, b32, atomic<u32, f_cond_sub>),
    ATOMIC12("atomic_min_num_f32", 0x51, b32, b32, atomic<u32, f_number<false>>),
    ATOMIC12("atomic_max_num_f32", 0x52, b32, b32, atomic<u32, f_number<true>>),
    ATOMIC12("atomic_pk_add_f16", 0x59, b32, b32, atomic<u32, f_packed<add_half>>),
    ATOMIC12("atomic_pk_add_bf16", 0x5a, b32, b32, atomic<u32, f_packed<add_bfloat>>),
    ONE("flat_", flat, "atomic_sub_clamp_u32", "atomic_sub_clamp_u32", no, 0x37, kGfx12, b32, b32, atomic<u32, f_clamped_sub>),
    ONE("global_", global, "atomic_ordered_add_b64", "atomic_ordered_add_b64", no, 0x73, kGfx12, b64, b64, nullptr),
    ATOMIC("atomic_add_f64", "atomic_add_f64", 0x4f, no, b64, b64, atomic<u64, f_fadd>),
    ATOMIC("atomic_min_f64", "atomic_min_f64", 0x50, no, b64, b64, atomic<u64, f_fmin>),
    ATOMIC("atomic_max_f64", "atomic_max_f64", 0x51, no, b64, b64, atomic<u64, f_fmax>),
    ONE("flat_", flat, "atomic_pk_add_f16", "atomic_pk_add_f16", 0x4e, no, kGfx940, b32, b32, atomic<u32, f_packed<add_half>>),
    ONE("global_", global, "atomic_pk_add_f16", "atomic_pk_add_f16", 0x4e, no, kGfx9, b32, b32, atomic<u32, f_packed<add_half>>),
    ONE("buffer_", mubuf, "atomic_pk_add_f16", "atomic_pk_add_f16", 0x4e, no, kGfx9, b32, b32, atomic<u32, f_packed<add_half>>),
    ONE("flat_", flat, "atomic_pk_add_bf16", "atomic_pk_add_bf16", 0x52, no, kGfx940, b32, b32, atomic<u32, f_packed<add_bfloat>>),
    ONE("global_", global, "atomic_pk_add_bf16", "atomic_pk_add_bf16", 0x52, no, kGfx940, b32, b32, atomic<u32, f_packed<add_bfloat>>),
    ONE("buffer_", mubuf, "atomic_pk_add_bf16", "atomic_pk_add_bf16", 0x52, no, kGfx950, b32, b32, atomic<u32, f_packed<add_bfloat>>),
};

}  // namespace

std::span<const Row> atomic_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::memory
