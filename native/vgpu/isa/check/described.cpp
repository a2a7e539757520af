#include "vgpu/isa/check/described.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "vgpu/isa/print/printer.hpp"

namespace kerncap::vgpu::isa::check {
namespace {

bool is_valu(Format f) { return f >= Format::vop1 && f <= Format::vinterp; }
bool is_vector_memory(Format f) { return f >= Format::flat && f <= Format::mtbuf; }

bool is_half(Type t) {
  return t == Type::f16 || t == Type::bf16 || t == Type::u16 || t == Type::i16 || t == Type::b16;
}

// Which halves of a VALU operand an instruction touches; op_sel bit 3 is the destination's.
std::uint8_t halves_of(const Described& d, const Inst& i, const Operand& o, unsigned op_sel_bit) {
  if (!d.halves_apart || !is_valu(i.format) || !is_half(o.type) || (i.row->flags & kOwnOpSel)) return 3;
  return i.op_sel >> op_sel_bit & 1 ? 2 : 1;
}
// The same for the data of d16 loads and of 8- and 16-bit stores.
std::uint8_t halves_of_data(const Described& d, std::string_view name) {
  const bool small = name.find("byte") != name.npos || name.find("short") != name.npos || name.find("_b8") != name.npos ||
                     name.find("_b16") != name.npos;
  if (!d.halves_apart || name.find("d16_xy") != name.npos) return 3;
  if (name.find("d16_hi") != name.npos) return 2;
  const bool store = name.find("store") != name.npos || name.find("write") != name.npos;
  return name.find("d16") != name.npos || (store && small) ? 1 : 3;
}

void add(std::vector<Span>& to, const Operand& o, unsigned wave_size, std::uint8_t halves = 3) {
  if (o.kind == OperandKind::special && static_cast<Special>(o.index) == Special::vccz)
    return to.push_back({false, kVccLo, static_cast<std::uint16_t>(wave_size / 32)});
  if (o.kind != OperandKind::sgpr && o.kind != OperandKind::vgpr) return;
  if (o.kind == OperandKind::sgpr && o.index == kNull) return;
  const auto count = static_cast<std::uint16_t>(std::max(1u, dwords(o.type, wave_size)));
  to.push_back({o.kind == OperandKind::vgpr, o.index, count, halves});
}

void add_registers(Described& d, const Inst& i, unsigned wave_size) {
  const std::string_view name = i.row->name;
  const auto mask_words = static_cast<std::uint16_t>(wave_size / 32);
  // v_movrel* name a register by m0, which is not followed here.
  if (name.starts_with("v_movrel")) return;
  const bool memory = i.format == Format::ds || is_vector_memory(i.format);
  for (unsigned k = 0; k < 4; ++k) {
    const std::uint8_t data = memory && (k == 1 || k == 3) ? halves_of_data(d, name) : 3;
    add(d.reads, i.src[k], wave_size, memory ? data : halves_of(d, i, i.src[k], k));
  }
  add(d.writes, i.dst, wave_size, memory ? halves_of_data(d, name) : halves_of(d, i, i.dst, 3));
  add(d.writes, i.sdst, wave_size);
  // A d16 load keeps the other half of its register without reading it.
  if ((i.row->flags & kReadsDst) && !memory) add(d.reads, i.dst, wave_size, halves_of(d, i, i.dst, 3));
  if (name == "s_addk_i32" || name == "s_mulk_i32") add(d.reads, i.dst, wave_size);
  if ((i.row->flags & kExecDst) && i.sdst.index != kExecLo) d.writes.push_back({false, kExecLo, mask_words});
  if (name.starts_with("v_div_fmas") || name == "s_cbranch_vccz" || name == "s_cbranch_vccnz")
    d.reads.push_back({false, kVccLo, mask_words});
  if (i.dual) add_registers(d, *i.dual, wave_size);
}

// Bytes of an element from the mnemonic (LLVM's gfx9 spelling) or the row's types.
std::uint32_t element_bytes(const Row& row, std::string_view name) {
  const bool sub_dword = name.find("atomic") == std::string_view::npos && name.find("_tr_") == std::string_view::npos;
  if (sub_dword && (name.find("byte") != name.npos || name.find("_u8") != name.npos || name.find("_i8") != name.npos ||
                    name.find("_b8") != name.npos))
    return 1;
  if (sub_dword && (name.find("short") != name.npos || name.find("_u16") != name.npos ||
                    name.find("_i16") != name.npos || name.find("_b16") != name.npos))
    return 2;
  // Compare-and-swap carries two elements of data; the value before has the element's size.
  const Type type = row.dst != Type::none ? row.dst : row.src1;
  const std::uint32_t bytes = 4 * dwords(type, 64);
  return (row.flags & kTwoAddress) && row.dst != Type::none ? bytes / 2 : bytes;
}

void describe_memory(Described& d) {
  const Inst& i = d.decoded.inst;
  const Row& row = *i.row;
  const std::string_view name = row.name;
  d.returns = i.dst.kind != OperandKind::none;
  if (i.format == Format::smem) {
    d.op = name.starts_with("s_load") || name.starts_with("s_buffer_load") ? MemoryOp::load
           : name.starts_with("s_store")                                   ? MemoryOp::store
                                                                           : MemoryOp::none;
    d.bytes = d.op == MemoryOp::load ? element_bytes(row, name) : 4 * dwords(row.src1, 64);
    return;
  }
  if (i.format != Format::ds && !is_vector_memory(i.format)) return;
  // gfx12 leaves the vector cache alone where the scope is the compute unit itself.
  d.invalidates = name == "buffer_inv" || name.starts_with("buffer_wbinvl1") || name == "buffer_gl0_inv" ||
                  (name == "global_inv" && i.scope != 0);
  d.meets_workgroups = name == "ds_gws_barrier";
  d.lane_exchange = name.starts_with("ds_swizzle") || name.starts_with("ds_permute") || name.starts_with("ds_bpermute");
  d.counts_lanes = name == "ds_append" || name == "ds_consume";
  if (d.counts_lanes) {
    d.op = MemoryOp::atomic;
    d.bytes = 4;
    return;
  }
  d.by_lane = name.find("addtid") != name.npos;
  if (d.lane_exchange || (row.src0 == Type::none && !d.by_lane)) return;  // no memory, or a cache operation
  if (row.flags & kReturns) d.op = MemoryOp::atomic;
  else if (name.find("load") != name.npos || name.find("read") != name.npos) d.op = MemoryOp::load;
  else if (name.find("store") != name.npos || name.find("write") != name.npos) d.op = MemoryOp::store;
  d.to_lds = i.lds || name.find("_load_lds") != name.npos;
  d.typed = name.find("_format_") != name.npos;  // the format says how many bytes; here what its registers hold
  d.bytes = element_bytes(row, name);
  if (d.to_lds && d.bytes == 0) d.bytes = name.ends_with("x4") ? 16 : name.ends_with("x3") ? 12 : 4;
}

}  // namespace

void describe_registers(Described& d, const Inst& inst, unsigned wave_size) {
  d.reads.clear();
  d.writes.clear();
  add_registers(d, inst, wave_size);
}

Described describe(Decoded decoded, Target target, unsigned wave_size) {
  Described d;
  d.decoded = std::move(decoded);
  if (d.decoded.status != Decoded::Status::ok) return d;
  const Inst& i = d.decoded.inst;
  d.valu = is_valu(i.format);
  d.halves_apart = family(target) != Family::gfx9;
  d.matrix = i.format == Format::vop3p_mai && std::string_view(i.row->name).find("mfma") != std::string_view::npos;
  d.matrix = d.matrix || std::string_view(i.row->name).find("smfmac") != std::string_view::npos;
  d.all_lanes = (i.row->flags & (kIgnoresExec | kScalarDst)) || d.matrix ||
                std::string_view(i.row->name).find("wmma") != std::string_view::npos;
  describe_registers(d, i, wave_size);
  describe_memory(d);
  return d;
}

const Described* Code::at(std::uint64_t pc) {
  std::unique_ptr<Described>& slot = known_[pc];
  if (!slot) {
    std::uint32_t words[4] = {};
    memory_.refresh();
    const std::uint64_t bytes = memory_.fetchable(pc, sizeof words);
    memory_.read(pc, words, bytes);
    slot = std::make_unique<Described>(
        describe(decode(target_, wave_size_, std::span(words).first(bytes / 4), pc), target_, wave_size_));
    slot->inst = &slot->decoded.inst;
    slot->id = static_cast<std::uint32_t>(pcs_.size());
    pcs_.push_back(pc);
  }
  return slot.get();
}

std::string Code::text(std::uint64_t pc) { return print(at(pc)->decoded, target_, wave_size_); }

}  // namespace kerncap::vgpu::isa::check
