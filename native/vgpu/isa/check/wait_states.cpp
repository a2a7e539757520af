#include "vgpu/isa/check/wait_states.hpp"

#include <cstdlib>
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

bool is_dot(std::string_view n) { return n.starts_with("v_dot"); }

// The accumulator of a matrix or dot instruction.
const Operand& summand_of(const Inst& i) { return i.row->flags & kReadsDst ? i.dst : i.src[2]; }

bool is_register(const Operand& o, const Span& span) {
  return o.kind == OperandKind::vgpr && span.vector && o.index == span.first;
}

// Passes of four cycles: 4x4, 16x16 and 32x32 with few columns a step (K) take longest. Source: LLVM SISchedule.td,
// SIDPFullSpeedModel and SIDPGFX940FullSpeedModel.
std::uint8_t passes_of(Target target, std::string_view n) {
  const bool small = n.find("_4x4x") != n.npos, large = n.find("_32x32x") != n.npos;
  if (n.starts_with("v_mfma_f64")) return small ? 4 : 16;
  if (small) return 2;
  if (target == Target::gfx90a) return large ? 16 : 8;
  const std::size_t step = n.find(large ? "_32x32x" : "_16x16x") + 7;
  const bool long_steps = std::atoi(n.data() + step) >= 8 || n.ends_with("xf32") || n.starts_with("v_smfmac");
  return static_cast<std::uint8_t>((large ? 8 : 4) * (long_steps ? 1 : 2));
}

bool is_data_of(const Inst& i, const Span& span) {
  return span.vector && i.src[1].kind == OperandKind::vgpr && span.first == i.src[1].index;
}

}  // namespace

void WaitStates::forget() {
  scalar_valu_.fill({});
  setreg_.fill({});
  m0_salu_ = dgemm_ = {};
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
  if (d.matrix) need(scalar_valu_[kExecLo], 4, "VALU writes EXEC, MFMA", hits);
  if (n == "v_fma_f64" || n.starts_with("v_fmac_f64")) need(dgemm_, 2, "MFMA on doubles, v_fma_f64", hits);
  if (!contains(kGfx940, w.target) || !d.valu) return;
  each_scalar(2, "VALU writes SGPR or VCC, VALU reads it");
  if (is_lane_move(n) || n.starts_with("v_permlane")) need(scalar_valu_[kExecLo], 4, "VALU writes EXEC, lane move", hits);
}

WaitStates::Matrix WaitStates::matrix_of(const Wave& w, const Inst& i) {
  const std::string_view n = name_of(i);
  const bool dgemm = n.starts_with("v_mfma_f64");
  const bool full_rate = n.ends_with("f32") && n.find("xf32") == n.npos && !n.starts_with("v_smfmac");
  const auto count = static_cast<std::uint16_t>(dwords(i.dst.type, w.size));
  return {passes_of(w.target, n), dgemm, !dgemm && !(full_rate && contains(kGfx940, w.target)), {true, i.dst.index, count, 3}};
}

// Source for these and write_rules: LLVM GCNHazardRecognizer, checkMAIVALUHazards.
unsigned WaitStates::read_states(const Matrix& by, bool memory) {
  if (by.dgemm && memory) return by.passes == 4 ? 9 : 18;
  return write_states(by);
}
unsigned WaitStates::write_states(const Matrix& by) {
  if (by.dgemm) return by.passes == 4 ? 6 : 11;
  return by.passes + (by.xdl ? 3u : 2u);
}

// Operands of a matrix instruction that an earlier one, or the VALU, has written.
// Source: LLVM GCNHazardRecognizer, checkMAIHazards90A.
void WaitStates::matrix_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const {
  const Matrix me = matrix_of(w, *d.inst);
  const bool gfx90a = w.target == Target::gfx90a;
  const auto as_summand = [&](const Matrix& by, const Span& span) -> unsigned {
    if (gfx90a && by.dgemm && !me.dgemm) return 0;
    if (by.result.first == span.first && by.result.count == span.count) {
      if (by.dgemm && me.dgemm && by.passes == 4 && me.passes == 4) return 4;
      return !gfx90a && by.passes == 2 ? 2 : 0;
    }
    if (by.dgemm) return me.xdl ? 0 : by.passes == 4 ? 4 : 9;
    if (gfx90a) return by.passes + (me.dgemm ? 1u : 0u);
    return me.xdl && !by.xdl ? 0 : by.passes + (by.xdl ? 1u : 0u);
  };
  for (const Span& span : d.reads) {
    if (!span.vector) continue;
    const bool summand = is_register(summand_of(*d.inst), span);
    for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < vectors_.size(); ++r) {
      const Vector& v = vectors_[r];
      if (!v.dot_row) need(v.valu, 2, "VALU writes VGPR, MFMA reads it", hits);
      if (summand) need(v.matrix, as_summand(v.writer, span), "MFMA writes VGPR, MFMA adds to it too early", hits);
      else need(v.matrix, read_states(v.writer, false), "MFMA writes VGPR, it is read too early", hits);
    }
  }
}

