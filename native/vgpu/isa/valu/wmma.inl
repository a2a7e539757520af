// WMMA of gfx11.
#include "vgpu/isa/valu/matrix_types.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace wmma_ops {
using namespace matrix_ops;

// WMMA, wave32: lane l (and l + 16, a copy) holds row l % 16 of A and column l % 16 of B; D has row 2r + l/16 in register r.
template <class In>
void wmma_load(Wave& w, const Operand& o, float (*m)[16]) {
  for (unsigned l = 0; l < 16; ++l)
    for (unsigned k = 0; k < 16; ++k) m[l][k] = In::get(w.vreg(o.index + k / 2)[l], k % 2);
}
template <class In>
void wmma_f32(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  float a[16][16], b[16][16];
  wmma_load<In>(w, in.src[0], a);
  wmma_load<In>(w, in.src[1], b);
  LaneBuffer store, result[8];
  for (unsigned r = 0; r < 8; ++r) {
    const uint32_t* c = accumulator(w, in.src[2], r, store);
    for (unsigned l = 0; l < 32; ++l) {
      float sum = from_bits<float>(c[l]);
      for (unsigned k = 0; k < 16; ++k) sum = step(a[2 * r + l / 16][k], b[l % 16][k], sum);
      result[r].lane[l] = bits(sum);
    }
  }
  for (unsigned r = 0; r < 8; ++r) std::copy_n(result[r].lane, 32, w.vreg(in.dst.index + r));
}
// 16-bit results: op_sel bit 2 chooses the half of C and D; the other half of D stays.
template <class In>
void wmma_16(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  float a[16][16], b[16][16];
  wmma_load<In>(w, in.src[0], a);
  wmma_load<In>(w, in.src[1], b);
  const unsigned shift = (in.op_sel & 4) ? 16 : 0;
  LaneBuffer store, result[8];
  for (unsigned r = 0; r < 8; ++r) {
    const bool constant = in.src[2].kind != OperandKind::vgpr;
    const uint32_t* c = accumulator(w, in.src[2], r, store);
    for (unsigned l = 0; l < 32; ++l) {
      // An inline float constant arrives as an f32.
      float sum = constant ? from_bits<float>(c[l]) : In::get(c[l] >> shift, 0);
      for (unsigned k = 0; k < 16; ++k) sum = step(a[2 * r + l / 16][k], b[l % 16][k], sum);
      uint32_t h;
      if constexpr (std::is_same_v<In, InF16>) h = float_to_half(sum);
      else h = float_to_bf16(sum);
      result[r].lane[l] = h << shift;
    }
  }
  for (unsigned r = 0; r < 8; ++r) {
    uint32_t* out = w.vreg(in.dst.index + r);
    for (unsigned l = 0; l < 32; ++l) out[l] = (out[l] & ~(0xffffu << shift)) | result[r].lane[l];
  }
}
// neg bit i makes source i signed; clamp saturates.
template <unsigned kWidth>
void wmma_int(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  constexpr unsigned per_register = 32 / kWidth;
  int32_t m[2][16][16];
  for (unsigned s = 0; s < 2; ++s)
    for (unsigned l = 0; l < 16; ++l)
      for (unsigned k = 0; k < 16; ++k) {
        const uint32_t field = w.vreg(in.src[s].index + k / per_register)[l] >> (k % per_register * kWidth) & ((1u << kWidth) - 1u);
        m[s][l][k] = (in.neg >> s & 1) ? static_cast<int32_t>(field << (32 - kWidth)) >> (32 - kWidth) : static_cast<int32_t>(field);
      }
  LaneBuffer store, result[8];
  for (unsigned r = 0; r < 8; ++r) {
    const uint32_t* c = accumulator(w, in.src[2], r, store);
    for (unsigned l = 0; l < 32; ++l) {
      int64_t sum = static_cast<int32_t>(c[l]);
      for (unsigned k = 0; k < 16; ++k) sum += int64_t{m[0][2 * r + l / 16][k]} * m[1][l % 16][k];
      if (in.clamp) sum = std::clamp<int64_t>(sum, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max());
      result[r].lane[l] = static_cast<uint32_t>(sum);
    }
  }
  for (unsigned r = 0; r < 8; ++r) std::copy_n(result[r].lane, 32, w.vreg(in.dst.index + r));
}

constexpr Row wmma_row(const char* name, uint16_t op, Type ab, Handler h, unsigned flags) {
  return row_own({name}, Format::vop3p, kNo, op, kGfx11, Type::b256, ab, ab, Type::b256, h, kIgnoresExec | kVectorSources | flags);
}

constexpr Row kRows[] = {
    wmma_row("v_wmma_f32_16x16x16_f16", 0x40, Type::b256, &wmma_f32<InF16>, kApproximate),
    wmma_row("v_wmma_f32_16x16x16_bf16", 0x41, Type::b256, &wmma_f32<InBf16>, kApproximate),
    wmma_row("v_wmma_f16_16x16x16_f16", 0x42, Type::b256, &wmma_16<InF16>, kApproximate),
    wmma_row("v_wmma_bf16_16x16x16_bf16", 0x43, Type::b256, &wmma_16<InBf16>, kApproximate),
    wmma_row("v_wmma_i32_16x16x16_iu8", 0x44, Type::b128, &wmma_int<8>, kOwnOpSel | kIntClamp),
    wmma_row("v_wmma_i32_16x16x16_iu4", 0x45, Type::b64, &wmma_int<4>, kOwnOpSel | kIntClamp),
};

}  // namespace wmma_ops

std::span<const Row> wmma_rows() { return wmma_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
