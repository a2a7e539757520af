// LDS atomics. One thread runs a workgroup, so lanes need no host atomics; they share the templates all the same.
#include "vgpu/isa/memory/atomic_ops.hpp"
#include "vgpu/isa/memory/lanes.hpp"
#include "vgpu/isa/memory/tables.hpp"

namespace kerncap::vgpu::isa::memory {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// ds_cmpst: data0 is compared with, data1 is stored; ds_cmpstore of gfx11 has them the other way round.
template <class T, bool compare_first, auto exchange = compare_exchange<T>>
void compare_store(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, sizeof(T), Access::atomic, lanes)) return;
  const u32* expected = w.vreg(i.src[compare_first ? 1 : 3].index);
  const u32* desired = w.vreg(i.src[compare_first ? 3 : 1].index);
  u32* out = i.dst.kind == OperandKind::none ? nullptr : w.vreg(i.dst.index);
  for_each_lane(lanes.mask, [&](unsigned l) {
    const T old = exchange(lanes.ptr[l], gather<T>(expected, l), gather<T>(desired, l));
    if (out) scatter<T>(out, l, old);
  });
}
// Bits of data0 are cleared, then those of data1 set.
template <class T>
void masked_or(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, sizeof(T), Access::atomic, lanes)) return;
  const u32* clear = w.vreg(i.src[1].index);
  const u32* set = w.vreg(i.src[3].index);
  u32* out = i.dst.kind == OperandKind::none ? nullptr : w.vreg(i.dst.index);
  for_each_lane(lanes.mask, [&](unsigned l) {
    T& cell = *reinterpret_cast<T*>(lanes.ptr[l]);
    const T old = cell;
    cell = (old & ~gather<T>(clear, l)) | gather<T>(set, l);
    if (out) scatter<T>(out, l, old);
  });
}
// tmp >= data0 ? tmp - data0 : tmp + data1
void wrap(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, 4, Access::atomic, lanes)) return;
  const u32* limit = w.vreg(i.src[1].index);
  const u32* add = w.vreg(i.src[3].index);
  u32* out = w.vreg(i.dst.index);
  for_each_lane(lanes.mask, [&](unsigned l) {
    u32& cell = *reinterpret_cast<u32*>(lanes.ptr[l]);
    const u32 old = cell;
    cell = old >= limit[l] ? old - limit[l] : old + add[l];
    out[l] = old;
  });
}

#define DS(NAME, NAME11, OP9, OP11, DST, A, B, ...) \
  Row { NAME, NAME11, Format::ds, OP9, OP11, kAllTargets, Type::DST, Type::b32, Type::A, Type::B, __VA_ARGS__, kReturns }
// Of gfx12 alone: NAME and NAME_rtn.
#define DS12(NAME, SUFFIX, OP, RTN, T, ...) \
  Row { "ds_" NAME SUFFIX, nullptr, Format::ds, no, OP, kGfx12, Type::none, Type::b32, Type::T, Type::none, __VA_ARGS__, kReturns }, \
  Row { "ds_" NAME "_rtn" SUFFIX, nullptr, Format::ds, no, RTN, kGfx12, Type::T, Type::b32, Type::T, Type::none, __VA_ARGS__, kReturns }
// NAME and NAME_rtn, 32 and 64 bits.
#define QUAD(NAME, SUFFIX32, SUFFIX64, OP, F) \
  DS("ds_" NAME SUFFIX32, nullptr, OP, OP, none, b32, none, atomic<u32, F>), \
  DS("ds_" NAME "_rtn" SUFFIX32, nullptr, OP + 0x20, OP + 0x20, b32, b32, none, atomic<u32, F>), \
  DS("ds_" NAME SUFFIX64, nullptr, OP + 0x40, OP + 0x40, none, b64, none, atomic<u64, F>), \
  DS("ds_" NAME "_rtn" SUFFIX64, nullptr, OP + 0x60, OP + 0x60, b64, b64, none, atomic<u64, F>)
constexpr std::uint16_t no = kNoOpcode;

