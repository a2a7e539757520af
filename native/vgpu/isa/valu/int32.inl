// 32-bit integer and bit operations of VOP1, VOP2 and VOP3. Source: "CDNA3 ISA" and "RDNA3 ISA", chapter Instructions.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace int32_ops {

constexpr auto mov = [](uint32_t a) { return a; };
constexpr auto bit_not = [](uint32_t a) { return ~a; };
constexpr auto bfrev = [](uint32_t a) {
  a = (a >> 1 & 0x55555555u) | (a & 0x55555555u) << 1;
  a = (a >> 2 & 0x33333333u) | (a & 0x33333333u) << 2;
  a = (a >> 4 & 0x0f0f0f0fu) | (a & 0x0f0f0f0fu) << 4;
  return __builtin_bswap32(a);
};
constexpr auto ffbh_u32 = [](uint32_t a) { return a ? static_cast<uint32_t>(std::countl_zero(a)) : ~0u; };
constexpr auto ffbl = [](uint32_t a) { return a ? static_cast<uint32_t>(std::countr_zero(a)) : ~0u; };
// Position of the first bit that differs from the sign; -1 when there is none.
constexpr auto ffbh_i32 = [](uint32_t a) {
  const uint32_t x = a ^ static_cast<uint32_t>(static_cast<int32_t>(a) >> 31);
  return x ? static_cast<uint32_t>(std::countl_zero(x)) : ~0u;
};
constexpr auto sat_pk_u8_i16 = [](uint32_t a) {
  const int32_t lo = static_cast<int16_t>(a & 0xffffu), hi = static_cast<int16_t>(a >> 16);
  return static_cast<uint32_t>(std::clamp(lo, 0, 255) | std::clamp(hi, 0, 255) << 8);
};

constexpr int32_t sext24(int32_t a) { return static_cast<int32_t>(static_cast<uint32_t>(a) << 8) >> 8; }
constexpr auto mul_i24 = [](int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(sext24(a)) * static_cast<uint32_t>(sext24(b)));
};
constexpr auto mul_hi_i24 = [](int32_t a, int32_t b) {
  return static_cast<int32_t>(int64_t{sext24(a)} * sext24(b) >> 32);
};
constexpr auto mul_u24 = [](uint32_t a, uint32_t b) { return (a & 0xffffffu) * (b & 0xffffffu); };
constexpr auto mul_hi_u24 = [](uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(uint64_t{a & 0xffffffu} * (b & 0xffffffu) >> 32);
};
constexpr auto min_i = [](int32_t a, int32_t b) { return a < b ? a : b; };
constexpr auto max_i = [](int32_t a, int32_t b) { return a > b ? a : b; };
constexpr auto min_u = [](uint32_t a, uint32_t b) { return a < b ? a : b; };
constexpr auto max_u = [](uint32_t a, uint32_t b) { return a > b ? a : b; };
constexpr auto lshr_rev = [](uint32_t s, uint32_t a) { return a >> (s & 31); };
constexpr auto lshl_rev = [](uint32_t s, uint32_t a) { return a << (s & 31); };
constexpr auto ashr_rev = [](uint32_t s, int32_t a) { return a >> (s & 31); };
constexpr auto and_ = [](uint32_t a, uint32_t b) { return a & b; };
constexpr auto or_ = [](uint32_t a, uint32_t b) { return a | b; };
constexpr auto xor_ = [](uint32_t a, uint32_t b) { return a ^ b; };
constexpr auto xnor = [](uint32_t a, uint32_t b) { return ~(a ^ b); };
constexpr auto mul_lo = [](uint32_t a, uint32_t b) { return a * b; };
constexpr auto mul_hi_u = [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(uint64_t{a} * b >> 32); };
constexpr auto mul_hi_i = [](int32_t a, int32_t b) { return static_cast<int32_t>(int64_t{a} * b >> 32); };
constexpr auto bfm = [](uint32_t a, uint32_t b) { return ((1u << (a & 31)) - 1u) << (b & 31); };
constexpr auto bcnt = [](uint32_t a, uint32_t b) { return static_cast<uint32_t>(std::popcount(a)) + b; };

