// gfx950: conversions of 32 numbers at once between floats of 6 bits and wider ones, and the byte or half that op_sel chooses in
// the conversions of 4 and 8 bits (whose values: isa_vectors.txt). Source: "CDNA4 ISA", V_CVT_SCALEF32_*.
#include <array>
#include <cmath>
#include <limits>

#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

constexpr std::uint64_t kPartial = 0xa5a5c3c3f00f5a5a;
constexpr std::uint32_t kOld = 0xdeadbeef;

struct SixBits {
  const char* name;
  unsigned mantissa_bits;
  int bias;
  // The number of a code without its sign: no infinities, no NaNs.
  double value(unsigned code) const {
    const unsigned steps = 1u << mantissa_bits, e = code >> mantissa_bits, m = code % steps;
    return std::ldexp(e ? m + steps : m, static_cast<int>(e ? e : 1) - bias - static_cast<int>(mantissa_bits));
  }
};
constexpr SixBits kSix[] = {{"fp6", 3, 1}, {"bf6", 2, 3}};

struct Wide {
  const char* name;
  unsigned bits, mantissa_bits;
  std::uint32_t encode(double v) const {
    const std::uint32_t single = f32(static_cast<float>(v));
    if (bits == 32) return single;
    return mantissa_bits == 7 ? single >> 16 : std::bit_cast<std::uint16_t>(static_cast<_Float16>(v));
  }
};
constexpr Wide kWide[] = {{"f32", 32, 23}, {"f16", 16, 10}, {"bf16", 16, 7}};

// Element e of `bits` wide elements without gaps, from register `first` on.
std::uint32_t element(Machine& m, unsigned first, unsigned bits, unsigned e, unsigned lane) {
  std::uint32_t out = 0;
  for (unsigned b = 0; b < bits; ++b) out |= (m.reg(first + (e * bits + b) / 32, lane) >> ((e * bits + b) % 32) & 1u) << b;
  return out;
}
void put(Machine& m, unsigned first, unsigned bits, unsigned e, unsigned lane, std::uint32_t value) {
  for (unsigned b = 0; b < bits; ++b) {
    std::uint32_t& r = m.reg(first + (e * bits + b) / 32, lane);
    const unsigned shift = (e * bits + b) % 32;
    r = (r & ~(1u << shift)) | (value >> b & 1u) << shift;
  }
}

// Lanes that are off keep `registers` registers from `first` on.
void expect_kept(Machine& m, unsigned first, unsigned registers, unsigned lane) {
  for (unsigned r = 0; r < registers; ++r) ASSERT_EQ(m.reg(first + r, lane), kOld) << "lane " << lane << " is off";
}

constexpr unsigned kTo = 100, kFrom = 20, kSecond = 60, kScale = 10, kSeed = 11;

// All 64 codes in turn; lane l's scale is 2^(l % 3 - 1).
void check_widening(const SixBits& six, const Wide& wide, std::uint64_t exec) {
  const std::string name = std::string("v_cvt_scalef32_pk32_") + wide.name + "_" + six.name;
  SCOPED_TRACE(name);
  Machine m(Target::gfx950);
  for (unsigned r = 0; r < 32; ++r) m.set(kTo + r, kOld);
  const auto code = [](unsigned e, unsigned l) { return (e + 32 * (l % 2)) ^ (l & 4); };
  for (unsigned l = 0; l < 64; ++l) {
    m.reg(kScale, l) = f32(std::ldexp(1.5f, static_cast<int>(l % 3) - 1));  // only the exponent counts
    for (unsigned e = 0; e < 32; ++e) put(m, kFrom, 6, e, l, code(e, l));
  }
  m.wave.set_exec(exec);
  m.run(name, v(kTo), {v(kFrom), v(kScale)});
  ASSERT_EQ(m.refused, nullptr);
  for (unsigned l = 0; l < 64; ++l) {
    if (!(exec >> l & 1)) {
      expect_kept(m, kTo, wide.bits, l);
      continue;
    }
    for (unsigned e = 0; e < 32; ++e) {
      const double magnitude = std::ldexp(six.value(code(e, l) % 32), static_cast<int>(l % 3) - 1);
      ASSERT_EQ(element(m, kTo, wide.bits, e, l), wide.encode(code(e, l) & 32 ? -magnitude : magnitude)) << l << ' ' << e;
    }
  }
}

