// gfx950: conversions between floats of 4, 6 and 8 bits and wider ones with a scale, and stochastic rounding to 16 bits.
// Source: "CDNA4 ISA", V_CVT_SCALEF32_*: to a small format values are divided by the scale, from one multiplied. Sources that
// op_sel does not select from, and modifiers of packed sources, are refused.
#include "vgpu/isa/valu/small_floats.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace scaled_ops {

// The wide side of a conversion.
struct Single {
  static constexpr unsigned kBits = 32;
  static constexpr int kMantissaBits = 23;
  static float get(uint32_t b) { return from_bits<float>(b); }
  static uint32_t put(double v) { return bits(static_cast<float>(v)); }
};
struct Half {
  static constexpr unsigned kBits = 16;
  static constexpr int kMantissaBits = 10;
  static float get(uint32_t b) { return half_to_float(b & 0xffffu); }
  static uint32_t put(double v) { return double_to_half(v); }
};
struct Bfloat {
  static constexpr unsigned kBits = 16;
  static constexpr int kMantissaBits = 7;
  static float get(uint32_t b) { return bf16_to_float(b & 0xffffu); }
  static uint32_t put(double v) { return float_to_bf16(static_cast<float>(v)); }
};
template <class Wide>
inline constexpr bool kSingle = Wide::kBits == 32;

inline bool selects(Wave& w, const Inst& in, unsigned allowed) {
  if (!accepted(w, in)) return false;
  if (!(in.op_sel & ~allowed)) return true;
  w.stop(Outcome::Kind::unimplemented, "op_sel bits that the instruction has no use for");
  return false;
}
constexpr unsigned destination_byte(const Inst& in) { return 8u * (in.op_sel >> 2 & 3u); }
constexpr unsigned source_byte(const Inst& in) { return 8u * (in.op_sel & 3u); }

// Replaces `width` bits at `shift` of the destination.
inline void put_part(Wave& w, const Inst& in, LaneBuffer& part, unsigned shift, unsigned width) {
  const uint32_t field = ((1u << width) - 1u) << shift;
  const uint32_t* const old = w.vreg(in.dst.index);
  for (std::size_t l = 0; l < w.size; ++l) part.lane[l] = (old[l] & ~field) | part.lane[l] << shift;
  merge(w.vreg(in.dst.index), part.lane, w.exec(), w);
}

// Two numbers to a byte (4 bits each) or a half (8 bits each) of the destination.
template <small::Format F, class Wide>
void narrow_pair(Wave& w, const Inst& in) {
  constexpr bool nibbles = F.bits() == 4;
  if (!selects(w, in, nibbles ? 12u : 8u)) return;
  Scratch store[3];
  constexpr unsigned scale_at = kSingle<Wide> ? 2 : 1;
  const uint32_t* const scale = fetch<F32, 0>(w, in, scale_at, store[2]).lo;
  const uint32_t *low, *high;
  if constexpr (kSingle<Wide>) {
    low = fetch<F32, 0>(w, in, 0, store[0]).lo;
    high = fetch<F32, 0>(w, in, 1, store[1]).lo;
  } else {
    low = high = fetch<B32, 0>(w, in, 0, store[0]).lo;
  }
  LaneBuffer result;
  for (std::size_t l = 0; l < w.size; ++l) {
    const uint32_t s = small::scale_of(scale[l]);
    const uint32_t first = small::code_of<F>(Wide::get(low[l]), s);
    const uint32_t second = small::code_of<F>(Wide::get(kSingle<Wide> ? high[l] : high[l] >> 16), s);
    result.lane[l] = first | second << F.bits();
  }
  put_part(w, in, result, nibbles ? destination_byte(in) : in.op_sel & 8 ? 16u : 0u, 2 * F.bits());
}

