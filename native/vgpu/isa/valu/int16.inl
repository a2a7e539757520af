// 16-bit integer and bit operations. Source: "CDNA3 ISA" and "RDNA3 ISA", chapter Instructions.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace int16_ops {

constexpr auto add = [](uint32_t a, uint32_t b) { return a + b; };
constexpr auto sub = [](uint32_t a, uint32_t b) { return a - b; };
constexpr auto subrev = [](uint32_t a, uint32_t b) { return b - a; };
constexpr auto add_sat = [](uint32_t a, uint32_t b) { return std::min(a + b, 0xffffu); };
constexpr auto sub_sat = [](uint32_t a, uint32_t b) { return a < b ? 0u : a - b; };
constexpr auto subrev_sat = [](uint32_t a, uint32_t b) { return b < a ? 0u : b - a; };
constexpr auto add_i = [](int32_t a, int32_t b) { return a + b; };
constexpr auto sub_i = [](int32_t a, int32_t b) { return a - b; };
constexpr auto add_i_sat = [](int32_t a, int32_t b) { return std::clamp(a + b, -32768, 32767); };
constexpr auto sub_i_sat = [](int32_t a, int32_t b) { return std::clamp(a - b, -32768, 32767); };
constexpr auto mul = [](uint32_t a, uint32_t b) { return a * b; };
constexpr auto lshl_rev = [](uint32_t s, uint32_t a) { return a << (s & 15); };
constexpr auto lshr_rev = [](uint32_t s, uint32_t a) { return a >> (s & 15); };
constexpr auto ashr_rev = [](uint32_t s, int32_t a) { return a >> (s & 15); };
constexpr auto min_u = [](uint32_t a, uint32_t b) { return a < b ? a : b; };
constexpr auto max_u = [](uint32_t a, uint32_t b) { return a > b ? a : b; };
constexpr auto min_i = [](int32_t a, int32_t b) { return a < b ? a : b; };
constexpr auto max_i = [](int32_t a, int32_t b) { return a > b ? a : b; };
constexpr auto min3_u = [](uint32_t a, uint32_t b, uint32_t c) { return min_u(min_u(a, b), c); };
constexpr auto max3_u = [](uint32_t a, uint32_t b, uint32_t c) { return max_u(max_u(a, b), c); };
constexpr auto med3_u = [](uint32_t a, uint32_t b, uint32_t c) { return max_u(min_u(a, b), min_u(max_u(a, b), c)); };
constexpr auto min3_i = [](int32_t a, int32_t b, int32_t c) { return min_i(min_i(a, b), c); };
constexpr auto max3_i = [](int32_t a, int32_t b, int32_t c) { return max_i(max_i(a, b), c); };
constexpr auto med3_i = [](int32_t a, int32_t b, int32_t c) { return max_i(min_i(a, b), min_i(max_i(a, b), c)); };
constexpr auto mad_u = [](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; };
constexpr auto mad_u_sat = [](uint32_t a, uint32_t b, uint32_t c) {
  return static_cast<uint32_t>(std::min(uint64_t{a} * b + c, uint64_t{0xffff}));
};
constexpr auto mad_i = [](int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(a * b) + static_cast<uint32_t>(c));
};
constexpr auto mad_i_sat = [](int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(std::clamp(int64_t{a} * b + c, int64_t{-32768}, int64_t{32767}));
};
constexpr auto mov = [](uint32_t a) { return a; };
constexpr auto not_ = [](uint32_t a) { return ~a; };
constexpr auto and_ = [](uint32_t a, uint32_t b) { return a & b; };
constexpr auto or_ = [](uint32_t a, uint32_t b) { return a | b; };
constexpr auto xor_ = [](uint32_t a, uint32_t b) { return a ^ b; };
constexpr auto pack = [](uint32_t lo, uint32_t hi) { return (lo & 0xffffu) | hi << 16; };
constexpr auto sat_pk = [](uint32_t a) {
  const int32_t lo = static_cast<int16_t>(a & 0xffffu), hi = static_cast<int16_t>(a >> 16);
  return static_cast<uint32_t>(std::clamp(lo, 0, 255) | std::clamp(hi, 0, 255) << 8);
};