TEST(ScaledRows, SixBitsToWider) {
  for (const SixBits& six : kSix)
    for (const Wide& wide : kWide)
      for (const std::uint64_t exec : {~std::uint64_t{0}, kPartial, std::uint64_t{0}}) check_widening(six, wide, exec);
}

struct Case {
  std::uint32_t from;
  unsigned code;
};
// Numbers and the codes that they become at scale 2^power: each code, each middle between two (to the even one, or up by the
// seed's top bit), without a seed a bit beyond the middle, the ends.
std::vector<Case> cases(const SixBits& six, const Wide& wide, int power, bool stochastic, bool seed_top) {
  std::vector<Case> out;
  const auto add = [&](double v, unsigned code) {
    out.push_back({wide.encode(std::ldexp(v, power)), code});
    out.push_back({wide.encode(std::ldexp(-v, power)), code | 32});
  };
  for (unsigned c = 0; c < 32; ++c) add(six.value(c), c);
  for (unsigned c = 0; c + 1 < 32; ++c) {
    const double middle = (six.value(c) + six.value(c + 1)) / 2;
    add(middle, stochastic ? c + seed_top : c + c % 2);
    if (!stochastic) add(middle * 1.03125, c + 1);
  }
  add(1000, 31);
  add(std::numeric_limits<double>::infinity(), 31);
  const std::uint32_t infinity = wide.encode(std::numeric_limits<double>::infinity()), sign = 1u << (wide.bits - 1);
  out.push_back({infinity | 1, 31});  // NaN
  out.push_back({infinity | 1 | sign, 63});
  if (!stochastic) out.push_back({1, 0}), out.push_back({1 | sign, 32});  // the smallest denormal
  return out;
}

std::uint32_t next(std::uint32_t seed) { return seed << 1 ^ (seed >> 31 ? 0xc5u : 0u); }

void check_narrowing(const SixBits& six, const Wide& wide, bool stochastic, bool two, std::uint64_t exec) {
  const std::string name = std::string("v_cvt_scalef32_") + (stochastic ? "sr_" : "") + (two ? "2xpk16_" : "pk32_") + six.name + "_" + wide.name;
  SCOPED_TRACE(name);
  // With a scale, with the top bit of the seed clear and set: of the first element; the others' follow from the sequence.
  for (const int power : {0, 1, -2}) {
    Machine m(Target::gfx950);
    for (unsigned r = 0; r < 6; ++r) m.set(kTo + r, kOld);
    std::vector<std::array<unsigned, 32>> expected(64);
    for (unsigned l = 0; l < 64; ++l) {
      const std::uint32_t seed = 0x9e3779b9u * (l + 1);
      std::uint32_t now = seed;
      m.reg(kScale, l) = f32(std::ldexp(1.0f, power));
      m.reg(kSeed, l) = seed;
      for (unsigned e = 0; e < 32; ++e, now = next(now)) {
        const std::vector<Case> all = cases(six, wide, power, stochastic, now >> 31);
        const Case& one = all[(l * 32 + e * 7) % all.size()];
        expected[l][e] = one.code;
        if (two) put(m, e % 2 ? kSecond : kFrom, 32, e / 2, l, one.from);
        else put(m, kFrom, wide.bits, e, l, one.from);
      }
    }
    m.wave.set_exec(exec);
    if (two) m.run(name, v(kTo), {v(kFrom), v(kSecond), v(kScale)});
    else if (stochastic) m.run(name, v(kTo), {v(kFrom), v(kSeed), v(kScale)});
    else m.run(name, v(kTo), {v(kFrom), v(kScale)});
    ASSERT_EQ(m.refused, nullptr);
    for (unsigned l = 0; l < 64; ++l) {
      if (!(exec >> l & 1)) {
        expect_kept(m, kTo, 6, l);
        continue;
      }
      for (unsigned e = 0; e < 32; ++e) ASSERT_EQ(element(m, kTo, 6, e, l), expected[l][e]) << "lane " << l << " element " << e;
    }
  }
}

