// VOP3P: two 16-bit or 32-bit operations at once, mixed-precision fused multiply-add, dot products (VOP2 forms too).
// op_sel/op_sel_hi choose the half of each source for the low/high result, neg/neg_hi its sign.
// Source: "CDNA3 ISA" and "RDNA3 ISA", VOP3P.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace packed_ops {

inline uint32_t flush_half(uint32_t h) { return (h & 0x7c00u) ? h : h & 0x8000u; }
inline uint32_t clamp_half(const Wave& w, uint32_t h) {
  if ((h & 0x7fffu) > 0x7c00u) return w.mode.dx10_clamp ? 0 : h;
  return h & 0x8000u ? 0 : h > 0x3c00u ? 0x3c00u : h;
}

// The half of source i for the low (0) or high (1) result.
struct HalfPicker {
  unsigned shift[2];
  uint32_t flip[2];
  HalfPicker(const Inst& in, unsigned i)
      : shift{(in.op_sel >> i & 1) ? 16u : 0u, (in.op_sel_hi >> i & 1) ? 16u : 0u},
        flip{(in.neg >> i & 1) ? 0x8000u : 0u, (in.neg_hi >> i & 1) ? 0x8000u : 0u} {}
  uint32_t operator()(uint32_t lane, unsigned result) const { return (lane >> shift[result] & 0xffffu) ^ flip[result]; }
};

// f works on two or three halves given as bits.
template <auto f, bool kFloat, unsigned kSources>
void halves(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  LaneBuffer store[3], result;
  const uint32_t* src[3] = {};
  for (unsigned i = 0; i < kSources; ++i) src[i] = fetch_raw(w, in.src[i], 0, store[i]);
  const HalfPicker pick[3] = {{in, 0}, {in, 1}, {in, 2}};
  const bool flush_in = kFloat && !(w.mode.denorm64_16 & 1), flush_out = kFloat && !(w.mode.denorm64_16 & 2);
  {
    const RoundingScope rounding(kFloat ? w.mode.round64_16 : uint8_t{0});
    for (std::size_t l = 0; l < w.size; ++l) {
      uint32_t half[2];
      for (unsigned r = 0; r < 2; ++r) {
        uint32_t v[3] = {};
        for (unsigned i = 0; i < kSources; ++i) {
          v[i] = pick[i](src[i][l], r);
          if (flush_in) v[i] = flush_half(v[i]);
        }
        if constexpr (kSources == 2) half[r] = f(v[0], v[1]);
        else half[r] = f(v[0], v[1], v[2]);
        if (flush_out) half[r] = flush_half(half[r]);
        if (kFloat && in.clamp) half[r] = clamp_half(w, half[r]);
      }
      result.lane[l] = (half[0] & 0xffffu) | half[1] << 16;
    }
  }
  blend(w.vreg(in.dst.index), result.lane, mask);
}
template <auto plain, auto saturating, unsigned kSources>
void halves_sat(Wave& w, const Inst& in) {
  if (in.clamp) halves<saturating, false, kSources>(w, in);
  else halves<plain, false, kSources>(w, in);
}

constexpr int32_t sx(uint32_t h) { return static_cast<int16_t>(h & 0xffffu); }
constexpr uint32_t sat_i(int64_t v) { return static_cast<uint32_t>(std::clamp<int64_t>(v, -32768, 32767)) & 0xffffu; }
constexpr uint32_t sat_u(int64_t v) { return static_cast<uint32_t>(std::clamp<int64_t>(v, 0, 65535)); }

