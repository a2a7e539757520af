// Structured sparsity of two in four: SMFMAC of gfx942 and gfx950. A holds half of K; src2 gives two bits of position for each
// of its elements. The accumulator is the destination. Source: "CDNA3 ISA" and "CDNA4 ISA", Sparse Matrices.
#include "vgpu/isa/valu/matrix_types.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace sparse_ops {
using namespace matrix_ops;

// A lane has two registers of A, four of B, and two bits of index for each element of A: eight bits with 16-bit elements,
// sixteen with 8-bit ones. When cbsz is zero, abid chooses the set among those of the index register. The instructions that
// gfx950 adds hold two such runs, each over its half of K.
template <class A, class B, unsigned M, unsigned K, unsigned kRuns>
void smfmac(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (in.blgp) return w.stop(Outcome::Kind::unimplemented, "blgp on smfmac");
  using Acc = typename A::Acc;
  constexpr unsigned run = 2 * A::per_register, dense_run = 4 * B::per_register, registers = M * M / kLanes;
  constexpr unsigned sparse_elements = run * kRuns, dense_elements = dense_run * kRuns, sets = 16 / sparse_elements;
  static_assert(dense_elements * kLanes == K * M && run * 2 == dense_run);
  alignas(64) Acc a[M][K] = {}, b[K][M], d[M][M];
  bool held[M][K] = {};
  const uint32_t* index = w.vreg(in.src[2].index);
  const unsigned shift = in.cbsz & 3u ? 0 : in.abid % sets * (2 * sparse_elements);
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned i = l % M, base = l / M * dense_run;
    for (unsigned e = 0; e < sparse_elements; ++e) {
      const unsigned k = e / run * (K / kRuns) + base + 4 * (e % run / 2) + (index[l] >> (shift + 2 * e) & 3u);
      a[i][k] = A::get(w.vreg(in.src[0].index + e / A::per_register)[l], e % A::per_register);
      held[i][k] = true;
    }
    for (unsigned e = 0; e < dense_elements; ++e)
      b[e / dense_run * (K / kRuns) + base + e % dense_run][i] = B::get(w.vreg(in.src[1].index + e / B::per_register)[l], e % B::per_register);
  }
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned l = 0; l < kLanes; ++l) d[row_of(M, r, l)][l % M] = std::bit_cast<Acc>(w.vreg(in.dst.index + r)[l]);
  for (unsigned i = 0; i < M; ++i)
    for (unsigned k = 0; k < K; ++k) {
      const Acc factor = a[i][k];
      if (!held[i][k]) continue;
      for (unsigned j = 0; j < M; ++j) d[i][j] = step(factor, b[k][j], d[i][j]);
    }
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned l = 0; l < kLanes; ++l) w.vreg(in.dst.index + r)[l] = std::bit_cast<uint32_t>(d[row_of(M, r, l)][l % M]);
}

template <class A, class B, unsigned M, unsigned K, unsigned kRuns = 1>
constexpr Row smfmac_row(const char* name, uint16_t op, TargetSet targets = kGfx940) {
  return row_own({name}, Format::vop3p_mai, op, kNo, targets, of_registers(M * M / kLanes), of_registers(2 * kRuns),
                 of_registers(4 * kRuns), Type::b32, &smfmac<A, B, M, K, kRuns>, kIgnoresExec | kOwnOperands | kVectorSources | kReadsDst | approximate<A>());
}