// One number, or two of four bits, to a byte of the destination; the second number takes the next seed.
template <small::Format F, class Wide>
void narrow_stochastic(Wave& w, const Inst& in) {
  constexpr bool nibbles = F.bits() == 4;
  if (!selects(w, in, 12u)) return;
  Scratch store[3];
  const uint32_t* const seed = fetch<U32, 0>(w, in, 1, store[1]).lo;
  const uint32_t* const scale = fetch<F32, 0>(w, in, 2, store[2]).lo;
  Source from;
  if constexpr (nibbles && kSingle<Wide>) from = fetch<B64, 0>(w, in, 0, store[0]);
  else if constexpr (nibbles) from = fetch<B32, 0>(w, in, 0, store[0]);
  else if constexpr (kSingle<Wide>) from = fetch<F32, 0>(w, in, 0, store[0]);
  else if constexpr (std::is_same_v<Wide, Half>) from = fetch<H16, 0>(w, in, 0, store[0]);
  else from = fetch<B16, 0>(w, in, 0, store[0]);
  LaneBuffer result;
  for (std::size_t l = 0; l < w.size; ++l) {
    const uint32_t s = small::scale_of(scale[l]);
    uint32_t code = small::stochastic_code_of<F, Wide::kMantissaBits>(Wide::get(from.lo[l]), seed[l], s);
    if constexpr (nibbles) {
      const uint32_t second = kSingle<Wide> ? from.hi[l] : from.lo[l] >> 16;
      code |= small::stochastic_code_of<F, Wide::kMantissaBits>(Wide::get(second), small::next_seed(seed[l]), s) << 4;
    }
    result.lane[l] = code;
  }
  put_part(w, in, result, destination_byte(in), 8);
}

// One number from a byte of the source. A half goes to the half of the destination that op_sel[3] says.
template <small::Format F, class Wide>
void widen(Wave& w, const Inst& in) {
  if (!selects(w, in, kSingle<Wide> ? 3u : 11u)) return;
  Scratch store[2];
  const uint32_t* const from = fetch<B32, 0>(w, in, 0, store[0]).lo;
  const uint32_t* const scale = fetch<F32, 0>(w, in, 1, store[1]).lo;
  LaneBuffer result;
  for (std::size_t l = 0; l < w.size; ++l)
    result.lane[l] = Wide::put(small::scaled_value<F>(from[l] >> source_byte(in) & 0xffu, small::scale_of(scale[l])));
  if constexpr (kSingle<Wide>) merge(w.vreg(in.dst.index), result.lane, w.exec(), w);
  else put_part(w, in, result, in.op_sel & 8 ? 16 : 0, 16);
}

// Two numbers from a byte (4 bits) or a half (8 bits) of the source.
template <small::Format F, class Wide>
void widen_pair(Wave& w, const Inst& in) {
  constexpr bool nibbles = F.bits() == 4;
  if (!selects(w, in, nibbles ? 3u : 1u)) return;
  const unsigned shift = nibbles ? source_byte(in) : in.op_sel & 1 ? 16 : 0;
  constexpr uint32_t field = (1u << F.bits()) - 1u;
  Scratch store[2];
  const uint32_t* const from = fetch<B32, 0>(w, in, 0, store[0]).lo;
  const uint32_t* const scale = fetch<F32, 0>(w, in, 1, store[1]).lo;
  LaneBuffer low, high;
  for (std::size_t l = 0; l < w.size; ++l) {
    const uint32_t s = small::scale_of(scale[l]), pair = from[l] >> shift;
    low.lane[l] = Wide::put(small::scaled_value<F>(pair & field, s));
    high.lane[l] = Wide::put(small::scaled_value<F>(pair >> F.bits() & field, s));
    if constexpr (!kSingle<Wide>) low.lane[l] |= high.lane[l] << 16;
  }
  merge(w.vreg(in.dst.index), low.lane, w.exec(), w);
  if constexpr (kSingle<Wide>) merge(w.vreg(in.dst.index + 1u), high.lane, w.exec(), w);
}

inline bool vector_source(Wave& w, const Inst& in, unsigned i) {
  if (in.src[i].kind == OperandKind::vgpr) return true;
  w.stop(Outcome::Kind::illegal, "a source has to be a vector register");
  return false;
}
// Element e of numbers packed into registers from `first` on.
template <class Wide>
inline float element(Wave& w, unsigned first, unsigned e, std::size_t l) {
  const uint32_t dword = w.vreg(first + e * Wide::kBits / 32)[l];
  return Wide::get(kSingle<Wide> || e % 2 == 0 ? dword : dword >> 16);
}

