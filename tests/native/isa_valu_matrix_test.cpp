// Matrix instructions against a product computed from the layouts that the ISA manuals give.
#include <random>
#include <vector>

#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

std::uint32_t half(int v) { return std::bit_cast<std::uint16_t>(static_cast<_Float16>(v)); }

// Small integers: every order of summation gives the same result.
struct Numbers {
  std::mt19937 random{11};
  int next() { return static_cast<int>(random() % 9) - 4; }
};

TEST(ValuMatrix, F16_32x32x8) {
  Machine m;
  Numbers n;
  int a[32][8], b[8][32], c[32][32];
  for (auto& row : a) for (int& x : row) x = n.next();
  for (auto& row : b) for (int& x : row) x = n.next();
  for (auto& row : c) for (int& x : row) x = n.next();
  for (unsigned l = 0; l < 64; ++l) {
    const unsigned i = l % 32, k0 = l / 32 * 4;
    for (unsigned r = 0; r < 2; ++r) {
      m.reg(10 + r, l) = half(a[i][k0 + 2 * r]) | half(a[i][k0 + 2 * r + 1]) << 16;
      m.reg(12 + r, l) = half(b[k0 + 2 * r][i]) | half(b[k0 + 2 * r + 1][i]) << 16;
    }
    for (unsigned r = 0; r < 16; ++r) m.acc(r, l) = f32(static_cast<float>(c[8 * (r / 4) + 4 * (l / 32) + r % 4][i]));
  }
  m.wave.set_exec(0);  // ignored
  m.run("v_mfma_f32_32x32x8_f16", v(256), {v(10), v(12), v(256)});
  ASSERT_EQ(m.refused, nullptr);
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < 16; ++r) {
      const unsigned i = 8 * (r / 4) + 4 * (l / 32) + r % 4, j = l % 32;
      int want = c[i][j];
      for (unsigned k = 0; k < 8; ++k) want += a[i][k] * b[k][j];
      EXPECT_EQ(as_float(m.acc(r, l)), static_cast<float>(want)) << i << ' ' << j;
    }
}

TEST(ValuMatrix, F32_16x16x4WithZeroAccumulator) {
  Machine m;
  Numbers n;
  int a[16][4], b[4][16];
  for (auto& row : a) for (int& x : row) x = n.next();
  for (auto& row : b) for (int& x : row) x = n.next();
  for (unsigned l = 0; l < 64; ++l) {
    m.reg(10, l) = f32(static_cast<float>(a[l % 16][l / 16]));
    m.reg(11, l) = f32(static_cast<float>(b[l / 16][l % 16]));
  }
  m.run("v_mfma_f32_16x16x4_f32", v(20), {v(10), v(11), k(0)});
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < 4; ++r) {
      const unsigned i = 4 * (l / 16) + r, j = l % 16;
      int want = 0;
      for (unsigned x = 0; x < 4; ++x) want += a[i][x] * b[x][j];
      EXPECT_EQ(as_float(m.reg(20 + r, l)), static_cast<float>(want));
    }
}

TEST(ValuMatrix, SixteenBlocksAndBroadcast) {
  Machine m;
  for (unsigned l = 0; l < 64; ++l) {
    m.reg(10, l) = f32(static_cast<float>(l));             // A of block l/4, row l%4
    m.reg(11, l) = f32(static_cast<float>(l % 4 + 1));     // B, column l%4
  }
  m.run("v_mfma_f32_4x4x1_16b_f32", v(20), {v(10), v(11), k(f32(0.5f))});
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < 4; ++r)
      EXPECT_EQ(as_float(m.reg(20 + r, l)), static_cast<float>((l / 4 * 4 + r) * (l % 4 + 1)) + 0.5f);
  m.run("v_mfma_f32_4x4x1_16b_f32", v(20), {v(10), v(11), k(0)}, [](Inst& i) { i.cbsz = 2; i.abid = 1; });
  EXPECT_EQ(as_float(m.reg(20, 0)), 4.0f);    // block 0 uses block 1
  EXPECT_EQ(as_float(m.reg(20, 63)), 52.0f * 4.0f);  // block 15 uses block 13
}

