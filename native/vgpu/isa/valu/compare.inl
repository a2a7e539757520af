// VOPC: comparisons and class tests, each with its EXEC-writing form. Source: "CDNA3 ISA" and "RDNA3 ISA", chapter VOPC.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace compare_ops {

constexpr auto never = [](auto, auto) { return false; };
constexpr auto always = [](auto, auto) { return true; };
constexpr auto lt = [](auto a, auto b) { return a < b; };
constexpr auto eq = [](auto a, auto b) { return a == b; };
constexpr auto le = [](auto a, auto b) { return a <= b; };
constexpr auto gt = [](auto a, auto b) { return a > b; };
constexpr auto ne = [](auto a, auto b) { return a != b; };
constexpr auto ge = [](auto a, auto b) { return a >= b; };
constexpr auto lg = [](auto a, auto b) { return a < b || a > b; };
constexpr auto ordered = [](auto a, auto b) { return a == a && b == b; };
constexpr auto unordered = [](auto a, auto b) { return a != a || b != b; };
constexpr auto nge = [](auto a, auto b) { return !(a >= b); };
constexpr auto nlg = [](auto a, auto b) { return !(a < b || a > b); };
constexpr auto ngt = [](auto a, auto b) { return !(a > b); };
constexpr auto nle = [](auto a, auto b) { return !(a <= b); };
constexpr auto nlt = [](auto a, auto b) { return !(a < b); };

// Bits of a class mask: 0 signaling NaN, 1 quiet NaN, 2..5 -inf -normal -denormal -0, 6..9 +0 +denormal +normal +inf.
template <class B>
inline bool in_class(B value, unsigned exponent_bits, unsigned mantissa_bits, uint32_t mask) {
  const B mantissa = value & ((B{1} << mantissa_bits) - 1);
  const B exponent = (value >> mantissa_bits) & ((B{1} << exponent_bits) - 1);
  const bool negative = value >> (mantissa_bits + exponent_bits) & 1;
  const bool top = exponent == (B{1} << exponent_bits) - 1;
  const bool is_quiet = mantissa >> (mantissa_bits - 1) & 1;
  unsigned bit_index;
  if (top) bit_index = mantissa ? (is_quiet ? 1 : 0) : negative ? 2 : 9;
  else if (exponent) bit_index = negative ? 3 : 8;
  else if (mantissa) bit_index = negative ? 4 : 7;
  else bit_index = negative ? 5 : 6;
  return mask >> bit_index & 1;
}
constexpr auto class_f16 = [](uint32_t a, uint32_t m) { return in_class<uint32_t>(a, 5, 10, m); };
constexpr auto class_f32 = [](float a, uint32_t m) { return in_class<uint32_t>(bits(a), 8, 23, m); };
constexpr auto class_f64 = [](double a, uint32_t m) { return in_class<uint64_t>(bits(a), 11, 52, m); };

template <auto f, unsigned Traits, bool kExec, class A, class B>
void compare(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  uint64_t result = 0;
  if (mask != 0) {
    Scratch store[2];
    const Source a = fetch<A, Traits>(w, in, 0, store[0]);
    const Source b = fetch<B, Traits>(w, in, 1, store[1]);
    for (std::size_t base = 0; base < w.size; base += 32) {
      uint32_t truth[32];
      for (std::size_t l = 0; l < 32; ++l) truth[l] = f(A::get(a, base + l), B::get(b, base + l)) ? ~0u : 0u;
      result |= uint64_t{block_mask(truth)} << base;
    }
    result &= mask;
  }
  // gfx11's v_cmpx writes EXEC alone.
  if (!kExec || !contains(kRdna, w.target)) write_mask_dst(w, in.sdst, result);
  if constexpr (kExec) w.set_exec(result);
}

template <auto f, unsigned Traits, bool kExec, class A, class B>
constexpr Row compare_row(const char* name, const char* name11, uint16_t op9, uint16_t op11, TargetSet targets) {
  return row_own({name, name11}, Format::vopc, op9, op11, targets, Type::none, A::type, B::type, Type::none,
                 &compare<f, Traits, kExec, A, B>, (kExec ? unsigned{kExecDst} | kMaskDst : unsigned{kMaskDst}) | (A::fp ? unsigned{kFloatMods} : 0u));
}

// Both forms of one comparison: opcode distance to v_cmpx is 0x10 on gfx9, 0x80 on gfx11.
#define CMP(f, text, text11, type, Tag, op9, op11, targets)                                                     \
  compare_row<f, 0, false, Tag, Tag>("v_cmp_" text "_" type, "v_cmp_" text11 "_" type, op9, op11, targets),      \
      compare_row<f, 0, true, Tag, Tag>("v_cmpx_" text "_" type, "v_cmpx_" text11 "_" type, (op9) + 0x10,        \
                                        static_cast<uint16_t>((op11) == kNo ? kNo : (op11) + 0x80), targets)