template <auto plain, auto saturating, class T>
void clampable(Wave& w, const Inst& in) {
  if (in.clamp) lanewise<saturating, 0, T, T, T>(w, in);
  else lanewise<plain, 0, T, T, T>(w, in);
}
template <auto plain, auto saturating, class T>
void clampable3(Wave& w, const Inst& in) {
  if (in.clamp) lanewise<saturating, 0, T, T, T, T>(w, in);
  else lanewise<plain, 0, T, T, T, T>(w, in);
}
template <auto plain, auto saturating, class T>
constexpr Row sat2(Names n, Format format, uint16_t op9, uint16_t op11, TargetSet targets, unsigned flags = 0) {
  return row_own(n, format, op9, op11, targets, T::type, T::type, T::type, Type::none, &clampable<plain, saturating, T>,
                 kIntClamp | flags);
}
template <auto plain, auto saturating, class T>
constexpr Row sat3(Names n, uint16_t op9, uint16_t op11, TargetSet targets, unsigned flags) {
  return row_own(n, Format::vop3, op9, op11, targets, T::type, T::type, T::type, T::type, &clampable3<plain, saturating, T>,
                 kIntClamp | flags);
}

// D = mask ? S1 : S0 on half registers.
inline void cndmask(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  Scratch store[3];
  const Source a = fetch<H16, kBits>(w, in, 0, store[0]);
  const Source b = fetch<H16, kBits>(w, in, 1, store[1]);
  const uint64_t choose = read_mask(w, in.src[2]);
  const Dest dest{store[2].lo.lane, nullptr};
  for (unsigned l = 0; l < w.size; ++l) dest.lo[l] = (choose >> l & 1) ? b.lo[l] : a.lo[l];
  commit(w, in, Type::f16, mask, dest, true);
}

// Swaps two halves.
inline void swap(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  uint32_t* a = w.vreg(in.dst.index);
  uint32_t* b = w.vreg(in.src[0].index);
  const unsigned at = (in.op_sel & 8) ? 16 : 0, bt = (in.op_sel & 1) ? 16 : 0;
  const uint64_t exec = w.exec();
  for (unsigned l = 0; l < w.size; ++l) {
    if (!(exec >> l & 1)) continue;
    const uint32_t x = a[l] >> at & 0xffffu, y = b[l] >> bt & 0xffffu;
    a[l] = (a[l] & ~(0xffffu << at)) | y << at;
    b[l] = (b[l] & ~(0xffffu << bt)) | x << bt;
  }
}

constexpr Format v1 = Format::vop1, v2 = Format::vop2, v3 = Format::vop3;

