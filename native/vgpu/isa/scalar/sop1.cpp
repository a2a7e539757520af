// SOP1: moves, bit counts, EXEC updates, program counter.
#include <bit>

#include "vgpu/isa/scalar/alu.hpp"
#include "vgpu/isa/scalar/tables.hpp"

namespace kerncap::vgpu::isa::scalar {
namespace {

using u32 = std::uint32_t;
using i32 = std::int32_t;
using u64 = std::uint64_t;
using i64 = std::int64_t;

template <class T>
constexpr T reverse_bits(T v) {
  T out = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) out |= static_cast<T>((v >> i & 1) << (sizeof(T) * 8 - 1 - i));
  return out;
}
// First bit that differs from the sign, counted from the top; -1 when there is none.
template <class T>
u32 count_sign_bits(T v) {
  using U = std::make_unsigned_t<T>;
  const U flipped = static_cast<U>(v < 0 ? ~v : v);
  return flipped == 0 ? ~0u : static_cast<u32>(std::countl_zero(flipped));
}
template <class T>
u32 leading(T v) { return v == 0 ? ~0u : static_cast<u32>(std::countl_zero(v)); }
template <class T>
u32 trailing(T v) { return v == 0 ? ~0u : static_cast<u32>(std::countr_zero(v)); }
template <class T>
T quad_mask(T v) {
  T out = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i)
    if (v >> (i * 4) & 0xf) out |= static_cast<T>(T{1} << i);
  return out;
}
template <class T>
T whole_quads(T v) {
  T out = 0;
  for (unsigned i = 0; i < sizeof(T) * 2; ++i)
    if (v >> (i * 4) & 0xf) out |= static_cast<T>(T{0xf} << (i * 4));
  return out;
}
u64 replicate(u32 v, bool&) {
  u64 out = 0;
  for (unsigned i = 0; i < 32; ++i)
    if (v >> i & 1) out |= u64{3} << (2 * i);
  return out;
}

template <class T>
void conditional_move(Wave& w, const Inst& i) {
  if (w.scc) write<T>(w, i.dst, read<T>(w, i.src[0]));
}
template <class T, bool set>
void set_bit(Wave& w, const Inst& i) {
  const T bit = T{1} << (read<u32>(w, i.src[0]) & (sizeof(T) * 8 - 1));
  const T old = read<T>(w, i.dst);
  write<T>(w, i.dst, set ? old | bit : old & ~bit);
}

// s_OP_saveexec: D = EXEC, EXEC = OP(S, EXEC), SCC = EXEC != 0. The wrexec forms store the new EXEC.
template <class T, auto F, bool saves_new = false>
void save_exec(Wave& w, const Inst& i) {
  const T source = read<T>(w, i.src[0]);
  const T old = sizeof(T) == 8 ? static_cast<T>(w.s[kExecLo] | u64{w.s[kExecHi]} << 32) : static_cast<T>(w.s[kExecLo]);
  const T updated = F(source, old);
  write<T>(w, i.dst, saves_new ? updated : old);
  w.s[kExecLo] = static_cast<u32>(updated);
  if constexpr (sizeof(T) == 8) w.s[kExecHi] = static_cast<u32>(updated >> 32);
  w.scc = updated != 0;
}
constexpr auto f_and = [](auto s, auto e) { return s & e; };
constexpr auto f_or = [](auto s, auto e) { return s | e; };
constexpr auto f_xor = [](auto s, auto e) { return s ^ e; };
constexpr auto f_nand = [](auto s, auto e) { return ~(s & e); };
constexpr auto f_nor = [](auto s, auto e) { return ~(s | e); };
constexpr auto f_xnor = [](auto s, auto e) { return ~(s ^ e); };
constexpr auto f_and_not_exec = [](auto s, auto e) { return s & ~e; };  // andn2, and_not1
constexpr auto f_and_not_src = [](auto s, auto e) { return ~s & e; };   // andn1, and_not0
constexpr auto f_or_not_exec = [](auto s, auto e) { return s | ~e; };
constexpr auto f_or_not_src = [](auto s, auto e) { return ~s | e; };

