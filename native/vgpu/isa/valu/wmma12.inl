// WMMA and SWMMAC of gfx12, wave32: every element is held once. Layouts: AMD's matrix instruction calculator
// (github.com/ROCm/amd_matrix_instruction_calculator), rdna4. Products are added in the order of k; the hardware's order inside an
// instruction is not published.
#include "vgpu/isa/valu/matrix_types.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace wmma12_ops {
using namespace matrix_ops;

constexpr unsigned M = 16;  // rows and columns of the result

// Where an element of A (row i) or B (column i) is.
struct Place {
  unsigned reg, lane, bit;
};
// A and B of WMMA.
template <unsigned kWidth, unsigned K>
constexpr Place dense(unsigned i, unsigned k) {
  constexpr unsigned per_register = 32 / kWidth;
  const unsigned bit = kWidth * (k % per_register);
  if constexpr (kWidth == 16) return {2 * (k / 8) + k / 2 % 2, 16 * (k / 4 % 2) + i, bit};
  else if constexpr (kWidth == 8) return {k / 4 % 2, 16 * (k / 8) + i, bit};
  else if constexpr (K == 16) return {0, 16 * (k / 8) + i, bit};
  else return {k / 8 % 2, 16 * (k / 16) + i, bit};
}
// B of SWMMAC.
template <unsigned kWidth, unsigned K>
constexpr Place dense_of_sparse(unsigned i, unsigned k) {
  constexpr unsigned per_register = 32 / kWidth;
  const unsigned bit = kWidth * (k % per_register);
  if constexpr (kWidth == 16) return {4 * (k / 16) + k / 2 % 4, 16 * (k / 8 % 2) + i, bit};
  else if constexpr (kWidth == 8) return {k / 4 % 4, 16 * (k / 16) + i, bit};
  else if constexpr (K == 32) return {k / 8 % 2, 16 * (k / 16) + i, bit};
  else return {k / 8 % 4, 16 * (k / 32) + i, bit};
}
// A of SWMMAC: two elements stand for the four from k on (k a multiple of four).
template <unsigned kWidth, unsigned K>
constexpr Place sparse(unsigned i, unsigned k) {
  if constexpr (kWidth == 16) return {2 * (k / 16) + k / 4 % 2, 16 * (k / 8 % 2) + i, 0};
  else if constexpr (kWidth == 8) return {k / 8 % 2, 16 * (k / 16) + i, 16 * (k / 4 % 2)};
  else if constexpr (K == 32) return {0, 16 * (k / 16) + i, 8 * (k / 4 % 4)};
  else return {k / 16 % 2, 16 * (k / 32) + i, 8 * (k / 4 % 4)};
}
// The four bits of position that belong to them, in the index register of the same lane.
template <unsigned kWidth, unsigned K>
constexpr unsigned index_bit(unsigned k, unsigned key) {
  if constexpr (kWidth == 16) return 8 * (k / 16) + 4 * (k / 4 % 2) + 16 * key;
  else if constexpr (kWidth == 8 || K == 32) return 4 * (k / 4 % 4) + 16 * key;
  else return 4 * (k / 4 % 8);
}

// The modifiers of float forms: the signs of A's and B's elements (16-bit ones: neg of the even, neg_hi of the odd ones), and for
// the addend neg and, as neg_hi, its absolute value. 8-bit elements have no sign bits of their own.
inline const char* refuse_modifiers(const Inst& in, unsigned width, bool integer, bool sparse) {
  const unsigned neg = in.neg & 7u, neg_hi = in.neg_hi & 7u;
  if (integer) return (neg & 4u) || neg_hi ? "neg on the addend of an integer matrix product" : nullptr;
  if (width == 8 && ((neg | neg_hi) & 3u)) return "neg on 8-bit floats";
  return sparse && ((neg | neg_hi) & 4u) ? "neg on the positions of a sparse matrix product" : nullptr;
}
inline bool negated(const Inst& in, unsigned source, unsigned k) { return (k % 2 ? in.neg_hi : in.neg) >> source & 1; }

inline uint32_t field(Wave& w, const Operand& o, const Place& p, unsigned width) {
  return w.vreg(o.index + p.reg)[p.lane] >> p.bit & ((1u << width) - 1u);
}

