// Dense matrix multiply-add of gfx9: MFMA.
#include "vgpu/isa/valu/matrix_types.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace matrix_ops {

// Which controls an instruction has. Source: "CDNA3 ISA" and AMD's matrix instruction calculator: cbsz and abid choose among
// blocks; gfx942 and gfx950 have no lane pattern for B in the single-block forms of anything but f32.
template <class A, unsigned kBlocks>
const char* refuse_controls(const Wave& w, const Inst& in) {
  if (kBlocks == 1 && (in.cbsz || in.abid)) return "cbsz or abid on an instruction of one block";
  const bool takes_blgp = kBlocks > 1 || std::is_same_v<A, InF32> || w.target == Target::gfx90a;
  return in.blgp && !takes_blgp ? "blgp on an instruction that does not take it" : nullptr;
}
// The lane whose B data lane l uses.
constexpr unsigned b_lane(unsigned blgp, unsigned l) {
  switch (blgp) {
    case 1: return l & 31;
    case 2: return (l & 31) | 32;
    case 3: return (l + 16) % kLanes;
    case 4: case 5: case 6: case 7: return (l & 15) | (blgp - 4) * 16;
    default: return l;
  }
}

// M x M x K with kBlocks independent products. Lane of A[i][k]: i + M * (k / elements a lane), then blocks; B alike.
template <class A, class B, unsigned M, unsigned K, unsigned kBlocks>
void mfma(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (const char* why = refuse_controls<A, kBlocks>(w, in)) return w.stop(Outcome::Kind::unimplemented, why);
  using Acc = typename A::Acc;
  constexpr unsigned per_lane = M * K * kBlocks / kLanes, lanes_k = K / per_lane, registers = M * M * kBlocks / kLanes;
  static_assert(per_lane * lanes_k == K);
  alignas(64) Acc a[kBlocks][M][K], b[kBlocks][K][M], d[kBlocks][M][M];

  LaneBuffer store;
  for (unsigned e = 0; e < per_lane; ++e) {
    const unsigned ra = e / A::per_register, ea = e % A::per_register, rb = e / B::per_register, eb = e % B::per_register;
    const uint32_t* pa = w.vreg(in.src[0].index + ra);
    const uint32_t* pb = w.vreg(in.src[1].index + rb);
    for (unsigned l = 0; l < kLanes; ++l) {
      const unsigned i = l % M, k = l / M % lanes_k * per_lane + e, block = l / (M * lanes_k);
      a[block][i][k] = A::get(pa[l], ea);
      b[block][k][i] = B::get(pb[b_lane(in.blgp, l)], eb);
    }
  }
  const auto place = [](unsigned r, unsigned l) {  // block, row, column of register r in lane l
    struct Place { unsigned block, row, column; };
    if (M == 4) return Place{l / 4, r, l % 4};
    return Place{r / (M * M / kLanes), row_of(M, r % (M * M / kLanes), l), l % M};
  };
  for (unsigned r = 0; r < registers; ++r) {
    const uint32_t* c = accumulator(w, in.src[2], r, store);
    for (unsigned l = 0; l < kLanes; ++l) {
      const auto p = place(r, l);
      d[p.block][p.row][p.column] = std::bit_cast<Acc>(c[l]);
    }
  }
  for (unsigned block = 0; block < kBlocks; ++block) {
    // cbsz: groups of 2^cbsz blocks share the A of the group's block number abid.
    const unsigned from = in.cbsz ? (block & ~((1u << in.cbsz) - 1u)) | (in.abid & ((1u << in.cbsz) - 1u)) : block;
    const auto& block_a = a[from % kBlocks];
    for (unsigned i = 0; i < M; ++i)
      for (unsigned k = 0; k < K; ++k) {
        const Acc factor = block_a[i][k];
        for (unsigned j = 0; j < M; ++j) d[block][i][j] = step(factor, b[block][k][j], d[block][i][j]);
      }
  }
  for (unsigned r = 0; r < registers; ++r) {
    uint32_t* out = w.vreg(in.dst.index + r);
    for (unsigned l = 0; l < kLanes; ++l) {
      const auto p = place(r, l);
      out[l] = std::bit_cast<uint32_t>(d[p.block][p.row][p.column]);
    }
  }
}