void get_pc(Wave& w, const Inst& i) { write_scalar64(w, i.dst, w.next_pc); }
void set_pc(Wave& w, const Inst& i) { w.next_pc = read_scalar64(w, i.src[0]) & ~u64{3}; }
void swap_pc(Wave& w, const Inst& i) {
  const u64 target = read_scalar64(w, i.src[0]) & ~u64{3};
  write_scalar64(w, i.dst, w.next_pc);
  w.next_pc = target;
}

// s_movrel*: SGPR number plus M0, or plus a field of M0.
bool relative(Wave& w, const Operand& o, unsigned registers, u32 offset, unsigned& index) {
  const u64 wide = u64{o.index} + offset;
  index = static_cast<unsigned>(wide);
  if (wide + registers <= kVccLo) return true;
  w.stop(Outcome::Kind::illegal, "relative SGPR out of range");
  return false;
}
template <class T>
void mov_rel_source(Wave& w, const Inst& i) {
  unsigned index = 0;
  if (!relative(w, i.src[0], sizeof(T) / 4, w.s[kM0], index)) return;
  Operand o = i.src[0];
  o.index = static_cast<std::uint16_t>(index);
  write<T>(w, i.dst, read<T>(w, o));
}
template <class T>
void mov_rel_dest(Wave& w, const Inst& i) {
  unsigned index = 0;
  if (!relative(w, i.dst, sizeof(T) / 4, w.s[kM0], index)) return;
  Operand o = i.dst;
  o.index = static_cast<std::uint16_t>(index);
  write<T>(w, o, read<T>(w, i.src[0]));
}

// SGPR[D + M0[25:16]] = SGPR[S + M0[9:0]].
void mov_rel_both(Wave& w, const Inst& i) {
  const u32 m0 = w.s[kM0];
  unsigned from = 0, to = 0;
  if (!relative(w, i.src[0], 1, m0 & 0x3ff, from) || !relative(w, i.dst, 1, m0 >> 16 & 0x3ff, to)) return;
  w.s[to] = w.s[from];
}

void set_gpr_idx_idx(Wave& w, const Inst& i) {
  w.s[kM0] = (w.s[kM0] & ~0xffu) | (read_scalar32(w, i.src[0]) & 0xff);
}

#define UNARY(D, A, EXPR) op1<D, A, ([](A a, [[maybe_unused]] bool& scc) -> D { return EXPR; })>
#define UNARY_SCC(D, A, EXPR) \
  op1<D, A, ([](A a, bool& scc) -> D { const D r = EXPR; scc = r != 0; return r; })>
#define ROW(NAME, OP9, OP11, DST, SRC, ...) \
  Row { NAME, nullptr, Format::sop1, OP9, OP11, kAllTargets, Type::DST, Type::SRC, Type::none, Type::none, __VA_ARGS__ }
#define ROW2(NAME, NAME11, OP9, OP11, DST, SRC, ...) \
  Row { NAME, NAME11, Format::sop1, OP9, OP11, kAllTargets, Type::DST, Type::SRC, Type::none, Type::none, __VA_ARGS__ }
constexpr std::uint16_t no = kNoOpcode;

