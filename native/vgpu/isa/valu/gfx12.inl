// What gfx12 has beside gfx11: minimum and maximum in the two forms of IEEE 754-2019, transcendental functions of scalars,
// permutations of a row with a lane's own selector, dot products of 8-bit floats. Source: "RDNA4 ISA", chapter Instructions.
#include "vgpu/isa/valu/small_floats.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace gfx12_ops {

// minimumNumber, maximumNumber: a NaN loses against a number, of two NaNs the first is made quiet. -0 is less than +0.
template <bool kMax, class T>
inline T number(T a, T b) {
  return choose(is_nan(a) & is_nan(b), quiet(a), extreme<kMax, false>(a, b));
}
// minimum, maximum: a NaN wins, a signaling one over a quiet one.
template <bool kMax, class T>
inline T propagating(T a, T b) {
  T r = extreme<kMax, false>(a, b);
  r = choose(is_nan(b), b, r);
  r = choose(is_nan(a), a, r);
  r = choose(is_signaling(b), quiet(b), r);
  return choose(is_signaling(a), quiet(a), r);
}
template <class T>
inline T median_number(T a, T b, T c) {
  const T highest = number<true>(number<true>(a, b), c), lowest = number<false>(number<false>(a, b), c);
  const T r = choose(highest == a, number<true>(b, c), choose(highest == b, number<true>(a, c), number<true>(a, b)));
  return choose(is_nan(a) | is_nan(b) | is_nan(c), lowest, r);
}

// Halves: one that was converted to float is quiet already, so that signaling ones are found in the bits.
constexpr bool signaling16(uint32_t h) { return (h & 0x7c00u) == 0x7c00u && (h & 0x1ffu) && !(h & 0x200u); }
template <bool kMax>
inline uint32_t number16(uint32_t a, uint32_t b) {
  return float_to_half(number<kMax>(half_to_float(a), half_to_float(b)));
}
template <bool kMax>
inline uint32_t propagating16(uint32_t a, uint32_t b) {
  if (signaling16(a)) return a | 0x200u;
  if (signaling16(b)) return b | 0x200u;
  return float_to_half(propagating<kMax>(half_to_float(a), half_to_float(b)));
}

template <bool kMax, class T>
constexpr auto number2 = [](T a, T b) { return number<kMax>(a, b); };
template <bool kMax, class T>
constexpr auto propagating2 = [](T a, T b) { return propagating<kMax>(a, b); };
// Outer of inner of the first two, and the third.
template <bool kInner, bool kOuter, class T>
constexpr auto number3 = [](T a, T b, T c) { return number<kOuter>(number<kInner>(a, b), c); };
template <bool kInner, bool kOuter, class T>
constexpr auto propagating3 = [](T a, T b, T c) { return propagating<kOuter>(propagating<kInner>(a, b), c); };
template <bool kMax>
constexpr auto half2 = [](uint32_t a, uint32_t b) { return number16<kMax>(a, b); };
template <bool kMax>
constexpr auto half2_propagating = [](uint32_t a, uint32_t b) { return propagating16<kMax>(a, b); };
template <bool kInner, bool kOuter>
constexpr auto half3 = [](uint32_t a, uint32_t b, uint32_t c) { return number16<kOuter>(number16<kInner>(a, b), c); };
template <bool kInner, bool kOuter>
constexpr auto half3_propagating = [](uint32_t a, uint32_t b, uint32_t c) {
  return propagating16<kOuter>(propagating16<kInner>(a, b), c);
};
constexpr auto median32 = [](float a, float b, float c) { return median_number(a, b, c); };
constexpr auto median16 = [](uint32_t a, uint32_t b, uint32_t c) {
  return float_to_half(median_number(half_to_float(a), half_to_float(b), half_to_float(c)));
};

