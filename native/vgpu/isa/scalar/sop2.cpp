// SOP2 and SOPC: two-operand arithmetic, bit fields, comparisons.
#include <algorithm>

#include "vgpu/isa/scalar/alu.hpp"
#include "vgpu/isa/scalar/tables.hpp"

namespace kerncap::vgpu::isa::scalar {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

// Signed overflow of a + b and a - b.
constexpr bool add_overflows(u32 a, u32 b, u32 sum) { return ((a ^ sum) & (b ^ sum)) >> 31; }
constexpr bool sub_overflows(u32 a, u32 b, u32 difference) { return ((a ^ b) & (a ^ difference)) >> 31; }

constexpr auto add_u32 = [](u32 a, u32 b, bool& scc) -> u32 {
  const u64 sum = u64{a} + b;
  scc = sum >> 32;
  return static_cast<u32>(sum);
};
constexpr auto addc_u32 = [](u32 a, u32 b, bool& scc) -> u32 {
  const u64 sum = u64{a} + b + scc;
  scc = sum >> 32;
  return static_cast<u32>(sum);
};
constexpr auto sub_u32 = [](u32 a, u32 b, bool& scc) -> u32 {
  scc = b > a;
  return a - b;
};
constexpr auto subb_u32 = [](u32 a, u32 b, bool& scc) -> u32 {
  const u32 borrow = scc;
  scc = u64{b} + borrow > a;
  return a - b - borrow;
};
constexpr auto add_i32 = [](u32 a, u32 b, bool& scc) -> u32 {
  const u32 r = a + b;
  scc = add_overflows(a, b, r);
  return r;
};
constexpr auto sub_i32 = [](u32 a, u32 b, bool& scc) -> u32 {
  const u32 r = a - b;
  scc = sub_overflows(a, b, r);
  return r;
};
// s_lshlN_add_u32: SCC is the carry out of 32 bits.
template <unsigned n>
u32 shift_add(u32 a, u32 b, bool& scc) {
  const u64 sum = (u64{a} << n) + b;
  scc = sum >> 32;
  return static_cast<u32>(sum);
}
// Bit field: offset in the low bits of b, width in bits 22:16.
template <class T>
T bit_field(T a, u32 b, bool& scc) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned bits = sizeof(T) * 8;
  const unsigned offset = b & (bits - 1), width = std::min((b >> 16) & 0x7f, bits);
  T result = 0;
  if (width != 0) {
    // Bits past the top come from the sign for signed fields and are zero otherwise.
    const T shifted = static_cast<T>(a >> offset);
    const unsigned drop = bits - width;
    result = static_cast<T>(static_cast<T>(static_cast<U>(shifted) << drop) >> drop);
  }
  scc = result != 0;
  return result;
}
template <class T>
T bit_mask(u32 a, u32 b, bool&) {
  constexpr unsigned bits = sizeof(T) * 8;
  return static_cast<T>(((T{1} << (a & (bits - 1))) - 1) << (b & (bits - 1)));
}
template <class T>
T select(T a, T b, bool& scc) { return scc ? a : b; }

u32 abs_difference(i32 a, i32 b, bool& scc) {
  // The difference wraps before its absolute value is taken.
  const i32 d = static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b));
  const u32 r = d < 0 ? 0u - static_cast<u32>(d) : static_cast<u32>(d);
  scc = r != 0;
  return r;
}

#define LOGIC(T, EXPR) op2<T, T, T, ([](T a, T b, bool& scc) -> T { const T r = EXPR; scc = r != 0; return r; })>
#define SHIFT(T, EXPR) \
  op2<T, T, u32, ([](T a, u32 b, bool& scc) -> T { const T r = static_cast<T>(EXPR); scc = r != 0; return r; })>
#define PLAIN(T, EXPR) op2<T, T, T, ([](T a, T b, bool&) -> T { return static_cast<T>(EXPR); })>
#define ROW(NAME, NAME11, OP9, OP11, DST, A, B, ...) \
  Row { NAME, NAME11, Format::sop2, OP9, OP11, kAllTargets, Type::DST, Type::A, Type::B, Type::none, __VA_ARGS__ }
