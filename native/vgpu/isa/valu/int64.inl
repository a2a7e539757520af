// 64-bit integer operations and moves. Source: "CDNA3 ISA" and "RDNA3 ISA", chapter Instructions.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace int64_ops {

constexpr auto mov = [](uint64_t a) { return a; };
constexpr auto lshl_rev = [](uint32_t s, uint64_t a) { return a << (s & 63); };
constexpr auto lshr_rev = [](uint32_t s, uint64_t a) { return a >> (s & 63); };
constexpr auto ashr_rev = [](uint32_t s, int64_t a) { return a >> (s & 63); };
// The shift amount of v_lshl_add_u64 has three bits. Source: "CDNA3 ISA" V_LSHL_ADD_U64.
constexpr auto lshl_add = [](uint64_t a, uint32_t s, uint64_t c) { return (a << (s & 7)) + c; };

// D = S0 * S1 + S2 in 64 bits; the carry-out mask is the overflow of the addition.
template <class T>
void mad_wide(Wave& w, const Inst& in) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  Scratch store[4];
  const Source a = fetch<U32, 0>(w, in, 0, store[0]);
  const Source b = fetch<U32, 0>(w, in, 1, store[1]);
  const Source c = fetch<U64, 0>(w, in, 2, store[2]);
  const Dest dest{store[3].lo.lane, store[3].hi.lane};
  uint8_t truth[kLanes] = {};
  each_lane(w, [&](std::size_t l) {
    const uint64_t addend = U64::get(c, l);
    if constexpr (std::is_signed_v<T>) {
      const int64_t product = int64_t{static_cast<int32_t>(a.lo[l])} * static_cast<int32_t>(b.lo[l]);
      const uint64_t sum = static_cast<uint64_t>(product) + addend;
      U64::put(dest, l, sum);
      truth[l] = static_cast<int64_t>((static_cast<uint64_t>(product) ^ sum) & (addend ^ sum)) < 0;
    } else {
      const uint64_t sum = uint64_t{a.lo[l]} * b.lo[l] + addend;
      U64::put(dest, l, sum);
      truth[l] = sum < addend;
    }
  });
  blend(w.vreg(in.dst.index), dest.lo, mask);
  blend(w.vreg(in.dst.index + 1u), dest.hi, mask);
  write_mask_dst(w, in.sdst, pack_bits(truth, w.size) & mask);
}

constexpr Format v1 = Format::vop1, v3 = Format::vop3;

constexpr Row kRows[] = {
    row<mov, 0, B64, B64>({"v_mov_b64"}, v1, 0x38, kNo, kGfx940),
    row<lshl_add, 0, U64, U64, U32, U64>({"v_lshl_add_u64"}, v3, 0x208, kNo, kGfx940),
    row<lshl_rev, 0, U64, U32, U64>({"v_lshlrev_b64"}, v3, 0x28f, 0x33c),
    row<lshl_rev, 0, U64, U32, U64>({"v_lshlrev_b64"}, Format::vop2, kNo, 0x1f, kGfx12),
    row<lshr_rev, 0, U64, U32, U64>({"v_lshrrev_b64"}, v3, 0x290, 0x33d),
    row<ashr_rev, 0, I64, U32, I64>({"v_ashrrev_i64"}, v3, 0x291, 0x33e),
    row_own({"v_mad_u64_u32"}, v3, 0x1e8, 0x2fe, kAllTargets, Type::u64, Type::u32, Type::u32, Type::u64, &mad_wide<uint32_t>,
            kVccCarryOut),
    row_own({"v_mad_i64_i32"}, v3, 0x1e9, 0x2ff, kAllTargets, Type::i64, Type::i32, Type::i32, Type::i64, &mad_wide<int32_t>,
            kVccCarryOut),
};

}  // namespace int64_ops

std::span<const Row> int64_rows() { return int64_ops::kRows; }

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
