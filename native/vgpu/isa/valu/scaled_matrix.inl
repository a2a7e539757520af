// Matrix multiply-add of gfx950 whose operands are of 4, 6 or 8 bits each, with a scale for every 32 of K or without:
// v_mfma_*_f8f6f4, v_mfma_scale_*_f8f6f4 (Inst::dual holds the operands of its v_mfma_ld_scale_b32). cbsz is the format of A, blgp
// that of B. Products add up in double and are rounded once: approximate. Source: "CDNA4 ISA", 8-bit and Smaller Matrix Operations and
// Layouts, Block Scaled Matrices.
#include "vgpu/isa/valu/matrix_types.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace scaled_matrix_ops {
using namespace matrix_ops;

constexpr unsigned kPerLane = 32, kBlock = 32;  // elements of an operand in a lane; of K that share a scale

// Which k element e of a lane is: 8-bit operands come in two runs of 16.
template <unsigned M>
constexpr unsigned k_of(bool eight_bits, unsigned e, unsigned l) {
  constexpr unsigned K = kLanes * kPerLane / M;
  const unsigned group = l / M;
  return eight_bits ? e / 16 * (K / 2) + group * 16 + e % 16 : group * kPerLane + e;
}

template <small::Format F, unsigned M>
void read_operand(Wave& w, const Operand& o, double (*to)[kLanes * kPerLane / M]) {
  const uint32_t* const registers = w.vreg(o.index);
  for (unsigned l = 0; l < kLanes; ++l)
    for (unsigned e = 0; e < kPerLane; ++e)
      to[l % M][k_of<M>(F.bits() == 8, e, l)] = static_cast<double>(small::value<F>(small::unpack<F>(registers + l, kLanes, e)));
}
template <unsigned M>
bool read_formatted(Wave& w, const Operand& o, unsigned format, double (*to)[kLanes * kPerLane / M]) {
  switch (format) {
    case 0: read_operand<small::kFp8, M>(w, o, to); return true;
    case 1: read_operand<small::kBf8, M>(w, o, to); return true;
    case 2: read_operand<small::kFp6, M>(w, o, to); return true;
    case 3: read_operand<small::kBf6, M>(w, o, to); return true;
    case 4: read_operand<small::kFp4, M>(w, o, to); return true;
    default: w.stop(Outcome::Kind::illegal, "format of a matrix operand"); return false;
  }
}

// The scale of block b of row i is a byte in lane i + M * b, a scalar register is all lanes'; a constant gives its float exponent.
template <unsigned M>
bool read_scales(Wave& w, const Inst& load, unsigned which, double (*to)[kLanes / M]) {
  const Operand& o = load.src[which];
  if (o.kind != OperandKind::vgpr && o.kind != OperandKind::sgpr && o.kind != OperandKind::constant) {
    w.stop(Outcome::Kind::unimplemented, "a matrix scale that is neither a register nor a constant");
    return false;
  }
  const unsigned byte = (load.op_sel >> which & 1u) | (load.op_sel_hi >> which & 1u) << 1;
  for (unsigned l = 0; l < kLanes; ++l) {
    const uint32_t scale = o.kind == OperandKind::constant ? small::scale_of(static_cast<uint32_t>(o.constant))
                           : (o.kind == OperandKind::sgpr ? w.s[o.index] : w.vreg(o.index)[l]) >> (8 * byte) & 0xffu;
    to[l % M][l / M] = scale == small::kNanScale ? from_bits<double>(kQuietNan<double>)
                                                 : power_of_two<double>(static_cast<int>(scale) - 127);
  }
  return true;
}

template <unsigned M>
void mfma_small(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  constexpr unsigned K = kLanes * kPerLane / M, registers = M * M / kLanes;
  double a[M][K], b[M][K], scale_a[M][K / kBlock], scale_b[M][K / kBlock];  // rows of A, columns of B
  if (!read_formatted<M>(w, in.src[0], in.cbsz, a) || !read_formatted<M>(w, in.src[1], in.blgp, b)) return;
  if (in.dual && (!read_scales<M>(w, *in.dual, 0, scale_a) || !read_scales<M>(w, *in.dual, 1, scale_b))) return;
  LaneBuffer store, result[registers];
  for (unsigned r = 0; r < registers; ++r) {
    const uint32_t* const c = accumulator(w, in.src[2], r, store);
    for (unsigned l = 0; l < kLanes; ++l) {
      const unsigned i = row_of(M, r, l), j = l % M;
      double sum = static_cast<double>(from_bits<float>(c[l]));
      for (unsigned block = 0; block < K / kBlock; ++block) {
        double products = 0;
        for (unsigned k = block * kBlock; k < (block + 1) * kBlock; ++k) products += a[i][k] * b[j][k];
        sum += in.dual ? products * (scale_a[i][block] * scale_b[j][block]) : products;
      }
      const auto rounded = static_cast<float>(sum);
      result[r].lane[l] = is_nan(rounded) ? kQuietNan<float> : bits(rounded);
    }
  }
  for (unsigned r = 0; r < registers; ++r) std::copy_n(result[r].lane, kLanes, w.vreg(in.dst.index + r));
}

// The opcode of the scaled form is that of the other with the prefix as a bit above.
template <unsigned M>
constexpr Row small_row(const char* name, uint16_t op) {
  constexpr Type d = of_registers(M * M / kLanes);
  return row_own({name}, Format::vop3p_mai, op, kNo, kGfx950, d, Type::b256, Type::b256, d, &mfma_small<M>,
                 kIgnoresExec | kOwnOperands | kVectorSources | kApproximate);
}

constexpr Row kRows[] = {
    small_row<16>("v_mfma_f32_16x16x128_f8f6f4", 0x2d),
    small_row<32>("v_mfma_f32_32x32x64_f8f6f4", 0x2e),
    small_row<16>("v_mfma_scale_f32_16x16x128_f8f6f4", kScaledMatrix | 0x2d),
    small_row<32>("v_mfma_scale_f32_32x32x64_f8f6f4", kScaledMatrix | 0x2e),
};

}  // namespace scaled_matrix_ops

std::span<const Row> scaled_matrix_rows() { return scaled_matrix_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
