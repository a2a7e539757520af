// Matrix multiply-add: MFMA and SMFMAC of gfx9, WMMA of gfx11.
// Products accumulate one after the other in the order of k, each step fused; the hardware's order inside an instruction is
// not published, so floating-point forms are approximate. EXEC is ignored. Register layouts: "CDNA3 ISA", chapter Matrix
// Arithmetic Instructions; "RDNA3 ISA", WMMA.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace matrix_ops {

// Element types: how element e of a lane is read from its registers, and the type it accumulates in.
struct InF32 {
  using Acc = float;
  static constexpr unsigned per_register = 1;
  static float get(uint32_t r, unsigned) { return from_bits<float>(r); }
};
// f32 with a mantissa of ten bits.
struct InXf32 {
  using Acc = float;
  static constexpr unsigned per_register = 1;
  static float get(uint32_t r, unsigned) {
    if ((r & 0x7f800000u) == 0x7f800000u) return from_bits<float>(r);
    return from_bits<float>((r + 0x0fffu + (r >> 13 & 1u)) & ~0x1fffu);
  }
};
struct InF16 {
  using Acc = float;
  static constexpr unsigned per_register = 2;
  static float get(uint32_t r, unsigned e) { return half_to_float(r >> (16 * e) & 0xffffu); }
};
struct InBf16 {
  using Acc = float;
  static constexpr unsigned per_register = 2;
  static float get(uint32_t r, unsigned e) { return bf16_to_float(r >> (16 * e) & 0xffffu); }
};
struct InFp8 {
  using Acc = float;
  static constexpr unsigned per_register = 4;
  static float get(uint32_t r, unsigned e) { return from_fp8<4, 3, 8>(r >> (8 * e)); }
};
struct InBf8 {
  using Acc = float;
  static constexpr unsigned per_register = 4;
  static float get(uint32_t r, unsigned e) { return from_fp8<5, 2, 16>(r >> (8 * e)); }
};
struct InI8 {
  using Acc = uint32_t;  // wraps
  static constexpr unsigned per_register = 4;
  static uint32_t get(uint32_t r, unsigned e) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(r >> (8 * e) & 0xffu)));
  }
};

