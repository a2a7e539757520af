#include "vgpu/isa/check/uninitialised.hpp"

#include <algorithm>
#include <bit>
#include <string_view>

namespace kerncap::vgpu::isa::check {
namespace {

std::string_view name_of(const Inst& i) { return i.row->name; }

bool is_select(std::string_view n) { return n == "v_cndmask_b32" || n == "v_dual_cndmask_b32"; }
// Puts its operand, or one of two, into another register and does nothing else with it.
bool is_move(const Inst& i) {
  if (i.dpp.kind != Dpp::Kind::none || i.sdwa.present) return false;
  const std::string_view n = name_of(i);
  return n == "v_mov_b32" || n == "v_dual_mov_b32" || n == "v_mov_b64" || n == "v_pk_mov_b32" || n.starts_with("v_accvgpr_") ||
         n == "s_mov_b32" || n == "s_mov_b64" || is_select(n);
}

// Which lanes' values count is not known here.
bool reads_other_lanes(const Inst& i) {
  const std::string_view n = name_of(i);
  return i.dpp.kind != Dpp::Kind::none || n.starts_with("v_readlane") || n.starts_with("v_readfirstlane") ||
         n.starts_with("v_writelane") || n.starts_with("v_permlane");
}

// The half of a register that a 1- or 2-byte access moves; `store`: without a name for it, the low one.
std::uint8_t halves_of(std::string_view n, bool store) {
  if (n.find("d16_hi") != n.npos) return 2;
  return store || n.find("d16") != n.npos ? 1 : 3;
}

bool is_data(const Inst& i, const Span& span) {
  const auto is = [&](const Operand& o) { return o.kind == OperandKind::vgpr && o.index == span.first; };
  return span.vector && (is(i.src[1]) || is(i.src[3])) && !is(i.src[0]);
}

}  // namespace

void Uninitialised::report(const Wave& w, const Described& d, std::uint64_t load_pc, std::uint64_t address, unsigned lane) {
  const std::uint64_t pc = d.inst->pc;
  findings_.add("memory", "uninitialised", load_pc, load_pc == pc ? 0 : pc, false, [&](Finding& f) {
    f.site.pc = load_pc;
    f.site.text = code_.text(load_pc);
    std::copy(std::begin(w.group->id), std::end(w.group->id), f.site.workgroup);
    f.site.wave = w.index_in_group;
    f.site.lane = lane;
    if (load_pc != pc) {
      f.other = f.site;
      f.other->pc = pc;
      f.other->text = code_.text(pc);
    }
    f.space = "global";
    f.address = address;
    f.size_bytes = std::min(4u, code_.at(load_pc)->bytes);
    f.message = load_pc == pc ? "an atomic of device memory that nobody has written"
                              : "a value from device memory that nobody has written is used";
    f.message += "; the driver clears fresh memory, memory that is used again holds what was there";
  });
}

void Uninitialised::use(const Wave& w, UnwrittenRegisters& registers, const Described& d, const Span& span) {
  for (unsigned r = span.first; r < unsigned{span.first} + span.count; ++r) {
    const auto found = registers.of.find(UnwrittenRegisters::number(span.vector, r));
    if (found == registers.of.end()) continue;
    UnwrittenRegisters::Register& reg = found->second;
    std::uint64_t lanes = (span.halves & 1 ? reg.lanes[0] : ~std::uint64_t{0}) & (span.halves & 2 ? reg.lanes[1] : ~std::uint64_t{0});
    lanes &= span.vector ? w.exec() : 1;
    for (std::uint64_t left = lanes; left != 0; left &= left - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(left));
      report(w, d, reg.load_pc, reg.address[lane], lane);
    }
    // Said once: what follows from it is not said again.
    for (std::uint64_t& half : reg.lanes) half &= ~lanes;
  }
}

void Uninitialised::uses(const Wave& w, UnwrittenRegisters& registers, const Described& d) {
  const Inst& i = *d.inst;
  if (d.lane_exchange || reads_other_lanes(i)) return;
  if (i.dual) {
    for (const Inst* part : {&i, i.dual}) {
      if (is_move(*part)) {
        move(w, registers, *part);
        continue;
      }
      for (const Operand& o : part->src)
        if (o.kind == OperandKind::vgpr || o.kind == OperandKind::sgpr)
          use(w, registers, d, {o.kind == OperandKind::vgpr, o.index, static_cast<std::uint16_t>(dwords(o.type, w.size)), 3});
    }
    return;
  }
  if (is_move(i)) return move(w, registers, i);
  for (const Span& span : d.reads)
    if (d.op != MemoryOp::store || !is_data(i, span)) use(w, registers, d, span);
}

void Uninitialised::move_dword(const UnwrittenRegisters& registers, unsigned to, unsigned lane, const Operand& from,
                               unsigned dword) {
  const bool vector = from.kind == OperandKind::vgpr;
  if (!vector && from.kind != OperandKind::sgpr) return;
  const auto found = registers.of.find(UnwrittenRegisters::number(vector, from.index + dword));
  if (found == registers.of.end()) return;
  const UnwrittenRegisters::Register& reg = found->second;
  const unsigned l = vector ? lane : 0;
  const auto halves = static_cast<std::uint8_t>((reg.lanes[0] >> l & 1) | (reg.lanes[1] >> l & 1) << 1);
  if (halves) incoming_.push_back({to, lane, halves, reg.load_pc, reg.address[l]});
}

