#include "vgpu/isa/launch/step.hpp"

#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/valu/overflow.hpp"

namespace kerncap::vgpu::isa {
namespace {

bool is_valu(Format f) { return f >= Format::vop1 && f <= Format::vinterp; }

// With VGPR indexing or saturating halves.
void issue_in_mode(Wave& w, const Inst& inst) {
  const Handler execute = saturates_halves(w) ? execute_saturating : inst.handler;
  if (!w.gpr_index_on) return execute(w, inst);
  Inst shifted;
  if (!shift_indexed(w, inst, shifted)) return w.stop(Outcome::Kind::illegal, "indexed VGPR out of range");
  execute(w, shifted);
}

}  // namespace

void refuse(Wave& w, const Decoded& error) {
  constexpr std::uint64_t page = CodeCache::kPageBytes;
  if (error.status == Decoded::Status::missing)  // all of it, or what would be on the next page
    return fetch_fault(w, error.inst.size_bytes == 0 ? w.pc : (w.pc / page + 1) * page);
  w.stop(error.status == Decoded::Status::unknown ? Outcome::Kind::unimplemented : Outcome::Kind::illegal, error.reason);
}

bool shift_indexed(const Wave& w, const Inst& inst, Inst& shifted) {
  shifted = inst;
  const unsigned index = w.s[kM0] & 0xff, select = w.s[kM0] >> 12;
  bool inside = true;
  const auto shift = [&](Operand& o) {
    if (o.kind != OperandKind::vgpr || o.index >= 256) return;
    o.index = static_cast<std::uint16_t>(o.index + index);
    inside &= o.index + dwords(o.type, w.size) <= w.vgprs;
  };
  for (unsigned i = 0; i < 3; ++i)
    if (select >> i & 1) shift(shifted.src[i]);
  if (select >> 3 & 1) shift(shifted.dst);
  return inside;
}

Work run_wave(Wave& w, CodeCache& code, std::uint64_t limit) {
  std::uint64_t issued = 0, charge = 0;
  if (w.state != Wave::State::running || limit == 0) return {};
  std::uint64_t pc = w.pc;
  const Inst* inst = code.fetch(pc);
  for (;;) {
    if (!inst) [[unlikely]] {
      refuse(w, code.error());
      break;
    }
    if (inst->vgpr_end > w.vgprs || inst->agpr_end > w.agprs) [[unlikely]] {
      w.stop(Outcome::Kind::illegal, "vector register beyond the kernel's allocation");
      break;
    }
    const std::uint64_t next = pc + inst->size_bytes;
    w.next_pc = next;
    if ((w.gpr_index_on || saturates_halves(w)) && is_valu(inst->format)) [[unlikely]] issue_in_mode(w, *inst);
    else inst->handler(w, *inst);
    ++issued;
    charge += inst->charge;
    if (w.state == Wave::State::stopped) [[unlikely]] break;  // pc stays at the instruction
    w.pc = w.next_pc;
    if (w.state != Wave::State::running || issued == limit) break;
    // Where the code goes on does not depend on what a handler stored, unless it jumped.
    if (w.next_pc == next) [[likely]] inst = code.after(*inst, pc = next);
    else inst = code.fetch(pc = w.next_pc);
  }
  return {.instructions = issued, .cycles = charge & 0xffffffff, .bytes = charge >> 32};
}

}  // namespace kerncap::vgpu::isa
