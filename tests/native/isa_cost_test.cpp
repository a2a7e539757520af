// What the cost model charges an instruction (docs/virtual-gpu.md).
#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

#include "vgpu/isa/decode/decoder.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

std::uint64_t charge(Target target, unsigned wave_size, std::initializer_list<std::uint32_t> words) {
  const std::vector<std::uint32_t> code(words);
  const Decoded decoded = decode(target, wave_size, code, 0);
  EXPECT_EQ(decoded.status, Decoded::Status::ok) << decoded.reason;
  return decoded.inst.charge;
}
std::uint64_t cost(std::uint32_t cycles, std::uint32_t bytes) { return Charge{cycles, bytes}.word(); }

TEST(Cost, Arithmetic) {
  EXPECT_EQ(charge(Target::gfx942, 64, {0xbf800000}), cost(1, 0)) << "s_nop 0";
  EXPECT_EQ(charge(Target::gfx942, 64, {0x02000100}), cost(4, 0)) << "v_add_f32 v0, v0, v0";
  EXPECT_EQ(charge(Target::gfx1100, 32, {0x06000100}), cost(1, 0)) << "v_add_f32 v0, v0, v0";
  EXPECT_EQ(charge(Target::gfx1100, 64, {0x06000100}), cost(2, 0)) << "v_add_f32 v0, v0, v0";
  EXPECT_EQ(charge(Target::gfx942, 64, {0x7e004100}), cost(16, 0)) << "v_exp_f32 v0, v0";
  EXPECT_EQ(charge(Target::gfx942, 64, {0xd2800000, 0x00020100}), cost(8, 0)) << "v_add_f64 v[0:1], v[0:1], v[0:1]";
  EXPECT_EQ(charge(Target::gfx1100, 32, {0xd7270000, 0x00020100}), cost(16, 0)) << "v_add_f64 v[0:1], v[0:1], v[0:1]";
}

TEST(Cost, MemoryIsChargedForAllLanes) {
  EXPECT_EQ(charge(Target::gfx942, 64, {0xdc5c0000, 0x007f0000}), cost(8, 1024)) << "global_load_dwordx4 v[0:3], v[0:1], off";
  EXPECT_EQ(charge(Target::gfx942, 64, {0xdc700000, 0x007f0200}), cost(4, 256)) << "global_store_dword v[0:1], v2, off";
  EXPECT_EQ(charge(Target::gfx942, 64, {0xd86c0000, 0x00000000}), cost(4, 0)) << "ds_read_b32 v0, v0";
  EXPECT_EQ(charge(Target::gfx942, 64, {0xd9fe0000, 0x00000000}), cost(8, 0)) << "ds_read_b128 v[0:3], v0";
  EXPECT_EQ(charge(Target::gfx942, 64, {0xc0060000, 0x00000000}), cost(1, 8)) << "s_load_dwordx2 s[0:1], s[0:1], 0x0";
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