constexpr auto add = [](uint32_t a, uint32_t b) { return a + b; };
constexpr auto sub = [](uint32_t a, uint32_t b) { return a - b; };
constexpr auto mul = [](uint32_t a, uint32_t b) { return a * b; };
constexpr auto mad = [](uint32_t a, uint32_t b, uint32_t c) { return a * b + c; };
constexpr auto add_su = [](uint32_t a, uint32_t b) { return sat_u(int64_t{a} + b); };
constexpr auto sub_su = [](uint32_t a, uint32_t b) { return sat_u(int64_t{a} - b); };
constexpr auto mad_su = [](uint32_t a, uint32_t b, uint32_t c) { return sat_u(int64_t{a} * b + c); };
constexpr auto add_si = [](uint32_t a, uint32_t b) { return sat_i(int64_t{sx(a)} + sx(b)); };
constexpr auto sub_si = [](uint32_t a, uint32_t b) { return sat_i(int64_t{sx(a)} - sx(b)); };
constexpr auto mad_si = [](uint32_t a, uint32_t b, uint32_t c) { return sat_i(int64_t{sx(a)} * sx(b) + sx(c)); };
constexpr auto lshl = [](uint32_t s, uint32_t a) { return a << (s & 15); };
constexpr auto lshr = [](uint32_t s, uint32_t a) { return a >> (s & 15); };
constexpr auto ashr = [](uint32_t s, uint32_t a) { return static_cast<uint32_t>(sx(a) >> (s & 15)); };
constexpr auto max_i = [](uint32_t a, uint32_t b) { return sx(a) > sx(b) ? a : b; };
constexpr auto min_i = [](uint32_t a, uint32_t b) { return sx(a) < sx(b) ? a : b; };
constexpr auto max_u = [](uint32_t a, uint32_t b) { return a > b ? a : b; };
constexpr auto min_u = [](uint32_t a, uint32_t b) { return a < b ? a : b; };

constexpr auto add_f = [](uint32_t a, uint32_t b) {
  const float x = half_to_float(a), y = half_to_float(b);
  return float_to_half(settle(x + y, x, y));
};
constexpr auto mul_f = [](uint32_t a, uint32_t b) {
  const float x = half_to_float(a), y = half_to_float(b);
  return float_to_half(settle(x * y, x, y));
};
constexpr auto fma_f = [](uint32_t a, uint32_t b, uint32_t c) {
  const double x = half_to_float(a), y = half_to_float(b), z = half_to_float(c);
  return double_to_half(settle(x * y + z, x, y, z));
};
template <bool kMax>
constexpr auto extreme_f = [](uint32_t a, uint32_t b) {
  return float_to_half(extreme<kMax, false>(half_to_float(a), half_to_float(b)));
};
template <bool kMax>
constexpr auto nan_wins3_f = [](uint32_t a, uint32_t b, uint32_t c) {
  return float_to_half(extreme_nan<kMax>(extreme_nan<kMax>(half_to_float(a), half_to_float(b)), half_to_float(c)));
};
// The two forms of gfx12.
template <bool kMax>
constexpr auto number_f = [](uint32_t a, uint32_t b) {
  const float x = half_to_float(a), y = half_to_float(b);
  return float_to_half(choose(is_nan(x) & is_nan(y), quiet(x), extreme<kMax, false>(x, y)));
};
template <bool kMax>
constexpr auto propagating_f = [](uint32_t a, uint32_t b) -> uint32_t {
  const auto is_nan16 = [](uint32_t v) { return (v & 0x7fffu) > 0x7c00u; };
  const auto signals = [&](uint32_t v) { return is_nan16(v) && !(v & 0x200u); };
  if (signals(a) || (is_nan16(a) && !signals(b))) return (a & 0xffffu) | 0x200u;
  if (is_nan16(b)) return (b & 0xffffu) | 0x200u;
  return float_to_half(extreme<kMax, false>(half_to_float(a), half_to_float(b)));
};
// The old destination is the addend.
inline void pk_fmac(Wave& w, const Inst& in) {
  Inst full = in;
  full.src[2] = in.dst;
  full.op_sel = 0;
  full.op_sel_hi = 7;
  halves<fma_f, true, 3>(w, full);
}

