// What the checks must know of an instruction, worked out once.
// In: a decoded instruction. Out: the registers that it reads and writes, and what kind of memory operation it is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/isa/decode/decoder.hpp"
#include "vgpu/isa/memory/address.hpp"

namespace kerncap::vgpu::isa::check {

// Consecutive registers: numbers as in Operand::index, so that vectors from 256 on are AccVGPRs.
struct Span {
  bool vector = false;
  std::uint16_t first = 0, count = 0;
  std::uint8_t halves = 3;           // bit 0: low, bit 1: high; gfx1100 keeps the halves of a register apart
};

enum class MemoryOp : std::uint8_t { none, load, store, atomic };

struct Described {
  Decoded decoded;
  std::uint32_t id = 0;              // Code::pc_of gives the address back
  const Inst* inst = nullptr;        // decoded.inst, or the copy that VGPR indexing shifted
  std::vector<Span> reads, writes;
  bool valu = false, matrix = false;
  bool halves_apart = false;         // gfx1100: 16-bit operands touch only their half
  bool all_lanes = false;            // reads and writes lanes that EXEC has switched off
  MemoryOp op = MemoryOp::none;    // of DS, FLAT, GLOBAL, SCRATCH, MUBUF and SMEM
  std::uint32_t bytes = 0;           // a lane moves at each address
  bool returns = false;              // writes a register when it completes
  bool to_lds = false;               // global_load_lds_* and the like
  bool lane_exchange = false;        // ds_permute and others that touch no LDS
  bool typed = false;                // the bytes of an access are those of its data format
  bool by_lane = false;              // ds_*_addtid: address from m0 and the lane
  bool counts_lanes = false;         // ds_append, ds_consume: address from m0
  bool invalidates = false;          // the vector cache of the compute unit
  bool meets_workgroups = false;     // ds_gws_barrier
};

Described describe(Decoded decoded, Target target, unsigned wave_size);
// Refills reads and writes for another form of the same instruction.
void describe_registers(Described& d, const Inst& inst, unsigned wave_size);

// Described instructions of a dispatch, by address. Code that changes while the dispatch runs is not noticed.
class Code {
 public:
  Code(Target target, unsigned wave_size, AddressCache& memory)
      : target_(target), wave_size_(wave_size), memory_(memory) {}
  // Never null; decoded.status tells whether the instruction can run.
  const Described* at(std::uint64_t pc);
  std::string text(std::uint64_t pc);
  std::uint64_t pc_of(std::uint32_t id) const { return pcs_[id]; }

 private:
  Target target_;
  unsigned wave_size_;
  AddressCache& memory_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Described>> known_;
  std::vector<std::uint64_t> pcs_;
};

}  // namespace kerncap::vgpu::isa::check