TEST(ScaledRows, WiderToSixBits) {
  for (const SixBits& six : kSix)
    for (const Wide& wide : kWide)
      for (const std::uint64_t exec : {~std::uint64_t{0}, kPartial, std::uint64_t{0}}) {
        check_narrowing(six, wide, false, wide.bits == 32, exec);
        check_narrowing(six, wide, true, false, exec);
      }
}

TEST(ScaledRows, ANanScaleMakesNans) {
  Machine m(Target::gfx950);
  m.set(kFrom, 0x00000021);  // one element, negative
  m.set(kScale, 0x7fc00000);
  m.run("v_cvt_scalef32_pk32_f32_fp6", v(kTo), {v(kFrom), v(kScale)});
  EXPECT_EQ(m.reg(kTo, 3) & 0x7fc00000, 0x7fc00000u);
  m.set(kFrom, f32(-1.0f));
  m.run("v_cvt_scalef32_2xpk16_fp6_f32", v(kTo), {v(kFrom), v(kFrom), v(kScale)});
  EXPECT_EQ(element(m, kTo, 6, 0, 9), 63u);
}

// Every byte and half that op_sel can name, of the source and of the destination.
TEST(ScaledRows, PartsThatOpSelChooses) {
  Machine m(Target::gfx950);
  const auto select = [](unsigned bits) { return [bits](Inst& i) { i.op_sel = static_cast<std::uint8_t>(bits); }; };
  m.set(kScale, f32(2.0f));
  m.set(kFrom, 0x48403830);  // fp8 0.5, 1, 2, 4
  for (unsigned byte = 0; byte < 4; ++byte) {
    m.run("v_cvt_scalef32_f32_fp8", v(kTo), {v(kFrom), v(kScale)}, select(byte));
    EXPECT_EQ(as_float(m.reg(kTo)), std::ldexp(1.0f, static_cast<int>(byte)));
    m.set(kTo, 0x11112222);
    m.run("v_cvt_scalef32_f16_fp8", v(kTo), {v(kFrom), v(kScale)}, select(8 | byte));
    EXPECT_EQ(m.reg(kTo), (0x3c00u + 0x400 * byte) << 16 | 0x2222);
    m.set(kTo, 0);
    m.set(kSecond, f32(2.0f));
    m.run("v_cvt_scalef32_sr_fp8_f32", v(kTo), {v(kSecond), k(0), v(kScale)}, select(byte << 2));
    EXPECT_EQ(m.reg(kTo), 0x38u << 8 * byte);
    m.set(kTo, 0x12345678);
    m.run("v_cvt_scalef32_pk_fp4_f32", v(kTo), {v(kSecond), v(kScale), v(kScale)}, select(byte << 2));
    EXPECT_EQ(m.reg(kTo), (0x12345678u & ~(0xffu << 8 * byte)) | 0x22u << 8 * byte);
    m.set(kSecond, 0x76543210);
    m.run("v_cvt_scalef32_pk_f16_fp4", v(kTo), {v(kSecond), v(kScale)}, select(byte));
    constexpr std::uint32_t pairs[] = {0x3c000000, 0x42004000, 0x46004400, 0x4a004800};  // 0 .5, 1 1.5, 2 3, 4 6, twice
    EXPECT_EQ(m.reg(kTo), pairs[byte]);
  }
  m.run("v_cvt_scalef32_pk_f32_fp8", v(kTo), {v(kFrom), v(kScale)}, select(1));
  EXPECT_EQ(m.wide(kTo), std::uint64_t{f32(8.0f)} << 32 | f32(4.0f));
  m.set(kTo, 0x11112222);
  m.run("v_cvt_scalef32_pk_fp8_f32", v(kTo), {v(kScale), k(f32(-4.0f)), v(kScale)}, select(8));
  EXPECT_EQ(m.reg(kTo), 0xc0382222u);
  m.run("v_cvt_scalef32_pk_f32_fp8", v(kTo), {v(kFrom), v(kScale)}, select(2));  // no such part
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