// Two f32 operations: op_sel chooses the register of the pair.
template <auto f, unsigned kSources>
void pair32(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  if (w.mode.round32 != 0) [[unlikely]] {
    const RoundingScope rounding(w.mode.round32);
    const uint8_t mode = std::exchange(w.mode.round32, uint8_t{0});
    pair32<f, kSources>(w, in);
    w.mode.round32 = mode;
    return;
  }
  const bool plain = w.mode.plain() && !in.clamp, direct = plain && mask == all_lanes(w);
  uint32_t* const dst[2] = {w.vreg(in.dst.index), w.vreg(in.dst.index + 1u)};
  LaneBuffer result[2];
  for (unsigned r = 0; r < 2; ++r) {
    LaneBuffer store[3];
    Source src[3];
    for (unsigned i = 0; i < kSources; ++i) {
      const bool high = (r ? in.op_sel_hi : in.op_sel) >> i & 1, flip = (r ? in.neg_hi : in.neg) >> i & 1;
      const uint32_t* const raw = fetch_dword(w, in.src[i], high ? 1 : 0, store[i]);
      src[i].lo = raw;
      if (!flip && (w.mode.denorm32 & 1)) continue;
      const bool flush = !(w.mode.denorm32 & 1);
      const uint32_t sign = flip ? 0x80000000u : 0u;
      uint32_t* const own = store[i].lane;
      each_lane(w, [=](std::size_t l) { own[l] = (flush ? bits(flushed(from_bits<float>(raw[l]))) : raw[l]) ^ sign; });
      src[i].lo = own;
    }
    // The second half is the last to read the sources.
    const Dest dest{direct && r == 1 ? dst[1] : result[r].lane, nullptr};
    if constexpr (kSources == 2) compute<f, kSettles, F32, F32, F32>(w, dest, src, std::make_index_sequence<2>{});
    else compute<f, kSettles, F32, F32, F32, F32>(w, dest, src, std::make_index_sequence<3>{});
  }
  if (direct) {
    std::copy_n(result[0].lane, w.size, dst[0]);
  } else if (plain) {
    for (unsigned r = 0; r < 2; ++r) merge(dst[r], result[r].lane, mask, w);
  } else {
    Inst half = in;
    for (unsigned r = 0; r < 2; ++r) {
      half.dst.index = static_cast<uint16_t>(in.dst.index + r);
      commit(w, half, Type::f32, mask, {result[r].lane, nullptr}, false);
    }
  }
}
constexpr auto add32 = [](float a, float b) { return a + b; };
constexpr auto mul32 = [](float a, float b) { return a * b; };
constexpr auto fma32 = [](float a, float b, float c) { return fused(a, b, c); };

inline void pk_mov(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  LaneBuffer store[2], result[2];
  for (unsigned r = 0; r < 2; ++r)
    std::copy_n(fetch_raw(w, in.src[r], (in.op_sel >> r & 1) ? 1 : 0, store[r]), kLanes, result[r].lane);
  for (unsigned r = 0; r < 2; ++r) blend(w.vreg(in.dst.index + r), result[r].lane, w.exec());
}