// M x M x 4 in f64, one element of A and of B a lane; D has rows l/16, l/16 + 4, ... From gfx942 on the blgp bits negate A, B, C.
template <unsigned M, unsigned kBlocks>
void mfma_f64(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (in.cbsz || in.abid) return w.stop(Outcome::Kind::unimplemented, "cbsz or abid on f64");
  if (in.blgp && w.target == Target::gfx90a) return w.stop(Outcome::Kind::unimplemented, "blgp on f64");
  constexpr unsigned elements = M * M * kBlocks / kLanes;
  static_assert(M * kBlocks == 16);
  double a[kBlocks][M][4], b[kBlocks][4][M], d[kBlocks][M][M];
  const auto value = [&](const Operand& o, unsigned element, unsigned l, unsigned negate) {
    const double v = o.kind == OperandKind::vgpr
                         ? from_bits<double>(uint64_t{w.vreg(o.index + 2 * element + 1)[l]} << 32 | w.vreg(o.index + 2 * element)[l])
                         : from_bits<double>(o.constant);
    return negate ? -v : v;
  };
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned i = l % M, block = l / M % kBlocks, group = l / 16;
    a[block][i][group] = value(in.src[0], 0, l, in.blgp & 1);
    b[block][group][i] = value(in.src[1], 0, l, in.blgp & 2);
    for (unsigned e = 0; e < elements; ++e) d[block][4 * e + group][i] = value(in.src[2], e, l, in.blgp & 4);
  }
  for (unsigned block = 0; block < kBlocks; ++block)
    for (unsigned i = 0; i < M; ++i)
      for (unsigned k = 0; k < 4; ++k)
        for (unsigned j = 0; j < M; ++j) d[block][i][j] = step(a[block][i][k], b[block][k][j], d[block][i][j]);
  for (unsigned e = 0; e < elements; ++e)
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint64_t r = bits(d[l / M % kBlocks][4 * e + l / 16][l % M]);
      w.vreg(in.dst.index + 2 * e)[l] = static_cast<uint32_t>(r);
      w.vreg(in.dst.index + 2 * e + 1)[l] = static_cast<uint32_t>(r >> 32);
    }
}

template <class A, class B, unsigned M, unsigned K, unsigned kBlocks>
constexpr Row mfma_row(const char* name, uint16_t op, TargetSet targets) {
  constexpr unsigned per_lane = M * K * kBlocks / kLanes;
  constexpr Type d = of_registers(M * M * kBlocks / kLanes);
  return row_own({name}, Format::vop3p_mai, op, kNo, targets, d, of_registers((per_lane + A::per_register - 1) / A::per_register),
                 of_registers((per_lane + B::per_register - 1) / B::per_register), d, &mfma<A, B, M, K, kBlocks>,
                 kIgnoresExec | kOwnOperands | kVectorSources | approximate<A>());
}
template <unsigned M, unsigned kBlocks>
constexpr Row mfma_f64_row(const char* name, uint16_t op, TargetSet targets) {
  constexpr Type d = M == 16 ? Type::f64x4 : Type::f64;
  return row_own({name}, Format::vop3p_mai, op, kNo, targets, d, Type::f64, Type::f64, d, &mfma_f64<M, kBlocks>,
                 kIgnoresExec | kOwnOperands | kVectorSources);
}
// gfx90a and the later ones spell the same instruction differently.
#define MFMA_BOTH(A, M, K, blocks, old_name, new_name, op) \
  mfma_row<A, A, M, K, blocks>("v_mfma_" old_name, op, k90a), mfma_row<A, A, M, K, blocks>("v_mfma_" new_name, op, kGfx940)