// Six registers of 32 numbers from as many wide ones; two sources of 16 take turns.
template <small::Format F, class Wide, bool kStochastic, bool kTwoSources>
void narrow_32(Wave& w, const Inst& in) {
  if (!selects(w, in, 0) || !vector_source(w, in, 0) || (kTwoSources && !vector_source(w, in, 1))) return;
  constexpr unsigned scale_at = kTwoSources || kStochastic ? 2 : 1;
  Scratch store[2];
  const uint32_t* const scale = fetch<F32, 0>(w, in, scale_at, store[0]).lo;
  const uint32_t* const seeds = kStochastic ? fetch<U32, 0>(w, in, 1, store[1]).lo : nullptr;
  LaneBuffer result[6] = {};
  for (std::size_t l = 0; l < w.size; ++l) {
    uint32_t packed[6] = {}, seed = kStochastic ? seeds[l] : 0;
    const uint32_t s = small::scale_of(scale[l]);
    for (unsigned e = 0; e < 32; ++e) {
      const float v = kTwoSources ? element<Wide>(w, in.src[e % 2].index, e / 2, l) : element<Wide>(w, in.src[0].index, e, l);
      if constexpr (kStochastic) {
        small::pack<F>(packed, e, small::stochastic_code_of<F, Wide::kMantissaBits>(v, seed, s));
        seed = small::next_seed(seed);
      } else {
        small::pack<F>(packed, e, small::code_of<F>(v, s));
      }
    }
    for (unsigned r = 0; r < 6; ++r) result[r].lane[l] = packed[r];
  }
  for (unsigned r = 0; r < 6; ++r) merge(w.vreg(in.dst.index + r), result[r].lane, w.exec(), w);
}

// 32 wide numbers from six registers.
template <small::Format F, class Wide>
void widen_32(Wave& w, const Inst& in) {
  if (!selects(w, in, 0) || !vector_source(w, in, 0)) return;
  Scratch store;
  const uint32_t* const scale = fetch<F32, 0>(w, in, 1, store).lo;
  LaneBuffer result[Wide::kBits];
  for (std::size_t l = 0; l < w.size; ++l) {
    const uint32_t s = small::scale_of(scale[l]);
    for (unsigned e = 0; e < 32; ++e) {
      const uint32_t code = small::unpack<F>(w.vreg(in.src[0].index) + l, kLanes, e);
      const uint32_t wide = Wide::put(small::scaled_value<F>(code, s));
      uint32_t& to = result[e * Wide::kBits / 32].lane[l];
      to = kSingle<Wide> || e % 2 == 0 ? wide : to | wide << 16;
    }
  }
  for (unsigned r = 0; r < Wide::kBits; ++r) merge(w.vreg(in.dst.index + r), result[r].lane, w.exec(), w);
}

// 16-bit floats as small formats.
inline constexpr small::Format kHalf{5, 10, 15, 0x7bff, 0x7c00, 0x7e00}, kBfloat{8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0};
template <small::Format F>
void stochastic_half(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  Scratch store[2];
  const Source value = fetch<F32, 0>(w, in, 0, store[0]), seed = fetch<U32, 0>(w, in, 1, store[1]);
  LaneBuffer result;
  for (std::size_t l = 0; l < w.size; ++l) result.lane[l] = small::stochastic_code_of<F, 23>(F32::get(value, l), seed.lo[l]);
  commit(w, in, Type::b16, w.exec(), {result.lane, nullptr}, true);
}

constexpr Format v3 = Format::vop3;
constexpr Type n = Type::none, b16 = Type::b16, b32 = Type::b32, b64 = Type::b64, b192 = Type::b192, b512 = Type::b512,
               b1024 = Type::b1024, f32 = Type::f32, u32 = Type::u32;

constexpr Row pk(const char* name, uint16_t op, Type d, Type s0, Type s1, Type s2, Handler h, unsigned flags = 0) {
  return row_own({name}, v3, op, kNo, kGfx950, d, s0, s1, s2, h, flags | kOwnOpSel);
}
constexpr unsigned kByte = kReadsDst, kSeeded = kReadsDst | kApproximate;
using small::kBf6, small::kBf8, small::kFp4, small::kFp6, small::kFp8;

