// Floating-point arithmetic of the scalar ALU (gfx12): rounding and denormals as MODE says, NaNs as the vector ALU makes them.
// Source: "RDNA4 ISA", SOP1, SOP2 and SOPC.
#include "vgpu/isa/scalar/alu.hpp"
#include "vgpu/isa/scalar/tables.hpp"
#include "vgpu/isa/valu/operands.hpp"

#define KERNCAP_VALU_NS scalar_unit
#include "vgpu/isa/valu/lanes.inl"
#include "vgpu/isa/valu/float_math.inl"
#undef KERNCAP_VALU_NS

namespace kerncap::vgpu::isa::scalar {
namespace {

using namespace valu::scalar_unit;
using u32 = std::uint32_t;
using i32 = std::int32_t;
using valu::RoundingScope;

// Operand types: how bits become a number and back, and which fields of MODE count.
struct Single {
  using Value = float;
  static constexpr Type type = Type::f32;
  static bool kept(const Mode& m, unsigned which) { return m.denorm32 >> which & 1; }
  static std::uint8_t rounding(const Mode& m) { return m.round32; }
  static u32 flush(u32 v) { return bits(flushed(from_bits<float>(v))); }
  static float get(u32 v) { return from_bits<float>(v); }
  static u32 put(float v) { return bits(v); }
};
// Halves are computed in float, products with an addend in double: the second rounding changes nothing (float16.inl).
template <class V>
struct HalfAs {
  using Value = V;
  static constexpr Type type = Type::f16;
  static bool kept(const Mode& m, unsigned which) { return m.denorm64_16 >> which & 1; }
  static std::uint8_t rounding(const Mode& m) { return m.round64_16; }
  static u32 flush(u32 v) { return v & 0x7c00u ? v : v & 0x8000u; }
  static V get(u32 v) { return static_cast<V>(half_to_float(v & 0xffffu)); }
  static u32 put(V v) {
    if constexpr (sizeof(V) == 8) return double_to_half(v);
    else return float_to_half(v);
  }
};
using Half = HalfAs<float>;
using WideHalf = HalfAs<double>;

// A function of its own, so that nothing is computed before the host's rounding mode is set.
template <class D, auto f, class... A>
[[gnu::noinline]] u32 apply(A... a) {
  return D::put(f(a...));
}
template <class T>
typename T::Value input(const Wave& w, u32 v) { return T::get(T::kept(w.mode, 0) ? v : T::flush(v)); }
template <class D>
void finish(Wave& w, const Inst& i, u32 v) { write_scalar32(w, i.dst, D::kept(w.mode, 1) ? v : D::flush(v)); }

template <class D, class A, auto f>
void unary(Wave& w, const Inst& i) {
  const auto a = input<A>(w, read_scalar32(w, i.src[0]));
  const RoundingScope rounding(D::rounding(w.mode));
  finish<D>(w, i, apply<D, f>(a));
}
template <class T, auto f>
void binary(Wave& w, const Inst& i) {
  const auto a = input<T>(w, read_scalar32(w, i.src[0])), b = input<T>(w, read_scalar32(w, i.src[1]));
  const RoundingScope rounding(T::rounding(w.mode));
  finish<T>(w, i, apply<T, f>(a, b));
}
// Nothing is rounded, and signaling NaNs count: the operation works on the bits.
template <class T, auto f>
void choice(Wave& w, const Inst& i) {
  const auto in = [&](unsigned k) {
    const u32 v = read_scalar32(w, i.src[k]);
    return T::kept(w.mode, 0) ? v : T::flush(v);
  };
  finish<T>(w, i, f(in(0), in(1)));
}
template <class T, auto f>
void ternary(Wave& w, const Inst& i, u32 x, u32 y, u32 z) {
  const auto a = input<T>(w, x), b = input<T>(w, y), c = input<T>(w, z);
  const RoundingScope rounding(T::rounding(w.mode));
  finish<T>(w, i, apply<T, f>(a, b, c));
}
template <class T, auto f>
void test(Wave& w, const Inst& i) {
  w.scc = f(input<T>(w, read_scalar32(w, i.src[0])), input<T>(w, read_scalar32(w, i.src[1])));
}

constexpr auto f_add = [](auto a, auto b) { return settle(a + b, a, b); };
constexpr auto f_sub = [](auto a, auto b) { return settle(a - b, a, b); };
constexpr auto f_mul = [](auto a, auto b) { return settle(a * b, a, b); };
constexpr auto f_fma32 = [](float a, float b, float c) { return settle(fused(a, b, c), a, b, c); };
constexpr auto f_fma16 = [](double a, double b, double c) { return settle(a * b + c, a, b, c); };
constexpr auto f_ceil = [](float a) { return is_nan(a) ? quiet(a) : round_up(a); };
constexpr auto f_floor = [](float a) { return is_nan(a) ? quiet(a) : round_down(a); };
constexpr auto f_trunc = [](float a) { return is_nan(a) ? quiet(a) : round_to_zero(a); };
constexpr auto f_rndne = [](float a) { return is_nan(a) ? quiet(a) : round_even(a); };
constexpr auto f_same = [](float a) { return is_nan(a) ? quiet(a) : a; };

// Nearest even whatever the mode says.
template <class T>
void nearest(Wave& w, const Inst& i) {
  finish<T>(w, i, apply<T, f_rndne>(input<T>(w, read_scalar32(w, i.src[0]))));
}

// Minimum and maximum: of numbers (a NaN loses) or propagating (a NaN wins, a signaling one first). On bits of both widths.
template <class T>
bool nan_bits(u32 v) { return T::type == Type::f32 ? (v & 0x7fffffffu) > 0x7f800000u : (v & 0x7fffu) > 0x7c00u; }
template <class T>
constexpr u32 quiet_bit = T::type == Type::f32 ? 0x400000u : 0x200u;
template <class T, bool max>
u32 of_numbers(u32 a, u32 b) { return T::put(extreme<max, false>(T::get(a), T::get(b))); }
template <class T, bool max>
u32 number(u32 a, u32 b) {
  if (nan_bits<T>(a)) return nan_bits<T>(b) ? a | quiet_bit<T> : b;
  return nan_bits<T>(b) ? a : of_numbers<T, max>(a, b);
}
template <class T, bool max>
u32 propagating(u32 a, u32 b) {
  const bool a_nan = nan_bits<T>(a), b_nan = nan_bits<T>(b);
  if (a_nan && (!b_nan || (b & quiet_bit<T>) || !(a & quiet_bit<T>))) return a | quiet_bit<T>;
  return b_nan ? b | quiet_bit<T> : of_numbers<T, max>(a, b);
}

// Conversions. Floats to integers truncate, saturate, and turn NaN into zero.
template <class I>
void to_integer(Wave& w, const Inst& i) {
  const double v = static_cast<double>(input<Single>(w, read_scalar32(w, i.src[0])));
  constexpr double low = std::numeric_limits<I>::min(), high = std::numeric_limits<I>::max();
  write_scalar32(w, i.dst, v != v ? 0u : static_cast<u32>(static_cast<I>(std::clamp(v, low, high))));
}
constexpr auto f_from_i32 = [](i32 a) { return static_cast<float>(a); };
constexpr auto f_from_u32 = [](u32 a) { return static_cast<float>(a); };
template <class I, auto f>
void from_integer(Wave& w, const Inst& i) {
  const I a = static_cast<I>(read_scalar32(w, i.src[0]));
  const RoundingScope rounding(w.mode.round32);
  write_scalar32(w, i.dst, apply<Single, f>(a));
}
void high_half(Wave& w, const Inst& i) {
  finish<Single>(w, i, apply<Single, f_same>(input<Half>(w, read_scalar32(w, i.src[0]) >> 16)));
}
// Rounds toward zero whatever the mode.
void pack_halves(Wave& w, const Inst& i) {
  const float a = input<Single>(w, read_scalar32(w, i.src[0])), b = input<Single>(w, read_scalar32(w, i.src[1]));
  const RoundingScope rounding(3);
  const u32 low = apply<Half, f_same>(a), high = apply<Half, f_same>(b);
  write_scalar32(w, i.dst, low | high << 16);
}
template <class T, auto f>
void accumulate(Wave& w, const Inst& i) {
  ternary<T, f>(w, i, read_scalar32(w, i.src[0]), read_scalar32(w, i.src[1]), read_scalar32(w, i.dst));
}
// K is the addend, or the second factor.
template <bool addend>
void with_literal(Wave& w, const Inst& i) {
  const u32 a = read_scalar32(w, i.src[0]), b = read_scalar32(w, i.src[1]);
  if (addend) ternary<Single, f_fma32>(w, i, a, b, i.literal);
  else ternary<Single, f_fma32>(w, i, a, i.literal, b);
}

constexpr auto lt = [](float a, float b) { return a < b; };
constexpr auto eq = [](float a, float b) { return a == b; };
constexpr auto le = [](float a, float b) { return a <= b; };
constexpr auto gt = [](float a, float b) { return a > b; };
constexpr auto lg = [](float a, float b) { return a < b || a > b; };
constexpr auto ge = [](float a, float b) { return a >= b; };
constexpr auto ordered = [](float a, float b) { return a == a && b == b; };
constexpr auto unordered = [](float a, float b) { return a != a || b != b; };
constexpr auto nge = [](float a, float b) { return !(a >= b); };
constexpr auto nlg = [](float a, float b) { return !(a < b || a > b); };
constexpr auto ngt = [](float a, float b) { return !(a > b); };
constexpr auto nle = [](float a, float b) { return !(a <= b); };
constexpr auto neq = [](float a, float b) { return a != b; };
constexpr auto nlt = [](float a, float b) { return !(a < b); };

#define OP1(NAME, OP, DST, SRC, ...) \
  Row { NAME, nullptr, Format::sop1, kNoOpcode, OP, kGfx12, Type::DST, Type::SRC, Type::none, Type::none, __VA_ARGS__ }
#define OP2(NAME, OP, DST, SRC, ...) \
  Row { NAME, nullptr, Format::sop2, kNoOpcode, OP, kGfx12, Type::DST, Type::SRC, Type::SRC, Type::none, __VA_ARGS__ }
#define WIDE(NAME, OP, EXPR) \
  OP2(NAME, OP, u64, u64, op2<std::uint64_t, std::uint64_t, std::uint64_t, ([](std::uint64_t a, std::uint64_t b, bool&) { return EXPR; })>)
// The same comparison of both widths.
#define TEST(NAME, OP, F) \
  Row { "s_cmp_" NAME "_f32", nullptr, Format::sopc, kNoOpcode, OP, kGfx12, Type::none, Type::f32, Type::f32, Type::none, test<Single, F> }, \
  Row { "s_cmp_" NAME "_f16", nullptr, Format::sopc, kNoOpcode, OP + 0x10, kGfx12, Type::none, Type::f16, Type::f16, Type::none, test<Half, F> }

const Row rows[] = {
    OP1("s_ceil_f32", 0x60, f32, f32, unary<Single, Single, f_ceil>),
    OP1("s_floor_f32", 0x61, f32, f32, unary<Single, Single, f_floor>),
    OP1("s_trunc_f32", 0x62, f32, f32, unary<Single, Single, f_trunc>),
    OP1("s_rndne_f32", 0x63, f32, f32, nearest<Single>),
    OP1("s_cvt_f32_i32", 0x64, f32, i32, from_integer<i32, f_from_i32>),
    OP1("s_cvt_f32_u32", 0x65, f32, u32, from_integer<u32, f_from_u32>),
    OP1("s_cvt_i32_f32", 0x66, i32, f32, to_integer<i32>),
    OP1("s_cvt_u32_f32", 0x67, u32, f32, to_integer<u32>),
    OP1("s_cvt_f16_f32", 0x68, f16, f32, unary<Half, Single, f_same>),
    OP1("s_cvt_f32_f16", 0x69, f32, f16, unary<Single, Half, f_same>),
    OP1("s_cvt_hi_f32_f16", 0x6a, f32, b32, high_half),
    OP1("s_ceil_f16", 0x6b, f16, f16, unary<Half, Half, f_ceil>),
    OP1("s_floor_f16", 0x6c, f16, f16, unary<Half, Half, f_floor>),
    OP1("s_trunc_f16", 0x6d, f16, f16, unary<Half, Half, f_trunc>),
    OP1("s_rndne_f16", 0x6e, f16, f16, nearest<Half>),

    OP2("s_add_f32", 0x40, f32, f32, binary<Single, f_add>),
    OP2("s_sub_f32", 0x41, f32, f32, binary<Single, f_sub>),
    OP2("s_min_num_f32", 0x42, f32, f32, choice<Single, number<Single, false>>),
    OP2("s_max_num_f32", 0x43, f32, f32, choice<Single, number<Single, true>>),
    OP2("s_mul_f32", 0x44, f32, f32, binary<Single, f_mul>),
    OP2("s_fmaak_f32", 0x45, f32, f32, with_literal<true>, kLiteralK),
    OP2("s_fmamk_f32", 0x46, f32, f32, with_literal<false>, kLiteralK),
    OP2("s_fmac_f32", 0x47, f32, f32, accumulate<Single, f_fma32>, kReadsDst),
    OP2("s_cvt_pk_rtz_f16_f32", 0x48, b32, f32, pack_halves),
    OP2("s_add_f16", 0x49, f16, f16, binary<Half, f_add>),
    OP2("s_sub_f16", 0x4a, f16, f16, binary<Half, f_sub>),
    OP2("s_min_num_f16", 0x4b, f16, f16, choice<Half, number<Half, false>>),
    OP2("s_max_num_f16", 0x4c, f16, f16, choice<Half, number<Half, true>>),
    OP2("s_mul_f16", 0x4d, f16, f16, binary<Half, f_mul>),
    OP2("s_fmac_f16", 0x4e, f16, f16, accumulate<WideHalf, f_fma16>, kReadsDst),
    OP2("s_minimum_f32", 0x4f, f32, f32, choice<Single, propagating<Single, false>>),
    OP2("s_maximum_f32", 0x50, f32, f32, choice<Single, propagating<Single, true>>),
    OP2("s_minimum_f16", 0x51, f16, f16, choice<Half, propagating<Half, false>>),
    OP2("s_maximum_f16", 0x52, f16, f16, choice<Half, propagating<Half, true>>),
    WIDE("s_add_nc_u64", 0x53, a + b),
    WIDE("s_sub_nc_u64", 0x54, a - b),
    WIDE("s_mul_u64", 0x55, a * b),

    TEST("lt", 0x41, lt), TEST("eq", 0x42, eq), TEST("le", 0x43, le), TEST("gt", 0x44, gt), TEST("lg", 0x45, lg),
    TEST("ge", 0x46, ge), TEST("o", 0x47, ordered), TEST("u", 0x48, unordered), TEST("nge", 0x49, nge),
    TEST("nlg", 0x4a, nlg), TEST("ngt", 0x4b, ngt), TEST("nle", 0x4c, nle), TEST("neq", 0x4d, neq), TEST("nlt", 0x4e, nlt),
};

}  // namespace

std::span<const Row> float_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::scalar