constexpr auto add = [](uint32_t a, uint32_t b) { return a + b; };
constexpr auto sub = [](uint32_t a, uint32_t b) { return a - b; };
constexpr auto subrev = [](uint32_t a, uint32_t b) { return b - a; };
constexpr auto add_sat_u = [](uint32_t a, uint32_t b) { return a + b < a ? ~0u : a + b; };
constexpr auto sub_sat_u = [](uint32_t a, uint32_t b) { return a < b ? 0u : a - b; };
constexpr auto subrev_sat_u = [](uint32_t a, uint32_t b) { return sub_sat_u(b, a); };
constexpr uint32_t saturate(int64_t v) {
  return static_cast<uint32_t>(static_cast<int32_t>(
      std::clamp<int64_t>(v, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())));
}
constexpr auto add_sat_i = [](uint32_t a, uint32_t b) {
  return saturate(int64_t{static_cast<int32_t>(a)} + static_cast<int32_t>(b));
};
constexpr auto sub_sat_i = [](uint32_t a, uint32_t b) {
  return saturate(int64_t{static_cast<int32_t>(a)} - static_cast<int32_t>(b));
};

constexpr auto bfe_u = [](uint32_t a, uint32_t offset, uint32_t width) {
  return (a >> (offset & 31)) & ((1u << (width & 31)) - 1u);
};
constexpr auto bfe_i = [](uint32_t a, uint32_t offset, uint32_t width) {
  const uint32_t n = width & 31;
  const int32_t shifted = static_cast<int32_t>(a) >> (offset & 31);
  const int32_t field = static_cast<int32_t>(static_cast<uint32_t>(shifted) << ((32 - n) & 31)) >> ((32 - n) & 31);
  return n == 0 ? 0u : static_cast<uint32_t>(field);
};
constexpr auto bfi = [](uint32_t m, uint32_t a, uint32_t b) { return (m & a) | (~m & b); };
constexpr auto alignbit = [](uint32_t hi, uint32_t lo, uint32_t s) {
  return static_cast<uint32_t>((uint64_t{hi} << 32 | lo) >> (s & 31));
};
constexpr auto alignbyte = [](uint32_t hi, uint32_t lo, uint32_t s) {
  return static_cast<uint32_t>((uint64_t{hi} << 32 | lo) >> (8 * (s & 3)));
};
constexpr auto add3 = [](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; };
constexpr auto lshl_add = [](uint32_t a, uint32_t s, uint32_t c) { return (a << (s & 31)) + c; };
constexpr auto add_lshl = [](uint32_t a, uint32_t b, uint32_t s) { return (a + b) << (s & 31); };
constexpr auto lshl_or = [](uint32_t a, uint32_t s, uint32_t c) { return (a << (s & 31)) | c; };
constexpr auto and_or = [](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; };
constexpr auto or3 = [](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; };
constexpr auto xor3 = [](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; };
constexpr auto xad = [](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; };
constexpr auto mad_i24 = [](int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(mul_i24(a, b)) + static_cast<uint32_t>(c));
};
constexpr auto mad_u24 = [](uint32_t a, uint32_t b, uint32_t c) { return mul_u24(a, b) + c; };
constexpr auto mad_u32_u16 = [](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; };
constexpr auto mad_i32_i16 = [](int32_t a, int32_t b, int32_t c) {
  return static_cast<int32_t>(static_cast<uint32_t>(a * b) + static_cast<uint32_t>(c));
};
constexpr auto min3_i = [](int32_t a, int32_t b, int32_t c) { return min_i(min_i(a, b), c); };
constexpr auto max3_i = [](int32_t a, int32_t b, int32_t c) { return max_i(max_i(a, b), c); };
constexpr auto med3_i = [](int32_t a, int32_t b, int32_t c) { return max_i(min_i(a, b), min_i(max_i(a, b), c)); };
constexpr auto min3_u = [](uint32_t a, uint32_t b, uint32_t c) { return min_u(min_u(a, b), c); };
constexpr auto max3_u = [](uint32_t a, uint32_t b, uint32_t c) { return max_u(max_u(a, b), c); };
constexpr auto med3_u = [](uint32_t a, uint32_t b, uint32_t c) { return max_u(min_u(a, b), min_u(max_u(a, b), c)); };
constexpr auto maxmin_i = [](int32_t a, int32_t b, int32_t c) { return min_i(max_i(a, b), c); };
constexpr auto minmax_i = [](int32_t a, int32_t b, int32_t c) { return max_i(min_i(a, b), c); };
constexpr auto maxmin_u = [](uint32_t a, uint32_t b, uint32_t c) { return min_u(max_u(a, b), c); };
constexpr auto minmax_u = [](uint32_t a, uint32_t b, uint32_t c) { return max_u(min_u(a, b), c); };