constexpr Row kRows[] = {
    pk("v_cvt_scalef32_pk_fp8_f32", 0x235, b16, f32, f32, f32, &narrow_pair<kFp8, Single>, kKeepsHalf),
    pk("v_cvt_scalef32_pk_bf8_f32", 0x236, b16, f32, f32, f32, &narrow_pair<kBf8, Single>, kKeepsHalf),
    pk("v_cvt_scalef32_sr_fp8_f32", 0x237, b32, f32, u32, f32, &narrow_stochastic<kFp8, Single>, kSeeded),
    pk("v_cvt_scalef32_sr_bf8_f32", 0x238, b32, f32, u32, f32, &narrow_stochastic<kBf8, Single>, kSeeded),
    pk("v_cvt_scalef32_pk_f32_fp8", 0x239, b64, b32, f32, n, &widen_pair<kFp8, Single>),
    pk("v_cvt_scalef32_pk_f32_bf8", 0x23a, b64, b32, f32, n, &widen_pair<kBf8, Single>),
    pk("v_cvt_scalef32_f32_fp8", 0x23b, f32, b32, f32, n, &widen<kFp8, Single>),
    pk("v_cvt_scalef32_f32_bf8", 0x23c, f32, b32, f32, n, &widen<kBf8, Single>),
    pk("v_cvt_scalef32_pk_fp4_f32", 0x23d, b32, f32, f32, f32, &narrow_pair<kFp4, Single>, kByte),
    pk("v_cvt_scalef32_sr_pk_fp4_f32", 0x23e, b32, b64, u32, f32, &narrow_stochastic<kFp4, Single>, kSeeded),
    pk("v_cvt_scalef32_pk_f32_fp4", 0x23f, b64, b32, f32, n, &widen_pair<kFp4, Single>),
    pk("v_cvt_scalef32_pk_fp8_f16", 0x240, b16, b32, f32, n, &narrow_pair<kFp8, Half>, kKeepsHalf),
    pk("v_cvt_scalef32_pk_bf8_f16", 0x241, b16, b32, f32, n, &narrow_pair<kBf8, Half>, kKeepsHalf),
    pk("v_cvt_scalef32_sr_fp8_f16", 0x242, b32, Type::f16, u32, f32, &narrow_stochastic<kFp8, Half>, kSeeded),
    pk("v_cvt_scalef32_sr_bf8_f16", 0x243, b32, Type::f16, u32, f32, &narrow_stochastic<kBf8, Half>, kSeeded),
    pk("v_cvt_scalef32_pk_fp8_bf16", 0x244, b16, b32, f32, n, &narrow_pair<kFp8, Bfloat>, kKeepsHalf),
    pk("v_cvt_scalef32_pk_bf8_bf16", 0x245, b16, b32, f32, n, &narrow_pair<kBf8, Bfloat>, kKeepsHalf),
    pk("v_cvt_scalef32_sr_fp8_bf16", 0x246, b32, b16, u32, f32, &narrow_stochastic<kFp8, Bfloat>, kSeeded),
    pk("v_cvt_scalef32_sr_bf8_bf16", 0x247, b32, b16, u32, f32, &narrow_stochastic<kBf8, Bfloat>, kSeeded),
    pk("v_cvt_scalef32_pk_f16_fp8", 0x248, b32, b32, f32, n, &widen_pair<kFp8, Half>),
    pk("v_cvt_scalef32_pk_f16_bf8", 0x249, b32, b32, f32, n, &widen_pair<kBf8, Half>),
    pk("v_cvt_scalef32_f16_fp8", 0x24a, b16, b32, f32, n, &widen<kFp8, Half>, kKeepsHalf),
    pk("v_cvt_scalef32_f16_bf8", 0x24b, b16, b32, f32, n, &widen<kBf8, Half>, kKeepsHalf),
    pk("v_cvt_scalef32_pk_fp4_f16", 0x24c, b32, b32, f32, n, &narrow_pair<kFp4, Half>, kByte),
    pk("v_cvt_scalef32_pk_fp4_bf16", 0x24d, b32, b32, f32, n, &narrow_pair<kFp4, Bfloat>, kByte),
    pk("v_cvt_scalef32_sr_pk_fp4_f16", 0x24e, b32, b32, u32, f32, &narrow_stochastic<kFp4, Half>, kSeeded),
    pk("v_cvt_scalef32_sr_pk_fp4_bf16", 0x24f, b32, b32, u32, f32, &narrow_stochastic<kFp4, Bfloat>, kSeeded),
    pk("v_cvt_scalef32_pk_f16_fp4", 0x250, b32, b32, f32, n, &widen_pair<kFp4, Half>),
    pk("v_cvt_scalef32_pk_bf16_fp4", 0x251, b32, b32, f32, n, &widen_pair<kFp4, Bfloat>),
    pk("v_cvt_scalef32_2xpk16_fp6_f32", 0x252, b192, b512, b512, f32, &narrow_32<kFp6, Single, false, true>),
    pk("v_cvt_scalef32_2xpk16_bf6_f32", 0x253, b192, b512, b512, f32, &narrow_32<kBf6, Single, false, true>),
    pk("v_cvt_scalef32_sr_pk32_fp6_f32", 0x254, b192, b1024, u32, f32, &narrow_32<kFp6, Single, true, false>, kApproximate),
    pk("v_cvt_scalef32_sr_pk32_bf6_f32", 0x255, b192, b1024, u32, f32, &narrow_32<kBf6, Single, true, false>, kApproximate),
    pk("v_cvt_scalef32_pk32_f32_fp6", 0x256, b1024, b192, f32, n, &widen_32<kFp6, Single>),
    pk("v_cvt_scalef32_pk32_f32_bf6", 0x257, b1024, b192, f32, n, &widen_32<kBf6, Single>),
    pk("v_cvt_scalef32_pk32_fp6_f16", 0x258, b192, b512, f32, n, &narrow_32<kFp6, Half, false, false>),
    pk("v_cvt_scalef32_pk32_fp6_bf16", 0x259, b192, b512, f32, n, &narrow_32<kFp6, Bfloat, false, false>),
    pk("v_cvt_scalef32_pk32_bf6_f16", 0x25a, b192, b512, f32, n, &narrow_32<kBf6, Half, false, false>),
    pk("v_cvt_scalef32_pk32_bf6_bf16", 0x25b, b192, b512, f32, n, &narrow_32<kBf6, Bfloat, false, false>),
    pk("v_cvt_scalef32_sr_pk32_fp6_f16", 0x25c, b192, b512, u32, f32, &narrow_32<kFp6, Half, true, false>, kApproximate),
    pk("v_cvt_scalef32_sr_pk32_fp6_bf16", 0x25d, b192, b512, u32, f32, &narrow_32<kFp6, Bfloat, true, false>, kApproximate),
    pk("v_cvt_scalef32_sr_pk32_bf6_f16", 0x25e, b192, b512, u32, f32, &narrow_32<kBf6, Half, true, false>, kApproximate),
    pk("v_cvt_scalef32_sr_pk32_bf6_bf16", 0x25f, b192, b512, u32, f32, &narrow_32<kBf6, Bfloat, true, false>, kApproximate),
    pk("v_cvt_scalef32_pk32_f16_fp6", 0x260, b512, b192, f32, n, &widen_32<kFp6, Half>),
    pk("v_cvt_scalef32_pk32_bf16_fp6", 0x261, b512, b192, f32, n, &widen_32<kFp6, Bfloat>),
    pk("v_cvt_scalef32_pk32_f16_bf6", 0x262, b512, b192, f32, n, &widen_32<kBf6, Half>),
    pk("v_cvt_scalef32_pk32_bf16_bf6", 0x263, b512, b192, f32, n, &widen_32<kBf6, Bfloat>),
    pk("v_cvt_scalef32_pk_bf16_fp8", 0x269, b32, b32, f32, n, &widen_pair<kFp8, Bfloat>),
    pk("v_cvt_scalef32_pk_bf16_bf8", 0x26a, b32, b32, f32, n, &widen_pair<kBf8, Bfloat>),

    row_own({"v_cvt_sr_f16_f32"}, v3, 0x2a6, kNo, kGfx950, b16, f32, u32, n, &stochastic_half<kHalf>, kKeepsHalf | kApproximate),
    row_own({"v_cvt_sr_bf16_f32"}, v3, 0x2a7, kNo, kGfx950, b16, f32, u32, n, &stochastic_half<kBfloat>, kKeepsHalf | kApproximate),
};

}  // namespace scaled_ops

std::span<const Row> scaled_rows() { return scaled_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