// Mixed precision: op_sel_hi makes a source a half (op_sel: which), neg_hi is the absolute value.
inline float mix_source(Wave& w, const Inst& in, unsigned i, const uint32_t* raw, std::size_t l) {
  const bool is_half_source = in.op_sel_hi >> i & 1;
  float v;
  if (is_half_source) {
    const Operand& o = in.src[i];
    uint32_t h = raw[l] >> ((in.op_sel >> i & 1) ? 16 : 0) & 0xffffu;
    // Inline float constants stand for themselves at either width.
    const bool inline_float = o.kind == OperandKind::constant && o.encoded >= 240 && o.encoded <= 248;
    if (!inline_float && !(w.mode.denorm64_16 & 1)) h = flush_half(h);
    v = inline_float ? from_bits<float>(raw[l]) : half_to_float(h);
  } else {
    v = from_bits<float>(raw[l]);
    if (!(w.mode.denorm32 & 1)) v = flushed(v);
  }
  if (in.neg_hi >> i & 1) v = __builtin_fabsf(v);
  return (in.neg >> i & 1) ? -v : v;
}
enum class MixDst { full, low, high };
template <MixDst kDst>
void fma_mix(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  LaneBuffer store[3], result;
  const uint32_t* src[3];
  for (unsigned i = 0; i < 3; ++i) src[i] = fetch_moved(w, in, i, store[i]);
  const uint32_t* old = w.vreg(in.dst.index);
  for (std::size_t l = 0; l < w.size; ++l) {
    const float a = mix_source(w, in, 0, src[0], l), b = mix_source(w, in, 1, src[1], l), c = mix_source(w, in, 2, src[2], l);
    float r;
    {
      const RoundingScope rounding(w.mode.round32);
      r = settle(fused(a, b, c), a, b, c);
    }
    if (in.clamp) r = is_nan(r) ? (w.mode.dx10_clamp ? 0.0f : r) : r > 1.0f ? 1.0f : r > 0.0f ? r : 0.0f;
    if constexpr (kDst == MixDst::full) {
      result.lane[l] = bits((w.mode.denorm32 & 2) ? r : flushed(r));
    } else {
      const RoundingScope rounding(w.mode.round64_16);
      uint32_t h = float_to_half(r);
      if (!(w.mode.denorm64_16 & 2)) h = flush_half(h);
      result.lane[l] = kDst == MixDst::low ? (old[l] & 0xffff0000u) | h : (old[l] & 0xffffu) | h << 16;
    }
  }
  blend(w.vreg(in.dst.index), result.lane, mask);
}

// Integer dot products of kCount elements of kWidth bits. Signs: fixed, or neg bit i makes source i signed (gfx11 iu forms).
enum class Sign { no, yes, by_neg };
constexpr int64_t element(uint32_t v, unsigned at, unsigned width, bool is_signed) {
  const uint32_t field = v >> (at * width) & ((1u << width) - 1u);
  return is_signed ? static_cast<int32_t>(field << (32 - width)) >> (32 - width) : int64_t{field};
}
template <unsigned kWidth, Sign kSign, bool kFromDst>
void dot_int(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  Scratch moved[2];
  LaneBuffer store[3], result;
  const uint32_t *a, *b;
  if (kFromDst) {  // VOP2 forms take DPP
    a = fetch<B32, 0>(w, in, 0, moved[0]).lo;
    b = fetch<B32, 0>(w, in, 1, moved[1]).lo;
  } else {
    a = fetch_raw(w, in.src[0], 0, store[0]);
    b = fetch_raw(w, in.src[1], 0, store[1]);
  }
  const uint32_t* c = kFromDst ? w.vreg(in.dst.index) : fetch_raw(w, in.src[2], 0, store[2]);
  const bool a_signed = kSign == Sign::yes || (kSign == Sign::by_neg && (in.neg & 1));
  const bool b_signed = kSign == Sign::yes || (kSign == Sign::by_neg && (in.neg & 2));
  // op_sel chooses among 16-bit elements alone.
  if constexpr (kWidth == 16 && !kFromDst) {
    const HalfPicker pick[2] = {{in, 0}, {in, 1}};
    for (std::size_t l = 0; l < w.size; ++l) {
      moved[0].lo.lane[l] = pick[0](a[l], 0) | pick[0](a[l], 1) << 16;
      moved[1].lo.lane[l] = pick[1](b[l], 0) | pick[1](b[l], 1) << 16;
    }
    a = moved[0].lo.lane;
    b = moved[1].lo.lane;
  }
  for (std::size_t l = 0; l < w.size; ++l) {
    int64_t sum = kSign == Sign::no ? int64_t{c[l]} : int64_t{static_cast<int32_t>(c[l])};
    for (unsigned i = 0; i < 32 / kWidth; ++i) sum += element(a[l], i, kWidth, a_signed) * element(b[l], i, kWidth, b_signed);
    if (in.clamp)
      sum = kSign == Sign::no ? std::clamp<int64_t>(sum, 0, 0xffffffffll) : std::clamp<int64_t>(sum, -0x80000000ll, 0x7fffffffll);
    result.lane[l] = static_cast<uint32_t>(sum);
  }
  blend(w.vreg(in.dst.index), result.lane, mask);
}