// Byte select: selectors 0..3 take bytes of the low source, 4..7 of the high one, 8..11 signs, 12 zero, above all ones.
constexpr auto perm = [](uint32_t hi, uint32_t lo, uint32_t sel) {
  const uint64_t data = uint64_t{hi} << 32 | lo;
  uint32_t r = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t s = sel >> (8 * i) & 0xffu;
    const auto picked = static_cast<uint32_t>(data >> (8 * (s & 7))) & 0xffu;
    const auto sign = (data >> (16 * (s & 3) + 15) & 1) ? 0xffu : 0u;
    r |= (s < 8 ? picked : s < 12 ? sign : s == 12 ? 0u : 0xffu) << (8 * i);
  }
  return r;
};
constexpr auto lerp_u8 = [](uint32_t a, uint32_t b, uint32_t c) {
  uint32_t r = 0;
  for (unsigned i = 0; i < 32; i += 8)
    r |= (((a >> i & 0xffu) + (b >> i & 0xffu) + (c >> i & 1u)) >> 1 & 0xffu) << i;
  return r;
};
constexpr uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }
constexpr auto sad_u8 = [](uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned i = 0; i < 32; i += 8) c += distance(a >> i & 0xffu, b >> i & 0xffu);
  return c;
};
constexpr auto sad_hi_u8 = [](uint32_t a, uint32_t b, uint32_t c) { return (sad_u8(a, b, 0) << 16) + c; };
constexpr auto sad_u16 = [](uint32_t a, uint32_t b, uint32_t c) {
  return c + distance(a & 0xffffu, b & 0xffffu) + distance(a >> 16, b >> 16);
};
constexpr auto sad_u32 = [](uint32_t a, uint32_t b, uint32_t c) { return c + distance(a, b); };
// Masked: reference bytes of zero do not count.
constexpr auto msad_u8 = [](uint32_t a, uint32_t b, uint32_t c) {
  for (unsigned i = 0; i < 32; i += 8)
    if (b >> i & 0xffu) c += distance(a >> i & 0xffu, b >> i & 0xffu);
  return c;
};
// Sums at four positions, one byte apart; the 16-bit sums wrap, or saturate with the clamp bit.
template <auto f, bool kSaturate>
constexpr auto quad = [](uint64_t a, uint32_t b, uint64_t c) {
  uint64_t r = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t sum = f(static_cast<uint32_t>(a >> (8 * i)), b, static_cast<uint32_t>(c >> (16 * i)) & 0xffffu);
    r |= uint64_t{kSaturate ? std::min(sum, 0xffffu) : sum & 0xffffu} << (16 * i);
  }
  return r;
};
template <auto f>
void quad_sad(Wave& w, const Inst& in) {
  if (in.clamp) lanewise<quad<f, true>, kDefault, B64, B64, U32, B64>(w, in);
  else lanewise<quad<f, false>, kDefault, B64, B64, U32, B64>(w, in);
}
// Four 32-bit sums in four registers.
inline void mqsad_u32(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  LaneBuffer store[7], result[4];
  const uint32_t* lo = fetch_raw(w, in.src[0], 0, store[0]);
  const uint32_t* hi = fetch_raw(w, in.src[0], 1, store[1]);
  const uint32_t* reference = fetch_raw(w, in.src[1], 0, store[2]);
  for (unsigned i = 0; i < 4; ++i) {
    const uint32_t* sum = fetch_raw(w, in.src[2], i, store[3 + i]);
    for (unsigned l = 0; l < w.size; ++l) {
      const uint64_t a = uint64_t{hi[l]} << 32 | lo[l];
      const uint64_t r = uint64_t{msad_u8(static_cast<uint32_t>(a >> (8 * i)), reference[l], 0)} + sum[l];
      result[i].lane[l] = in.clamp ? static_cast<uint32_t>(std::min(r, uint64_t{0xffffffffu})) : static_cast<uint32_t>(r);
    }
  }
  for (unsigned i = 0; i < 4; ++i) blend(w.vreg(in.dst.index + i), result[i].lane, mask);
}
constexpr auto cvt_pk_u16_u32 = [](uint32_t a, uint32_t b) { return min_u(a, 0xffffu) | min_u(b, 0xffffu) << 16; };
constexpr auto cvt_pk_i16_i32 = [](int32_t a, int32_t b) {
  return (static_cast<uint32_t>(std::clamp(a, -32768, 32767)) & 0xffffu) |
         static_cast<uint32_t>(std::clamp(b, -32768, 32767)) << 16;
};