// Element types: width, the type it accumulates in, how its bits become a number (neg: of integer forms, that it is signed).
struct Half {
  static constexpr unsigned width = 16;
  using Acc = float;
  static float get(uint32_t v, bool neg) { return half_to_float(v ^ (neg ? 0x8000u : 0u)); }
  static uint32_t result(float v) { return float_to_half(v); }
};
struct Brain {
  static constexpr unsigned width = 16;
  using Acc = float;
  static float get(uint32_t v, bool neg) { return bf16_to_float(v ^ (neg ? 0x8000u : 0u)); }
  static uint32_t result(float v) { return float_to_bf16(v); }
};
template <small::Format F>
struct Byte {
  static constexpr unsigned width = 8;
  using Acc = float;
  static float get(uint32_t v, bool) { return small::value<F>(v); }
};
using Fp8 = Byte<small::kFp8>;
using Bf8 = Byte<small::kBf8>;
template <unsigned kWidth>
struct Integer {
  static constexpr unsigned width = kWidth;
  using Acc = int64_t;
  static int64_t get(uint32_t v, bool is_signed) {
    return is_signed ? static_cast<int32_t>(v << (32 - kWidth)) >> (32 - kWidth) : int64_t{v};
  }
};
inline int64_t step(int64_t a, int64_t b, int64_t c) { return a * b + c; }
using matrix_ops::step;

// The accumulator's elements; a constant stands for each. kMods: the bits of src2 are its modifiers.
template <class E, bool k16, bool kMods>
typename E::Acc addend(Wave& w, const Inst& in, const Operand& o, unsigned i, unsigned j) {
  const unsigned lane = 16 * (i / 8) + j;
  LaneBuffer store;
  const bool constant = o.kind != OperandKind::vgpr;
  const uint32_t raw = accumulator(w, o, k16 ? i / 2 % 4 : i % 8, store)[lane];
  if constexpr (!std::is_same_v<typename E::Acc, float>) return static_cast<int32_t>(raw);
  // An inline float constant arrives as an f32.
  else {
    float value = from_bits<float>(raw);
    if constexpr (k16) value = constant ? value : E::get(raw >> 16 * (i % 2) & 0xffffu, false);
    if (kMods && (in.neg_hi & 4)) value = __builtin_fabsf(value);
    return kMods && (in.neg & 4) ? -value : value;
  }
}
template <class E, bool k16>
void put_results(Wave& w, const Inst& in, const typename E::Acc (&d)[M][M]) {
  LaneBuffer result[8] = {};
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < M; ++j) {
      const unsigned lane = 16 * (i / 8) + j;
      if constexpr (!std::is_same_v<typename E::Acc, float>) {
        int64_t sum = d[i][j];
        if (in.clamp) sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
        result[i % 8].lane[lane] = static_cast<uint32_t>(sum);
      } else if constexpr (k16) {
        result[i / 2 % 4].lane[lane] |= E::result(d[i][j]) << 16 * (i % 2);
      } else {
        result[i % 8].lane[lane] = bits(d[i][j]);
      }
    }
  for (unsigned r = 0; r < (k16 ? 4u : 8u); ++r) std::copy_n(result[r].lane, 32, w.vreg(in.dst.index + r));
}

template <class A, class B, unsigned K, bool k16>
void wmma(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  using Acc = typename A::Acc;
  constexpr bool integer = !std::is_same_v<Acc, float>;
  if (const char* why = refuse_modifiers(in, A::width, integer, false)) return w.stop(Outcome::Kind::unimplemented, why);
  Acc a[M][K], b[M][K], d[M][M];
  for (unsigned i = 0; i < M; ++i)
    for (unsigned k = 0; k < K; ++k) {
      const Place at = dense<A::width, K>(i, k);
      a[i][k] = A::get(field(w, in.src[0], at, A::width), negated(in, 0, integer ? 0 : k));
      b[i][k] = B::get(field(w, in.src[1], at, B::width), negated(in, 1, integer ? 0 : k));
    }
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < M; ++j) {
      Acc sum = addend<A, k16, true>(w, in, in.src[2], i, j);
      for (unsigned k = 0; k < K; ++k) sum = step(a[i][k], b[j][k], sum);
      d[i][j] = sum;
    }
  put_results<A, k16>(w, in, d);
}

// src2 has the positions, the destination is the accumulator. op_sel: which of the index sets of the register.
template <class A, class B, unsigned K, bool k16>
void swmmac(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  using Acc = typename A::Acc;
  constexpr bool integer = !std::is_same_v<Acc, float>;
  if (const char* why = refuse_modifiers(in, A::width, integer, true)) return w.stop(Outcome::Kind::unimplemented, why);
  Acc b[M][K], d[M][M];
  for (unsigned j = 0; j < M; ++j)
    for (unsigned k = 0; k < K; ++k)
      b[j][k] = B::get(field(w, in.src[1], dense_of_sparse<B::width, K>(j, k), B::width), negated(in, 1, integer ? 0 : k));
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < M; ++j) d[i][j] = addend<A, k16, false>(w, in, in.dst, i, j);
  for (unsigned i = 0; i < M; ++i)
    for (unsigned k = 0; k < K; k += 4) {
      const Place at = sparse<A::width, K>(i, k);
      const uint32_t positions = w.vreg(in.src[2].index)[at.lane] >> index_bit<A::width, K>(k, in.op_sel & 1u);
      for (unsigned e = 0; e < 2; ++e) {
        const Place element{at.reg, at.lane, at.bit + e * A::width};
        const Acc factor = A::get(field(w, in.src[0], element, A::width), negated(in, 0, integer ? 0 : e));
        const unsigned row = k + (positions >> 2 * e & 3u);
        for (unsigned j = 0; j < M; ++j) d[i][j] = step(factor, b[j][row], d[i][j]);
      }
    }
  put_results<A, k16>(w, in, d);
}