inline float step(float a, float b, float c) { return fused(a, b, c); }
inline uint32_t step(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
inline double step(double a, double b, double c) { return fused(a, b, c); }

// Register r of the accumulator operand; a constant stands for every element.
inline const uint32_t* accumulator(Wave& w, const Operand& o, unsigned r, LaneBuffer& store) {
  if (o.kind == OperandKind::vgpr) return w.vreg(o.index + r);
  return fetch_raw(w, o, 0, store);
}

// The row of D that register r of lane l holds (32x32 and 16x16 shapes have four consecutive rows a lane; 4x4 all four).
constexpr unsigned row_of(unsigned m, unsigned r, unsigned lane) {
  if (m == 32) return 8 * (r / 4) + 4 * (lane / 32) + r % 4;
  if (m == 16) return 4 * (lane / 16) + r % 4;
  return r % 4;
}

inline const char* refuse_controls(const Inst& in) {
  return in.blgp == 3 ? "blgp:3 is not implemented" : nullptr;
}
// The lane whose B data lane l uses.
constexpr unsigned b_lane(unsigned blgp, unsigned l) {
  switch (blgp) {
    case 1: return l & 31;
    case 2: return (l & 31) | 32;
    case 4: case 5: case 6: case 7: return (l & 15) | (blgp - 4) * 16;
    default: return l;
  }
}

// M x M x K with kBlocks independent products. Lane of A[i][k]: i + M * (k / elements a lane), then blocks; B alike.
template <class A, class B, unsigned M, unsigned K, unsigned kBlocks>
void mfma(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (const char* why = refuse_controls(in)) return w.stop(Outcome::Kind::unimplemented, why);
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

// 16x16x4 in f64: one element a lane; D has rows l/16, l/16 + 4, ... blgp bits negate A, B, C.
inline void mfma_f64(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (in.cbsz || in.abid) return w.stop(Outcome::Kind::unimplemented, "cbsz or abid on f64");
  double a[16][4], b[4][16], d[16][16];
  const auto value = [&](const Operand& o, unsigned element, unsigned l, unsigned negate) {
    double v;
    if (o.kind == OperandKind::vgpr)
      v = from_bits<double>(uint64_t{w.vreg(o.index + 2 * element + 1)[l]} << 32 | w.vreg(o.index + 2 * element)[l]);
    else  // inline constants of a multi-register operand arrive in 32-bit form
      v = o.encoded >= 240 && o.encoded <= 248 ? static_cast<double>(from_bits<float>(static_cast<uint32_t>(o.constant)))
                                               : from_bits<double>(o.constant);
    return negate ? -v : v;
  };
  for (unsigned l = 0; l < kLanes; ++l) {
    a[l % 16][l / 16] = value(in.src[0], 0, l, in.blgp & 1);
    b[l / 16][l % 16] = value(in.src[1], 0, l, in.blgp & 2);
    for (unsigned e = 0; e < 4; ++e) d[4 * e + l / 16][l % 16] = value(in.src[2], e, l, in.blgp & 4);
  }
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned k = 0; k < 4; ++k)
      for (unsigned j = 0; j < 16; ++j) d[i][j] = step(a[i][k], b[k][j], d[i][j]);
  for (unsigned e = 0; e < 4; ++e)
    for (unsigned l = 0; l < kLanes; ++l) {
      const uint64_t r = bits(d[4 * e + l / 16][l % 16]);
      w.vreg(in.dst.index + 2 * e)[l] = static_cast<uint32_t>(r);
      w.vreg(in.dst.index + 2 * e + 1)[l] = static_cast<uint32_t>(r >> 32);
    }
}

// Structured sparsity of two in four: A holds half of K; src2 gives two bits of position for each of its elements.
// The accumulator is the destination. 16-bit elements: eight bits of index a lane, chosen by abid when cbsz is zero.
template <class A, unsigned M>
void smfmac16(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  if (in.blgp) return w.stop(Outcome::Kind::unimplemented, "blgp on smfmac");
  constexpr unsigned K = M == 16 ? 32 : 16, registers = M * M / kLanes;
  alignas(64) float a[M][K] = {}, b[K][M], d[M][M];
  bool held[M][K] = {};
  const uint32_t* index = w.vreg(in.src[2].index);
  const unsigned shift = in.cbsz ? 0 : (in.abid & 3u) * 8;
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned i = l % M, base = l / M * 8;
    for (unsigned e = 0; e < 4; ++e) {
      const unsigned position = index[l] >> (shift + 2 * e) & 3u;
      const unsigned k = base + 4 * (e / 2) + position;
      a[i][k] = A::get(w.vreg(in.src[0].index + e / 2)[l], e % 2);
      held[i][k] = true;
    }
    for (unsigned e = 0; e < 8; ++e) b[base + e][i] = A::get(w.vreg(in.src[1].index + e / 2)[l], e % 2);
  }
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned l = 0; l < kLanes; ++l) d[row_of(M, r, l)][l % M] = from_bits<float>(w.vreg(in.dst.index + r)[l]);
  for (unsigned i = 0; i < M; ++i)
    for (unsigned k = 0; k < K; ++k) {
      const float factor = a[i][k];
      if (!held[i][k]) continue;
      for (unsigned j = 0; j < M; ++j) d[i][j] = step(factor, b[k][j], d[i][j]);
    }
  for (unsigned r = 0; r < registers; ++r)
    for (unsigned l = 0; l < kLanes; ++l) w.vreg(in.dst.index + r)[l] = bits(d[row_of(M, r, l)][l % M]);
}

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
      else h = is_nan(sum) ? bits(sum) >> 16 | 0x40u : (bits(sum) + 0x7fffu + (bits(sum) >> 16 & 1u)) >> 16;
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

constexpr TargetSet k90a = bit(Target::gfx90a), k942 = bit(Target::gfx942);
constexpr Type of_registers(unsigned n) {
  switch (n) {
    case 1: return Type::b32;
    case 2: return Type::b64;
    case 4: return Type::b128;
    case 8: return Type::b256;
    case 16: return Type::b512;
    default: return Type::b1024;
  }
}
template <class A, class B, unsigned M, unsigned K, unsigned kBlocks>
constexpr Row mfma_row(const char* name, uint16_t op, TargetSet targets) {
  constexpr unsigned per_lane = M * K * kBlocks / kLanes;
  constexpr Type d = of_registers(M * M * kBlocks / kLanes);
  return row_own({name}, Format::vop3p_mai, op, kNo, targets, d, of_registers((per_lane + A::per_register - 1) / A::per_register),
                 of_registers((per_lane + B::per_register - 1) / B::per_register), d, &mfma<A, B, M, K, kBlocks>,
                 kIgnoresExec | kOwnOperands | kVectorSources | (std::is_same_v<typename A::Acc, float> ? unsigned{kApproximate} : 0u));
}
// gfx90a and gfx942 spell the same instruction differently.
#define MFMA_BOTH(A, M, K, blocks, old_name, new_name, op) \
  mfma_row<A, A, M, K, blocks>("v_mfma_" old_name, op, k90a), mfma_row<A, A, M, K, blocks>("v_mfma_" new_name, op, k942)

