// A decoded instruction and the table rows that give opcodes their meaning.
// In: 32-bit words of a code object. Out: Inst, with registers numbered alike on all targets and constants expanded to
// the operand's type, so that handlers never look at encodings. Used by decode/, the handlers, and the printer in tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa {

struct Wave;
struct Inst;
using Handler = void (*)(Wave&, const Inst&);

enum class Format : std::uint8_t {
  sop1, sop2, sopk, sopc, sopp, smem,
  vop1, vop2, vopc, vop3, vop3p, vop3p_mai, vopd, vinterp,
  ds, flat, global, scratch, mubuf, mtbuf, mimg,
};

// Numbering of scalar registers after decode, the same on every target (gfx11 encodes null and m0 the other way round).
enum ScalarReg : std::uint16_t {
  kFlatScratchLo = 102, kFlatScratchHi = 103,  // gfx9 (ordinary SGPRs s102/s103 on gfx11)
  kVccLo = 106, kVccHi = 107, kTtmp0 = 108, kM0 = 124, kNull = 125, kExecLo = 126, kExecHi = 127,
  kScalarRegs = 128,
};

// Sources that are neither a register in Wave::s nor a constant.
enum class Special : std::uint16_t {
  shared_base, shared_limit, private_base, private_limit, pops_exiting_wave_id, vccz, execz, scc, lds_direct,
};

enum class OperandKind : std::uint8_t { none, sgpr, vgpr, constant, special };

// How an operand's bits are read: decides how inline constants and literals expand and how many registers are used.
enum class Type : std::uint8_t {
  none, b16, b32, b64, b96, b128, b192, b256, b512, b1024, u16, i16, u32, i32, u64, i64, f16, bf16, f32, f64,
  pk16 /* two 16-bit integers */, pkf16, pkf32 /* two floats in two registers */, pk32 /* two dwords */,
  f64x4 /* four doubles; a constant stands for each */,
  mask /* lane mask: one SGPR in wave32, two in wave64 */, simm,
};
constexpr unsigned dwords(Type t, unsigned wave_size) {
  switch (t) {
    case Type::none: case Type::simm: return 0;
    case Type::b64: case Type::u64: case Type::i64: case Type::f64: case Type::pkf32: case Type::pk32: return 2;
    case Type::b96: return 3;
    case Type::b128: return 4;
    case Type::b192: return 6;
    case Type::b256: case Type::f64x4: return 8;
    case Type::b512: return 16;
    case Type::b1024: return 32;
    case Type::mask: return wave_size / 32;
    default: return 1;
  }
}

struct Operand {
  OperandKind kind = OperandKind::none;
  Type type = Type::none;
  // sgpr: ScalarReg numbering; vgpr: 0..255 VGPR, 256..511 AccVGPR; special: Special.
  std::uint16_t index = 0;
  std::uint16_t encoded = 0;    // the source field as encoded (for the printer)
  std::uint64_t constant = 0;   // bits of the expanded constant, in the operand's type
};

// Dynamic parallel primitives, decoded from the extra dword.
struct Dpp {
  enum class Kind : std::uint8_t { none, dpp16, dpp8 } kind = Kind::none;
  std::uint16_t control = 0;    // dpp_ctrl of DPP16
  std::uint32_t lanes8 = 0;     // 8 x 3-bit selectors of DPP8
  std::uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false, fetch_inactive = false;
};
// Sub-dword addressing (gfx9).
struct Sdwa {
  bool present = false;
  std::uint8_t dst_sel = 6, dst_unused = 0, src_sel[2] = {6, 6};  // 0..3 byte, 4..5 word, 6 dword
  bool sext[2] = {false, false};
};

// What the cost model counts (cost.hpp). Two counters that a run loop adds as one.
struct Charge {
  std::uint32_t cycles = 1;  // of its SIMD
  std::uint32_t bytes = 0;   // to or from memory, all lanes counted
  std::uint64_t word() const { return cycles | std::uint64_t{bytes} << 32; }
};

// VOPD: which half may run first so that both read what was there before the pair.
enum class VopdOrder : std::uint8_t { x_first, y_first, together /* neither */ };

struct Row;

// What every instruction needs comes first: two cache lines.
struct alignas(64) Inst {
  Handler handler = nullptr;
  mutable const Inst* next = nullptr;  // what follows at pc + size_bytes, once it was looked up (launch/code.hpp)
  std::uint64_t charge = 0;         // Charge::word()
  std::uint64_t pc = 0;
  // One past the highest VGPR and AccVGPR that the operands name; the run loop compares them with the wave's allocation.
  std::uint16_t vgpr_end = 0, agpr_end = 0;
  Format format = Format::sopp;     // the encoding met (a VOP2 row may have been encoded as vop3)
  std::uint8_t size_bytes = 0;      // 4..16
  // VALU: set by vet_valu(). plain: no modifier, DPP, SDWA or half select, so the short path of a handler is right.
  enum class Vet : std::uint8_t { none, plain, modified } vet = Vet::none;
  mutable std::uint8_t mapping = 0;  // where its address was found last: a guess for AddressCache::find
  bool clamp = false;
  // VALU modifiers: bit i belongs to src[i]; op_sel bit 3 is the destination half. The decoder also turns the .h
  // registers of gfx11's 32-bit encodings (bit 7 of a 16-bit operand's number) into op_sel bits.
  std::uint8_t neg = 0, abs = 0, op_sel = 0, op_sel_hi = 0, neg_hi = 0, omod = 0;
  Operand dst;
  Operand src[4];                   // src[3]: carry-in mask of VOP2 carries is src[2]; memory: see below

