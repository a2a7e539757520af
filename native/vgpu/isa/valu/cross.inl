// Operations across lanes and register files: lane reads and writes, permutations of rows, swaps, relative moves, AccVGPR
// moves. Source: "CDNA3 ISA" and "RDNA3 ISA", chapter Instructions.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace cross_ops {

inline void nop(Wave&, const Inst&) {}

inline void readfirstlane(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t exec = w.exec();
  const unsigned lane = exec ? static_cast<unsigned>(std::countr_zero(exec)) : 0;
  LaneBuffer store;
  write_scalar32(w, in.dst, fetch_raw(w, in.src[0], 0, store)[lane]);
}
inline void readlane(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  LaneBuffer store;
  const unsigned lane = read_scalar32(w, in.src[1]) & (w.size - 1);
  write_scalar32(w, in.dst, fetch_raw(w, in.src[0], 0, store)[lane]);
}
inline void writelane(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const unsigned lane = read_scalar32(w, in.src[1]) & (w.size - 1);
  w.vreg(in.dst.index)[lane] = read_scalar32(w, in.src[0]);
}

// Arbitrary permutation of the 16 lanes of a row; kOther reads the neighbouring row. op_sel: bit 0 reads inactive lanes
// too, bit 1 gives zero instead of the old value when the source lane is inactive.
template <bool kOther>
void permlane16(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  LaneBuffer store, result;
  const uint32_t* from = fetch_raw(w, in.src[0], 0, store);
  const uint64_t select = uint64_t{read_scalar32(w, in.src[2])} << 32 | read_scalar32(w, in.src[1]);
  const uint64_t exec = w.exec();
  uint64_t mask = exec;
  for (unsigned l = 0; l < w.size; ++l) {
    const unsigned row = (l & ~15u) ^ (kOther ? 16u : 0u);
    const unsigned source = row | (select >> (4 * (l & 15)) & 15);
    const bool readable = (exec >> source & 1) || (in.op_sel & 1);
    result.lane[l] = readable ? from[source] : 0;
    if (!readable && !(in.op_sel & 2)) mask &= ~(1ull << l);
  }
  blend(w.vreg(in.dst.index), result.lane, mask);
}
// Swaps the halves of a wave64; nothing in wave32.
inline void permlane64(Wave& w, const Inst& in) {
  if (!accepted(w, in) || w.size == 32) return;
  LaneBuffer store, result;
  const uint32_t* from = fetch_raw(w, in.src[0], 0, store);
  for (unsigned l = 0; l < kLanes; ++l) result.lane[l] = from[l ^ 32];
  blend(w.vreg(in.dst.index), result.lane, w.exec());
}

inline void swap(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  LaneBuffer first;
  uint32_t* a = w.vreg(in.dst.index);
  uint32_t* b = w.vreg(in.src[0].index);
  std::copy_n(a, kLanes, first.lane);
  blend(a, b, w.exec());
  blend(b, first.lane, w.exec());
}

// Swaps rows (16 lanes) or halves of the wave between two registers: the lanes with kBit of dst with those without it of src.
// Source: "CDNA4 ISA", V_PERMLANE16_SWAP_B32. What inactive lanes do is not published: pairs of lanes that are both off stay.
template <unsigned kBit>
void permlane_swap(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t exec = w.exec();
  uint32_t *const dst = w.vreg(in.dst.index), *const src = w.vreg(in.src[0].index);
  for (unsigned l = 0; l < w.size; ++l) {
    if (l & kBit) continue;
    const bool low = exec >> l & 1, high = exec >> (l | kBit) & 1;
    if (low != high || (!low && (in.op_sel & 1)))
      return w.stop(Outcome::Kind::unimplemented, "a swap with lanes that are off");
  }
  for (unsigned l = 0; l < w.size; ++l)
    if (!(l & kBit) && (exec >> l & 1)) std::swap(src[l], dst[l | kBit]);
}

// Relative moves: M0 is added to the register number.
template <bool kSource, bool kDest>
void movrel(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint32_t m0 = w.s[kM0];
  const uint32_t s = in.src[0].index + (kSource ? m0 : 0u), d = in.dst.index + (kDest ? m0 : 0u);
  if ((kSource && (in.src[0].kind != OperandKind::vgpr || s >= w.vgprs)) || d >= w.vgprs) return stop_illegal_register(w, in);
  LaneBuffer store;
  const uint32_t* from = kSource ? w.vreg(s) : fetch_raw(w, in.src[0], 0, store);
  blend(w.vreg(d), from, w.exec());
}