constexpr Row kRows[] = {
    smfmac_row<InF16, InF16, 16, 32>("v_smfmac_f32_16x16x32_f16", 0x62),
    smfmac_row<InF16, InF16, 32, 16>("v_smfmac_f32_32x32x16_f16", 0x64),
    smfmac_row<InBf16, InBf16, 16, 32>("v_smfmac_f32_16x16x32_bf16", 0x66),
    smfmac_row<InBf16, InBf16, 32, 16>("v_smfmac_f32_32x32x16_bf16", 0x68),
    smfmac_row<InI8, InI8, 16, 64>("v_smfmac_i32_16x16x64_i8", 0x6a),
    smfmac_row<InI8, InI8, 32, 32>("v_smfmac_i32_32x32x32_i8", 0x6c),
    smfmac_row<InBf8, InBf8, 16, 64>("v_smfmac_f32_16x16x64_bf8_bf8", 0x78, k942),
    smfmac_row<InBf8, InFp8, 16, 64>("v_smfmac_f32_16x16x64_bf8_fp8", 0x79, k942),
    smfmac_row<InFp8, InBf8, 16, 64>("v_smfmac_f32_16x16x64_fp8_bf8", 0x7a, k942),
    smfmac_row<InFp8, InFp8, 16, 64>("v_smfmac_f32_16x16x64_fp8_fp8", 0x7b, k942),
    smfmac_row<InBf8, InBf8, 32, 32>("v_smfmac_f32_32x32x32_bf8_bf8", 0x7c, k942),
    smfmac_row<InBf8, InFp8, 32, 32>("v_smfmac_f32_32x32x32_bf8_fp8", 0x7d, k942),
    smfmac_row<InFp8, InBf8, 32, 32>("v_smfmac_f32_32x32x32_fp8_bf8", 0x7e, k942),
    smfmac_row<InFp8, InFp8, 32, 32>("v_smfmac_f32_32x32x32_fp8_fp8", 0x7f, k942),
    smfmac_row<InOcpBf8, InOcpBf8, 16, 64>("v_smfmac_f32_16x16x64_bf8_bf8", 0x78, kGfx950),
    smfmac_row<InOcpBf8, InOcpFp8, 16, 64>("v_smfmac_f32_16x16x64_bf8_fp8", 0x79, kGfx950),
    smfmac_row<InOcpFp8, InOcpBf8, 16, 64>("v_smfmac_f32_16x16x64_fp8_bf8", 0x7a, kGfx950),
    smfmac_row<InOcpFp8, InOcpFp8, 16, 64>("v_smfmac_f32_16x16x64_fp8_fp8", 0x7b, kGfx950),
    smfmac_row<InOcpBf8, InOcpBf8, 32, 32>("v_smfmac_f32_32x32x32_bf8_bf8", 0x7c, kGfx950),
    smfmac_row<InOcpBf8, InOcpFp8, 32, 32>("v_smfmac_f32_32x32x32_bf8_fp8", 0x7d, kGfx950),
    smfmac_row<InOcpFp8, InOcpBf8, 32, 32>("v_smfmac_f32_32x32x32_fp8_bf8", 0x7e, kGfx950),
    smfmac_row<InOcpFp8, InOcpFp8, 32, 32>("v_smfmac_f32_32x32x32_fp8_fp8", 0x7f, kGfx950),

    smfmac_row<InF16, InF16, 16, 64, 2>("v_smfmac_f32_16x16x64_f16", 0x5a, kGfx950),
    smfmac_row<InF16, InF16, 32, 32, 2>("v_smfmac_f32_32x32x32_f16", 0x5b, kGfx950),
    smfmac_row<InBf16, InBf16, 16, 64, 2>("v_smfmac_f32_16x16x64_bf16", 0x39, kGfx950),
    smfmac_row<InBf16, InBf16, 32, 32, 2>("v_smfmac_f32_32x32x32_bf16", 0x46, kGfx950),
    smfmac_row<InI8, InI8, 16, 128, 2>("v_smfmac_i32_16x16x128_i8", 0x3a, kGfx950),
    smfmac_row<InI8, InI8, 32, 64, 2>("v_smfmac_i32_32x32x64_i8", 0x47, kGfx950),
    smfmac_row<InOcpBf8, InOcpBf8, 16, 128, 2>("v_smfmac_f32_16x16x128_bf8_bf8", 0x3b, kGfx950),
    smfmac_row<InOcpBf8, InOcpFp8, 16, 128, 2>("v_smfmac_f32_16x16x128_bf8_fp8", 0x3c, kGfx950),
    smfmac_row<InOcpFp8, InOcpBf8, 16, 128, 2>("v_smfmac_f32_16x16x128_fp8_bf8", 0x3d, kGfx950),
    smfmac_row<InOcpFp8, InOcpFp8, 16, 128, 2>("v_smfmac_f32_16x16x128_fp8_fp8", 0x43, kGfx950),
    smfmac_row<InOcpBf8, InOcpBf8, 32, 64, 2>("v_smfmac_f32_32x32x64_bf8_bf8", 0x4b, kGfx950),
    smfmac_row<InOcpBf8, InOcpFp8, 32, 64, 2>("v_smfmac_f32_32x32x64_bf8_fp8", 0x4e, kGfx950),
    smfmac_row<InOcpFp8, InOcpBf8, 32, 64, 2>("v_smfmac_f32_32x32x64_fp8_bf8", 0x4f, kGfx950),
    smfmac_row<InOcpFp8, InOcpFp8, 32, 64, 2>("v_smfmac_f32_32x32x64_fp8_fp8", 0x53, kGfx950),
};

}  // namespace sparse_ops

std::span<const Row> sparse_rows() { return sparse_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