  Operand sdst;                     // carry-out / VOPC mask / div_scale; for VOPC dst is none
  const Row* row = nullptr;
  // VOPD: the Y half; both read before either writes (the handler is execute_vopd). Scaled MFMA: v_mfma_ld_scale_b32.
  const Inst* dual = nullptr;
  VopdOrder vopd_order = VopdOrder::together;
  Dpp dpp;
  Sdwa sdwa;
  // MFMA controls.
  std::uint8_t cbsz = 0, abid = 0, blgp = 0;
  // Memory: src[0] = address VGPR(s), src[1] = data (stores, atomics; data0 of DS), src[2] = saddr or V#/sbase, src[3] = soffset or data1 of DS.
  std::int32_t offset = 0;          // sign-extended where the encoding says so
  std::uint8_t offset0 = 0, offset1 = 0;
  bool glc = false, slc = false, dlc = false, offen = false, idxen = false, lds = false, gds = false, tfe = false;
  std::uint8_t data_format = 0;     // MTBUF: gfx9 data format | number format << 4, gfx11 the unified format
  std::uint8_t scope = 0, temporal = 0;  // gfx12 instead of glc (set where an atomic returns), slc, dlc
  // SOPP/SOPK immediate, sign-extended where the instruction is signed; SMEM offset lives in `offset`.
  std::int32_t simm = 0;
  std::uint32_t literal = 0;        // the literal dword (fmamk/fmaak constants too)
  std::uint32_t words[4] = {};
};
static_assert(offsetof(Inst, sdst) == 128);

inline constexpr std::uint16_t kNoOpcode = 0xffff;
// Bit of the opcode of a matrix row that stands behind v_mfma_ld_scale_b32 (a pair of 16 bytes).
inline constexpr std::uint16_t kScaledMatrix = 0x80;

enum RowFlags : std::int32_t {
  kNone = 0,
  kReadsDst = 1,        // fmac, mac, movrel…: dst is also a source
  kVccCarryIn = 2,      // VOP2 encoding reads VCC as src[2]; VOP3 names it
  kVccCarryOut = 4,     // VOP2 encoding writes VCC as sdst; VOP3 names it. On a vop3 row: the VOP3SD form (div_scale, mad_u64_u32, gfx11 add_co_u32)
  kMaskDst = 8,         // VOPC: writes a lane mask
  kExecDst = 16,        // v_cmpx: writes EXEC (gfx9 writes sdst as well)
  kLiteralK = 32,       // fmamk/fmaak: takes the literal as an operand
  kScalarDst = 64,      // v_readlane/v_readfirstlane: dst is an SGPR
  kIgnoresExec = 128,
  kBranch = 256,
  kApproximate = 512,   // result bounded by the ISA, not defined to the bit: named by verdicts
  kFloatMods = 1024,    // neg/abs/omod are legal (operand types decide the width)
  kIntClamp = 2048,     // the clamp bit saturates an integer result
  kKeepsHalf = 4096,    // a 16-bit result keeps the other half of the register on gfx9 too (always so on gfx11)
  kOwnOperands = 8192,  // the handler reads its operands itself: DPP, SDWA and float modifiers are not accepted
  kOwnOpSel = 16384,    // op_sel bits have a meaning of the instruction's own
  kTwoAddress = 1 << 16,  // DS: offset0 and offset1 are separate offsets in units of the element
  // src0 and src1 must be VGPRs whatever the encoding can say, src2 a VGPR or (unless kReadsDst) an inline constant: the
  // handler takes their numbers as VGPR numbers.
  kVectorSources = 1 << 18,
  kPackedDpp = 1 << 19,   // a VOP3P row that takes DPP (gfx11)
  kTruthTable = 1 << 20,  // VOP3: omod, abs and neg are a truth table, which the decoder puts into Inst::simm
  kScalarSources = 1 << 21,  // src0 must be no VGPR (v_s_exp_f32 and the like)
  kReturns = 1 << 17,     // memory atomics: dst is the value before (DS *_rtn; FLAT/MUBUF when glc/sc0 is set)
};

// One instruction of one encoding. op9/op11: opcode in that family's encoding; the VOP3 forms of VOP1/VOP2/VOPC rows are
// derived by the decoder. gfx12 has gfx11's opcodes and names but for what encoding.cpp lists; in rows that it has and gfx11
// has not, op11 is gfx12's opcode. Ask opcode_of() and name_of(). Rows are listed by name order inside one table a file: scalar_rows(), memory_rows(), valu_rows().
struct Row {
  const char* name;             // LLVM's mnemonic without _e32/_e64; gfx9 spelling where the two differ
  const char* name11;           // spelling from gfx11 on, or nullptr when the same
  Format format;
  std::uint16_t op9, op11;
  TargetSet targets;
  Type dst, src0, src1, src2;
  Handler handler;
  std::uint32_t flags = kNone;
};

}  // namespace kerncap::vgpu::isa