// D = S0.lo * S1.lo + S0.hi * S1.hi + addend, one fused step after the other.
template <bool kBf16>
inline float dot2(uint32_t a, uint32_t b, float c) {
  const auto value = [](uint32_t h) { return kBf16 ? bf16_to_float(h & 0xffffu) : half_to_float(h & 0xffffu); };
  const float x = value(a), y = value(b), z = value(a >> 16), t = value(b >> 16);
  return settle(fused(z, t, fused(x, y, c)), x, y, z, t, c);
}
template <bool kBf16>
void dot2_acc(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  Scratch store[3];
  const Source a = fetch<B32, 0>(w, in, 0, store[0]), b = fetch<B32, 0>(w, in, 1, store[1]);
  const uint32_t* c = w.vreg(in.dst.index);
  for (std::size_t l = 0; l < w.size; ++l) store[2].lo.lane[l] = bits(dot2<kBf16>(a.lo[l], b.lo[l], from_bits<float>(c[l])));
  commit(w, in, Type::f32, mask, {store[2].lo.lane, nullptr}, false);
}
template <bool kBf16>
void dot2_3p(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  LaneBuffer store[3], result;
  const uint32_t* src[3];
  for (unsigned i = 0; i < 3; ++i) src[i] = fetch_moved(w, in, i, store[i]);
  const HalfPicker pick[2] = {{in, 0}, {in, 1}};
  for (std::size_t l = 0; l < w.size; ++l) {
    const uint32_t a = pick[0](src[0][l], 0) | pick[0](src[0][l], 1) << 16;
    const uint32_t b = pick[1](src[1][l], 0) | pick[1](src[1][l], 1) << 16;
    const uint32_t c = src[2][l] ^ ((in.neg & 4) ? 0x80000000u : 0u);
    result.lane[l] = bits(dot2<kBf16>(a, b, from_bits<float>(c)));
  }
  commit(w, in, Type::f32, mask, {result.lane, nullptr}, false);
}

// Half results: the sum is rounded once. op_sel bit 2 is the half of the addend, bit 3 that of the destination.
template <bool kBf16>
void dot2_half(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  Scratch store[3];
  LaneBuffer result;
  const Source a = fetch<B32, 0>(w, in, 0, store[0]), b = fetch<B32, 0>(w, in, 1, store[1]);
  const Source c = kBf16 ? fetch<B16, 0>(w, in, 2, store[2]) : fetch<H16, 0>(w, in, 2, store[2]);
  for (std::size_t l = 0; l < w.size; ++l) {
    const uint32_t addend = c.lo[l] & 0xffffu;
    const float sum = dot2<kBf16>(a.lo[l], b.lo[l], kBf16 ? bf16_to_float(addend) : half_to_float(addend));
    result.lane[l] = kBf16 ? float_to_bf16(sum) : float_to_half(sum);
  }
  commit(w, in, kBf16 ? Type::b16 : Type::f16, mask, {result.lane, nullptr}, kBf16);
}

constexpr Format p = Format::vop3p, v3 = Format::vop3, v2 = Format::vop2, vd = Format::vopd;
constexpr Type i = Type::pk16, h = Type::pkf16, ff = Type::pkf32, n = Type::none;
constexpr Type b = Type::b32, f32 = Type::f32, i32 = Type::i32, u32 = Type::u32;

constexpr Row int2(const char* name, uint16_t op, Handler handler) {
  return row_own({name}, p, op, op, kAllTargets, i, i, i, n, handler, kIntClamp);
}
constexpr Row int3(const char* name, uint16_t op, Handler handler) {
  return row_own({name}, p, op, op, kAllTargets, i, i, i, i, handler, kIntClamp);
}
constexpr Row half2(const char* name, uint16_t op, Handler handler) {
  return row_own({name}, p, op, op, kAllTargets, h, h, h, n, handler, kFloatMods);
}
constexpr Row half12(const char* name, uint16_t op, Handler handler) {
  return row_own({name}, p, kNo, op, kGfx12, h, h, h, n, handler, kFloatMods);
}
constexpr Row dot(Names names, uint16_t op9, uint16_t op11, TargetSet targets, Type t, Handler handler, unsigned flags = 0) {
  return row_own(names, p, op9, op11, targets, t, b, b, t, handler, kIntClamp | flags);
}
constexpr Row dot_acc(Names names, uint16_t op9, uint16_t op11, TargetSet targets, Type t, Handler handler, unsigned flags = 0) {
  return row_own(names, v2, op9, op11, targets, t, b, b, n, handler, kReadsDst | flags);
}