// v_s_*: a scalar in, a scalar out, with the modifiers of VOP3. These units take and make no f32 denormals.
constexpr auto exp32 = [](float a) { return flushed(exp2_float(flushed(a))); };
constexpr auto log32 = [](float a) { return log2_float(flushed(a)); };
constexpr auto rcp32 = [](float a) { return flushed(reciprocal(flushed(a))); };
constexpr auto rsq32 = [](float a) { return reciprocal_root(flushed(a)); };
constexpr auto sqrt32 = [](float a) { return square_root(flushed(a)); };
constexpr auto exp16 = [](float a) { return exp2_float(a); };
constexpr auto log16 = [](float a) { return log2_float(a); };
constexpr auto rcp16 = [](float a) { return reciprocal(a); };
constexpr auto rsq16 = [](float a) { return reciprocal_root(a); };
constexpr auto sqrt16 = [](float a) { return square_root(a); };
template <auto f, class T>
void of_scalar(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  Scratch store;
  const Source a = fetch<T, 0>(w, in, 0, store);
  LaneBuffer result;
  T::put({result.lane, nullptr}, 0, f(T::get(a, 0)));
  const uint32_t value = scalar_result(w, in, T::type, result.lane[0]);
  write_scalar32(w, in.dst, T::type == Type::f16 ? value & 0xffffu : value);
}

// Each lane names the lane of its row that it reads; kOther: of the neighbouring row. op_sel: bit 0 reads inactive lanes too,
// bit 1 gives zero instead of the old value when the source lane is inactive.
template <bool kOther>
void permlane_var(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  LaneBuffer store[2], result;
  const uint32_t* from = fetch_raw(w, in.src[0], 0, store[0]);
  const uint32_t* select = fetch_raw(w, in.src[1], 0, store[1]);
  const uint64_t exec = w.exec();
  uint64_t mask = exec;
  for (unsigned l = 0; l < w.size; ++l) {
    const unsigned source = ((l & ~15u) ^ (kOther ? 16u : 0u)) | (select[l] & 15u);
    const bool readable = (exec >> source & 1) || (in.op_sel & 1);
    result.lane[l] = readable ? from[source] : 0;
    if (!readable && !(in.op_sel & 2)) mask &= ~(1ull << l);
  }
  blend(w.vreg(in.dst.index), result.lane, mask);
}

// D = four products of 8-bit floats + addend, one fused step after the other. neg of the addend alone.
template <small::Format A, small::Format B>
void dot4(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (in.neg_hi || in.op_sel) return w.stop(Outcome::Kind::unimplemented, "neg_hi or op_sel on a dot product of 8-bit floats");
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  LaneBuffer store[3], result;
  const uint32_t* src[3];
  for (unsigned i = 0; i < 3; ++i) src[i] = fetch_moved(w, in, i, store[i]);
  for (std::size_t l = 0; l < w.size; ++l) {
    float sum = from_bits<float>(src[2][l] ^ ((in.neg & 4) ? 0x80000000u : 0u));
    for (unsigned e = 0; e < 32; e += 8)
      sum = fused(small::value<A>(src[0][l] >> e & 0xffu), small::value<B>(src[1][l] >> e & 0xffu), sum);
    result.lane[l] = bits(sum);
  }
  commit(w, in, Type::f32, mask, {result.lane, nullptr}, false);
}

constexpr Format v2 = Format::vop2, v3 = Format::vop3, vd = Format::vopd;
constexpr Type b = Type::b32, n = Type::none;
constexpr unsigned kScalarUnit = kScalarDst | kScalarSources | kIgnoresExec | kFloatMods | kApproximate;

template <auto f, class T, class... S>
constexpr Row own(const char* name, Format format, uint16_t op) {
  return row<f, 0, T, T, S...>({name}, format, kNo, op, kGfx12);
}
template <auto f, class T>
constexpr Row scalar(const char* name, uint16_t op) {
  return row_own({name}, v3, kNo, op, kGfx12, T::type, T::type, n, n, &of_scalar<f, T>, kScalarUnit);
}
template <small::Format A, small::Format B>
constexpr Row dot4_row(const char* name, uint16_t op) {
  return row_own({name}, Format::vop3p, kNo, op, kGfx12, Type::f32, b, b, Type::f32, &dot4<A, B>, kFloatMods | kPackedDpp | kApproximate);
}
constexpr Row permlane(const char* name, uint16_t op, Handler handler) {
  return row_own({name}, v3, kNo, op, kGfx12, b, b, b, n, handler, kOwnOperands | kOwnOpSel | kReadsDst | kVectorSources);
}

