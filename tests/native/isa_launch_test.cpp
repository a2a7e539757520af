// What a wave starts with, from a kernel descriptor written by hand.
#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "isa_harness.hpp"
#include "vgpu/isa/launch/group.hpp"
#include "vgpu/isa/launch/kernel.hpp"
#include "vgpu/isa/valu/overflow.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

struct Launched {
  Outcome outcome;
  Kernel kernel;
  Wave wave;
  std::uint64_t descriptor_va = 0;
};

// A kernel with the kernarg pointer in s[0:1] and `user_sgprs` user SGPRs, whose code starts 512 bytes behind its descriptor.
void launch(Target target, unsigned preload_spec, unsigned user_sgprs, bool map_arguments, Launched& out, std::uint32_t rsrc1 = 0) {
  alignas(64) static std::array<std::uint32_t, 16> descriptor;
  alignas(64) static std::array<std::uint32_t, 8> arguments{10, 11, 12, 13, 14, 15, 16, 17};
  descriptor.fill(0);
  descriptor[4] = 512;
  descriptor[12] = rsrc1;
  descriptor[13] = user_sgprs << 1 | 1u << 7;              // rsrc2: workgroup id x behind the user SGPRs
  descriptor[14] = 1u << 3 | preload_spec << 16;           // kernarg pointer
  HostMemory memory;
  memory.add(descriptor.data(), sizeof descriptor);
  if (map_arguments) memory.add(arguments.data(), sizeof arguments);
  Dispatch dispatch{};
  dispatch.packet.kernel_object = out.descriptor_va = reinterpret_cast<std::uintptr_t>(descriptor.data());
  dispatch.packet.kernarg_address = arguments.data();
  dispatch.packet.workgroup_size_x = dispatch.packet.workgroup_size_y = dispatch.packet.workgroup_size_z = 1;
  dispatch.packet.grid_size_x = dispatch.packet.grid_size_y = dispatch.packet.grid_size_z = 1;
  AddressCache cache(memory);
  if (!read_kernel(target, dispatch, cache, out.kernel, out.outcome)) return;
  std::vector<std::uint32_t> registers(512 * kLanes);
  Workgroup group;
  group.id[0] = 99;
  group.id[1] = 5;
  group.id[2] = 7;
  out.wave.index_in_group = contains(kGfx12, target) ? 3 : 0;
  out.wave.target = target;
  out.wave.size = out.kernel.wave_size;
  out.wave.v = registers.data();
  out.wave.group = &group;
  out.wave.dispatch = &dispatch;
  const std::uint32_t items[3] = {128, 1, 1};
  initialise_wave(out.wave, out.kernel, items);
}

// A grid may end less than a workgroup below 2^32, and hold more workgroups than 64 bits count.
TEST(Launch, GridsOfTheLargestSizes) {
  hsa_kernel_dispatch_packet_t packet = {};
  packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 0xffffffff;
  packet.workgroup_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  EXPECT_EQ(Grid(packet).groups()[0], 1u << 26);
  EXPECT_EQ(Grid(packet).workgroups(), ~std::uint64_t{0});
  packet.grid_size_y = packet.grid_size_z = 1;
  EXPECT_EQ(Grid(packet).workgroups(), 1u << 26);
  EXPECT_EQ(Grid(packet).place((1u << 26) - 1).items[0], 63u);
  packet.grid_size_x = packet.grid_size_y = 1u << 31;
  packet.grid_size_z = 1u << 8;
  EXPECT_EQ(Grid(packet).workgroups(), ~std::uint64_t{0}) << "2^64";
}

// No more LDS and private memory than the packet asks for, whatever the descriptor says.
TEST(Launch, ThePacketsSizesCount) {
  alignas(64) std::array<std::uint32_t, 16> descriptor{1024, 64};
  HostMemory memory;
  memory.add(descriptor.data(), sizeof descriptor);
  Dispatch dispatch{};
  dispatch.packet.kernel_object = reinterpret_cast<std::uintptr_t>(descriptor.data());
  dispatch.packet.workgroup_size_x = dispatch.packet.workgroup_size_y = dispatch.packet.workgroup_size_z = 1;
  dispatch.packet.grid_size_x = dispatch.packet.grid_size_y = dispatch.packet.grid_size_z = 1;
  AddressCache cache(memory);
  Kernel kernel;
  Outcome outcome;
  ASSERT_TRUE(read_kernel(Target::gfx942, dispatch, cache, kernel, outcome));
  EXPECT_EQ(kernel.lds_bytes, 0u);
  EXPECT_EQ(kernel.scratch_lane_bytes, 0u);
}