constexpr Row wmma_row(const char* name, uint16_t op, Type ab, Handler h, unsigned flags) {
  return row_own({name}, Format::vop3p, kNo, op, kGfx11, Type::b256, ab, ab, Type::b256, h, kIgnoresExec | kVectorSources | flags);
}

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
    mfma_row<InI8, InI8, 32, 16, 1>("v_mfma_i32_32x32x16_i8", 0x56, k942),
    mfma_row<InI8, InI8, 16, 32, 1>("v_mfma_i32_16x16x32_i8", 0x57, k942),
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
    mfma_row<InBf16, InBf16, 32, 4, 2>("v_mfma_f32_32x32x4_2b_bf16", 0x5d, k942),
    mfma_row<InBf16, InBf16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_bf16", 0x5e, k942),
    mfma_row<InBf16, InBf16, 4, 4, 16>("v_mfma_f32_4x4x4_16b_bf16", 0x5f, k942),
    mfma_row<InBf16, InBf16, 32, 8, 1>("v_mfma_f32_32x32x8_bf16", 0x60, k942),
    mfma_row<InBf16, InBf16, 16, 16, 1>("v_mfma_f32_16x16x16_bf16", 0x61, k942),
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
    row_own({"v_mfma_f64_16x16x4f64"}, Format::vop3p_mai, 0x6e, kNo, k90a, Type::b256, Type::b64, Type::b64, Type::b256, &mfma_f64,
            kIgnoresExec | kOwnOperands | kVectorSources),
    row_own({"v_mfma_f64_16x16x4_f64"}, Format::vop3p_mai, 0x6e, kNo, k942, Type::b256, Type::b64, Type::b64, Type::b256, &mfma_f64,
            kIgnoresExec | kOwnOperands | kVectorSources),
    row_own({"v_smfmac_f32_16x16x32_f16"}, Format::vop3p_mai, 0x62, kNo, k942, Type::b128, Type::b64, Type::b128, Type::b32,
            &smfmac16<InF16, 16>, kIgnoresExec | kOwnOperands | kVectorSources | kReadsDst | kApproximate),
    row_own({"v_smfmac_f32_32x32x16_f16"}, Format::vop3p_mai, 0x64, kNo, k942, Type::b512, Type::b64, Type::b128, Type::b32,
            &smfmac16<InF16, 32>, kIgnoresExec | kOwnOperands | kVectorSources | kReadsDst | kApproximate),
    row_own({"v_smfmac_f32_16x16x32_bf16"}, Format::vop3p_mai, 0x66, kNo, k942, Type::b128, Type::b64, Type::b128, Type::b32,
            &smfmac16<InBf16, 16>, kIgnoresExec | kOwnOperands | kVectorSources | kReadsDst | kApproximate),
    row_own({"v_smfmac_f32_32x32x16_bf16"}, Format::vop3p_mai, 0x68, kNo, k942, Type::b512, Type::b64, Type::b128, Type::b32,
            &smfmac16<InBf16, 32>, kIgnoresExec | kOwnOperands | kVectorSources | kReadsDst | kApproximate),
    wmma_row("v_wmma_f32_16x16x16_f16", 0x40, Type::b256, &wmma_f32<InF16>, kApproximate),
    wmma_row("v_wmma_f32_16x16x16_bf16", 0x41, Type::b256, &wmma_f32<InBf16>, kApproximate),
    wmma_row("v_wmma_f16_16x16x16_f16", 0x42, Type::b256, &wmma_16<InF16>, kApproximate),
    wmma_row("v_wmma_bf16_16x16x16_bf16", 0x43, Type::b256, &wmma_16<InBf16>, kApproximate),
    wmma_row("v_wmma_i32_16x16x16_iu8", 0x44, Type::b128, &wmma_int<8>, kOwnOpSel | kIntClamp),
    wmma_row("v_wmma_i32_16x16x16_iu4", 0x45, Type::b64, &wmma_int<4>, kOwnOpSel | kIntClamp),
};
#undef MFMA_BOTH

}  // namespace matrix_ops

std::span<const Row> matrix_rows() { return matrix_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
