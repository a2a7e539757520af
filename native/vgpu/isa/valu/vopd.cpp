// A VOPD pair: both halves read their sources before either writes.
#include <algorithm>

#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {
namespace {

bool reads(const Inst& half, std::uint16_t vgpr) {
  if ((half.row->flags & kReadsDst) && half.dst.index == vgpr) return true;
  return std::any_of(std::begin(half.src), std::end(half.src), [&](const Operand& o) {
    return o.kind == OperandKind::vgpr && o.index == vgpr;
  });
}

}  // namespace

VopdOrder vopd_order(const Inst& x, const Inst& y) {
  if (!reads(y, x.dst.index)) return VopdOrder::x_first;
  return reads(x, y.dst.index) ? VopdOrder::together : VopdOrder::y_first;
}

void execute_vopd(Wave& wave, const Inst& x) {
  const Inst& y = *x.dual;
  if (x.vopd_order != VopdOrder::together) [[likely]] {
    const bool x_first = x.vopd_order == VopdOrder::x_first;
    const Inst &first = x_first ? x : y, &second = x_first ? y : x;
    first.row->handler(wave, first);
    if (wave.state == Wave::State::running) second.row->handler(wave, second);
    return;
  }
  // Each half reads what the other writes: run X, put its old destination back for Y, then write X's result again.
  LaneBuffer before, result;
  std::uint32_t* dst = wave.vreg(x.dst.index);
  std::copy_n(dst, kLanes, before.lane);
  x.row->handler(wave, x);
  std::copy_n(dst, kLanes, result.lane);
  std::copy_n(before.lane, kLanes, dst);
  if (wave.state == Wave::State::running) y.row->handler(wave, y);
  std::copy_n(result.lane, kLanes, dst);
}

}  // namespace kerncap::vgpu::isa