// Source: LLVM AMDGPUUsage, "Preloaded Kernel Arguments".
TEST(Launch, KernelArgumentsAreInRegisters) {
  Launched l;
  launch(Target::gfx942, 3u | 2u << 7, 5, true, l);  // three dwords from the third on
  ASSERT_EQ(l.outcome.kind, Outcome::Kind::completed) << l.outcome.text;
  EXPECT_EQ(l.wave.pc, l.descriptor_va + 512 + 256) << "behind the code for firmware that does not preload";
  EXPECT_EQ(l.wave.s[2], 12u);
  EXPECT_EQ(l.wave.s[3], 13u);
  EXPECT_EQ(l.wave.s[4], 14u);
  EXPECT_EQ(l.wave.s[5], 99u) << "the workgroup id follows the user SGPRs";
}

TEST(Launch, NothingToPreload) {
  Launched l;
  launch(Target::gfx942, 0, 2, true, l);
  EXPECT_EQ(l.wave.pc, l.descriptor_va + 512);
  EXPECT_EQ(l.wave.s[2], 99u);
  Launched other;
  launch(Target::gfx1100, 3, 2, true, other);  // not a field of this target
  EXPECT_EQ(other.wave.pc, other.descriptor_va + 512);
}

// Of a heap that gives addresses away again.
TEST(Harness, AMappingTakesThePlaceOfThoseItOverlaps) {
  HostMemory memory;
  std::byte heap[64];
  const auto at = [&](std::size_t offset) { return reinterpret_cast<std::uintptr_t>(heap) + offset; };
  memory.add(heap + 8, 4);
  memory.add(heap + 40, 8);
  memory.add(heap + 60, 4);
  memory.add(heap, 44);
  EXPECT_EQ(memory.find(at(4)).end, at(44));
  EXPECT_EQ(memory.find(at(20)).end, at(44));
  EXPECT_EQ(memory.find(at(46)).end, 0u);
  EXPECT_EQ(memory.find(at(60)).end, at(64));
  memory.add(heap + 44, 16);  // side by side
  EXPECT_EQ(memory.find(at(43)).end, at(44));
  EXPECT_EQ(memory.find(at(44)).end, at(60));
}

// Source: LLVM AMDGPUUsage, "Initial Kernel Execution State": workgroup ids of gfx12 are in trap temporaries.
TEST(Launch, WorkgroupIdsOfGfx12) {
  Launched l;
  launch(Target::gfx1201, 0, 2, true, l, 1u << 21 | 1u << 23);
  ASSERT_EQ(l.outcome.kind, Outcome::Kind::completed) << l.outcome.text;
  EXPECT_EQ(l.wave.s[2], 0u) << "nothing follows the user SGPRs";
  EXPECT_EQ(l.wave.s[kTtmp0 + 9], 99u);
  EXPECT_EQ(l.wave.s[kTtmp0 + 7], 7u << 16 | 5u);
  EXPECT_EQ(l.wave.s[kTtmp0 + 8], 3u << 25) << "the number of the wave";
  EXPECT_FALSE(l.wave.mode.ieee) << "the bit has another meaning";
  EXPECT_TRUE(l.wave.mode.dx10_clamp);
}

TEST(Launch, ArgumentsThatAreNotMapped) {
  Launched l;
  launch(Target::gfx90a, 1, 3, false, l);
  EXPECT_EQ(l.outcome.kind, Outcome::Kind::page_fault);
}

TEST(Launch, SaturatingHalves) {
  for (const std::uint32_t rsrc1 : {0u, 1u << 26}) {
    Launched l;
    launch(Target::gfx942, 0, 2, true, l, rsrc1);
    ASSERT_EQ(l.outcome.kind, Outcome::Kind::completed) << l.outcome.text;
    EXPECT_EQ(saturates_halves(l.wave), rsrc1 != 0);
  }
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
