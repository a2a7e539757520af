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

inline uint32_t field(Wave& w, const Operand& o, const Place& p, unsigned width) {
  return w.vreg(o.index + p.reg)[p.lane] >> p.bit & ((1u << width) - 1u);
}

// Element types: width, the type it accumulates in, how its bits become a number (signed: the neg bit of the integer forms).
struct Half {
  static constexpr unsigned width = 16;
  using Acc = float;
  static float get(uint32_t v, bool) { return half_to_float(v); }
  static uint32_t result(float v) { return float_to_half(v); }
};
struct Brain {
  static constexpr unsigned width = 16;
  using Acc = float;
  static float get(uint32_t v, bool) { return bf16_to_float(v); }
  static uint32_t result(float v) { return float_to_bf16(v); }
};
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

// The accumulator's elements; a constant stands for each.
template <class E, bool k16>
typename E::Acc addend(Wave& w, const Operand& o, unsigned i, unsigned j) {
  const unsigned lane = 16 * (i / 8) + j;
  LaneBuffer store;
  const bool constant = o.kind != OperandKind::vgpr;
  const uint32_t raw = accumulator(w, o, k16 ? i / 2 % 4 : i % 8, store)[lane];
  if constexpr (!std::is_same_v<typename E::Acc, float>) return static_cast<int32_t>(raw);
  // An inline float constant arrives as an f32.
  else if constexpr (k16) return constant ? from_bits<float>(raw) : E::get(raw >> 16 * (i % 2) & 0xffffu, false);
  else return from_bits<float>(raw);
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
  Acc a[M][K], b[M][K], d[M][M];
  for (unsigned i = 0; i < M; ++i)
    for (unsigned k = 0; k < K; ++k) {
      const Place at = dense<A::width, K>(i, k);
      a[i][k] = A::get(field(w, in.src[0], at, A::width), in.neg & 1);
      b[i][k] = B::get(field(w, in.src[1], at, B::width), in.neg & 2);
    }
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < M; ++j) {
      Acc sum = addend<A, k16>(w, in.src[2], i, j);
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
  Acc b[M][K], d[M][M];
  for (unsigned j = 0; j < M; ++j)
    for (unsigned k = 0; k < K; ++k)
      b[j][k] = B::get(field(w, in.src[1], dense_of_sparse<B::width, K>(j, k), B::width), in.neg & 2);
  for (unsigned i = 0; i < M; ++i)
    for (unsigned j = 0; j < M; ++j) d[i][j] = addend<A, k16>(w, in.dst, i, j);
  for (unsigned i = 0; i < M; ++i)
    for (unsigned k = 0; k < K; k += 4) {
      const Place at = sparse<A::width, K>(i, k);
      const uint32_t positions = w.vreg(in.src[2].index)[at.lane] >> index_bit<A::width, K>(k, in.op_sel & 1u);
      for (unsigned e = 0; e < 2; ++e) {
        const Place element{at.reg, at.lane, at.bit + e * A::width};
        const Acc factor = A::get(field(w, in.src[0], element, A::width), in.neg & 1);
        const unsigned row = k + (positions >> 2 * e & 3u);
        for (unsigned j = 0; j < M; ++j) d[i][j] = step(factor, b[j][row], d[i][j]);
      }
    }
  put_results<A, k16>(w, in, d);
}

template <class A>
constexpr unsigned kind() {
  return std::is_same_v<typename A::Acc, float> ? unsigned{kApproximate} : unsigned{kOwnOpSel | kIntClamp};
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
    dense_row<Integer<4>, Integer<4>, 32>("v_wmma_i32_16x16x32_iu4", 0x4a),
    sparse_row<Half, Half, 32>("v_swmmac_f32_16x16x32_f16", 0x50),
    sparse_row<Brain, Brain, 32>("v_swmmac_f32_16x16x32_bf16", 0x51),
    sparse_row<Half, Half, 32, true>("v_swmmac_f16_16x16x32_f16", 0x52),
    sparse_row<Brain, Brain, 32, true>("v_swmmac_bf16_16x16x32_bf16", 0x53),
    sparse_row<Integer<8>, Integer<8>, 32>("v_swmmac_i32_16x16x32_iu8", 0x54),
    sparse_row<Integer<4>, Integer<4>, 32>("v_swmmac_i32_16x16x32_iu4", 0x55),
    sparse_row<Integer<4>, Integer<4>, 64>("v_swmmac_i32_16x16x64_iu4", 0x56),
};

}  // namespace wmma12_ops

std::span<const Row> wmma12_rows() { return wmma12_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