constexpr Row kRows[] = {
    sat2<add, add_sat, U16>({"v_add_u16"}, v2, 0x26, kNo, kGfx9),
    sat2<sub, sub_sat, U16>({"v_sub_u16"}, v2, 0x27, kNo, kGfx9),
    sat2<subrev, subrev_sat, U16>({"v_subrev_u16"}, v2, 0x28, kNo, kGfx9),
    row<mul, 0, U16, U16, U16>({"v_mul_lo_u16"}, v2, 0x29, kNo, kGfx9),
    row<lshl_rev, 0, U16, U16, U16>({"v_lshlrev_b16"}, v2, 0x2a, kNo, kGfx9),
    row<lshr_rev, 0, U16, U16, U16>({"v_lshrrev_b16"}, v2, 0x2b, kNo, kGfx9),
    row<ashr_rev, 0, I16, U16, I16>({"v_ashrrev_i16"}, v2, 0x2c, kNo, kGfx9),
    row<max_u, 0, U16, U16, U16>({"v_max_u16"}, v2, 0x2f, kNo, kGfx9),
    row<max_i, 0, I16, I16, I16>({"v_max_i16"}, v2, 0x30, kNo, kGfx9),
    row<min_u, 0, U16, U16, U16>({"v_min_u16"}, v2, 0x31, kNo, kGfx9),
    row<min_i, 0, I16, I16, I16>({"v_min_i16"}, v2, 0x32, kNo, kGfx9),
    sat2<add, add_sat, U16>({"v_add_nc_u16"}, v3, kNo, 0x303, kRdna),
    sat2<sub, sub_sat, U16>({"v_sub_nc_u16"}, v3, kNo, 0x304, kRdna),
    row<mul, 0, U16, U16, U16>({"v_mul_lo_u16"}, v3, kNo, 0x305, kRdna),
    row<max_u, 0, U16, U16, U16>({"v_max_u16"}, v3, kNo, 0x309, kRdna),
    row<max_i, 0, I16, I16, I16>({"v_max_i16"}, v3, kNo, 0x30a, kRdna),
    row<min_u, 0, U16, U16, U16>({"v_min_u16"}, v3, kNo, 0x30b, kRdna),
    row<min_i, 0, I16, I16, I16>({"v_min_i16"}, v3, kNo, 0x30c, kRdna),
    sat2<add_i, add_i_sat, I16>({"v_add_i16", "v_add_nc_i16"}, v3, 0x29e, 0x30d, kAllTargets, kKeepsHalf),
    sat2<sub_i, sub_i_sat, I16>({"v_sub_i16", "v_sub_nc_i16"}, v3, 0x29f, 0x30e, kAllTargets, kKeepsHalf),
    row<lshl_rev, 0, U16, U16, U16>({"v_lshlrev_b16"}, v3, kNo, 0x338, kRdna),
    row<lshr_rev, 0, U16, U16, U16>({"v_lshrrev_b16"}, v3, kNo, 0x339, kRdna),
    row<ashr_rev, 0, I16, U16, I16>({"v_ashrrev_i16"}, v3, kNo, 0x33a, kRdna),
    row<and_, 0, B16, B16, B16>({"v_and_b16"}, v3, kNo, 0x362, kRdna),
    row<or_, 0, B16, B16, B16>({"v_or_b16"}, v3, kNo, 0x363, kRdna),
    row<xor_, 0, B16, B16, B16>({"v_xor_b16"}, v3, kNo, 0x364, kRdna),
    row_own({"v_cndmask_b16"}, v3, kNo, 0x25d, kRdna, Type::f16, Type::f16, Type::f16, Type::mask, &cndmask, kFloatMods | kVccCarryIn),
    row<mov, 0, B16, B16>({"v_mov_b16"}, v1, kNo, 0x1c, kRdna),
    row<not_, 0, B16, B16>({"v_not_b16"}, v1, kNo, 0x69, kRdna),
    row<sat_pk, 0, B16, B32>({"v_sat_pk_u8_i16"}, v1, kNo, 0x62, kRdna),
    row_own({"v_swap_b16"}, v1, kNo, 0x66, kRdna, Type::b16, Type::b16, Type::none, Type::none, &swap, kOwnOperands | kReadsDst | kVectorSources),
    row<min3_i, 0, I16, I16, I16, I16>({"v_min3_i16"}, v3, 0x1f5, 0x24a, kAllTargets, kKeepsHalf),
    row<min3_u, 0, U16, U16, U16, U16>({"v_min3_u16"}, v3, 0x1f6, 0x24b, kAllTargets, kKeepsHalf),
    row<max3_i, 0, I16, I16, I16, I16>({"v_max3_i16"}, v3, 0x1f8, 0x24d, kAllTargets, kKeepsHalf),
    row<max3_u, 0, U16, U16, U16, U16>({"v_max3_u16"}, v3, 0x1f9, 0x24e, kAllTargets, kKeepsHalf),
    row<med3_i, 0, I16, I16, I16, I16>({"v_med3_i16"}, v3, 0x1fb, 0x250, kAllTargets, kKeepsHalf),
    row<med3_u, 0, U16, U16, U16, U16>({"v_med3_u16"}, v3, 0x1fc, 0x251, kAllTargets, kKeepsHalf),
    sat3<mad_u, mad_u_sat, U16>({"v_mad_u16"}, 0x204, 0x241, kAllTargets, kKeepsHalf),
    sat3<mad_i, mad_i_sat, I16>({"v_mad_i16"}, 0x205, 0x253, kAllTargets, kKeepsHalf),
    sat3<mad_u, mad_u_sat, U16>({"v_mad_legacy_u16"}, 0x1eb, kNo, kGfx9, 0),
    sat3<mad_i, mad_i_sat, I16>({"v_mad_legacy_i16"}, 0x1ec, kNo, kGfx9, 0),
    row<pack, kBits, B32, H16, H16>({"v_pack_b32_f16"}, v3, 0x2a0, 0x311, kAllTargets, kFloatMods),
};

}  // namespace int16_ops

std::span<const Row> int16_rows() { return int16_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
