// SDMA packets as data. In: dwords of the ring from a packet's start. Out: a command with its length, or the name of
// what is not known. No memory is touched here. Source: amdgpu vega10_sdma_pkt_open.h, v6_0 sdma packets; ROCr
// sdma_registers.h.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>

namespace kerncap::vgpu::sdma {

struct Nop {};
struct CopyLinear {
  std::uint64_t from_va, to_va, bytes;
};
// A box copied between two pitched images of `element_bytes` elements.
struct CopyRect {
  struct Image {
    std::uint64_t va;
    std::uint32_t x, y, z;
    std::uint64_t pitch, slice;  // elements
  };
  Image from, to;
  std::uint32_t element_bytes, width, height, depth;
};
struct Fence {
  std::uint64_t va;
  std::uint32_t value;
};
struct Trap {
  std::uint32_t event_id;
};
struct PollMemory {
  std::uint64_t va;
  std::uint32_t function, reference, mask;
  bool holds(std::uint32_t value) const;
};
struct Atomic64Add {
  std::uint64_t va, operand;
};
struct Fill {
  std::uint64_t va, bytes;
  std::uint32_t value;
};
struct Timestamp {
  std::uint64_t va;
};
struct Unknown {
  std::string name;
};

using Command = std::variant<Nop, CopyLinear, CopyRect, Fence, Trap, PollMemory, Atomic64Add, Fill, Timestamp, Unknown>;
struct Packet {
  Command command;
  std::uint32_t dwords = 1;
};

inline constexpr std::size_t kLongestPacket = 16;  // dwords of look-ahead that decode needs
// `gfx12`: the fields of a rectangular copy have other places there.
Packet decode(std::span<const std::uint32_t, kLongestPacket> words, bool gfx12 = false);

}  // namespace kerncap::vgpu::sdma
