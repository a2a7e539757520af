#include "vgpu/isa/check/wait_states.hpp"

#include <string_view>

namespace kerncap::vgpu::isa::check {
namespace {

bool is_vector_memory(Format f) { return f >= Format::flat && f <= Format::mtbuf; }
bool is_scalar_alu(Format f) { return f <= Format::sopk; }
std::string_view name_of(const Inst& i) { return i.row->name; }

bool is_transcendental(std::string_view n) {
  for (const char* prefix : {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (n.starts_with(prefix)) return true;
  return false;
}
bool is_lane_move(std::string_view n) {
  return n == "v_readlane_b32" || n == "v_readfirstlane_b32" || n == "v_writelane_b32";
}

// The result fills a part of its register.
bool writes_part(const Inst& i) {
  if (i.sdwa.present) return i.sdwa.dst_sel != 6 && i.dst.kind == OperandKind::vgpr;
  return (i.op_sel & 8) != 0 && i.format == Format::vop3;
}

// How long a matrix instruction's result must be left alone. Where an instruction of gfx942 may take fewer passes than
// others of its shape, the fewest are assumed.
struct MatrixWaits {
  std::uint8_t valu, memory, write;
};
MatrixWaits matrix_waits(Target target, std::string_view n) {
  const bool small = n.find("_4x4x") != n.npos, large = n.find("_32x32x") != n.npos;
  if (n.starts_with("v_mfma_f64")) return small ? MatrixWaits{6, 9, 6} : MatrixWaits{11, 18, 11};
  if (target == Target::gfx90a) {
    const std::uint8_t states = small ? 5 : large ? 19 : 11;
    return {states, states, states};
  }
  const int passes = small ? 2 : large ? 8 : 4;
  const bool full_rate = n.ends_with("f32") && n.find("xf32") == n.npos && !n.starts_with("v_smfmac");
  const auto states = static_cast<std::uint8_t>(passes + (full_rate ? 2 : 3));
  return {states, states, states};
}

bool is_data_of(const Inst& i, const Span& span) {
  return span.vector && i.src[1].kind == OperandKind::vgpr && span.first == i.src[1].index;
}

}  // namespace

void WaitStates::forget() {
  scalar_valu_.fill({});
  setreg_.fill({});
  m0_salu_ = {};
  vectors_.assign(512, {});
}

void WaitStates::need(const Mark& mark, unsigned states, const char* rule, std::vector<Hit>& hits) const {
  const std::int64_t between = now_ - mark.end;
  if (between < static_cast<std::int64_t>(states))
    hits.push_back({mark.pc, rule, states, static_cast<unsigned>(between < 0 ? 0 : between)});
}

void WaitStates::scalar_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const {
  const Inst& i = *d.inst;
  const std::string_view n = name_of(i);
  const auto each_scalar = [&](unsigned states, const char* rule) {
    for (const Span& span : d.reads)
      if (!span.vector)
        for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < kScalarRegs; ++r)
          need(scalar_valu_[r], states, rule, hits);
  };
  if (is_vector_memory(i.format)) each_scalar(5, "VALU writes SGPR, vector memory reads it");
  if (n.starts_with("v_div_fmas")) need(scalar_valu_[kVccLo], 4, "VALU writes VCC, v_div_fmas reads it", hits);
  if ((n == "v_readlane_b32" || n == "v_writelane_b32") && i.src[1].kind == OperandKind::sgpr && i.src[1].index < kScalarRegs)
    need(scalar_valu_[i.src[1].index], 4, "VALU writes SGPR, lane select reads it", hits);
  if (i.dpp.kind != Dpp::Kind::none) need(scalar_valu_[kExecLo], 5, "VALU writes EXEC, DPP", hits);
  if (n == "s_getreg_b32" || n == "s_setreg_b32" || n == "s_setreg_imm32_b32")
    need(setreg_[static_cast<unsigned>(i.simm) & 63], 2, "s_setreg, then the same hardware register", hits);
  if (n == "s_sendmsg" || n.starts_with("s_movrel") || n == "s_ttracedata" || d.to_lds)
    need(m0_salu_, 1, "SALU writes M0, the next instruction needs it", hits);
  if (!contains(kGfx940, w.target) || !d.valu) return;
  each_scalar(2, "VALU writes SGPR or VCC, VALU reads it");
  if (is_lane_move(n)) need(scalar_valu_[kExecLo], 4, "VALU writes EXEC, lane move", hits);
}

void WaitStates::vector_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const {
  const Inst& i = *d.inst;
  const std::string_view n = name_of(i);
  const bool gfx940 = contains(kGfx940, w.target);
  const bool memory = is_vector_memory(i.format) || i.format == Format::ds;
  if (!d.valu && !memory) return;
  for (const Span& span : d.reads) {
    if (!span.vector) continue;
    // The accumulator of a matrix instruction has rules of its own.
    const Operand& sum = i.row->flags & kReadsDst ? i.dst : i.src[2];
    const bool accumulator = d.matrix && sum.kind == OperandKind::vgpr && span.first == sum.index;
    for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < vectors_.size(); ++r) {
      const Vector& v = vectors_[r];
      if (!accumulator)
        need(v.matrix, memory ? v.matrix_memory : v.matrix_valu, "MFMA writes VGPR, it is read too early", hits);
      if (d.valu && i.dpp.kind != Dpp::Kind::none && span.first == i.src[0].index)
        need(v.valu, 2, "VALU writes VGPR, DPP reads it", hits);
      if (!d.matrix && v.dot_row && v.dot_row != i.row) need(v.dot, 3, "v_dot writes VGPR, it is read too early", hits);
      if (!gfx940 || !d.valu) continue;
      if (!is_transcendental(n)) need(v.trans, 1, "transcendental writes VGPR, VALU reads it", hits);
      need(v.part, 1, "VALU writes a part of a VGPR, VALU reads it", hits);
      if (n == "v_readlane_b32" || n == "v_readfirstlane_b32") need(v.valu, 1, "VALU writes VGPR, v_readlane reads it", hits);
    }
  }
  if (d.matrix) return;
  for (const Span& span : d.writes) {
    if (!span.vector) continue;
    for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < vectors_.size(); ++r) {
      const Vector& v = vectors_[r];
      need(v.matrix, v.matrix_write, "MFMA writes VGPR, it is overwritten too early", hits);
      if (d.valu) need(v.wide_store, gfx940 ? 2 : 1, "data of a wide store is overwritten too early", hits);
    }
  }
}