constexpr Row kRows[] = {
    dot4_row<small::kFp8, small::kBf8>("v_dot4_f32_fp8_bf8", 0x24),
    dot4_row<small::kBf8, small::kFp8>("v_dot4_f32_bf8_fp8", 0x25),
    dot4_row<small::kFp8, small::kFp8>("v_dot4_f32_fp8_fp8", 0x26),
    dot4_row<small::kBf8, small::kBf8>("v_dot4_f32_bf8_bf8", 0x27),
    own<number2<false, double>, F64, F64>("v_min_num_f64", v2, 0x0d),
    own<number2<true, double>, F64, F64>("v_max_num_f64", v2, 0x0e),
    own<number2<false, float>, F32, F32>("v_min_num_f32", v2, 0x15),
    own<number2<true, float>, F32, F32>("v_max_num_f32", v2, 0x16),
    own<half2<false>, H16, H16>("v_min_num_f16", v2, 0x30),
    own<half2<true>, H16, H16>("v_max_num_f16", v2, 0x31),
    own<number2<true, float>, F32, F32>("v_dual_max_num_f32", vd, 10),
    own<number2<false, float>, F32, F32>("v_dual_min_num_f32", vd, 11),
    own<number3<false, false, float>, F32, F32, F32>("v_min3_num_f32", v3, 0x229),
    own<number3<true, true, float>, F32, F32, F32>("v_max3_num_f32", v3, 0x22a),
    own<half3<false, false>, H16, H16, H16>("v_min3_num_f16", v3, 0x22b),
    own<half3<true, true>, H16, H16, H16>("v_max3_num_f16", v3, 0x22c),
    own<propagating3<false, false, float>, F32, F32, F32>("v_minimum3_f32", v3, 0x22d),
    own<propagating3<true, true, float>, F32, F32, F32>("v_maximum3_f32", v3, 0x22e),
    own<half3_propagating<false, false>, H16, H16, H16>("v_minimum3_f16", v3, 0x22f),
    own<half3_propagating<true, true>, H16, H16, H16>("v_maximum3_f16", v3, 0x230),
    own<median32, F32, F32, F32>("v_med3_num_f32", v3, 0x231),
    own<median16, H16, H16, H16>("v_med3_num_f16", v3, 0x232),
    own<number3<false, true, float>, F32, F32, F32>("v_minmax_num_f32", v3, 0x268),
    own<number3<true, false, float>, F32, F32, F32>("v_maxmin_num_f32", v3, 0x269),
    own<half3<false, true>, H16, H16, H16>("v_minmax_num_f16", v3, 0x26a),
    own<half3<true, false>, H16, H16, H16>("v_maxmin_num_f16", v3, 0x26b),
    own<propagating3<false, true, float>, F32, F32, F32>("v_minimummaximum_f32", v3, 0x26c),
    own<propagating3<true, false, float>, F32, F32, F32>("v_maximumminimum_f32", v3, 0x26d),
    own<half3_propagating<false, true>, H16, H16, H16>("v_minimummaximum_f16", v3, 0x26e),
    own<half3_propagating<true, false>, H16, H16, H16>("v_maximumminimum_f16", v3, 0x26f),
    own<propagating2<false, double>, F64, F64>("v_minimum_f64", v3, 0x341),
    own<propagating2<true, double>, F64, F64>("v_maximum_f64", v3, 0x342),
    own<propagating2<false, float>, F32, F32>("v_minimum_f32", v3, 0x365),
    own<propagating2<true, float>, F32, F32>("v_maximum_f32", v3, 0x366),
    own<half2_propagating<false>, H16, H16>("v_minimum_f16", v3, 0x367),
    own<half2_propagating<true>, H16, H16>("v_maximum_f16", v3, 0x368),

    scalar<exp32, F32>("v_s_exp_f32", 0x280), scalar<exp16, F16>("v_s_exp_f16", 0x281),
    scalar<log32, F32>("v_s_log_f32", 0x282), scalar<log16, F16>("v_s_log_f16", 0x283),
    scalar<rcp32, F32>("v_s_rcp_f32", 0x284), scalar<rcp16, F16>("v_s_rcp_f16", 0x285),
    scalar<rsq32, F32>("v_s_rsq_f32", 0x286), scalar<rsq16, F16>("v_s_rsq_f16", 0x287),
    scalar<sqrt32, F32>("v_s_sqrt_f32", 0x288), scalar<sqrt16, F16>("v_s_sqrt_f16", 0x289),

    permlane("v_permlane16_var_b32", 0x30f, &permlane_var<false>),
    permlane("v_permlanex16_var_b32", 0x310, &permlane_var<true>),
};

}  // namespace gfx12_ops

std::span<const Row> gfx12_rows() { return gfx12_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