// Lane l of B is that of the pattern. Source: "CDNA3 ISA", BLGP: 1 and 2 repeat a half, 3 rotates down by 16 lanes, 4 to 7
// repeat a quarter.
TEST(ValuMatrix, PatternsOfB) {
  const std::function<unsigned(unsigned)> patterns[] = {
      [](unsigned l) { return l; },           [](unsigned l) { return l % 32; },      [](unsigned l) { return 32 + l % 32; },
      [](unsigned l) { return (l + 16) % 64; }, [](unsigned l) { return l % 16; },    [](unsigned l) { return 16 + l % 16; },
      [](unsigned l) { return 32 + l % 16; }, [](unsigned l) { return 48 + l % 16; }};
  for (unsigned blgp = 0; blgp < 8; ++blgp) {
    Machine m;
    for (unsigned l = 0; l < 64; ++l) m.reg(10, l) = f32(1.0f), m.reg(11, l) = f32(static_cast<float>(l));
    m.run("v_mfma_f32_4x4x1_16b_f32", v(20), {v(10), v(11), k(0)}, [&](Inst& i) { i.blgp = static_cast<std::uint8_t>(blgp); });
    for (unsigned l = 0; l < 64; ++l) EXPECT_EQ(as_float(m.reg(20, l)), static_cast<float>(patterns[blgp](l))) << blgp;
  }
}

TEST(ValuMatrix, ControlsThatAnInstructionDoesNotHave) {
  const auto stops = [](Target target, const char* name, const std::function<void(Inst&)>& change) {
    Machine m(target);
    m.run(name, v(20), {v(10), v(14), v(20)}, change);
    return m.wave.stop_kind == Outcome::Kind::unimplemented;
  };
  const auto blgp = [](Inst& i) { i.blgp = 1; };
  const auto cbsz = [](Inst& i) { i.cbsz = 1; };
  EXPECT_TRUE(stops(Target::gfx942, "v_mfma_f32_16x16x32_fp8_fp8", blgp));
  EXPECT_TRUE(stops(Target::gfx942, "v_mfma_f32_32x32x8_f16", blgp));
  EXPECT_FALSE(stops(Target::gfx90a, "v_mfma_f32_32x32x8f16", blgp));
  EXPECT_FALSE(stops(Target::gfx942, "v_mfma_f32_32x32x2_f32", blgp));
  EXPECT_TRUE(stops(Target::gfx942, "v_mfma_f32_32x32x2_f32", cbsz));
  EXPECT_FALSE(stops(Target::gfx942, "v_mfma_f32_32x32x1_2b_f32", cbsz));
  EXPECT_TRUE(stops(Target::gfx90a, "v_mfma_f64_4x4x4f64", blgp));
  EXPECT_TRUE(stops(Target::gfx942, "v_mfma_f64_4x4x4_4b_f64", cbsz));
}

// gfx942: the bits of blgp negate A, B and C. A constant C is a double.
TEST(ValuMatrix, NegationOfDoubles) {
  for (unsigned bits = 0; bits < 8; ++bits) {
    Machine m;
    m.set_wide(10, f64(2.0));
    m.set_wide(12, f64(3.0));
    m.set_wide(20, f64(0.5));
    for (unsigned e = 1; e < 4; ++e) m.set_wide(20 + 2 * e, f64(0.5));
    const auto negate = [&](Inst& i) { i.blgp = static_cast<std::uint8_t>(bits); };
    const double product = 4 * (bits & 1 ? -2.0 : 2.0) * (bits & 2 ? -3.0 : 3.0), c = bits & 4 ? -0.5 : 0.5;
    m.run("v_mfma_f64_4x4x4_4b_f64", v(30), {v(10), v(12), v(20)}, negate);
    EXPECT_EQ(as_double(m.wide(30, 37)), product + c) << bits;
    m.run("v_mfma_f64_16x16x4_f64", v(30), {v(10), v(12), v(20)}, negate);
    EXPECT_EQ(as_double(m.wide(36, 37)), product + c) << bits;
    m.run("v_mfma_f64_16x16x4_f64", v(30), {v(10), v(12), k(f64(0.1))}, negate);
    EXPECT_EQ(as_double(m.wide(34, 5)), product + (bits & 4 ? -0.1 : 0.1)) << bits;
  }
}

TEST(ValuMatrix, F64AndI8) {
  Machine m;
  for (unsigned l = 0; l < 64; ++l) {
    const std::uint64_t a = f64(static_cast<double>(l % 16)), b = f64(static_cast<double>(l / 16 + 1));
    m.reg(10, l) = static_cast<std::uint32_t>(a), m.reg(11, l) = static_cast<std::uint32_t>(a >> 32);
    m.reg(12, l) = static_cast<std::uint32_t>(b), m.reg(13, l) = static_cast<std::uint32_t>(b >> 32);
  }
  m.run("v_mfma_f64_16x16x4_f64", v(20), {v(10), v(12), k(0)});
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned e = 0; e < 4; ++e)
      EXPECT_EQ(as_double(m.wide(20 + 2 * e, l)), 10.0 * (4 * e + l / 16));  // row i times 1+2+3+4
  m.set(10, 0x80ff7f01);  // bytes 1, 127, -1, -128 in each of eight k
  m.set(11, 0x80ff7f01);
  m.set(12, 0x01010101);
  m.set(13, 0x02020202);
  m.run("v_mfma_i32_16x16x32_i8", v(20), {v(10), v(12), k(0)});
  EXPECT_EQ(static_cast<std::int32_t>(m.reg(20, 9)), -1 * (1 + 2) * 4);
}

