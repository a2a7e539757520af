#include "vgpu/isa/valu/overflow.hpp"

#include <string_view>

#include "vgpu/isa/valu/operands.hpp"

namespace kerncap::vgpu::isa {
namespace {

using namespace valu;

bool infinite16(std::uint32_t h) { return (h & 0x7fffu) == 0x7c00u; }
bool infinite32(std::uint32_t f) { return (f & 0x7fffffffu) == 0x7f800000u; }
bool finite32(std::uint32_t f) { return (f & 0x7f800000u) != 0x7f800000u; }

// Lanes in which a source of the low and of the high result is infinite.
struct Infinite {
  std::uint64_t lanes[2] = {};
  void note(unsigned result, std::size_t lane, bool is) { lanes[result] |= std::uint64_t{is} << lane; }
};

bool writes_high(const Inst& in) { return in.sdwa.present ? in.sdwa.dst_sel == 5 : (in.op_sel & 8) != 0; }

// One result: sources are halves, floats (conversions) or packed halves (dot products), with their modifiers applied.
void look_at_values(Wave& w, const Inst& in, unsigned result, Infinite& out) {
  for (unsigned i = 0; i < 3; ++i) {
    const Type type = in.src[i].type;
    if (in.src[i].kind == OperandKind::none || (!is_float(type) && type != Type::b32)) continue;
    Scratch store;
    const Source s = fetch_slow(w, in, i, type, store, true);
    for (std::size_t l = 0; l < w.size; ++l) {
      const bool packed = type == Type::b32 && (infinite16(s.lo[l]) || infinite16(s.lo[l] >> 16));
      out.note(result, l, type == Type::f16 ? infinite16(s.lo[l]) : type == Type::f32 ? infinite32(s.lo[l]) : packed);
    }
  }
  if ((in.row->flags & kLiteralK) && infinite16(in.literal)) out.lanes[result] = ~std::uint64_t{0};
}
// Packed halves, and mixed precision, where op_sel_hi makes a source a half instead of a float.
void look_at_halves(Wave& w, const Inst& in, bool mixed, Infinite& out) {
  for (unsigned i = 0; i < 3; ++i) {
    if (in.src[i].kind == OperandKind::none) continue;
    LaneBuffer store;
    const std::uint32_t* raw = fetch_raw(w, in.src[i], 0, store);
    // The packed accumulation of VOP2 has no half selects: each result takes its own halves.
    const bool selects = in.format == Format::vop3p, low = selects && (in.op_sel >> i & 1), high = !selects || (in.op_sel_hi >> i & 1);
    for (std::size_t l = 0; l < w.size; ++l) {
      const bool first = infinite16(raw[l] >> (low ? 16 : 0));
      if (mixed) {
        const bool is = high ? first : infinite32(raw[l]);
        out.note(0, l, is);
        out.note(1, l, is);
        continue;
      }
      out.note(0, l, first);
      out.note(1, l, infinite16(raw[l] >> (high ? 16 : 0)));
    }
  }
}
void look_at_destination(Wave& w, const Inst& in, Infinite& out) {
  const std::uint32_t* old = w.vreg(in.dst.index);
  for (std::size_t l = 0; l < w.size; ++l) {
    out.note(0, l, infinite16(old[l]));
    out.note(1, l, infinite16(old[l] >> 16));
  }
}

void saturate_half(Wave& w, const Inst& in, unsigned result, std::uint64_t mask) {
  std::uint32_t* dst = w.vreg(in.dst.index);
  for (std::size_t l = 0; l < w.size; ++l)
    if ((mask >> l & 1) && infinite16(dst[l] >> (16 * result))) dst[l] -= 1u << (16 * result);  // 0x7c00 to 0x7bff
}

void execute_halves(Wave& w, const Inst& in, bool packed, bool mixed) {
  const unsigned result = mixed ? std::string_view(in.row->name) == "v_fma_mixhi_f16" : writes_high(in);
  Infinite infinite;
  if (packed || mixed) look_at_halves(w, in, mixed, infinite);
  else look_at_values(w, in, result, infinite);
  if ((in.row->flags & kReadsDst) && !mixed) look_at_destination(w, in, infinite);
  const std::uint64_t mask = write_mask(w, in);
  in.handler(w, in);
  if (w.state == Wave::State::stopped) return;
  for (unsigned r = 0; r < 2; ++r)
    if (packed || r == result) saturate_half(w, in, r, mask & ~infinite.lanes[r]);
}

// v_s_*_f16 of gfx12: one source and one result, both scalar.
void execute_scalar_half(Wave& w, const Inst& in) {
  Infinite infinite;
  look_at_values(w, in, 0, infinite);
  in.handler(w, in);
  if (w.state == Wave::State::stopped || (infinite.lanes[0] & 1)) return;
  const std::uint32_t half = read_scalar32(w, in.dst);
  if (infinite16(half)) write_scalar32(w, in.dst, half - 1);
}

// What a number that is too large becomes in an 8-bit format, and the largest number. On gfx942 the former has no sign.
struct Ends {
  std::uint32_t too_large, largest, mask;
};
Ends ends_of(const Wave& w, std::string_view name) {
  if (w.target == Target::gfx942) return {0x80, 0x7f, 0xff};
  return name.find("bf8") != std::string_view::npos ? Ends{0x7c, 0x7b, 0x7f} : Ends{0x7f, 0x7e, 0x7f};
}

// v_cvt_{pk,sr}_{fp8,bf8}_f32.
void execute_bytes(Wave& w, const Inst& in, bool stochastic) {
  const Ends ends = ends_of(w, in.row->name);
  Scratch store[2];
  LaneBuffer values[2];
  const unsigned count = stochastic ? 1 : 2;
  for (unsigned i = 0; i < count; ++i) std::copy_n(fetch_slow(w, in, i, Type::f32, store[i], true).lo, w.size, values[i].lane);
  const std::uint64_t mask = write_mask(w, in);
  in.handler(w, in);
  if (w.state == Wave::State::stopped) return;
  const unsigned first = stochastic ? in.op_sel >> 2 & 3u : (in.op_sel & 8) ? 2 : 0;
  std::uint32_t* dst = w.vreg(in.dst.index);
  for (unsigned i = 0; i < count; ++i)
    for (std::size_t l = 0; l < w.size; ++l) {
      const unsigned shift = 8 * (first + i);
      if (!(mask >> l & 1) || (dst[l] >> shift & ends.mask) != ends.too_large || !finite32(values[i].lane[l])) continue;
      dst[l] = (dst[l] & ~(0xffu << shift)) | (ends.largest | (values[i].lane[l] >> 31) << 7) << shift;
    }
}

}  // namespace

void execute_saturating(Wave& w, const Inst& in) {
  const std::string_view name = in.row ? in.row->name : "";
  if (name.starts_with("v_cvt_pk_fp8") || name.starts_with("v_cvt_pk_bf8")) return execute_bytes(w, in, false);
  if (name.starts_with("v_cvt_sr_fp8") || name.starts_with("v_cvt_sr_bf8")) return execute_bytes(w, in, true);
  if (name.starts_with("v_cvt_scalef32") || name == "v_cvt_sr_f16_f32" || name == "v_cvt_pk_f16_f32")
    return w.stop(Outcome::Kind::unimplemented, "this conversion with MODE.FP16_OVFL");
  const bool mixed = name == "v_fma_mixlo_f16" || name == "v_fma_mixhi_f16", packed = in.row && in.row->dst == Type::pkf16;
  if (!mixed && !packed && !(in.row && in.row->dst == Type::f16)) return in.handler(w, in);
  if (in.row->flags & kScalarDst) return execute_scalar_half(w, in);
  execute_halves(w, in, packed, mixed);
}

}  // namespace kerncap::vgpu::isa
