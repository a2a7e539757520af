// gfx950: matrix products of operands of 4, 6 and 8 bits, every pair of formats, with scales and without, against a plain
// product. Register layout: "CDNA4 ISA", 8-bit and Smaller Matrix Operations and Layouts: element e of lane l is k = 32 * (l / M) + e;
// of 8-bit operands the first sixteen are k = 16 * (l / M) + e, the others the same in the second half of K.
#include <cmath>
#include <random>

#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

struct SmallFormat {
  unsigned bits, mantissa_bits;
  int bias;
};
constexpr SmallFormat kFormats[] = {{8, 3, 7}, {8, 2, 15}, {6, 3, 1}, {6, 2, 3}, {4, 1, 1}};  // as cbsz and blgp number them

double value(const SmallFormat& f, unsigned code) {
  const unsigned steps = 1u << f.mantissa_bits, magnitude = code & ((1u << (f.bits - 1)) - 1);
  const unsigned e = magnitude >> f.mantissa_bits, m = magnitude % steps;
  const double v = std::ldexp(e ? m + steps : m, static_cast<int>(e ? e : 1) - f.bias - static_cast<int>(f.mantissa_bits));
  return code >> (f.bits - 1) & 1 ? -v : v;
}

void put(Machine& m, unsigned first, unsigned bits, unsigned e, unsigned lane, std::uint32_t code) {
  for (unsigned b = 0; b < bits; ++b) {
    std::uint32_t& r = m.reg(first + (e * bits + b) / 32, lane);
    const unsigned shift = (e * bits + b) % 32;
    r = (r & ~(1u << shift)) | (code >> b & 1u) << shift;
  }
}

constexpr unsigned kA = 10, kB = 20, kC = 30, kD = 60, kScaleA = 50, kScaleB = 51;

class Product {
 public:
  Product(unsigned M, unsigned a, unsigned b) : M_(M), K_(2048 / M), formats_{a, b}, m(Target::gfx950) {
    std::mt19937 random(M + 8 * a + b);
    for (unsigned o = 0; o < 2; ++o) {
      const SmallFormat& f = kFormats[formats_[o]];
      values_[o].resize(M * K_);
      for (unsigned l = 0; l < 64; ++l)
        for (unsigned e = 0; e < 32; ++e) {
          // Codes near one in the wide formats: the sums stay exact in a double, and nearly so in a float.
          const unsigned code = f.bits == 8 ? static_cast<unsigned>(f.bias - 2) * (1u << f.mantissa_bits) + static_cast<unsigned>(random() % (4u << f.mantissa_bits))
                                            : static_cast<unsigned>(random() % (1u << (f.bits - 1)));
          const unsigned signed_code = code | static_cast<unsigned>(random() % 2) << (f.bits - 1);
          put(m, o ? kB : kA, f.bits, e, l, signed_code);
          const unsigned k = f.bits == 8 ? e / 16 * (K_ / 2) + l / M * 16 + e % 16 : l / M * 32 + e;
          values_[o][l % M * K_ + k] = value(f, signed_code);
        }
    }
    for (unsigned l = 0; l < 64; ++l) {
      m.reg(kScaleA, l) = static_cast<std::uint32_t>(random()) % 4 * 0x01010101u + 0x7f7e7d7cu;
      m.reg(kScaleB, l) = static_cast<std::uint32_t>(random()) % 4 * 0x01010101u + 0x7c7d7e7fu;
      for (unsigned r = 0; r < 16; ++r) m.reg(kC + r, l) = f32(static_cast<float>(static_cast<int>(random() % 9) - 4));
    }
  }

