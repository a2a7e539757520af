// Bit fields, the opcode look-up and operand decoding shared by the files of decode/.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vgpu/isa/decode/decoder.hpp"
#include "vgpu/isa/inst.hpp"

namespace kerncap::vgpu::isa {

constexpr std::uint32_t field(std::uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & (high - low == 31 ? ~0u : (1u << (high - low + 1)) - 1);
}
constexpr std::int32_t sign_extend(std::uint32_t value, unsigned bits) {
  const std::uint32_t sign = 1u << (bits - 1);
  return static_cast<std::int32_t>((value ^ sign) - sign);
}

// v_accvgpr_mov_b32 (VOP1, gfx90a on): both operands are AccVGPRs.
inline constexpr unsigned kAccvgprMovOpcode = 0x52;

// Opcode look-up of one target.
class OpcodeTable {
 public:
  static const OpcodeTable& get(Target target);
  const Row* find(Format format, unsigned op) const {
    const auto& rows = by_format_[static_cast<unsigned>(format)];
    return op < rows.size() ? rows[op] : nullptr;
  }
  // A VOP3 opcode: a row of its own, or the VOP1/VOP2/VOPC row whose long form it is.
  const Row* find_vop3(unsigned op) const;
  Family family() const { return family_; }

 private:
  explicit OpcodeTable(Target target);
  void add(std::span<const Row> rows, Target target);
  Family family_;
  std::array<std::vector<const Row*>, static_cast<std::size_t>(Format::mimg) + 1> by_format_;
};

// State of one decode.
struct Decoding {
  Target target;
  Family family;
  unsigned wave_size;
  std::span<const std::uint32_t> words;
  Decoded& out;
  unsigned used = 1;            // words consumed
  bool literal_read = false;

  bool gfx9() const { return family == Family::gfx9; }
  Inst& inst() { return out.inst; }
  std::uint32_t word(unsigned i) const { return i < words.size() ? words[i] : 0; }
  bool ok() const { return out.status == Decoded::Status::ok; }
  void fail(Decoded::Status status, std::string why) {
    if (!ok()) return;
    out.status = status;
    out.reason = std::move(why);
  }
  void unknown(std::string why) { fail(Decoded::Status::unknown, std::move(why)); }
  void illegal(std::string why) { fail(Decoded::Status::illegal, std::move(why)); }
  // Takes the row; fails with format and number when there is none.
  bool take(const Row* row, Format format, unsigned op);
  std::uint32_t literal();

  Operand scalar_register(unsigned encoded, Type type);   // 7 bits: destinations and SMEM operands
  Operand source(unsigned encoded, Type type);            // 8 or 9 bits
  Operand vector_register(unsigned index, Type type, bool accumulation = false);
  // Checks register ranges and fills vgpr_end/agpr_end.
  void check_range(const Operand& operand);
};

std::uint64_t inline_integer(std::int32_t value, Type type);
std::uint64_t inline_float(unsigned encoded, Type type);  // 240..248

void decode_scalar(Decoding& d);
void decode_smem(Decoding& d);
void decode_vector(Decoding& d);   // VOP1, VOP2, VOPC with SDWA and DPP
void decode_vop3(Decoding& d);
void decode_vop3p(Decoding& d);
void decode_vopd(Decoding& d);
void decode_ds(Decoding& d);
void decode_flat(Decoding& d);
void decode_mubuf(Decoding& d);
void decode_mtbuf(Decoding& d);
void decode_vflat(Decoding& d);    // gfx12: FLAT, GLOBAL, SCRATCH
void decode_vbuffer(Decoding& d);  // gfx12: MUBUF, MTBUF
// The extra dword of DPP; returns src0's encoding.
unsigned decode_dpp(Decoding& d, unsigned marker);

}  // namespace kerncap::vgpu::isa