TEST(ValuMatrix, SparseTakesPositionsFromTheIndex) {
  Machine m;
  for (unsigned l = 0; l < 64; ++l) {
    m.reg(10, l) = half(1) | half(10) << 16;       // elements 0, 1
    m.reg(11, l) = half(100) | half(1000) << 16;   // elements 2, 3
    for (unsigned r = 0; r < 4; ++r) m.reg(12 + r, l) = half(static_cast<int>(2 * r)) | half(static_cast<int>(2 * r + 1)) << 16;
    m.reg(16, l) = 0b11'10'01'00u | 0b11'00'10'01u << 8;
  }
  for (unsigned r = 0; r < 4; ++r) m.set(20 + r, f32(0.5f));
  m.run("v_smfmac_f32_16x16x32_f16", v(20), {v(10), v(12), v(16)});
  // Four lane groups of k: 1*0 + 10*1 + 100*6 + 1000*7 each.
  EXPECT_EQ(as_float(m.reg(20, 5)), 4.0f * 7610.0f + 0.5f);
  for (unsigned r = 0; r < 4; ++r) m.set(20 + r, 0);
  m.run("v_smfmac_f32_16x16x32_f16", v(20), {v(10), v(12), v(16)}, [](Inst& i) { i.abid = 1; });
  EXPECT_EQ(as_float(m.reg(20, 5)), 4.0f * (1 + 20 + 400 + 7000));
}

TEST(ValuMatrix, Wmma) {
  Machine m(Target::gfx1100);
  Numbers n;
  int a[16][16], b[16][16];
  for (auto& row : a) for (int& x : row) x = n.next();
  for (auto& row : b) for (int& x : row) x = n.next();
  const auto want = [&](unsigned i, unsigned j) {
    int sum = 1;
    for (unsigned x = 0; x < 16; ++x) sum += a[i][x] * b[x][j];
    return sum;
  };
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 8; ++r) {
      m.reg(10 + r, l) = half(a[l % 16][2 * r]) | half(a[l % 16][2 * r + 1]) << 16;
      m.reg(20 + r, l) = half(b[2 * r][l % 16]) | half(b[2 * r + 1][l % 16]) << 16;
      m.reg(30 + r, l) = f32(1.0f);
      m.reg(40 + r, l) = 0xabcd0000 | half(1);
    }
  m.run("v_wmma_f32_16x16x16_f16", v(30), {v(10), v(20), v(30)});
  m.run("v_wmma_f16_16x16x16_f16", v(40), {v(10), v(20), v(40)});
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 8; ++r) {
      const int expected = want(2 * r + l / 16, l % 16);
      EXPECT_EQ(as_float(m.reg(30 + r, l)), static_cast<float>(expected));
      EXPECT_EQ(m.reg(40 + r, l), 0xabcd0000u | half(expected));
    }
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 4; ++r) {
      m.reg(10 + r, l) = m.reg(20 + r, l) = 0;
      for (unsigned e = 0; e < 4; ++e) {
        m.reg(10 + r, l) |= (static_cast<std::uint32_t>(a[l % 16][4 * r + e]) & 0xffu) << (8 * e);
        m.reg(20 + r, l) |= (static_cast<std::uint32_t>(b[4 * r + e][l % 16]) & 0xffu) << (8 * e);
      }
    }
  m.run("v_wmma_i32_16x16x16_iu8", v(30), {v(10), v(20), k(1)}, [](Inst& i) { i.neg = 3; });
  ASSERT_EQ(m.refused, nullptr);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 8; ++r) EXPECT_EQ(static_cast<int>(m.reg(30 + r, l)), want(2 * r + l / 16, l % 16));
  m.set(10, 0x11111111);
  m.set(11, 0x11111111);
  m.set(20, 0xffffffff);
  m.set(21, 0xffffffff);
  m.run("v_wmma_i32_16x16x16_iu4", v(30), {v(10), v(20), k(0)}, [](Inst& i) { i.neg = 2; });
  EXPECT_EQ(static_cast<int>(m.reg(33, 20)), -16);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