const Row rows[] = {
    ROW("s_mov_b32", 0x00, 0x00, b32, b32, UNARY(u32, u32, a)),
    ROW("s_mov_b64", 0x01, 0x01, b64, b64, UNARY(u64, u64, a)),
    ROW("s_cmov_b32", 0x02, 0x02, b32, b32, conditional_move<u32>),
    ROW("s_cmov_b64", 0x03, 0x03, b64, b64, conditional_move<u64>),
    ROW("s_not_b32", 0x04, 0x1e, b32, b32, UNARY_SCC(u32, u32, ~a)),
    ROW("s_not_b64", 0x05, 0x1f, b64, b64, UNARY_SCC(u64, u64, ~a)),
    ROW("s_wqm_b32", 0x06, 0x1c, b32, b32, UNARY_SCC(u32, u32, whole_quads(a))),
    ROW("s_wqm_b64", 0x07, 0x1d, b64, b64, UNARY_SCC(u64, u64, whole_quads(a))),
    ROW("s_brev_b32", 0x08, 0x04, b32, b32, UNARY(u32, u32, reverse_bits(a))),
    ROW("s_brev_b64", 0x09, 0x05, b64, b64, UNARY(u64, u64, reverse_bits(a))),
    ROW("s_bcnt0_i32_b32", 0x0a, 0x16, b32, b32, UNARY_SCC(u32, u32, static_cast<u32>(std::popcount(~a)))),
    ROW("s_bcnt0_i32_b64", 0x0b, 0x17, b32, b64, UNARY_SCC(u32, u64, static_cast<u32>(std::popcount(~a)))),
    ROW("s_bcnt1_i32_b32", 0x0c, 0x18, b32, b32, UNARY_SCC(u32, u32, static_cast<u32>(std::popcount(a)))),
    ROW("s_bcnt1_i32_b64", 0x0d, 0x19, b32, b64, UNARY_SCC(u32, u64, static_cast<u32>(std::popcount(a)))),
    ROW("s_ff0_i32_b32", 0x0e, no, b32, b32, UNARY(u32, u32, trailing(~a))),
    ROW("s_ff0_i32_b64", 0x0f, no, b32, b64, UNARY(u32, u64, trailing(~a))),
    ROW2("s_ff1_i32_b32", "s_ctz_i32_b32", 0x10, 0x08, b32, b32, UNARY(u32, u32, trailing(a))),
    ROW2("s_ff1_i32_b64", "s_ctz_i32_b64", 0x11, 0x09, b32, b64, UNARY(u32, u64, trailing(a))),
    ROW2("s_flbit_i32_b32", "s_clz_i32_u32", 0x12, 0x0a, b32, b32, UNARY(u32, u32, leading(a))),
    ROW2("s_flbit_i32_b64", "s_clz_i32_u64", 0x13, 0x0b, b32, b64, UNARY(u32, u64, leading(a))),
    ROW2("s_flbit_i32", "s_cls_i32", 0x14, 0x0c, b32, i32, UNARY(u32, i32, count_sign_bits(a))),
    ROW2("s_flbit_i32_i64", "s_cls_i32_i64", 0x15, 0x0d, b32, i64, UNARY(u32, i64, count_sign_bits(a))),
    ROW("s_sext_i32_i8", 0x16, 0x0e, b32, b32, UNARY(u32, u32, static_cast<u32>(i32{static_cast<std::int8_t>(a)}))),
    ROW("s_sext_i32_i16", 0x17, 0x0f, b32, b32, UNARY(u32, u32, static_cast<u32>(i32{static_cast<std::int16_t>(a)}))),
    ROW("s_bitset0_b32", 0x18, 0x10, b32, b32, set_bit<u32, false>),
    ROW("s_bitset0_b64", 0x19, 0x11, b64, b32, set_bit<u64, false>),
    ROW("s_bitset1_b32", 0x1a, 0x12, b32, b32, set_bit<u32, true>),
    ROW("s_bitset1_b64", 0x1b, 0x13, b64, b32, set_bit<u64, true>),
    ROW("s_getpc_b64", 0x1c, 0x47, b64, none, get_pc),
    ROW("s_setpc_b64", 0x1d, 0x48, none, b64, set_pc, kBranch),
    ROW("s_swappc_b64", 0x1e, 0x49, b64, b64, swap_pc, kBranch),
    ROW("s_rfe_b64", 0x1f, 0x4a, none, b64, nullptr),
    ROW("s_quadmask_b32", 0x28, 0x1a, b32, b32, UNARY_SCC(u32, u32, quad_mask(a))),
    ROW("s_quadmask_b64", 0x29, 0x1b, b64, b64, UNARY_SCC(u64, u64, quad_mask(a))),
    ROW("s_movrels_b32", 0x2a, 0x40, b32, b32, mov_rel_source<u32>),
    ROW("s_movrels_b64", 0x2b, 0x41, b64, b64, mov_rel_source<u64>),
    ROW("s_movreld_b32", 0x2c, 0x42, b32, b32, mov_rel_dest<u32>),
    ROW("s_movreld_b64", 0x2d, 0x43, b64, b64, mov_rel_dest<u64>),
    ROW("s_cbranch_join", 0x2e, no, none, b32, nullptr),
    ROW("s_movrelsd_2_b32", no, 0x44, b32, b32, mov_rel_both),
    ROW("s_abs_i32", 0x30, 0x15, b32, i32, UNARY_SCC(u32, u32, static_cast<i32>(a) < 0 ? 0u - a : a)),
    ROW("s_set_gpr_idx_idx", 0x32, no, none, b32, set_gpr_idx_idx),
    ROW("s_bitreplicate_b64_b32", 0x37, 0x14, b64, b32, op1<u64, u32, replicate>),
    ROW("s_sendmsg_rtn_b32", no, 0x4c, b32, simm, send_message_return),
    ROW("s_sendmsg_rtn_b64", no, 0x4d, b64, simm, send_message_return),

    ROW("s_and_saveexec_b64", 0x20, 0x21, b64, b64, save_exec<u64, f_and>),
    ROW("s_and_saveexec_b32", no, 0x20, b32, b32, save_exec<u32, f_and>),
    ROW("s_or_saveexec_b64", 0x21, 0x23, b64, b64, save_exec<u64, f_or>),
    ROW("s_or_saveexec_b32", no, 0x22, b32, b32, save_exec<u32, f_or>),
    ROW("s_xor_saveexec_b64", 0x22, 0x25, b64, b64, save_exec<u64, f_xor>),
    ROW("s_xor_saveexec_b32", no, 0x24, b32, b32, save_exec<u32, f_xor>),
    ROW2("s_andn2_saveexec_b64", "s_and_not1_saveexec_b64", 0x23, 0x31, b64, b64, save_exec<u64, f_and_not_exec>),
    ROW("s_and_not1_saveexec_b32", no, 0x30, b32, b32, save_exec<u32, f_and_not_exec>),
    ROW2("s_orn2_saveexec_b64", "s_or_not1_saveexec_b64", 0x24, 0x33, b64, b64, save_exec<u64, f_or_not_exec>),
    ROW("s_or_not1_saveexec_b32", no, 0x32, b32, b32, save_exec<u32, f_or_not_exec>),
    ROW("s_nand_saveexec_b64", 0x25, 0x27, b64, b64, save_exec<u64, f_nand>),
    ROW("s_nand_saveexec_b32", no, 0x26, b32, b32, save_exec<u32, f_nand>),
    ROW("s_nor_saveexec_b64", 0x26, 0x29, b64, b64, save_exec<u64, f_nor>),
    ROW("s_nor_saveexec_b32", no, 0x28, b32, b32, save_exec<u32, f_nor>),
    ROW("s_xnor_saveexec_b64", 0x27, 0x2b, b64, b64, save_exec<u64, f_xnor>),
    ROW("s_xnor_saveexec_b32", no, 0x2a, b32, b32, save_exec<u32, f_xnor>),
    ROW2("s_andn1_saveexec_b64", "s_and_not0_saveexec_b64", 0x33, 0x2d, b64, b64, save_exec<u64, f_and_not_src>),
    ROW("s_and_not0_saveexec_b32", no, 0x2c, b32, b32, save_exec<u32, f_and_not_src>),
    ROW2("s_orn1_saveexec_b64", "s_or_not0_saveexec_b64", 0x34, 0x2f, b64, b64, save_exec<u64, f_or_not_src>),
    ROW("s_or_not0_saveexec_b32", no, 0x2e, b32, b32, save_exec<u32, f_or_not_src>),
    ROW2("s_andn1_wrexec_b64", "s_and_not0_wrexec_b64", 0x35, 0x35, b64, b64, save_exec<u64, f_and_not_src, true>),
    ROW("s_and_not0_wrexec_b32", no, 0x34, b32, b32, save_exec<u32, f_and_not_src, true>),
    ROW2("s_andn2_wrexec_b64", "s_and_not1_wrexec_b64", 0x36, 0x37, b64, b64, save_exec<u64, f_and_not_exec, true>),
    ROW("s_and_not1_wrexec_b32", no, 0x36, b32, b32, save_exec<u32, f_and_not_exec, true>),
};

}  // namespace

std::span<const Row> sop1_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::scalar