constexpr Row kRows[] = {
    MFMA_BOTH(InF32, 32, 1, 2, "f32_32x32x1f32", "f32_32x32x1_2b_f32", 0x40),
    MFMA_BOTH(InF32, 16, 1, 4, "f32_16x16x1f32", "f32_16x16x1_4b_f32", 0x41),
    MFMA_BOTH(InF32, 4, 1, 16, "f32_4x4x1f32", "f32_4x4x1_16b_f32", 0x42),
    MFMA_BOTH(InF32, 32, 2, 1, "f32_32x32x2f32", "f32_32x32x2_f32", 0x44),
    MFMA_BOTH(InF32, 16, 4, 1, "f32_16x16x4f32", "f32_16x16x4_f32", 0x45),
    MFMA_BOTH(InF16, 32, 4, 2, "f32_32x32x4f16", "f32_32x32x4_2b_f16", 0x48),
    MFMA_BOTH(InF16, 16, 4, 4, "f32_16x16x4f16", "f32_16x16x4_4b_f16", 0x49),
    MFMA_BOTH(InF16, 4, 4, 16, "f32_4x4x4f16", "f32_4x4x4_16b_f16", 0x4a),
    MFMA_BOTH(InF16, 32, 8, 1, "f32_32x32x8f16", "f32_32x32x8_f16", 0x4c),
    MFMA_BOTH(InF16, 16, 16, 1, "f32_16x16x16f16", "f32_16x16x16_f16", 0x4d),
    MFMA_BOTH(InI8, 32, 4, 2, "i32_32x32x4i8", "i32_32x32x4_2b_i8", 0x50),
    MFMA_BOTH(InI8, 16, 4, 4, "i32_16x16x4i8", "i32_16x16x4_4b_i8", 0x51),
    MFMA_BOTH(InI8, 4, 4, 16, "i32_4x4x4i8", "i32_4x4x4_16b_i8", 0x52),
    mfma_row<InI8, InI8, 32, 8, 1>("v_mfma_i32_32x32x8i8", 0x54, k90a),
    mfma_row<InI8, InI8, 16, 16, 1>("v_mfma_i32_16x16x16i8", 0x55, k90a),
    mfma_row<InI8, InI8, 32, 16, 1>("v_mfma_i32_32x32x16_i8", 0x56, kGfx940),
    mfma_row<InI8, InI8, 16, 32, 1>("v_mfma_i32_16x16x32_i8", 0x57, kGfx940),
    mfma_row<InBf16, InBf16, 32, 2, 2>("v_mfma_f32_32x32x2bf16", 0x68, k90a),
    mfma_row<InBf16, InBf16, 16, 2, 4>("v_mfma_f32_16x16x2bf16", 0x69, k90a),
    mfma_row<InBf16, InBf16, 4, 2, 16>("v_mfma_f32_4x4x2bf16", 0x6b, k90a),
    mfma_row<InBf16, InBf16, 32, 4, 1>("v_mfma_f32_32x32x4bf16", 0x6c, k90a),
    mfma_row<InBf16, InBf16, 16, 8, 1>("v_mfma_f32_16x16x8bf16", 0x6d, k90a),
    mfma_row<InBf16, InBf16, 32, 4, 2>("v_mfma_f32_32x32x4bf16_1k", 0x63, k90a),
    mfma_row<InBf16, InBf16, 16, 4, 4>("v_mfma_f32_16x16x4bf16_1k", 0x64, k90a),
    mfma_row<InBf16, InBf16, 4, 4, 16>("v_mfma_f32_4x4x4bf16_1k", 0x65, k90a),
    mfma_row<InBf16, InBf16, 32, 8, 1>("v_mfma_f32_32x32x8bf16_1k", 0x66, k90a),
    mfma_row<InBf16, InBf16, 16, 16, 1>("v_mfma_f32_16x16x16bf16_1k", 0x67, k90a),
    mfma_row<InBf16, InBf16, 32, 4, 2>("v_mfma_f32_32x32x4_2b_bf16", 0x5d, kGfx940),
    mfma_row<InBf16, InBf16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_bf16", 0x5e, kGfx940),
    mfma_row<InBf16, InBf16, 4, 4, 16>("v_mfma_f32_4x4x4_16b_bf16", 0x5f, kGfx940),
    mfma_row<InBf16, InBf16, 32, 8, 1>("v_mfma_f32_32x32x8_bf16", 0x60, kGfx940),
    mfma_row<InBf16, InBf16, 16, 16, 1>("v_mfma_f32_16x16x16_bf16", 0x61, kGfx940),
    mfma_row<InXf32, InXf32, 16, 8, 1>("v_mfma_f32_16x16x8_xf32", 0x3e, k942),
    mfma_row<InXf32, InXf32, 32, 4, 1>("v_mfma_f32_32x32x4_xf32", 0x3f, k942),
    mfma_row<InBf8, InBf8, 16, 32, 1>("v_mfma_f32_16x16x32_bf8_bf8", 0x70, k942),
    mfma_row<InBf8, InFp8, 16, 32, 1>("v_mfma_f32_16x16x32_bf8_fp8", 0x71, k942),
    mfma_row<InFp8, InBf8, 16, 32, 1>("v_mfma_f32_16x16x32_fp8_bf8", 0x72, k942),
    mfma_row<InFp8, InFp8, 16, 32, 1>("v_mfma_f32_16x16x32_fp8_fp8", 0x73, k942),
    mfma_row<InBf8, InBf8, 32, 16, 1>("v_mfma_f32_32x32x16_bf8_bf8", 0x74, k942),
    mfma_row<InBf8, InFp8, 32, 16, 1>("v_mfma_f32_32x32x16_bf8_fp8", 0x75, k942),
    mfma_row<InFp8, InBf8, 32, 16, 1>("v_mfma_f32_32x32x16_fp8_bf8", 0x76, k942),
    mfma_row<InFp8, InFp8, 32, 16, 1>("v_mfma_f32_32x32x16_fp8_fp8", 0x77, k942),
    mfma_row<InF16, InF16, 16, 32, 1>("v_mfma_f32_16x16x32_f16", 0x54, kGfx950),
    mfma_row<InF16, InF16, 32, 16, 1>("v_mfma_f32_32x32x16_f16", 0x55, kGfx950),
    mfma_row<InBf16, InBf16, 16, 32, 1>("v_mfma_f32_16x16x32_bf16", 0x35, kGfx950),
    mfma_row<InBf16, InBf16, 32, 16, 1>("v_mfma_f32_32x32x16_bf16", 0x37, kGfx950),
    mfma_row<InI8, InI8, 16, 64, 1>("v_mfma_i32_16x16x64_i8", 0x36, kGfx950),
    mfma_row<InI8, InI8, 32, 32, 1>("v_mfma_i32_32x32x32_i8", 0x38, kGfx950),
    mfma_row<InOcpBf8, InOcpBf8, 16, 32, 1>("v_mfma_f32_16x16x32_bf8_bf8", 0x70, kGfx950),
    mfma_row<InOcpBf8, InOcpFp8, 16, 32, 1>("v_mfma_f32_16x16x32_bf8_fp8", 0x71, kGfx950),
    mfma_row<InOcpFp8, InOcpBf8, 16, 32, 1>("v_mfma_f32_16x16x32_fp8_bf8", 0x72, kGfx950),
    mfma_row<InOcpFp8, InOcpFp8, 16, 32, 1>("v_mfma_f32_16x16x32_fp8_fp8", 0x73, kGfx950),
    mfma_row<InOcpBf8, InOcpBf8, 32, 16, 1>("v_mfma_f32_32x32x16_bf8_bf8", 0x74, kGfx950),
    mfma_row<InOcpBf8, InOcpFp8, 32, 16, 1>("v_mfma_f32_32x32x16_bf8_fp8", 0x75, kGfx950),
    mfma_row<InOcpFp8, InOcpBf8, 32, 16, 1>("v_mfma_f32_32x32x16_fp8_bf8", 0x76, kGfx950),
    mfma_row<InOcpFp8, InOcpFp8, 32, 16, 1>("v_mfma_f32_32x32x16_fp8_fp8", 0x77, kGfx950),
    mfma_f64_row<16, 1>("v_mfma_f64_16x16x4f64", 0x6e, k90a),
    mfma_f64_row<16, 1>("v_mfma_f64_16x16x4_f64", 0x6e, kGfx940),
    mfma_f64_row<4, 4>("v_mfma_f64_4x4x4f64", 0x6f, k90a),
    mfma_f64_row<4, 4>("v_mfma_f64_4x4x4_4b_f64", 0x6f, kGfx940),
};
#undef MFMA_BOTH

}  // namespace matrix_ops

std::span<const Row> matrix_rows() { return matrix_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