// VGPR[D + M0[25:16]] = VGPR[S + M0[9:0]].
inline void movrelsd_2(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint32_t m0 = w.s[kM0], s = in.src[0].index + (m0 & 0x3ffu), d = in.dst.index + (m0 >> 16 & 0x3ffu);
  if (in.src[0].kind != OperandKind::vgpr || s >= w.vgprs || d >= w.vgprs) return stop_illegal_register(w, in);
  blend(w.vreg(d), w.vreg(s), w.exec());
}

// AccVGPR moves; whatever way the operand was numbered, it means an AccVGPR here.
inline unsigned acc(const Operand& o) { return (o.index & 255u) | 256u; }
inline void acc_read(Wave& w, const Inst& in) {
  if (accepted(w, in)) blend(w.vreg(in.dst.index), w.vreg(acc(in.src[0])), w.exec());
}
inline void acc_write(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  LaneBuffer store;
  blend(w.vreg(acc(in.dst)), fetch_raw(w, in.src[0], 0, store), w.exec());
}
inline void acc_mov(Wave& w, const Inst& in) {
  if (accepted(w, in)) blend(w.vreg(acc(in.dst)), w.vreg(acc(in.src[0])), w.exec());
}

constexpr Format v1 = Format::vop1, v3 = Format::vop3, mai = Format::vop3p_mai;
constexpr Type b = Type::b32, n = Type::none;

constexpr Row kRows[] = {
    row_own({"v_nop"}, v1, 0x00, 0x00, kAllTargets, n, n, n, n, &nop, kOwnOperands),
    row_own({"v_clrexcp", "v_pipeflush"}, v1, 0x35, 0x1b, kAllTargets, n, n, n, n, &nop, kOwnOperands),
    row_own({"v_readfirstlane_b32"}, v1, 0x02, 0x02, kAllTargets, b, b, n, n, &readfirstlane, kOwnOperands | kScalarDst),
    row_own({"v_swap_b32"}, v1, 0x51, 0x65, kAllTargets, b, b, n, n, &swap, kOwnOperands | kReadsDst | kVectorSources),
    row_own({"v_permlane16_swap_b32"}, v1, 0x59, kNo, kGfx950, b, b, n, n, &permlane_swap<16>,
            kOwnOperands | kOwnOpSel | kReadsDst | kVectorSources),
    row_own({"v_permlane32_swap_b32"}, v1, 0x5a, kNo, kGfx950, b, b, n, n, &permlane_swap<32>,
            kOwnOperands | kOwnOpSel | kReadsDst | kVectorSources),
    row_own({"v_movreld_b32"}, v1, kNo, 0x42, kRdna, b, b, n, n, &movrel<false, true>, kOwnOperands | kReadsDst),
    row_own({"v_movrels_b32"}, v1, kNo, 0x43, kRdna, b, b, n, n, &movrel<true, false>, kOwnOperands),
    row_own({"v_movrelsd_b32"}, v1, kNo, 0x44, kRdna, b, b, n, n, &movrel<true, true>, kOwnOperands),
    row_own({"v_movrelsd_2_b32"}, v1, kNo, 0x48, kRdna, b, b, n, n, &movrelsd_2, kOwnOperands),
    row_own({"v_permlane64_b32"}, v1, kNo, 0x67, kRdna, b, b, n, n, &permlane64, kOwnOperands),
    row_own({"v_accvgpr_mov_b32"}, v1, 0x52, kNo, kGfx9, b, b, n, n, &acc_mov, kOwnOperands | kVectorSources),
    row_own({"v_readlane_b32"}, v3, 0x289, 0x360, kAllTargets, b, b, b, n, &readlane, kOwnOperands | kScalarDst | kIgnoresExec),
    row_own({"v_writelane_b32"}, v3, 0x28a, 0x361, kAllTargets, b, b, b, n, &writelane, kOwnOperands | kReadsDst | kIgnoresExec),
    row_own({"v_permlane16_b32"}, v3, kNo, 0x25b, kRdna, b, b, b, b, &permlane16<false>, kOwnOperands | kOwnOpSel | kReadsDst),
    row_own({"v_permlanex16_b32"}, v3, kNo, 0x25c, kRdna, b, b, b, b, &permlane16<true>, kOwnOperands | kOwnOpSel | kReadsDst),
    row_own({"v_accvgpr_read_b32"}, mai, 0x58, kNo, kGfx9, b, b, n, n, &acc_read, kOwnOperands | kVectorSources),
    row_own({"v_accvgpr_write_b32"}, mai, 0x59, kNo, kGfx9, b, b, n, n, &acc_write, kOwnOperands),
};

}  // namespace cross_ops

std::span<const Row> cross_rows() { return cross_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