void Uninitialised::move(const Wave& w, const UnwrittenRegisters& registers, const Inst& i) {
  const std::string_view n = name_of(i);
  const bool vector = i.dst.kind == OperandKind::vgpr;
  const unsigned to = UnwrittenRegisters::number(vector, i.dst.index);
  const std::uint64_t chosen = is_select(n) && i.src[2].kind == OperandKind::sgpr ? w.mask(i.src[2].index) : 0;
  for (std::uint64_t left = vector ? w.exec() : 1; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    if (n == "v_pk_mov_b32") {
      move_dword(registers, to, lane, i.src[0], i.op_sel & 1);
      move_dword(registers, to + 1, lane, i.src[1], i.op_sel >> 1 & 1);
      continue;
    }
    const Operand& from = i.src[chosen >> lane & 1];
    for (unsigned k = 0; k < dwords(i.dst.type, w.size); ++k) move_dword(registers, to + k, lane, from, k);
  }
}

void Uninitialised::load(const Described& d, const Access& a, std::uint64_t unwritten) {
  const Inst& i = *d.inst;
  if (unwritten == 0 || (i.dst.kind != OperandKind::vgpr && i.dst.kind != OperandKind::sgpr)) return;
  const unsigned to = UnwrittenRegisters::number(i.dst.kind == OperandKind::vgpr, i.dst.index);
  const auto put = [&](unsigned k, std::uint8_t halves) {
    if (halves) incoming_.push_back({to + k, a.lane, halves, i.pc, a.address + 4 * k});
  };
  const bool all = std::popcount(unwritten) == a.bytes;
  if (d.typed || a.bytes < 4) {  // converted, extended: the whole element or nothing
    for (unsigned k = 0; all && k < (d.typed ? dwords(i.dst.type, 64) : 1); ++k) put(k, halves_of(name_of(i), false));
    return;
  }
  for (unsigned k = 0; k < a.bytes / 4u; ++k) {
    const std::uint64_t bytes = unwritten >> (4 * k) & 15;
    put(k, static_cast<std::uint8_t>(((bytes & 3) == 3) | ((bytes >> 2) == 3) << 1));
  }
}

void Uninitialised::store(const UnwrittenRegisters& registers, const Described& d, const Access& a, std::byte* at) {
  written_.write(at, a.bytes);
  if (registers.of.empty() || d.typed || d.inst->format == Format::smem) return;
  const unsigned small = a.bytes < 4 ? halves_of(name_of(*d.inst), true) - 1u : 2u;
  for (unsigned k = 0; k < (a.bytes + 3u) / 4; ++k) {
    const auto found = registers.of.find(UnwrittenRegisters::number(true, a.data + k));
    if (found == registers.of.end()) continue;
    for (unsigned half = 0; half < 2; ++half) {
      if (!(found->second.lanes[half] >> a.lane & 1) || (small < 2 && small != half)) continue;
      if (small < 2) written_.write(at, a.bytes, false);
      else written_.write(at + 4 * k + 2 * half, 2, false);
    }
  }
}

void Uninitialised::before(const Wave& w, UnwrittenRegisters& registers, const Described& d, const std::vector<Access>& accesses) {
  incoming_.clear();
  lanes_ = d.all_lanes ? ~std::uint64_t{0} : w.exec();
  if (!registers.of.empty()) uses(w, registers, d);
  if (accesses.empty()) return;
  w.memory->refresh();
  const bool exchange = name_of(*d.inst).find("atomic_swap") != std::string_view::npos;
  for (const Access& a : accesses) {
    if (a.space != Space::global) continue;
    std::byte* const at = w.memory->find(a.address, a.bytes, false);
    if (!at) continue;  // a fault, or across mappings
    if (a.op == MemoryOp::store) {
      store(registers, d, a, at);
      continue;
    }
    const std::uint64_t unwritten = written_.unwritten(at, a.bytes);
    if (a.op == MemoryOp::load || exchange) load(d, a, unwritten);
    else if (unwritten) report(w, d, d.inst->pc, a.address, a.lane);
    if (a.op == MemoryOp::atomic) written_.write(at, a.bytes);
  }
}

void Uninitialised::after(UnwrittenRegisters& registers, const Described& d) {
  if (registers.of.empty() && incoming_.empty()) return;
  for (const Span& span : d.writes)
    for (unsigned r = span.first; r < unsigned{span.first} + span.count; ++r) {
      const auto found = registers.of.find(UnwrittenRegisters::number(span.vector, r));
      if (found == registers.of.end()) continue;
      for (unsigned half = 0; half < 2; ++half)
        if (span.halves >> half & 1) found->second.lanes[half] &= span.vector ? ~lanes_ : 0;
      if ((found->second.lanes[0] | found->second.lanes[1]) == 0) registers.of.erase(found);
    }
  for (const Incoming& in : incoming_) {
    UnwrittenRegisters::Register& reg = registers.of[in.number];
    for (unsigned half = 0; half < 2; ++half) reg.lanes[half] |= std::uint64_t{in.halves >> half & 1u} << in.lane;
    reg.load_pc = in.load_pc;
    reg.address[in.lane] = in.address;
  }
}

void Uninitialised::end() {
  if (written_.limited()) findings_.limit("uninitialised reads: 65536 pages are written in part, more count as written");
}

}  // namespace kerncap::vgpu::isa::check
