#include "vgpu/isa/check/waits.hpp"

#include <string_view>

namespace kerncap::vgpu::isa::check {
namespace {

bool is_vector_memory(Format f) { return f >= Format::flat && f <= Format::mtbuf; }

// s_sendmsg_rtn_* fills scalar registers as SMEM does, in any order.
bool is_scalar_fill(const Inst& i) {
  return i.format == Format::smem || (i.format == Format::sop1 && std::string_view(i.row->name).starts_with("s_sendmsg_rtn"));
}

// Cache invalidations do not count on gfx9 and gfx11, but do on gfx12; write-backs do. Source: LLVM SIInsertWaitcnts, isVMEM without
// MUBUF *_INV; GLOBAL_INV_ACCESS.
bool counts_in_vector_memory(const Inst& i) {
  if (i.row->src0 != Type::none) return true;
  const std::string_view name = i.row->name;
  return name == "buffer_wbl2" || name == "global_inv" || name.starts_with("global_wb");
}

std::uint64_t lanes_of(const Wave& w, const Described& d) { return d.all_lanes ? ~std::uint64_t{0} : w.exec(); }

}  // namespace

void Waits::wait(const Wave& w, const Inst& i) {
  const std::string_view name = i.row->name;
  const auto bits = static_cast<std::uint32_t>(i.simm) & 0xffff;
  const auto lgkm = [&](std::uint32_t left) {
    lds_.wait(left);
    if (left == 0) scalar_.wait(0);
  };
  // gfx12 keeps gfx11's s_waitcnt. Source: LLVM gives it the same fields; ROCr's copy kernel waits with it.
  if (name == "s_waitcnt") {
    if (family(w.target) == Family::gfx9) {
      vm_.wait((bits & 0xf) | (bits >> 14 & 3) << 4);
      lgkm(bits >> 8 & 0xf);
    } else {
      vm_.wait(bits >> 10 & 0x3f);
      lgkm(bits >> 4 & 0x3f);
    }
  } else if (name == "s_waitcnt_vmcnt") {
    vm_.wait(bits & 0x3f);
  } else if (name == "s_waitcnt_vscnt") {
    vs_.wait(bits & 0x3f);
  } else if (name == "s_waitcnt_lgkmcnt") {
    lgkm(bits & 0x3f);
  } else if (name == "s_wait_loadcnt") {
    vm_.wait(bits & 0x3f);
  } else if (name == "s_wait_storecnt") {
    vs_.wait(bits & 0x3f);
  } else if (name == "s_wait_dscnt") {
    lds_.wait(bits & 0x3f);
  } else if (name == "s_wait_kmcnt") {
    if ((bits & 0x1f) == 0) scalar_.wait(0);
  } else if (name == "s_wait_loadcnt_dscnt" || name == "s_wait_storecnt_dscnt") {
    (name == "s_wait_loadcnt_dscnt" ? vm_ : vs_).wait(bits >> 8 & 0x3f);
    lds_.wait(bits & 0x3f);
  } else if (name == "s_wait_idle") {
    vm_.wait(0);
    vs_.wait(0);
    lgkm(0);
  }
}

void Waits::count(const Wave& w, const Described& d) {
  const Inst& i = *d.inst;
  if (i.format == Format::sopp || i.format == Format::sopk) return wait(w, i);
  if (is_scalar_fill(i)) {
    ++scalar_.issued;
  } else if (i.format == Format::ds) {
    ++lds_.issued;
  } else if (is_vector_memory(i.format) && counts_in_vector_memory(i)) {
    const bool store = d.op == MemoryOp::store || (d.op == MemoryOp::atomic && !d.returns) ||
                       std::string_view(i.row->name).starts_with("global_wb");
    const bool apart = family(w.target) != Family::gfx9 && store;
    Counter& counter = apart ? vs_ : vm_;
    ++counter.issued;
    if (d.op == MemoryOp::store || d.op == MemoryOp::atomic) (apart ? last_store_vs_ : last_store_vm_) = counter.issued;
    if (i.format == Format::flat) ++lds_.issued;
  }
}

void Waits::find(const Wave& w, const Described& d, std::vector<Hit>& hits) const {
  hits.clear();
  const std::uint64_t lanes = lanes_of(w, d);
  const auto look = [&](const Span& span, bool write) {
    for (unsigned r = span.first; r < unsigned{span.first} + span.count; ++r) {
      if (span.vector ? 2 * r >= vectors_.size() : r >= scalars_.size()) return;
      const bool high = span.vector && (span.halves == 2 || (span.halves == 3 && !outstanding(vectors_[2 * r])));
      const Pending& p = span.vector ? vectors_[2 * r + high] : scalars_[r];
      if (!outstanding(p) || (span.vector && !(p.lanes & lanes))) continue;
      // Loads of one kind come back in order, so that the later one wins.
      const bool vector_load = is_vector_memory(d.inst->format) && d.inst->format != Format::flat;
      if (write && span.vector && vector_load && p.lds <= lds_.done) continue;
      if (write && span.vector && d.inst->format == Format::ds && p.vm <= vm_.done) continue;
      if (write && span.vector && d.inst->format == Format::flat) continue;
      hits.push_back({p.pc, write, Span{span.vector, static_cast<std::uint16_t>(r), 1, 3}, counter_of(p, w.target)});
      return;
    }
  };
  for (const Span& span : d.reads) look(span, false);
  for (const Span& span : d.writes) look(span, true);
}

const char* Waits::counter_of(const Pending& p, Target target) const {
  if (family(target) != Family::gfx12) return p.vm > vm_.done ? "vmcnt" : "lgkmcnt";
  return p.vm > vm_.done ? "loadcnt" : p.lds > lds_.done ? "dscnt" : "kmcnt";
}

void Waits::issue(const Wave& w, const Described& d, const std::vector<Access>& lanes) {
  const Inst& i = *d.inst;
  Pending p;
  p.pc = i.pc;
  if (is_scalar_fill(i)) {
    p.scalar = scalar_.issued;
  } else if (i.format == Format::ds) {
    p.lds = lds_.issued;
  } else if (is_vector_memory(i.format)) {
    p.vm = vm_.issued;
    if (i.format == Format::flat) {
      bool in_lds = false, elsewhere = false;
      for (const Access& a : lanes) (a.space == Space::lds ? in_lds : elsewhere) = true;
      if (in_lds) p.lds = lds_.issued;
      if (!elsewhere) p.vm = 0;
    }
  } else {
    return;
  }
  for (const Span& span : d.writes)
    for (unsigned r = span.first; r < unsigned{span.first} + span.count; ++r) {
      if (!span.vector) {
        if (r < scalars_.size()) scalars_[r] = p;
        continue;
      }
      for (unsigned half = 0; half < 2; ++half) {
        if (2 * r >= vectors_.size() || !(span.halves >> half & 1) || w.exec() == 0) continue;
        Pending& slot = vectors_[2 * r + half];
        p.lanes = w.exec() | (outstanding(slot) ? slot.lanes : 0);
        slot = p;
      }
    }
}

}  // namespace kerncap::vgpu::isa::check
