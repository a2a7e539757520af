// The three instructions of an IEEE division: scale, multiply-add with unscaling, fix-up.
// The published pseudocode is wrong in the cases of a huge denominator (it must be scaled down) and of v_div_fmas
// (the direction of the scaling depends on S2); what is here makes the compilers' sequence correctly rounded, which the
// tests check. Source: "CDNA3 ISA" V_DIV_*; LLVM's expansion of fdiv.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace divide_ops {

template <class T>
struct Limits;
template <>
struct Limits<float> {
  static constexpr int near_max = 96, step = 64, tiny_numerator = 23, underflow = -150, overflow = 130;
};
template <>
struct Limits<double> {
  static constexpr int near_max = 768, step = 128, tiny_numerator = 53, underflow = -1075, overflow = 1026;
};

// Whether |n / d| is below the smallest normal number.
inline bool quotient_is_denormal(float n, float d) {
  const double q = __builtin_fabs(static_cast<double>(n) / static_cast<double>(d));
  return q != 0.0 && q < static_cast<double>(std::numeric_limits<float>::min());
}
inline bool quotient_is_denormal(double n, double d) {
  const double q = __builtin_fabs(n / d);
  return is_finite(n) && is_finite(d) && q < std::numeric_limits<double>::min();
}

template <class T>
struct Scaled {
  T value;
  bool vcc;
};
template <class T>
inline Scaled<T> div_scale(T s0, T den, T num) {
  using L = Limits<T>;
  if (den == 0 || num == 0) return {from_bits<T>(kQuietNan<T>), false};
  const bool is_den = s0 == den, is_num = s0 == num;
  if (biased_exponent(num) - biased_exponent(den) >= L::near_max) return {is_den ? scale(s0, L::step) : s0, true};
  if (biased_exponent(den) == 0) return {scale(s0, L::step), false};
  const bool huge_den = is_finite(den) && quotient_is_denormal(T{1}, den);
  const bool small_quotient = quotient_is_denormal(num, den);
  if (huge_den && small_quotient) return {is_den ? scale(s0, -L::step) : s0, true};
  if (huge_den) return {scale(s0, -L::step), false};
  if (small_quotient) return {is_num ? scale(s0, L::step) : s0, true};
  if (biased_exponent(num) <= L::tiny_numerator) return {scale(s0, L::step), false};
  return {s0, false};
}

// fma scaled by 2^+-step with one rounding.
template <class T>
inline T fmas(T a, T b, T c, bool vcc) {
  const T sum = settle(fused(a, b, c), a, b, c);
  if (!vcc) return sum;
  const int e = biased_exponent(c) > kBias<T> ? Limits<T>::step : -Limits<T>::step;
  const T scaled = sum * power_of_two<T>(e);
  if (biased_exponent(scaled) != 0 || !is_finite(sum)) return scaled;
  // A denormal result: the sum must not be rounded before it is scaled.
  const __float128 wide_sum = static_cast<__float128>(a) * b + c;
  return static_cast<T>(wide_sum * static_cast<__float128>(power_of_two<T>(e)));
}

template <class T>
inline T div_fixup(T s0, T den, T num) {
  using L = Limits<T>;
  const BitsOf<T> sign = (bits(den) ^ bits(num)) & kSignBit<T>;
  if (is_nan(num)) return quiet(num);
  if (is_nan(den)) return quiet(den);
  const bool den_inf = !is_finite(den), num_inf = !is_finite(num);
  if ((den == 0 && num == 0) || (den_inf && num_inf)) return from_bits<T>(kQuietNan<T> | kSignBit<T>);
  if (den == 0 || num_inf) return from_bits<T>(sign | kInfBits<T>);
  if (den_inf || num == 0) return from_bits<T>(sign);
  const int distance = biased_exponent(num) - biased_exponent(den);
  if (distance < L::underflow) return from_bits<T>(sign);
  if (distance >= L::overflow) return from_bits<T>(sign | kInfBits<T>);
  return from_bits<T>((bits(s0) & ~kSignBit<T>) | sign);
}

constexpr auto fixup_f32 = [](float a, float b, float c) { return div_fixup(a, b, c); };
constexpr auto fixup_f64 = [](double a, double b, double c) { return div_fixup(a, b, c); };

template <class Tag>
void scale_op(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  Scratch store[4];
  // Looks at exponents: denormals stay.
  const Source a = fetch<Tag, kBits>(w, in, 0, store[0]);
  const Source b = fetch<Tag, kBits>(w, in, 1, store[1]);
  const Source c = fetch<Tag, kBits>(w, in, 2, store[2]);
  const Dest dest{store[3].lo.lane, store[3].hi.lane};
  uint8_t truth[kLanes] = {};
  for (std::size_t l = 0; l < w.size; ++l) {
    const auto r = div_scale(Tag::get(a, l), Tag::get(b, l), Tag::get(c, l));
    Tag::put(dest, l, r.value);
    truth[l] = r.vcc;
  }
  blend(w.vreg(in.dst.index), dest.lo, mask);
  if constexpr (Tag::wide) blend(w.vreg(in.dst.index + 1u), dest.hi, mask);
  write_mask_dst(w, in.sdst, pack_bits(truth, w.size) & mask);
}

// Reads VCC without naming it.
template <class Tag>
void fmas_op(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  Scratch store[3];
  const Source a = fetch<Tag, 0>(w, in, 0, store[0]);
  const Source b = fetch<Tag, 0>(w, in, 1, store[1]);
  const Source c = fetch<Tag, 0>(w, in, 2, store[2]);
  const uint64_t vcc = w.mask(kVccLo);
  Target_<Tag, 0> out(w, in, mask);
  {
    const RoundingScope rounding(rounding_of<Tag>(w));
    for (std::size_t l = 0; l < w.size; ++l)
      Tag::put(out.dest, l, fmas(Tag::get(a, l), Tag::get(b, l), Tag::get(c, l), vcc >> l & 1));
  }
  out.finish(w, in, mask);
}

constexpr Format v3 = Format::vop3;

constexpr Row kRows[] = {
    row<fixup_f32, kBits, F32, F32, F32, F32>({"v_div_fixup_f32"}, v3, 0x1de, 0x227),
    row<fixup_f64, kBits, F64, F64, F64, F64>({"v_div_fixup_f64"}, v3, 0x1df, 0x228),
    row_own({"v_div_fmas_f32"}, v3, 0x1e2, 0x237, kAllTargets, Type::f32, Type::f32, Type::f32, Type::f32, &fmas_op<F32>, kFloatMods),
    row_own({"v_div_fmas_f64"}, v3, 0x1e3, 0x238, kAllTargets, Type::f64, Type::f64, Type::f64, Type::f64, &fmas_op<F64>, kFloatMods),
    row_own({"v_div_scale_f32"}, v3, 0x1e0, 0x2fc, kAllTargets, Type::f32, Type::f32, Type::f32, Type::f32, &scale_op<F32>,
            kVccCarryOut | kFloatMods),
    row_own({"v_div_scale_f64"}, v3, 0x1e1, 0x2fd, kAllTargets, Type::f64, Type::f64, Type::f64, Type::f64, &scale_op<F64>,
            kVccCarryOut | kFloatMods),
};

}  // namespace divide_ops

std::span<const Row> divide_rows() { return divide_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