#define CMP_FLOAT(type, Tag, b9, b11)                                                                     \
  CMP(never, "f", "f", type, Tag, b9, b11, kAllTargets), CMP(lt, "lt", "lt", type, Tag, b9 + 1, b11 + 1, kAllTargets),            \
      CMP(eq, "eq", "eq", type, Tag, b9 + 2, b11 + 2, kAllTargets), CMP(le, "le", "le", type, Tag, b9 + 3, b11 + 3, kAllTargets),  \
      CMP(gt, "gt", "gt", type, Tag, b9 + 4, b11 + 4, kAllTargets), CMP(lg, "lg", "lg", type, Tag, b9 + 5, b11 + 5, kAllTargets),  \
      CMP(ge, "ge", "ge", type, Tag, b9 + 6, b11 + 6, kAllTargets), CMP(ordered, "o", "o", type, Tag, b9 + 7, b11 + 7, kAllTargets), \
      CMP(unordered, "u", "u", type, Tag, b9 + 8, b11 + 8, kAllTargets),                                                    \
      CMP(nge, "nge", "nge", type, Tag, b9 + 9, b11 + 9, kAllTargets), CMP(nlg, "nlg", "nlg", type, Tag, b9 + 10, b11 + 10, kAllTargets), \
      CMP(ngt, "ngt", "ngt", type, Tag, b9 + 11, b11 + 11, kAllTargets), CMP(nle, "nle", "nle", type, Tag, b9 + 12, b11 + 12, kAllTargets), \
      CMP(ne, "neq", "neq", type, Tag, b9 + 13, b11 + 13, kAllTargets), CMP(nlt, "nlt", "nlt", type, Tag, b9 + 14, b11 + 14, kAllTargets), \
      CMP(always, "tru", "t", type, Tag, b9 + 15, b11 + 15, kAllTargets)
#define CMP_INT(type, Tag, b9, b11, ends11)                                                                       \
  CMP(never, "f", "f", type, Tag, b9, ends11(b11), ends11##_targets), CMP(lt, "lt", "lt", type, Tag, b9 + 1, b11 + 1, kAllTargets), \
      CMP(eq, "eq", "eq", type, Tag, b9 + 2, b11 + 2, kAllTargets), CMP(le, "le", "le", type, Tag, b9 + 3, b11 + 3, kAllTargets), \
      CMP(gt, "gt", "gt", type, Tag, b9 + 4, b11 + 4, kAllTargets), CMP(ne, "ne", "ne", type, Tag, b9 + 5, b11 + 5, kAllTargets), \
      CMP(ge, "ge", "ge", type, Tag, b9 + 6, b11 + 6, kAllTargets),                                                     \
      CMP(always, "t", "t", type, Tag, b9 + 7, ends11(b11 + 7), ends11##_targets)
#define CMP_CLASS(type, f, A, B, op9, op11)                                                                     \
  compare_row<f, kBits, false, A, B>("v_cmp_class_" type, nullptr, op9, op11, kAllTargets),                     \
      compare_row<f, kBits, true, A, B>("v_cmpx_class_" type, nullptr, op9 + 1, op11 + 0x80, kAllTargets)

// gfx11 has no constant-result comparisons of 16-bit integers.
constexpr uint16_t both(int op) { return static_cast<uint16_t>(op); }
constexpr uint16_t only9(int) { return kNo; }
constexpr TargetSet both_targets = kAllTargets, only9_targets = kGfx9;

constexpr Row kRows[] = {
    CMP_CLASS("f32", class_f32, F32, U32, 0x10, 0x7e),
    CMP_CLASS("f64", class_f64, F64, U32, 0x12, 0x7f),
    CMP_CLASS("f16", class_f16, H16, B16, 0x14, 0x7d),
    CMP_FLOAT("f16", F16, 0x20, 0x00),
    CMP_FLOAT("f32", F32, 0x40, 0x10),
    CMP_FLOAT("f64", F64, 0x60, 0x20),
    CMP_INT("i16", I16, 0xa0, 0x30, only9),
    CMP_INT("u16", U16, 0xa8, 0x38, only9),
    CMP_INT("i32", I32, 0xc0, 0x40, both),
    CMP_INT("u32", U32, 0xc8, 0x48, both),
    CMP_INT("i64", I64, 0xe0, 0x50, both),
    CMP_INT("u64", U64, 0xe8, 0x58, both),
};
#undef CMP
#undef CMP_FLOAT
#undef CMP_INT
#undef CMP_CLASS

}  // namespace compare_ops

std::span<const Row> compare_rows() { return compare_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