// Integer results that the clamp bit saturates: two functions, chosen once an instruction.
template <auto plain, auto saturating, class T>
void clampable(Wave& w, const Inst& in) {
  if (in.clamp) lanewise<saturating, kDefault, T, T, T>(w, in);
  else lanewise<plain, kDefault, T, T, T>(w, in);
}
template <auto plain, auto saturating, class T>
constexpr Row clamp_row(Names n, Format format, uint16_t op9, uint16_t op11, TargetSet targets = kAllTargets) {
  return row_own(n, format, op9, op11, targets, T::type, T::type, T::type, Type::none, &clampable<plain, saturating, T>,
                 kIntClamp);
}

// Additions and subtractions with a carry-out mask; kIn: with a carry-in mask too.
enum class CarryOp { plus, minus, reverse };
template <CarryOp op, bool kIn>
void carry(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  Scratch store[2];
  const Source a = fetch<U32, 0>(w, in, op == CarryOp::reverse ? 1 : 0, store[0]);
  const Source b = fetch<U32, 0>(w, in, op == CarryOp::reverse ? 0 : 1, store[1]);
  const uint64_t carry_in = kIn ? read_mask(w, in.src[2]) : 0;
  Target_<U32, 0> out(w, in, mask);
  uint32_t* const result = out.dest.lo;
  uint64_t carries = 0;
  for (std::size_t base = 0; base < w.size; base += 32) {
    const auto in_bits = static_cast<uint32_t>(carry_in >> base);
    const uint32_t *const first = a.lo + base, *const second = b.lo + base;
    uint32_t* const to = result + base;
    uint32_t truth[32];
#pragma GCC ivdep
    for (uint32_t l = 0; l < 32; ++l) {
      const uint32_t x = first[l], y = second[l], c = kIn && (in_bits & 1u << l) ? 1u : 0u;
      // Of the two steps at most one wraps.
      const uint32_t middle = op == CarryOp::plus ? x + y : x - y;
      const uint32_t last = op == CarryOp::plus ? middle + c : middle - c;
      const bool wraps = op == CarryOp::plus ? (middle < x) | (last < middle) : (x < y) | (middle < c);
      to[l] = last;
      truth[l] = wraps ? ~0u : 0u;
    }
    carries |= uint64_t{block_mask(truth)} << base;
  }
  if (in.clamp)
    for (std::size_t l = 0; l < w.size; ++l)
      if (carries >> l & 1) result[l] = op == CarryOp::plus ? ~0u : 0u;
  out.finish(w, in, mask);
  write_mask_dst(w, in.sdst, carries & mask);
}
template <CarryOp op, bool kIn>
constexpr Row carry_row(Names n, Format format, uint16_t op9, uint16_t op11, TargetSet targets) {
  return row_own(n, format, op9, op11, targets, Type::u32, Type::u32, Type::u32, kIn ? Type::mask : Type::none,
                 &carry<op, kIn>, kVccCarryOut | kIntClamp | (kIn ? unsigned{kVccCarryIn} : 0u));
}