const Row rows[] = {
    QUAD("add", "_u32", "_u64", 0x00, f_add),
    QUAD("sub", "_u32", "_u64", 0x01, f_sub),
    QUAD("rsub", "_u32", "_u64", 0x02, f_rsub),
    QUAD("inc", "_u32", "_u64", 0x03, f_inc),
    QUAD("dec", "_u32", "_u64", 0x04, f_dec),
    QUAD("min", "_i32", "_i64", 0x05, f_smin),
    QUAD("max", "_i32", "_i64", 0x06, f_smax),
    QUAD("min", "_u32", "_u64", 0x07, f_umin),
    QUAD("max", "_u32", "_u64", 0x08, f_umax),
    QUAD("and", "_b32", "_b64", 0x09, f_and),
    QUAD("or", "_b32", "_b64", 0x0a, f_or),
    QUAD("xor", "_b32", "_b64", 0x0b, f_xor),
    QUAD("min", "_f32", "_f64", 0x12, f_fmin),
    QUAD("max", "_f32", "_f64", 0x13, f_fmax),
    DS12("min_num", "_f32", 0x12, 0x32, b32, atomic<u32, f_number<false>>),
    DS12("max_num", "_f32", 0x13, 0x33, b32, atomic<u32, f_number<true>>),
    DS12("min_num", "_f64", 0x52, 0x72, b64, atomic<u64, f_number<false>>),
    DS12("max_num", "_f64", 0x53, 0x73, b64, atomic<u64, f_number<true>>),
    DS12("cond_sub", "_u32", 0x98, 0xa8, b32, atomic<u32, f_cond_sub>),
    DS12("sub_clamp", "_u32", 0x99, 0xa9, b32, atomic<u32, f_clamped_sub>),
    DS12("pk_add", "_f16", 0x9a, 0xaa, b32, atomic<u32, f_packed<add_half>>),
    DS12("pk_add", "_bf16", 0x9b, 0xab, b32, atomic<u32, f_packed<add_bfloat>>),
    DS("ds_mskor_b32", nullptr, 0x0c, 0x0c, none, b32, b32, masked_or<u32>),
    DS("ds_mskor_rtn_b32", nullptr, 0x2c, 0x2c, b32, b32, b32, masked_or<u32>),
    DS("ds_mskor_b64", nullptr, 0x4c, 0x4c, none, b64, b64, masked_or<u64>),
    DS("ds_mskor_rtn_b64", nullptr, 0x6c, 0x6c, b64, b64, b64, masked_or<u64>),
    DS("ds_wrxchg_rtn_b32", "ds_storexchg_rtn_b32", 0x2d, 0x2d, b32, b32, none, atomic<u32, f_swap>),
    DS("ds_wrxchg_rtn_b64", "ds_storexchg_rtn_b64", 0x6d, 0x6d, b64, b64, none, atomic<u64, f_swap>),
    DS("ds_wrap_rtn_b32", nullptr, 0x34, 0x34, b32, b32, b32, wrap),
    DS("ds_cmpst_b32", nullptr, 0x10, no, none, b32, b32, compare_store<u32, true>),
    DS("ds_cmpst_rtn_b32", nullptr, 0x30, no, b32, b32, b32, compare_store<u32, true>),
    DS("ds_cmpst_b64", nullptr, 0x50, no, none, b64, b64, compare_store<u64, true>),
    DS("ds_cmpst_rtn_b64", nullptr, 0x70, no, b64, b64, b64, compare_store<u64, true>),
    DS("ds_cmpstore_b32", nullptr, no, 0x10, none, b32, b32, compare_store<u32, false>),
    DS("ds_cmpstore_rtn_b32", nullptr, no, 0x30, b32, b32, b32, compare_store<u32, false>),
    DS("ds_cmpstore_b64", nullptr, no, 0x50, none, b64, b64, compare_store<u64, false>),
    DS("ds_cmpstore_rtn_b64", nullptr, no, 0x70, b64, b64, b64, compare_store<u64, false>),
    DS("ds_cmpst_f32", nullptr, 0x11, no, none, b32, b32, (compare_store<u32, true, compare_exchange_float<u32>>)),
    DS("ds_cmpst_rtn_f32", nullptr, 0x31, no, b32, b32, b32, (compare_store<u32, true, compare_exchange_float<u32>>)),
    DS("ds_cmpst_f64", nullptr, 0x51, no, none, b64, b64, (compare_store<u64, true, compare_exchange_float<u64>>)),
    DS("ds_cmpst_rtn_f64", nullptr, 0x71, no, b64, b64, b64, (compare_store<u64, true, compare_exchange_float<u64>>)),
    DS("ds_cmpstore_f32", nullptr, no, 0x11, none, b32, b32, (compare_store<u32, false, compare_exchange_float<u32>>)),
    DS("ds_cmpstore_rtn_f32", nullptr, no, 0x31, b32, b32, b32, (compare_store<u32, false, compare_exchange_float<u32>>)),
    DS("ds_cmpstore_f64", nullptr, no, 0x51, none, b64, b64, (compare_store<u64, false, compare_exchange_float<u64>>)),
    DS("ds_cmpstore_rtn_f64", nullptr, no, 0x71, b64, b64, b64, (compare_store<u64, false, compare_exchange_float<u64>>)),
    DS("ds_add_f32", nullptr, 0x15, 0x15, none, b32, none, atomic_add_f32),
    DS("ds_add_rtn_f32", nullptr, 0x35, 0x79, b32, b32, none, atomic_add_f32),
    DS("ds_add_f64", nullptr, 0x5c, no, none, b64, none, atomic<u64, f_fadd>),
    DS("ds_add_rtn_f64", nullptr, 0x7c, no, b64, b64, none, atomic<u64, f_fadd>),
    Row{"ds_pk_add_f16", nullptr, Format::ds, 0x17, no, kGfx940, Type::none, Type::b32, Type::b32, Type::none,
        atomic<u32, f_packed<add_half>>, kReturns},
    Row{"ds_pk_add_rtn_f16", nullptr, Format::ds, 0xb7, no, kGfx940, Type::b32, Type::b32, Type::b32, Type::none,
        atomic<u32, f_packed<add_half>>, kReturns},
    Row{"ds_pk_add_bf16", nullptr, Format::ds, 0x18, no, kGfx940, Type::none, Type::b32, Type::b32, Type::none,
        atomic<u32, f_packed<add_bfloat>>, kReturns},
    Row{"ds_pk_add_rtn_bf16", nullptr, Format::ds, 0xb8, no, kGfx940, Type::b32, Type::b32, Type::b32, Type::none,
        atomic<u32, f_packed<add_bfloat>>, kReturns},
};

}  // namespace

std::span<const Row> ds_atomic_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::memory
