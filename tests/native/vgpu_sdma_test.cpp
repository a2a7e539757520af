// SDMA packets: decode, field by field, from the dwords that the runtimes write.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>

#include "vgpu/queue/sdma_packets.hpp"

namespace kerncap::vgpu::sdma {
namespace {

Packet decode_words(std::initializer_list<std::uint32_t> words, bool gfx12 = false) {
  std::uint32_t buffer[kLongestPacket] = {};
  std::copy(words.begin(), words.end(), buffer);
  return decode(buffer, gfx12);
}

TEST(Sdma, CopyLinear) {
  const Packet p = decode_words({0x00000001, 0xfff, 0, 0x11112222, 0x7f00, 0x33334444, 0x7e00});
  EXPECT_EQ(p.dwords, 7u);
  const auto& copy = std::get<CopyLinear>(p.command);
  EXPECT_EQ(copy.bytes, 0x1000u);
  EXPECT_EQ(copy.from_va, 0x7f0011112222u);
  EXPECT_EQ(copy.to_va, 0x7e0033334444u);
}

// From (x 1, y 2), pitch 16, slice 64; to pitch 8; 5 x 3 x 1.
void expect_the_rectangle(const CopyRect& rect) {
  EXPECT_EQ(rect.from.x, 1u);
  EXPECT_EQ(rect.from.y, 2u);
  EXPECT_EQ(rect.from.pitch, 16u);
  EXPECT_EQ(rect.from.slice, 64u);
  EXPECT_EQ(rect.to.pitch, 8u);
  EXPECT_EQ(rect.width, 5u);
  EXPECT_EQ(rect.height, 3u);
  EXPECT_EQ(rect.depth, 1u);
}

TEST(Sdma, CopyRect) {
  // Elements of 4 bytes; from (x 1, y 2, z 0), pitch 16, slice 64; to (0, 0, 0), pitch 8, slice 32; 5 x 3 x 1.
  const Packet p = decode_words({0x40000401, 0x1000, 0, 1 | (2 << 16), 15 << 13, 63, 0x2000, 0, 0, 7 << 13, 31,
                                 4 | (2 << 16), 0});
  EXPECT_EQ(p.dwords, 13u);
  const auto& rect = std::get<CopyRect>(p.command);
  EXPECT_EQ(rect.element_bytes, 4u);
  EXPECT_EQ(rect.from.va, 0x1000u);
  expect_the_rectangle(rect);
}

// The same copy in gfx12's layout. Source: ROCr sdma_registers.h, SDMA_PKT_COPY_LINEAR_RECT_GFX12.
TEST(Sdma, CopyRectOfGfx12) {
  const Packet p = decode_words({0x40000401, 0x1000, 0, 1 | (2 << 16), 3 | (15 << 16), 63, 0x2000, 0, 0, 7 << 16, 31,
                                 4 | (2 << 16), 0},
                                true);
  EXPECT_EQ(p.dwords, 13u);
  const auto& rect = std::get<CopyRect>(p.command);
  EXPECT_EQ(rect.from.z, 3u);
  expect_the_rectangle(rect);
}

TEST(Sdma, FenceTrapTimestamp) {
  const Packet fence = decode_words({5, 0x10, 0x7f, 77});
  EXPECT_EQ(std::get<Fence>(fence.command).va, 0x7f00000010u);
  EXPECT_EQ(std::get<Fence>(fence.command).value, 77u);
  EXPECT_EQ(fence.dwords, 4u);
  EXPECT_EQ(std::get<Trap>(decode_words({6, 12}).command).event_id, 12u);
  const Packet time = decode_words({0x0000020d, 0x40, 0});
  EXPECT_EQ(std::get<Timestamp>(time.command).va, 0x40u);
  EXPECT_EQ(time.dwords, 3u);
}

TEST(Sdma, PollMemoryFunctions) {
  const Packet p = decode_words({0xb0000008, 0x80, 0, 5, 0xff, 0});
  const auto& poll = std::get<PollMemory>(p.command);
  EXPECT_EQ(p.dwords, 6u);
  EXPECT_EQ(poll.function, 3u);
  EXPECT_TRUE(poll.holds(0x105));
  EXPECT_FALSE(poll.holds(6));
  const auto at_least = std::get<PollMemory>(decode_words({0xd0000008, 0x80, 0, 5, ~0u, 0}).command);
  EXPECT_TRUE(at_least.holds(9));
  EXPECT_FALSE(at_least.holds(4));
}

TEST(Sdma, HdpFlushIsNoPoll) {
  const Packet p = decode_words({8, 0, 0x80000000, 0, 0, 0});
  EXPECT_TRUE(std::holds_alternative<Nop>(p.command));
  EXPECT_EQ(p.dwords, 6u);
}

TEST(Sdma, AtomicFillNop) {
  const Packet atomic = decode_words({10u | (47u << 25), 0x8, 0, 0xffffffff, 0xffffffff});
  EXPECT_EQ(std::get<Atomic64Add>(atomic.command).operand, ~std::uint64_t{0});
  EXPECT_EQ(atomic.dwords, 8u);
  const Packet fill = decode_words({11u | (2u << 30), 0x100, 0, 0xabcdabcd, 15});
  EXPECT_EQ(std::get<Fill>(fill.command).bytes, 16u);
  EXPECT_EQ(std::get<Fill>(fill.command).value, 0xabcdabcdu);
  EXPECT_EQ(decode_words({3u << 16}).dwords, 4u);
}

TEST(Sdma, WhatIsNotKnownIsNamed) {
  const auto name = [](std::initializer_list<std::uint32_t> words) {
    return std::get<Unknown>(decode_words(words).command).name;
  };
  EXPECT_EQ(name({2}), "SDMA operation 2, sub-operation 0");
  EXPECT_EQ(name({0x00000601}), "SDMA operation 1, sub-operation 6");
  EXPECT_EQ(name({10u | (3u << 25)}), "SDMA operation 10, sub-operation 0");
  EXPECT_EQ(name({0x30000008}), "SDMA operation 8, sub-operation 0") << "a poll of a register";
}

}  // namespace
}  // namespace kerncap::vgpu::sdma
