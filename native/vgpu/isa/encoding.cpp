// Opcode and name of a row on one target: gfx12 is listed where it differs from gfx11.
// Source: LLVM's disassembler for gfx1201, every opcode of every format (21.1); "RDNA4 ISA", chapter Microcode Formats.

#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {
namespace {

// gfx12 of the row that has op11 in gfx11. Without a name: the name is the same.
struct Change {
  Format format;
  std::uint16_t op11, op12;
  const char* name = nullptr;
};

constexpr Change renamed(Format format, std::uint16_t op, const char* name) { return {format, op, op, name}; }

constexpr Change kChanges[] = {
    renamed(Format::sop2, 0x00, "s_add_co_u32"),
    renamed(Format::sop2, 0x01, "s_sub_co_u32"),
    renamed(Format::sop2, 0x02, "s_add_co_i32"),
    renamed(Format::sop2, 0x03, "s_sub_co_i32"),
    renamed(Format::sop2, 0x04, "s_add_co_ci_u32"),
    renamed(Format::sop2, 0x05, "s_sub_co_ci_u32"),
    renamed(Format::sopk, 0x0f, "s_addk_co_i32"),
    renamed(Format::sopp, 0x08, "s_wait_alu"),
    renamed(Format::vop3, 0x2fe, "v_mad_co_u64_u32"),
    renamed(Format::vop3, 0x2ff, "v_mad_co_i64_i32"),
    renamed(Format::global, 0x37, "global_atomic_sub_clamp_u32"),
    renamed(Format::mubuf, 0x37, "buffer_atomic_sub_clamp_u32"),
    {Format::smem, 0x08, 0x10}, {Format::smem, 0x09, 0x11}, {Format::smem, 0x0a, 0x12},
    {Format::smem, 0x0b, 0x13}, {Format::smem, 0x0c, 0x14},
};

// Opcodes of gfx11 whose rows gfx12 does not have. Where it has another instruction at the same place, that is a row of its own.
struct Gone {
  Format format;
  std::uint16_t first, last;
};
constexpr Gone kGone[] = {
    {Format::sopk, 0x03, 0x0e}, {Format::sopk, 0x16, 0x1b},                               // s_cmpk_*, s_waitcnt_*
    {Format::sopp, 0x04, 0x04}, {Format::sopp, 0x27, 0x2a}, {Format::sopp, 0x32, 0x32}, {Format::sopp, 0x3d, 0x3d},
    {Format::smem, 0x20, 0x20},
    {Format::vop2, 0x02, 0x02}, {Format::vop2, 0x06, 0x06}, {Format::vop2, 0x0f, 0x10}, {Format::vop2, 0x39, 0x3a},
    {Format::vop3, 0x219, 0x219}, {Format::vop3, 0x21c, 0x21c}, {Format::vop3, 0x21f, 0x21f},  // min, max, med of three
    {Format::vop3, 0x249, 0x249}, {Format::vop3, 0x24c, 0x24c}, {Format::vop3, 0x24f, 0x24f},
    {Format::vop3, 0x25e, 0x261}, {Format::vop3, 0x327, 0x32a}, {Format::vop3, 0x33c, 0x33c},
    {Format::vop3p, 0x11, 0x12},
    {Format::ds, 0x11, 0x13}, {Format::ds, 0x18, 0x1d}, {Format::ds, 0x31, 0x34}, {Format::ds, 0x51, 0x53},
    {Format::ds, 0x71, 0x73}, {Format::ds, 0xad, 0xad},
    {Format::flat, 0x50, 0x52}, {Format::global, 0x50, 0x52}, {Format::mubuf, 0x50, 0x52},
};

// Comparisons that are always false or always true: the first and the last of each group.
constexpr bool constant_comparison(std::uint16_t op) {
  const unsigned in_half = op & 0x7f, at = in_half & 15;
  if (in_half >= 0x60) return false;  // 0x7d on: v_cmp_class
  return in_half < 0x30 ? at == 0 || at == 15 : in_half >= 0x40 && (in_half & 7) % 7 == 0;
}

bool is_gone(Format format, std::uint16_t op) {
  if (format == Format::vopc) return constant_comparison(op);
  for (const Gone& gone : kGone)
    if (gone.format == format && op >= gone.first && op <= gone.last) return true;
  return false;
}

const Change* change_of(Format format, std::uint16_t op11) {
  for (const Change& change : kChanges)
    if (change.format == format && change.op11 == op11) return &change;
  return nullptr;
}

}  // namespace

std::uint16_t opcode_of(const Row& row, Target target) {
  if (!contains(row.targets, target)) return kNoOpcode;
  if (family(target) == Family::gfx9) return row.op9;
  if (family(target) == Family::gfx11 || !(row.targets & kGfx11) || row.op11 == kNoOpcode) return row.op11;
  if (is_gone(row.format, row.op11)) return kNoOpcode;
  const Change* change = change_of(row.format, row.op11);
  return change ? change->op12 : row.op11;
}

const char* name_of(const Row& row, Target target) {
  if (family(target) == Family::gfx9) return row.name;
  if (family(target) == Family::gfx12 && (row.targets & kGfx11))
    if (const Change* change = change_of(row.format, row.op11); change && change->name) return change->name;
  return row.name11 ? row.name11 : row.name;
}

}  // namespace kerncap::vgpu::isa