  // byte: of the scale registers; -1 for the form without scales.
  void check(int byte_a, int byte_b) {
    m.wave.set_exec(0);  // ignored
    Inst load;
    load.src[0] = v(kScaleA);
    load.src[1] = v(kScaleB);
    if (byte_a >= 0) {
      load.op_sel = static_cast<std::uint8_t>((byte_a & 1) | (byte_b & 1) << 1);
      load.op_sel_hi = static_cast<std::uint8_t>(byte_a >> 1 | (byte_b >> 1) << 1);
    }
    const std::string shape = M_ == 16 ? "f32_16x16x128_f8f6f4" : "f32_32x32x64_f8f6f4";
    m.run((byte_a >= 0 ? "v_mfma_scale_" : "v_mfma_") + shape, v(kD), {v(kA), v(kB), v(kC)}, [&](Inst& i) {
      i.cbsz = static_cast<std::uint8_t>(formats_[0]);
      i.blgp = static_cast<std::uint8_t>(formats_[1]);
      if (byte_a >= 0) i.dual = &load;
    });
    ASSERT_EQ(m.refused, nullptr);
    ASSERT_EQ(m.wave.state, Wave::State::running) << m.wave.stop_text;
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned r = 0; r < M_ * M_ / 64; ++r) {
        const unsigned i = M_ == 32 ? 8 * (r / 4) + 4 * (l / 32) + r % 4 : 4 * (l / 16) + r, j = l % M_;
        double sum = as_float(m.reg(kC + r, l));
        for (unsigned k = 0; k < K_; ++k) {
          const double scale = byte_a < 0 ? 1 : scale_of(kScaleA, byte_a, i, k) * scale_of(kScaleB, byte_b, j, k);
          sum += values_[0][i * K_ + k] * values_[1][j * K_ + k] * scale;
        }
        ASSERT_EQ(as_float(m.reg(kD + r, l)), static_cast<float>(sum)) << "lane " << l << " register " << r;
      }
  }

 private:
  double scale_of(unsigned reg, int byte, unsigned row, unsigned k) {
    return std::ldexp(1.0, static_cast<int>(m.reg(reg, row + M_ * (k / 32)) >> (8 * byte) & 0xff) - 127);
  }

  unsigned M_, K_;
  unsigned formats_[2];
  std::vector<double> values_[2];

 public:
  Machine m;
};

TEST(ScaledMatrix, EveryPairOfFormats) {
  for (const unsigned M : {16u, 32u})
    for (unsigned a = 0; a < 5; ++a)
      for (unsigned b = 0; b < 5; ++b) {
        SCOPED_TRACE(std::to_string(M) + " formats " + std::to_string(a) + " " + std::to_string(b));
        Product product(M, a, b);
        product.check(-1, -1);
        product.check(0, 3);
        product.check(2, 1);
      }
}

// One in every place of A and B: each result is K, and what a scale or a NaN makes of it is seen at once.
TEST(ScaledMatrix, ConstantScalesAndNans) {
  Machine m(Target::gfx950);
  for (unsigned r = 0; r < 4; ++r) m.set(kA + r, 0x22222222), m.set(kB + r, 0x22222222);
  const auto run = [&](Operand a, Operand b) {
    Inst load;
    load.src[0] = a;
    load.src[1] = b;
    m.run("v_mfma_scale_f32_16x16x128_f8f6f4", v(kD), {v(kA), v(kB), k(f32(0.5f))}, [&](Inst& i) {
      i.cbsz = i.blgp = 4;
      i.dual = &load;
    });
  };
  run(k(f32(2.0f)), k(f32(0.25f)));
  EXPECT_EQ(as_float(m.reg(kD, 5)), 64.5f);
  m.set(kScaleA, 127);
  m.reg(kScaleA, 16 + 3) = 255;  // the second block of row 3
  run(v(kScaleA), k(f32(1.0f)));
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < 4; ++r) {
      if (4 * (l / 16) + r == 3) EXPECT_EQ(m.reg(kD + r, l), 0x7fc00000u);
      else EXPECT_EQ(as_float(m.reg(kD + r, l)), 128.5f);
    }
  m.wave.s[4] = 128;
  run(s(4), k(f32(1.0f)));
  EXPECT_EQ(as_float(m.reg(kD, 9)), 256.5f);
  Operand special;
  special.kind = OperandKind::special;
  run(special, k(f32(1.0f)));
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
}

TEST(ScaledMatrix, AFormatThatDoesNotExist) {
  Machine m(Target::gfx950);
  m.run("v_mfma_f32_16x16x128_f8f6f4", v(kD), {v(kA), v(kB), v(kC)}, [](Inst& i) { i.cbsz = 5; });
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::illegal);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