constexpr Row kRows[] = {
    int3("v_pk_mad_i16", 0x00, &halves_sat<mad, mad_si, 3>),
    int2("v_pk_mul_lo_u16", 0x01, &halves<mul, false, 2>),
    int2("v_pk_add_i16", 0x02, &halves_sat<add, add_si, 2>),
    int2("v_pk_sub_i16", 0x03, &halves_sat<sub, sub_si, 2>),
    int2("v_pk_lshlrev_b16", 0x04, &halves<lshl, false, 2>),
    int2("v_pk_lshrrev_b16", 0x05, &halves<lshr, false, 2>),
    int2("v_pk_ashrrev_i16", 0x06, &halves<ashr, false, 2>),
    int2("v_pk_max_i16", 0x07, &halves<max_i, false, 2>),
    int2("v_pk_min_i16", 0x08, &halves<min_i, false, 2>),
    int3("v_pk_mad_u16", 0x09, &halves_sat<mad, mad_su, 3>),
    int2("v_pk_add_u16", 0x0a, &halves_sat<add, add_su, 2>),
    int2("v_pk_sub_u16", 0x0b, &halves_sat<sub, sub_su, 2>),
    int2("v_pk_max_u16", 0x0c, &halves<max_u, false, 2>),
    int2("v_pk_min_u16", 0x0d, &halves<min_u, false, 2>),
    row_own({"v_pk_fma_f16"}, p, 0x0e, 0x0e, kAllTargets, h, h, h, h, &halves<fma_f, true, 3>, kFloatMods),
    half2("v_pk_add_f16", 0x0f, &halves<add_f, true, 2>),
    half2("v_pk_mul_f16", 0x10, &halves<mul_f, true, 2>),
    half2("v_pk_min_f16", 0x11, &halves<extreme_f<false>, true, 2>),
    half2("v_pk_max_f16", 0x12, &halves<extreme_f<true>, true, 2>),
    row_own({"v_pk_minimum3_f16"}, p, 0x1b, kNo, kGfx950, h, h, h, h, &halves<nan_wins3_f<false>, true, 3>, kFloatMods),
    row_own({"v_pk_maximum3_f16"}, p, 0x1c, kNo, kGfx950, h, h, h, h, &halves<nan_wins3_f<true>, true, 3>, kFloatMods),
    half12("v_pk_min_num_f16", 0x1b, &halves<number_f<false>, true, 2>),
    half12("v_pk_max_num_f16", 0x1c, &halves<number_f<true>, true, 2>),
    half12("v_pk_minimum_f16", 0x1d, &halves<propagating_f<false>, true, 2>),
    half12("v_pk_maximum_f16", 0x1e, &halves<propagating_f<true>, true, 2>),
    row_own({"v_pk_fmac_f16"}, v2, 0x3c, 0x3c, kAllTargets, h, h, h, n, &pk_fmac, kReadsDst | kOwnOperands),
    row_own({"v_fma_mix_f32"}, p, 0x20, 0x20, kAllTargets, f32, f32, f32, f32, &fma_mix<MixDst::full>, kFloatMods | kPackedDpp),
    row_own({"v_fma_mixlo_f16"}, p, 0x21, 0x21, kAllTargets, Type::f16, f32, f32, f32, &fma_mix<MixDst::low>, kFloatMods | kPackedDpp | kReadsDst),
    row_own({"v_fma_mixhi_f16"}, p, 0x22, 0x22, kAllTargets, Type::f16, f32, f32, f32, &fma_mix<MixDst::high>, kFloatMods | kPackedDpp | kReadsDst),
    row_own({"v_pk_fma_f32"}, p, 0x30, kNo, kGfx9, ff, ff, ff, ff, &pair32<fma32, 3>, kFloatMods),
    row_own({"v_pk_mul_f32"}, p, 0x31, kNo, kGfx9, ff, ff, ff, n, &pair32<mul32, 2>, kFloatMods),
    row_own({"v_pk_add_f32"}, p, 0x32, kNo, kGfx9, ff, ff, ff, n, &pair32<add32, 2>, kFloatMods),
    row_own({"v_pk_mov_b32"}, p, 0x33, kNo, kGfx9, Type::pk32, Type::pk32, Type::pk32, n, &pk_mov),

    dot({"v_dot2_i32_i16"}, 0x26, kNo, kGfx9, i32, &dot_int<16, Sign::yes, false>),
    dot({"v_dot2_u32_u16"}, 0x27, kNo, kGfx9, u32, &dot_int<16, Sign::no, false>),
    dot({"v_dot4_i32_i8"}, 0x28, kNo, kGfx9, i32, &dot_int<8, Sign::yes, false>),
    dot({"v_dot4_i32_iu8"}, kNo, 0x16, kRdna, i32, &dot_int<8, Sign::by_neg, false>, kOwnOpSel),
    dot({"v_dot4_u32_u8"}, 0x29, 0x17, kAllTargets, u32, &dot_int<8, Sign::no, false>),
    dot({"v_dot8_i32_i4"}, 0x2a, kNo, kGfx9, i32, &dot_int<4, Sign::yes, false>),
    dot({"v_dot8_i32_iu4"}, kNo, 0x18, kRdna, i32, &dot_int<4, Sign::by_neg, false>, kOwnOpSel),
    dot({"v_dot8_u32_u4"}, 0x2b, 0x19, kAllTargets, u32, &dot_int<4, Sign::no, false>),
    dot_acc({"v_dot2c_i32_i16"}, 0x38, kNo, kGfx9, i32, &dot_int<16, Sign::yes, true>),
    dot_acc({"v_dot4c_i32_i8"}, 0x39, kNo, kGfx9, i32, &dot_int<8, Sign::yes, true>),
    dot_acc({"v_dot8c_i32_i4"}, 0x3a, kNo, kGfx9, i32, &dot_int<4, Sign::yes, true>),
    dot_acc({"v_dot2c_f32_f16", "v_dot2acc_f32_f16"}, 0x37, 0x02, kAllTargets, f32, &dot2_acc<false>, kApproximate),
    row_own({"v_dual_dot2acc_f32_f16"}, vd, kNo, 12, kRdna, f32, b, b, n, &dot2_acc<false>, kReadsDst | kApproximate),
    row_own({"v_dual_dot2acc_f32_bf16"}, vd, kNo, 13, kRdna, f32, b, b, n, &dot2_acc<true>, kReadsDst | kApproximate),
    row_own({"v_dot2_f32_f16"}, p, 0x23, 0x13, kAllTargets, f32, h, h, f32, &dot2_3p<false>, kFloatMods | kPackedDpp | kApproximate),
    row_own({"v_dot2_f16_f16"}, v3, kNo, 0x266, kRdna, Type::f16, b, b, Type::f16, &dot2_half<false>, kFloatMods | kApproximate),
    row_own({"v_dot2_bf16_bf16"}, v3, kNo, 0x267, kRdna, Type::b16, b, b, Type::b16, &dot2_half<true>, kApproximate),
    dot_acc({"v_dot2c_f32_bf16"}, 0x16, kNo, kGfx950, f32, &dot2_acc<true>, kApproximate),
    row_own({"v_dot2_f32_bf16"}, p, 0x1a, 0x1a, kGfx950 | kRdna, f32, h, h, f32, &dot2_3p<true>, kFloatMods | kApproximate),
};

}  // namespace packed_ops

std::span<const Row> packed_rows() { return packed_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
