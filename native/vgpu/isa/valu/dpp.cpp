// Source: "CDNA3 ISA" 4.8 and "RDNA3 ISA" 16.7 (DPP controls); rows are 16 lanes, banks are 4 lanes of a row.
#include "vgpu/isa/valu/dpp.hpp"

namespace kerncap::vgpu::isa::valu {
namespace {

// The lane that lane l reads under a DPP16 control, or -1 when there is none.
int source_lane(unsigned control, int l, int size) {
  const int row = l & ~15, in_row = l & 15;
  const int amount = static_cast<int>(control & 15);
  if (control < 0x100) return (l & ~3) | static_cast<int>(control >> (2 * (l & 3)) & 3);  // quad_perm
  if (control > 0x100 && control <= 0x10f) return in_row + amount < 16 ? l + amount : -1;  // row_shl
  if (control > 0x110 && control <= 0x11f) return in_row >= amount ? l - amount : -1;      // row_shr
  if (control > 0x120 && control <= 0x12f) return row | ((in_row - amount) & 15);          // row_ror
  switch (control) {
    case 0x130: return l + 1 < size ? l + 1 : -1;    // wave_shl
    case 0x134: return (l + 1) % size;               // wave_rol
    case 0x138: return l - 1;                        // wave_shr
    case 0x13c: return (l + size - 1) % size;        // wave_ror
    case 0x140: return row | (15 - in_row);          // row_mirror
    case 0x141: return (l & ~7) | (7 - (l & 7));     // row_half_mirror
    case 0x142: return row == 0 ? -1 : row - 1;      // row_bcast:15
    case 0x143: return l < 32 ? -1 : 31;             // row_bcast:31
    default: break;
  }
  if (control >= 0x150 && control <= 0x15f) return row | amount;             // row_newbcast, row_share
  if (control >= 0x160 && control <= 0x16f) return row | (in_row ^ amount);  // row_xmask
  return -1;
}

}  // namespace

bool dpp_control_known(const Dpp& dpp, Target target) {
  if (dpp.kind != Dpp::Kind::dpp16) return true;
  const unsigned c = dpp.control;
  if (c < 0x100 || (c > 0x100 && c <= 0x10f) || (c > 0x110 && c <= 0x11f) || (c > 0x120 && c <= 0x12f)) return true;
  if (c == 0x140 || c == 0x141 || (c >= 0x150 && c <= 0x15f)) return true;
  if (family(target) != Family::gfx9) return c >= 0x160 && c <= 0x16f;
  return c == 0x130 || c == 0x134 || c == 0x138 || c == 0x13c || c == 0x142 || c == 0x143;
}

Permutation dpp_permutation(const Wave& wave, const Dpp& dpp) {
  Permutation p;
  const int size = static_cast<int>(wave.size);
  const std::uint64_t exec = wave.exec();
  for (int l = 0; l < size; ++l) {
    const auto at = static_cast<std::size_t>(l);
    if (dpp.kind == Dpp::Kind::dpp8) {
      const int from = (l & ~7) | static_cast<int>(dpp.lanes8 >> (3 * (l & 7)) & 7);
      p.from[at] = static_cast<std::int8_t>(dpp.fetch_inactive || (exec >> from & 1) ? from : -1);
      p.enabled |= 1ull << l;
      continue;
    }
    int from = source_lane(dpp.control, l, size);
    const bool masked = !(dpp.row_mask >> (l / 16) & 1) || !(dpp.bank_mask >> (l / 4 % 4) & 1);
    // bound_ctrl:0 (the bit set) lets a lane without a source read zero; otherwise the lane does not write.
    // gfx9 treats an inactive source lane alike; gfx11 reads it when fetch_inactive is set.
    if (from >= 0 && !dpp.fetch_inactive && !(exec >> from & 1)) from = -1;
    p.from[at] = static_cast<std::int8_t>(from);
    if (!masked && (from >= 0 || dpp.bound_ctrl)) p.enabled |= 1ull << l;
  }
  return p;
}

const std::uint32_t* fetch_moved(Wave& wave, const Inst& inst, unsigned i, LaneBuffer& store) {
  const std::uint32_t* from = fetch_raw(wave, inst.src[i], 0, store);
  if (i != 0 || inst.dpp.kind == Dpp::Kind::none) return from;
  const Permutation lanes = dpp_permutation(wave, inst.dpp);
  LaneBuffer moved;
  for (std::size_t l = 0; l < kLanes; ++l) moved.lane[l] = lanes.from[l] < 0 ? 0 : from[lanes.from[l]];
  store = moved;
  return store.lane;
}

}  // namespace kerncap::vgpu::isa::valu