void WaitStates::record(const Wave& w, const Described& d) {
  const Inst& i = *d.inst;
  const std::string_view n = name_of(i);
  const Mark mark{now_, i.pc};
  if (d.valu) {
    for (const Span& span : d.writes)
      for (unsigned r = span.first; r < unsigned{span.first} + span.count; ++r) {
        if (!span.vector) {
          if (r < kScalarRegs) scalar_valu_[r] = mark;
          continue;
        }
        if (r >= vectors_.size()) break;
        Vector& v = vectors_[r];
        v = {};
        v.valu = mark;
        if (is_transcendental(n)) v.trans = mark;
        if (writes_part(i)) v.part = mark;
        if (n.starts_with("v_dot")) v.dot = mark, v.dot_row = i.row;
        if (d.matrix) {
          const MatrixWaits waits = matrix_waits(w.target, n);
          v.matrix = mark;
          v.matrix_valu = waits.valu, v.matrix_memory = waits.memory, v.matrix_write = waits.write;
        }
      }
  } else if (is_scalar_alu(i.format)) {
    for (const Span& span : d.writes)
      if (!span.vector)
        for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < kScalarRegs; ++r) {
          scalar_valu_[r] = {};
          if (r == kM0) m0_salu_ = mark;
        }
    if (n == "s_setreg_b32" || n == "s_setreg_imm32_b32") setreg_[static_cast<unsigned>(i.simm) & 63] = mark;
  } else if (is_vector_memory(i.format) && d.op == MemoryOp::store && d.bytes > 8) {
    const bool hazard = i.format < Format::mubuf || i.src[3].kind != OperandKind::sgpr;
    for (const Span& span : d.reads)
      if (hazard && is_data_of(i, span))
        for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < vectors_.size(); ++r)
          vectors_[r].wide_store = mark;
  }
}

void WaitStates::step(const Wave& w, const Described& d, std::vector<Hit>& hits) {
  hits.clear();
  if (family(w.target) != Family::gfx9) return;
  const Inst& i = *d.inst;
  const std::string_view n = name_of(i);
  scalar_rules(w, d, hits);
  vector_rules(w, d, hits);
  now_ += n == "s_nop" ? (i.simm & 0xf) + 1 : 1;
  record(w, d);
  if (n.starts_with("s_swappc") || n.starts_with("s_setpc") || n == "s_call_b64") forget();
}

}  // namespace kerncap::vgpu::isa::check