#define CMP(NAME, OP9, OP11, A, B, ...) \
  Row { NAME, nullptr, Format::sopc, OP9, OP11, kAllTargets, Type::none, Type::A, Type::B, Type::none, __VA_ARGS__ }
#define COMPARE(T, EXPR) compare<T, T, ([](T a, T b) -> bool { return EXPR; })>
constexpr std::uint16_t no = kNoOpcode;

void set_gpr_idx_on(Wave& w, const Inst& i) {
  w.gpr_index_on = true;
  w.s[kM0] = (w.s[kM0] & 0xffff0f00u) | (read_scalar32(w, i.src[0]) & 0xff) | (static_cast<u32>(i.simm) & 0xf) << 12;
}

const Row rows[] = {
    ROW("s_add_u32", nullptr, 0x00, 0x00, u32, u32, u32, op2<u32, u32, u32, add_u32>),
    ROW("s_sub_u32", nullptr, 0x01, 0x01, u32, u32, u32, op2<u32, u32, u32, sub_u32>),
    ROW("s_add_i32", nullptr, 0x02, 0x02, i32, i32, i32, op2<u32, u32, u32, add_i32>),
    ROW("s_sub_i32", nullptr, 0x03, 0x03, i32, i32, i32, op2<u32, u32, u32, sub_i32>),
    ROW("s_addc_u32", nullptr, 0x04, 0x04, u32, u32, u32, op2<u32, u32, u32, addc_u32>),
    ROW("s_subb_u32", nullptr, 0x05, 0x05, u32, u32, u32, op2<u32, u32, u32, subb_u32>),
    // SCC of min and max: the first operand was chosen.
    ROW("s_min_i32", nullptr, 0x06, 0x12, i32, i32, i32, op2<i32, i32, i32, ([](i32 a, i32 b, bool& scc) { scc = a < b; return std::min(a, b); })>),
    ROW("s_min_u32", nullptr, 0x07, 0x13, u32, u32, u32, op2<u32, u32, u32, ([](u32 a, u32 b, bool& scc) { scc = a < b; return std::min(a, b); })>),
    ROW("s_max_i32", nullptr, 0x08, 0x14, i32, i32, i32, op2<i32, i32, i32, ([](i32 a, i32 b, bool& scc) { scc = a >= b; return std::max(a, b); })>),
    ROW("s_max_u32", nullptr, 0x09, 0x15, u32, u32, u32, op2<u32, u32, u32, ([](u32 a, u32 b, bool& scc) { scc = a >= b; return std::max(a, b); })>),
    ROW("s_cselect_b32", nullptr, 0x0a, 0x30, b32, b32, b32, op2<u32, u32, u32, select<u32>>),
    ROW("s_cselect_b64", nullptr, 0x0b, 0x31, b64, b64, b64, op2<u64, u64, u64, select<u64>>),
    ROW("s_and_b32", nullptr, 0x0c, 0x16, b32, b32, b32, LOGIC(u32, a & b)),
    ROW("s_and_b64", nullptr, 0x0d, 0x17, b64, b64, b64, LOGIC(u64, a & b)),
    ROW("s_or_b32", nullptr, 0x0e, 0x18, b32, b32, b32, LOGIC(u32, a | b)),
    ROW("s_or_b64", nullptr, 0x0f, 0x19, b64, b64, b64, LOGIC(u64, a | b)),
    ROW("s_xor_b32", nullptr, 0x10, 0x1a, b32, b32, b32, LOGIC(u32, a ^ b)),
    ROW("s_xor_b64", nullptr, 0x11, 0x1b, b64, b64, b64, LOGIC(u64, a ^ b)),
    ROW("s_andn2_b32", "s_and_not1_b32", 0x12, 0x22, b32, b32, b32, LOGIC(u32, a & ~b)),
    ROW("s_andn2_b64", "s_and_not1_b64", 0x13, 0x23, b64, b64, b64, LOGIC(u64, a & ~b)),
    ROW("s_orn2_b32", "s_or_not1_b32", 0x14, 0x24, b32, b32, b32, LOGIC(u32, a | ~b)),
    ROW("s_orn2_b64", "s_or_not1_b64", 0x15, 0x25, b64, b64, b64, LOGIC(u64, a | ~b)),
    ROW("s_nand_b32", nullptr, 0x16, 0x1c, b32, b32, b32, LOGIC(u32, ~(a & b))),
    ROW("s_nand_b64", nullptr, 0x17, 0x1d, b64, b64, b64, LOGIC(u64, ~(a & b))),
    ROW("s_nor_b32", nullptr, 0x18, 0x1e, b32, b32, b32, LOGIC(u32, ~(a | b))),
    ROW("s_nor_b64", nullptr, 0x19, 0x1f, b64, b64, b64, LOGIC(u64, ~(a | b))),
    ROW("s_xnor_b32", nullptr, 0x1a, 0x20, b32, b32, b32, LOGIC(u32, ~(a ^ b))),
    ROW("s_xnor_b64", nullptr, 0x1b, 0x21, b64, b64, b64, LOGIC(u64, ~(a ^ b))),
    ROW("s_lshl_b32", nullptr, 0x1c, 0x08, b32, b32, b32, SHIFT(u32, a << (b & 31))),
    ROW("s_lshl_b64", nullptr, 0x1d, 0x09, b64, b64, b32, SHIFT(u64, a << (b & 63))),
    ROW("s_lshr_b32", nullptr, 0x1e, 0x0a, b32, b32, b32, SHIFT(u32, a >> (b & 31))),
    ROW("s_lshr_b64", nullptr, 0x1f, 0x0b, b64, b64, b32, SHIFT(u64, a >> (b & 63))),
    ROW("s_ashr_i32", nullptr, 0x20, 0x0c, i32, i32, b32, SHIFT(i32, a >> (b & 31))),
    ROW("s_ashr_i64", nullptr, 0x21, 0x0d, i64, i64, b32, SHIFT(i64, a >> (b & 63))),
    ROW("s_bfm_b32", nullptr, 0x22, 0x2a, b32, b32, b32, op2<u32, u32, u32, bit_mask<u32>>),
    ROW("s_bfm_b64", nullptr, 0x23, 0x2b, b64, b32, b32, op2<u64, u32, u32, bit_mask<u64>>),
    ROW("s_mul_i32", nullptr, 0x24, 0x2c, i32, i32, i32, PLAIN(u32, a * b)),
    ROW("s_bfe_u32", nullptr, 0x25, 0x26, u32, u32, b32, op2<u32, u32, u32, bit_field<u32>>),
    ROW("s_bfe_i32", nullptr, 0x26, 0x27, i32, i32, b32, op2<i32, i32, u32, bit_field<i32>>),
    ROW("s_bfe_u64", nullptr, 0x27, 0x28, u64, u64, b32, op2<u64, u64, u32, bit_field<u64>>),
    ROW("s_bfe_i64", nullptr, 0x28, 0x29, i64, i64, b32, op2<i64, i64, u32, bit_field<i64>>),
    ROW("s_cbranch_g_fork", nullptr, 0x29, no, none, b64, b64, nullptr),
    ROW("s_absdiff_i32", nullptr, 0x2a, 0x06, i32, i32, i32, op2<u32, i32, i32, abs_difference>),
    ROW("s_rfe_restore_b64", nullptr, 0x2b, no, none, b64, b32, nullptr),
    ROW("s_mul_hi_u32", nullptr, 0x2c, 0x2d, u32, u32, u32, PLAIN(u32, (u64{a} * b) >> 32)),
    ROW("s_mul_hi_i32", nullptr, 0x2d, 0x2e, i32, i32, i32, PLAIN(i32, (i64{a} * b) >> 32)),
    ROW("s_lshl1_add_u32", nullptr, 0x2e, 0x0e, u32, u32, u32, op2<u32, u32, u32, shift_add<1>>),
    ROW("s_lshl2_add_u32", nullptr, 0x2f, 0x0f, u32, u32, u32, op2<u32, u32, u32, shift_add<2>>),
    ROW("s_lshl3_add_u32", nullptr, 0x30, 0x10, u32, u32, u32, op2<u32, u32, u32, shift_add<3>>),
    ROW("s_lshl4_add_u32", nullptr, 0x31, 0x11, u32, u32, u32, op2<u32, u32, u32, shift_add<4>>),
    ROW("s_pack_ll_b32_b16", nullptr, 0x32, 0x32, b32, b32, b32, PLAIN(u32, (a & 0xffff) | b << 16)),
    ROW("s_pack_lh_b32_b16", nullptr, 0x33, 0x33, b32, b32, b32, PLAIN(u32, (a & 0xffff) | (b & 0xffff0000))),
    ROW("s_pack_hh_b32_b16", nullptr, 0x34, 0x34, b32, b32, b32, PLAIN(u32, a >> 16 | (b & 0xffff0000))),
    ROW("s_pack_hl_b32_b16", nullptr, no, 0x35, b32, b32, b32, PLAIN(u32, a >> 16 | b << 16)),

    CMP("s_cmp_eq_i32", 0x00, 0x00, i32, i32, COMPARE(i32, a == b)),
    CMP("s_cmp_lg_i32", 0x01, 0x01, i32, i32, COMPARE(i32, a != b)),
    CMP("s_cmp_gt_i32", 0x02, 0x02, i32, i32, COMPARE(i32, a > b)),
    CMP("s_cmp_ge_i32", 0x03, 0x03, i32, i32, COMPARE(i32, a >= b)),
    CMP("s_cmp_lt_i32", 0x04, 0x04, i32, i32, COMPARE(i32, a < b)),
    CMP("s_cmp_le_i32", 0x05, 0x05, i32, i32, COMPARE(i32, a <= b)),
    CMP("s_cmp_eq_u32", 0x06, 0x06, u32, u32, COMPARE(u32, a == b)),
    CMP("s_cmp_lg_u32", 0x07, 0x07, u32, u32, COMPARE(u32, a != b)),
    CMP("s_cmp_gt_u32", 0x08, 0x08, u32, u32, COMPARE(u32, a > b)),
    CMP("s_cmp_ge_u32", 0x09, 0x09, u32, u32, COMPARE(u32, a >= b)),
    CMP("s_cmp_lt_u32", 0x0a, 0x0a, u32, u32, COMPARE(u32, a < b)),
    CMP("s_cmp_le_u32", 0x0b, 0x0b, u32, u32, COMPARE(u32, a <= b)),
    CMP("s_bitcmp0_b32", 0x0c, 0x0c, b32, b32, COMPARE(u32, !(a >> (b & 31) & 1))),
    CMP("s_bitcmp1_b32", 0x0d, 0x0d, b32, b32, COMPARE(u32, a >> (b & 31) & 1)),
    CMP("s_bitcmp0_b64", 0x0e, 0x0e, b64, b32, compare<u64, u32, ([](u64 a, u32 b) -> bool { return !(a >> (b & 63) & 1); })>),
    CMP("s_bitcmp1_b64", 0x0f, 0x0f, b64, b32, compare<u64, u32, ([](u64 a, u32 b) -> bool { return a >> (b & 63) & 1; })>),
    CMP("s_setvskip", 0x10, no, b32, b32, nullptr),
    CMP("s_set_gpr_idx_on", 0x11, no, b32, simm, set_gpr_idx_on),
    CMP("s_cmp_eq_u64", 0x12, 0x10, u64, u64, COMPARE(u64, a == b)),
    CMP("s_cmp_lg_u64", 0x13, 0x11, u64, u64, COMPARE(u64, a != b)),
};

}  // namespace

std::span<const Row> sop2_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::scalar