// D = mask ? S1 : S0. The float modifiers of the VOP3 form apply to the bits.
template <class T>
void cndmask(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  Scratch store[2];
  const Source a = fetch<T, kBits>(w, in, 0, store[0]);
  const Source b = fetch<T, kBits>(w, in, 1, store[1]);
  const uint64_t choose = read_mask(w, in.src[2]);
  Target_<T, kBits> out(w, in, mask);
  const Dest dest = out.dest;
  for (std::size_t base = 0; base < w.size; base += 32) {
    const auto bits = static_cast<uint32_t>(choose >> base);
#pragma GCC ivdep
    for (std::size_t l = 0; l < 32; ++l) {
      const uint32_t second = 0u - (bits >> l & 1u);
      dest.lo[base + l] = (b.lo[base + l] & second) | (a.lo[base + l] & ~second);
    }
  }
  out.finish(w, in, mask);
}

// Number of set bits of S0 below the lane (within one half of the wave), plus S1.
template <bool kHigh>
void mbcnt(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  Scratch store[2];
  const Source a = fetch<U32, 0>(w, in, 0, store[0]);
  const Source b = fetch<U32, 0>(w, in, 1, store[1]);
  Target_<U32, 0> out(w, in, mask);
  const Dest dest = out.dest;
  each_lane(w, [&](std::size_t l) {
    const uint32_t below = kHigh ? (l < 32 ? 0u : (1u << (l & 31)) - 1u) : (l < 32 ? (1u << (l & 31)) - 1u : ~0u);
    dest.lo[l] = static_cast<uint32_t>(std::popcount(a.lo[l] & below)) + b.lo[l];
  });
  out.finish(w, in, mask);
}

// A truth table (Inst::simm) of three bits. Source: "CDNA4 ISA", V_BITOP3_B32.
template <class T>
void bitop3(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  Scratch store[3];
  const uint32_t *a = fetch<T, 0>(w, in, 0, store[0]).lo, *b = fetch<T, 0>(w, in, 1, store[1]).lo, *c = fetch<T, 0>(w, in, 2, store[2]).lo;
  LaneBuffer result;
  const auto table = static_cast<unsigned>(in.simm);
  each_lane(w, [&](std::size_t l) {
    uint32_t r = 0;
    for (unsigned k = 0; k < 8; ++k)
      r |= (0u - (table >> k & 1u)) & (k & 4 ? a[l] : ~a[l]) & (k & 2 ? b[l] : ~b[l]) & (k & 1 ? c[l] : ~c[l]);
    result.lane[l] = r;
  });
  commit(w, in, T::type, w.exec(), {result.lane, nullptr}, true);
}
// Two shifted numbers, saturated to bytes.
template <int kLow, int kHigh>
constexpr auto ashr_pk = [](int32_t a, int32_t b, uint32_t s) {
  const auto byte = [s](int32_t v) { return static_cast<uint32_t>(std::clamp(v >> (s & 31u), kLow, kHigh)) & 0xffu; };
  return byte(a) | byte(b) << 8;
};
// One step of a linear feedback shift register.
constexpr auto prng = [](uint32_t a) { return a << 1 ^ (a >> 31 ? 197u : 0u); };

constexpr Format v1 = Format::vop1, v2 = Format::vop2, v3 = Format::vop3, vd = Format::vopd;