template <class A>
constexpr unsigned kind() {
  return kOwnOpSel | (std::is_same_v<typename A::Acc, float> ? unsigned{kApproximate} : unsigned{kIntClamp});
}
template <class A, class B, unsigned K, bool k16 = false>
constexpr Row dense_row(const char* name, uint16_t op) {
  constexpr Type ab = of_registers(K * A::width / 64), cd = of_registers(k16 ? 4 : 8);
  return row_own({name}, Format::vop3p, kNo, op, kGfx12, cd, ab, ab, cd, &wmma<A, B, K, k16>,
                 kIgnoresExec | kVectorSources | kind<A>());
}
template <class A, class B, unsigned K, bool k16 = false>
constexpr Row sparse_row(const char* name, uint16_t op) {
  constexpr Type a = of_registers(K * A::width / 128), b = of_registers(K * B::width / 64), cd = of_registers(k16 ? 4 : 8);
  return row_own({name}, Format::vop3p, kNo, op, kGfx12, cd, a, b, Type::b32, &swmmac<A, B, K, k16>,
                 kIgnoresExec | kVectorSources | kReadsDst | kind<A>());
}
constexpr Row kRows[] = {
    dense_row<Half, Half, 16>("v_wmma_f32_16x16x16_f16", 0x40),
    dense_row<Brain, Brain, 16>("v_wmma_f32_16x16x16_bf16", 0x41),
    dense_row<Half, Half, 16, true>("v_wmma_f16_16x16x16_f16", 0x42),
    dense_row<Brain, Brain, 16, true>("v_wmma_bf16_16x16x16_bf16", 0x43),
    dense_row<Integer<8>, Integer<8>, 16>("v_wmma_i32_16x16x16_iu8", 0x44),
    dense_row<Integer<4>, Integer<4>, 16>("v_wmma_i32_16x16x16_iu4", 0x45),
    dense_row<Fp8, Fp8, 16>("v_wmma_f32_16x16x16_fp8_fp8", 0x46),
    dense_row<Fp8, Bf8, 16>("v_wmma_f32_16x16x16_fp8_bf8", 0x47),
    dense_row<Bf8, Fp8, 16>("v_wmma_f32_16x16x16_bf8_fp8", 0x48),
    dense_row<Bf8, Bf8, 16>("v_wmma_f32_16x16x16_bf8_bf8", 0x49),
    dense_row<Integer<4>, Integer<4>, 32>("v_wmma_i32_16x16x32_iu4", 0x4a),
    sparse_row<Half, Half, 32>("v_swmmac_f32_16x16x32_f16", 0x50),
    sparse_row<Brain, Brain, 32>("v_swmmac_f32_16x16x32_bf16", 0x51),
    sparse_row<Half, Half, 32, true>("v_swmmac_f16_16x16x32_f16", 0x52),
    sparse_row<Brain, Brain, 32, true>("v_swmmac_bf16_16x16x32_bf16", 0x53),
    sparse_row<Integer<8>, Integer<8>, 32>("v_swmmac_i32_16x16x32_iu8", 0x54),
    sparse_row<Integer<4>, Integer<4>, 32>("v_swmmac_i32_16x16x32_iu4", 0x55),
    sparse_row<Integer<4>, Integer<4>, 64>("v_swmmac_i32_16x16x64_iu4", 0x56),
    sparse_row<Fp8, Fp8, 32>("v_swmmac_f32_16x16x32_fp8_fp8", 0x57),
    sparse_row<Fp8, Bf8, 32>("v_swmmac_f32_16x16x32_fp8_bf8", 0x58),
    sparse_row<Bf8, Fp8, 32>("v_swmmac_f32_16x16x32_bf8_fp8", 0x59),
    sparse_row<Bf8, Bf8, 32>("v_swmmac_f32_16x16x32_bf8_bf8", 0x5a),
};

}  // namespace wmma12_ops

std::span<const Row> wmma12_rows() { return wmma12_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
