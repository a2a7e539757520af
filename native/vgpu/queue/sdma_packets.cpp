#include "vgpu/queue/sdma_packets.hpp"

namespace kerncap::vgpu::sdma {
namespace {

enum Op : std::uint32_t {
  kNop = 0, kCopy = 1, kFence = 5, kTrap = 6, kPollRegmem = 8, kAtomic = 10, kConstFill = 11, kTimestamp = 13, kGcr = 17,
};
constexpr std::uint32_t kCopyLinear = 0, kCopyRect = 4;
constexpr std::uint32_t kGetGlobalTimestamp = 2;
constexpr std::uint32_t kAtomicAdd64 = 47, kAtomicAddRtn64 = 15;  // TC opcodes

using Words = std::span<const std::uint32_t, kLongestPacket>;

constexpr std::uint32_t bits(std::uint32_t word, unsigned low, unsigned count) {
  return (word >> low) & (count == 32 ? ~0u : (1u << count) - 1);
}
std::uint64_t quad(Words w, std::size_t at) { return w[at] | (std::uint64_t{w[at + 1]} << 32); }

Packet unknown(std::uint32_t header) {
  return {Unknown{"SDMA operation " + std::to_string(bits(header, 0, 8)) + ", sub-operation " +
                  std::to_string(bits(header, 8, 8))}};
}

// Where the fields of a rectangular copy are. Source: ROCr sdma_registers.h, SDMA_PKT_COPY_LINEAR_RECT and its GFX12 form.
struct RectLayout {
  unsigned xy_bits, z_bits, pitch_at, pitch_bits, slice_bits, depth_bits;
};
constexpr RectLayout kRect{14, 11, 13, 19, 28, 11}, kRectGfx12{16, 14, 16, 16, 32, 14};

CopyRect::Image image(Words w, std::size_t at, const RectLayout& l) {
  return {.va = quad(w, at), .x = bits(w[at + 2], 0, l.xy_bits), .y = bits(w[at + 2], 16, l.xy_bits), .z = bits(w[at + 3], 0, l.z_bits),
          .pitch = std::uint64_t{bits(w[at + 3], l.pitch_at, l.pitch_bits)} + 1,
          .slice = std::uint64_t{bits(w[at + 4], 0, l.slice_bits)} + 1};
}

Packet copy(Words w, std::uint32_t sub, const RectLayout& l) {
  if (sub == kCopyLinear)
    return {CopyLinear{.from_va = quad(w, 3), .to_va = quad(w, 5), .bytes = std::uint64_t{bits(w[1], 0, 30)} + 1}, 7};
  if (sub == kCopyRect)
    return {CopyRect{.from = image(w, 1, l), .to = image(w, 6, l), .element_bytes = 1u << bits(w[0], 29, 3),
                     .width = bits(w[11], 0, l.xy_bits) + 1, .height = bits(w[11], 16, l.xy_bits) + 1,
                     .depth = bits(w[12], 0, l.depth_bits) + 1},
            13};
  return unknown(w[0]);
}

}  // namespace

bool PollMemory::holds(std::uint32_t value) const {
  const std::uint32_t v = value & mask;
  switch (function) {
    case 1: return v < reference;
    case 2: return v <= reference;
    case 3: return v == reference;
    case 4: return v != reference;
    case 5: return v >= reference;
    case 6: return v > reference;
    default: return true;  // 0: always
  }
}

Packet decode(Words w, bool gfx12) {
  const std::uint32_t op = bits(w[0], 0, 8), sub = bits(w[0], 8, 8);
  switch (op) {
    case kNop: return {Nop{}, 1 + bits(w[0], 16, 14)};
    case kCopy: return copy(w, sub, gfx12 ? kRectGfx12 : kRect);
    case kFence: return {Fence{.va = quad(w, 1), .value = w[3]}, 4};
    case kTrap: return {Trap{.event_id = bits(w[1], 0, 28)}, 2};
    case kPollRegmem:
      // The runtimes' HDP flush is a poll of no memory: {8, 0, 0x80000000, 0, 0, 0}.
      if (w[0] == kPollRegmem && w[1] == 0 && w[2] == 0x80000000u) return {Nop{}, 6};
      if (sub != 0 || bits(w[0], 31, 1) == 0 || bits(w[0], 28, 3) == 7) return unknown(w[0]);
      return {PollMemory{.va = quad(w, 1), .function = bits(w[0], 28, 3), .reference = w[3], .mask = w[4]}, 6};
    case kAtomic: {
      const std::uint32_t atomic = bits(w[0], 25, 7);
      if (atomic != kAtomicAdd64 && atomic != kAtomicAddRtn64) return unknown(w[0]);
      return {Atomic64Add{.va = quad(w, 1), .operand = quad(w, 3)}, 8};
    }
    case kConstFill:
      // Fill size 2 (dwords) is the only one the runtimes use.
      if (bits(w[0], 30, 2) != 2) return unknown(w[0]);
      return {Fill{.va = quad(w, 1), .bytes = std::uint64_t{bits(w[4], 0, 30)} + 1, .value = w[3]}, 5};
    case kTimestamp:
      if (sub != kGetGlobalTimestamp) return unknown(w[0]);
      return {Timestamp{.va = quad(w, 1)}, 3};
    case kGcr: return {Nop{}, 5};  // cache control: one coherent memory
    default: return unknown(w[0]);
  }
}

}  // namespace kerncap::vgpu::sdma
