// Where each lane of a vector memory instruction reads or writes.
// In: a memory instruction. Out: one host pointer a lane, whatever the segment (global, flat, scratch, buffer, LDS), after
// all checks: a fault stops the wave before any lane has stored.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

enum class Access : std::uint8_t { load, store, atomic };

struct Lanes {
  std::uint64_t mask = 0;        // lanes to be served; their pointers are valid for the access size
  std::byte* ptr[kLanes];
  // Lane k's pointer is ptr[first] + k * the access size and every lane of the wave is active.
  bool unit_stride = false;
  // Buffers: lanes that are out of range, of which loads read zeros and stores end nowhere.
  std::uint64_t outside = 0;

  // Lanes whose bytes are not contiguous in the host, or of which only a part is in range, work on a copy.
  struct Copy {
    unsigned lane;
    std::uint64_t va;
    std::uint32_t valid_bytes;   // of the access size; the rest reads as zero and is not stored
    alignas(16) std::byte bytes[16];
  };
  std::vector<Copy> copies;
};

// Loads and stores of whole waves whose lanes lie side by side or all at one address: the usual case, without a pointer a
// lane. In: a GLOBAL or DS instruction that is not traced. Out: Pattern::other when it must go through resolve().
enum class Pattern : std::uint8_t { other, unit_stride, uniform };
struct Rows {
  Pattern pattern = Pattern::other;
  std::byte* host = nullptr;  // the first lane's element
};
Rows resolve_rows(Wave& wave, const Inst& inst, std::uint32_t bytes, bool write);

// Where LDS addresses count from (address 0 plus `offset`), when every active lane is inside LDS; base is null otherwise.
struct LdsBase {
  std::byte* base = nullptr;
  std::uint64_t mask = 0;  // active lanes
  bool all = false;        // of the wave
  bool uniform = false;    // all lanes, at one address
};
inline LdsBase lds_base(Wave& wave, const std::uint32_t* address, std::uint32_t offset, std::uint32_t bytes) {
  std::vector<std::uint8_t>& lds = wave.group->lds;
  const std::uint64_t mask = wave.exec(), full = wave.size == 32 ? 0xffffffff : ~std::uint64_t{0};
  if (mask == 0 || std::uint64_t{offset} + bytes > lds.size()) return {};
  // The sign of either is set for an address above the limit.
  const auto limit = static_cast<std::uint32_t>(lds.size() - offset - bytes);
  std::uint32_t outside = 0, differ = 0;
  if (mask == full) {
    for (unsigned base = 0; base < wave.size; base += 32)
      for (unsigned l = base; l < base + 32; ++l) {
        outside |= (limit - address[l]) | address[l];
        differ |= address[l] ^ address[0];
      }
  } else {
    for (std::uint64_t m = mask; m != 0; m &= m - 1) {
      const std::uint32_t a = address[std::countr_zero(m)];
      outside |= (limit - a) | a;
    }
  }
  if (outside >> 31) return {};
  return {reinterpret_cast<std::byte*>(lds.data() + offset), mask, mask == full, mask == full && differ == 0};
}

// Fills `lanes`; false when there is nothing to do (EXEC is zero) or the wave was stopped.
bool resolve(Wave& wave, const Inst& inst, std::uint32_t bytes, Access access, Lanes& lanes);
// The same for LDS at the address operand plus `offset` (the two-address instructions).
bool resolve_lds_at(Wave& wave, const Inst& inst, std::uint32_t offset, std::uint32_t bytes, Access access, Lanes& lanes);
// Writes copies back after a store.
void finish_store(Wave& wave, Lanes& lanes);

// Where loads to LDS count from: m0[15:0]; m0[17:2] in dwords on gfx950. Source: "LDS DMA" of the MI300 manual, "CDNA4 ISA".
inline std::uint32_t lds_load_base(const Wave& wave) {
  return wave.s[kM0] & (wave.target == Target::gfx950 ? 0x3fffcu : 0xffffu);
}

// Calls f(lane) for each lane of a mask.
template <class F>
void for_each_lane(std::uint64_t mask, F f) {
  if (mask == ~std::uint64_t{0}) {
    for (unsigned lane = 0; lane < 64; ++lane) f(lane);
    return;
  }
  if (mask == 0xffffffff) {
    for (unsigned lane = 0; lane < 32; ++lane) f(lane);
    return;
  }
  for (std::uint64_t m = mask; m != 0; m &= m - 1) f(static_cast<unsigned>(std::countr_zero(m)));
}

}  // namespace kerncap::vgpu::isa