constexpr Row kRows[] = {
    row<mov, 0, B32, B32>({"v_mov_b32"}, v1, 0x01, 0x01),
    row<bit_not, 0, B32, B32>({"v_not_b32"}, v1, 0x2b, 0x37),
    row<bfrev, 0, B32, B32>({"v_bfrev_b32"}, v1, 0x2c, 0x38),
    row<ffbh_u32, 0, U32, U32>({"v_ffbh_u32", "v_clz_i32_u32"}, v1, 0x2d, 0x39),
    row<ffbl, 0, B32, B32>({"v_ffbl_b32", "v_ctz_i32_b32"}, v1, 0x2e, 0x3a),
    row<ffbh_i32, 0, U32, U32>({"v_ffbh_i32", "v_cls_i32"}, v1, 0x2f, 0x3b),
    row<sat_pk_u8_i16, 0, B32, B32>({"v_sat_pk_u8_i16"}, v1, 0x4f, kNo, kGfx9),

    row_own({"v_cndmask_b32"}, v2, 0x00, 0x01, kAllTargets, Type::f32, Type::f32, Type::f32, Type::mask, &cndmask<F32>,
            kVccCarryIn | kFloatMods),
    row<mul_i24, 0, I32, I32, I32>({"v_mul_i32_i24"}, v2, 0x06, 0x09),
    row<mul_hi_i24, 0, I32, I32, I32>({"v_mul_hi_i32_i24"}, v2, 0x07, 0x0a),
    row<mul_u24, 0, U32, U32, U32>({"v_mul_u32_u24"}, v2, 0x08, 0x0b),
    row<mul_hi_u24, 0, U32, U32, U32>({"v_mul_hi_u32_u24"}, v2, 0x09, 0x0c),
    row<min_i, 0, I32, I32, I32>({"v_min_i32"}, v2, 0x0c, 0x11),
    row<max_i, 0, I32, I32, I32>({"v_max_i32"}, v2, 0x0d, 0x12),
    row<min_u, 0, U32, U32, U32>({"v_min_u32"}, v2, 0x0e, 0x13),
    row<max_u, 0, U32, U32, U32>({"v_max_u32"}, v2, 0x0f, 0x14),
    row<lshr_rev, 0, U32, U32, U32>({"v_lshrrev_b32"}, v2, 0x10, 0x19),
    row<ashr_rev, 0, I32, U32, I32>({"v_ashrrev_i32"}, v2, 0x11, 0x1a),
    row<lshl_rev, 0, U32, U32, U32>({"v_lshlrev_b32"}, v2, 0x12, 0x18),
    row<and_, 0, B32, B32, B32>({"v_and_b32"}, v2, 0x13, 0x1b),
    row<or_, 0, B32, B32, B32>({"v_or_b32"}, v2, 0x14, 0x1c),
    row<xor_, 0, B32, B32, B32>({"v_xor_b32"}, v2, 0x15, 0x1d),
    row<xnor, 0, B32, B32, B32>({"v_xnor_b32"}, v2, 0x3d, 0x1e),
    clamp_row<add, add_sat_u, U32>({"v_add_u32", "v_add_nc_u32"}, v2, 0x34, 0x25),
    clamp_row<sub, sub_sat_u, U32>({"v_sub_u32", "v_sub_nc_u32"}, v2, 0x35, 0x26),
    clamp_row<subrev, subrev_sat_u, U32>({"v_subrev_u32", "v_subrev_nc_u32"}, v2, 0x36, 0x27),
    clamp_row<add, add_sat_i, I32>({"v_add_i32", "v_add_nc_i32"}, v3, 0x29c, 0x326),
    clamp_row<sub, sub_sat_i, I32>({"v_sub_i32", "v_sub_nc_i32"}, v3, 0x29d, 0x325),
    carry_row<CarryOp::plus, false>({"v_add_co_u32"}, v2, 0x19, kNo, kGfx9),
    carry_row<CarryOp::minus, false>({"v_sub_co_u32"}, v2, 0x1a, kNo, kGfx9),
    carry_row<CarryOp::reverse, false>({"v_subrev_co_u32"}, v2, 0x1b, kNo, kGfx9),
    carry_row<CarryOp::plus, true>({"v_addc_co_u32", "v_add_co_ci_u32"}, v2, 0x1c, 0x20, kAllTargets),
    carry_row<CarryOp::minus, true>({"v_subb_co_u32", "v_sub_co_ci_u32"}, v2, 0x1d, 0x21, kAllTargets),
    carry_row<CarryOp::reverse, true>({"v_subbrev_co_u32", "v_subrev_co_ci_u32"}, v2, 0x1e, 0x22, kAllTargets),
    carry_row<CarryOp::plus, false>({"v_add_co_u32"}, v3, kNo, 0x300, kRdna),
    carry_row<CarryOp::minus, false>({"v_sub_co_u32"}, v3, kNo, 0x301, kRdna),
    carry_row<CarryOp::reverse, false>({"v_subrev_co_u32"}, v3, kNo, 0x302, kRdna),

    row<mad_i24, 0, I32, I32, I32, I32>({"v_mad_i32_i24"}, v3, 0x1c2, 0x20a),
    row<mad_u24, 0, U32, U32, U32, U32>({"v_mad_u32_u24"}, v3, 0x1c3, 0x20b),
    row<bfe_u, 0, U32, U32, U32, U32>({"v_bfe_u32"}, v3, 0x1c8, 0x210),
    row<bfe_i, 0, U32, U32, U32, U32>({"v_bfe_i32"}, v3, 0x1c9, 0x211),
    row<bfi, 0, B32, B32, B32, B32>({"v_bfi_b32"}, v3, 0x1ca, 0x212),
    row<lerp_u8, 0, U32, U32, U32, U32>({"v_lerp_u8"}, v3, 0x1cd, 0x215),
    row<alignbit, 0, B32, B32, B32, B16>({"v_alignbit_b32"}, v3, 0x1ce, 0x216),
    row<alignbyte, 0, B32, B32, B32, B16>({"v_alignbyte_b32"}, v3, 0x1cf, 0x217),
    row<min3_i, 0, I32, I32, I32, I32>({"v_min3_i32"}, v3, 0x1d1, 0x21a),
    row<min3_u, 0, U32, U32, U32, U32>({"v_min3_u32"}, v3, 0x1d2, 0x21b),
    row<max3_i, 0, I32, I32, I32, I32>({"v_max3_i32"}, v3, 0x1d4, 0x21d),
    row<max3_u, 0, U32, U32, U32, U32>({"v_max3_u32"}, v3, 0x1d5, 0x21e),
    row<med3_i, 0, I32, I32, I32, I32>({"v_med3_i32"}, v3, 0x1d7, 0x220),
    row<med3_u, 0, U32, U32, U32, U32>({"v_med3_u32"}, v3, 0x1d8, 0x221),
    row<sad_u8, 0, U32, U32, U32, U32>({"v_sad_u8"}, v3, 0x1d9, 0x222),
    row<sad_hi_u8, 0, U32, U32, U32, U32>({"v_sad_hi_u8"}, v3, 0x1da, 0x223),
    row<sad_u16, 0, U32, U32, U32, U32>({"v_sad_u16"}, v3, 0x1db, 0x224),
    row<sad_u32, 0, U32, U32, U32, U32>({"v_sad_u32"}, v3, 0x1dc, 0x225),
    row<msad_u8, 0, U32, U32, U32, U32>({"v_msad_u8"}, v3, 0x1e4, 0x239),
    row_own({"v_qsad_pk_u16_u8"}, v3, 0x1e5, 0x23a, kAllTargets, Type::b64, Type::b64, Type::u32, Type::b64, &quad_sad<sad_u8>, kIntClamp),
    row_own({"v_mqsad_pk_u16_u8"}, v3, 0x1e6, 0x23b, kAllTargets, Type::b64, Type::b64, Type::u32, Type::b64, &quad_sad<msad_u8>, kIntClamp),
    row_own({"v_mqsad_u32_u8"}, v3, 0x1e7, 0x23d, kAllTargets, Type::b128, Type::b64, Type::u32, Type::b128, &mqsad_u32,
            kIntClamp | kOwnOperands),
    row<perm, 0, B32, B32, B32, B32>({"v_perm_b32"}, v3, 0x1ed, 0x244),
    row<mad_u32_u16, 0, U32, U16, U16, U32>({"v_mad_u32_u16"}, v3, 0x1f1, 0x259),
    row<mad_i32_i16, 0, I32, I16, I16, I32>({"v_mad_i32_i16"}, v3, 0x1f2, 0x25a),
    row<xad, 0, U32, U32, U32, U32>({"v_xad_u32"}, v3, 0x1f3, 0x245),
    row<lshl_add, 0, U32, U32, U32, U32>({"v_lshl_add_u32"}, v3, 0x1fd, 0x246),
    row<add_lshl, 0, U32, U32, U32, U32>({"v_add_lshl_u32"}, v3, 0x1fe, 0x247),
    row<add3, 0, U32, U32, U32, U32>({"v_add3_u32"}, v3, 0x1ff, 0x255),
    row<lshl_or, 0, U32, U32, U32, U32>({"v_lshl_or_b32"}, v3, 0x200, 0x256),
    row<and_or, 0, U32, U32, U32, U32>({"v_and_or_b32"}, v3, 0x201, 0x257),
    row<or3, 0, U32, U32, U32, U32>({"v_or3_b32"}, v3, 0x202, 0x258),
    row<xor3, 0, U32, U32, U32, U32>({"v_xor3_b32"}, v3, kNo, 0x240, kRdna),
    row<maxmin_u, 0, U32, U32, U32, U32>({"v_maxmin_u32"}, v3, kNo, 0x262, kRdna),
    row<minmax_u, 0, U32, U32, U32, U32>({"v_minmax_u32"}, v3, kNo, 0x263, kRdna),
    row<maxmin_i, 0, I32, I32, I32, I32>({"v_maxmin_i32"}, v3, kNo, 0x264, kRdna),
    row<minmax_i, 0, I32, I32, I32, I32>({"v_minmax_i32"}, v3, kNo, 0x265, kRdna),
    row<prng, 0, U32, U32>({"v_prng_b32"}, v1, 0x58, kNo, kGfx950),
    row_own({"v_bitop3_b16"}, v3, 0x233, kNo, kGfx950, Type::b16, Type::b16, Type::b16, Type::b16, &bitop3<B16>,
            kKeepsHalf | kTruthTable),
    row_own({"v_bitop3_b32"}, v3, 0x234, kNo, kGfx950, Type::b32, Type::b32, Type::b32, Type::b32, &bitop3<B32>, kTruthTable),
    row<ashr_pk<-128, 127>, 0, B16, I32, I32, U32>({"v_ashr_pk_i8_i32"}, v3, 0x265, kNo, kGfx950, kKeepsHalf),
    row<ashr_pk<0, 255>, 0, B16, I32, I32, U32>({"v_ashr_pk_u8_i32"}, v3, 0x266, kNo, kGfx950, kKeepsHalf),
    row<mul_lo, 0, U32, U32, U32>({"v_mul_lo_u32"}, v3, 0x285, 0x32c),
    row<mul_hi_u, 0, U32, U32, U32>({"v_mul_hi_u32"}, v3, 0x286, 0x32d),
    row<mul_hi_i, 0, I32, I32, I32>({"v_mul_hi_i32"}, v3, 0x287, 0x32e),
    row<bcnt, 0, U32, U32, U32>({"v_bcnt_u32_b32"}, v3, 0x28b, 0x31e),
    row_own({"v_mbcnt_lo_u32_b32"}, v3, 0x28c, 0x31f, kAllTargets, Type::u32, Type::u32, Type::u32, Type::none, &mbcnt<false>),
    row_own({"v_mbcnt_hi_u32_b32"}, v3, 0x28d, 0x320, kAllTargets, Type::u32, Type::u32, Type::u32, Type::none, &mbcnt<true>),
    row<bfm, 0, U32, U32, U32>({"v_bfm_b32"}, v3, 0x293, 0x31d),
    row<cvt_pk_u16_u32, 0, U32, U32, U32>({"v_cvt_pk_u16_u32"}, v3, 0x297, 0x323),
    row<cvt_pk_i16_i32, 0, U32, I32, I32>({"v_cvt_pk_i16_i32"}, v3, 0x298, 0x324),

    row<mov, 0, B32, B32>({"v_dual_mov_b32"}, vd, kNo, 8, kRdna),
    row_own({"v_dual_cndmask_b32"}, vd, kNo, 9, kRdna, Type::f32, Type::f32, Type::f32, Type::mask, &cndmask<F32>, kVccCarryIn),
    row<add, 0, U32, U32, U32>({"v_dual_add_nc_u32"}, vd, kNo, 16, kRdna),
    row<lshl_rev, 0, U32, U32, U32>({"v_dual_lshlrev_b32"}, vd, kNo, 17, kRdna),
    row<and_, 0, B32, B32, B32>({"v_dual_and_b32"}, vd, kNo, 18, kRdna),
};

}  // namespace int32_ops

std::span<const Row> int32_rows() { return int32_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