void WaitStates::vector_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const {
  const Inst& i = *d.inst;
  const std::string_view n = name_of(i);
  const bool gfx940 = contains(kGfx940, w.target);
  const bool memory = is_vector_memory(i.format) || i.format == Format::ds;
  if (!d.valu && !memory) return;
  if (d.matrix) matrix_rules(w, d, hits);
  for (const Span& span : d.reads) {
    if (!span.vector) continue;
    for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < vectors_.size(); ++r) {
      const Vector& v = vectors_[r];
      if (!d.matrix) need(v.matrix, read_states(v.writer, memory), "MFMA writes VGPR, it is read too early", hits);
      if (d.valu && i.dpp.kind != Dpp::Kind::none && span.first == i.src[0].index)
        need(v.valu, 2, "VALU writes VGPR, DPP reads it", hits);
      // The same dot product may add to it at once.
      if (!d.matrix && v.dot_row && (v.dot_row != i.row || !is_register(summand_of(i), span)))
        need(v.dot, 3, "v_dot writes VGPR, it is read too early", hits);
      if (memory && w.target == Target::gfx90a && dgemm_.end > v.valu.end)
        need(v.valu, 2, "VALU writes VGPR, MFMA on doubles, memory reads it", hits);
      if (!gfx940 || !d.valu) continue;
      if (!is_transcendental(n)) need(v.trans, 1, "transcendental writes VGPR, VALU reads it", hits);
      need(v.part, 1, "VALU writes a part of a VGPR, VALU reads it", hits);
      if (n.starts_with("v_permlane")) need(v.valu, 2, "VALU writes VGPR, v_permlane*_swap reads it", hits);
      if (n == "v_readlane_b32" || n == "v_readfirstlane_b32") need(v.valu, 1, "VALU writes VGPR, v_readlane reads it", hits);
    }
  }
  if (!d.matrix) write_rules(w, d, hits);
}

void WaitStates::write_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const {
  for (const Span& span : d.writes) {
    if (!span.vector) continue;
    for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < vectors_.size(); ++r) {
      const Vector& v = vectors_[r];
      need(v.matrix, write_states(v.writer), "MFMA writes VGPR, it is overwritten too early", hits);
      need(v.summand, v.free_after, "MFMA reads its accumulator, it is overwritten too early", hits);
      if (v.dot_row && v.dot_row != d.inst->row) need(v.dot, 3, "v_dot writes VGPR, it is overwritten too early", hits);
      if (d.valu) need(v.wide_store, contains(kGfx940, w.target) ? 2 : 1, "data of a wide store is overwritten too early", hits);
    }
  }
}

void WaitStates::record_result(const Wave& w, const Described& d, Vector& v, const Mark& mark) const {
  const std::string_view n = name_of(*d.inst);
  v = {};
  if (d.matrix) {
    v.matrix = mark;
    v.writer = matrix_of(w, *d.inst);
    return;
  }
  v.valu = mark;
  if (is_transcendental(n)) v.trans = mark;
  if (writes_part(*d.inst)) v.part = mark;
  if (is_dot(n)) v.dot = mark, v.dot_row = d.inst->row;
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
        record_result(w, d, vectors_[r], mark);
      }
    if (!d.matrix) return;
    const Matrix me = matrix_of(w, i);
    if (me.dgemm) dgemm_ = mark;
    if (me.dgemm || (contains(kGfx940, w.target) && !me.xdl)) return;
    for (const Span& span : d.reads)
      if (is_register(summand_of(i), span))
        for (unsigned r = span.first; r < unsigned{span.first} + span.count && r < vectors_.size(); ++r) {
          vectors_[r].summand = mark;
          vectors_[r].free_after = static_cast<std::uint8_t>(me.passes - 1);
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
