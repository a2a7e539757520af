// What gfx12 has beside gfx11: transcendental functions of scalars, permutations by lane, matrices, the opcodes that are gone.
// Source: "RDNA4 ISA", chapter Instructions; layouts of matrices: AMD's matrix instruction calculator.
#include <gtest/gtest.h>

#include <string>

#include "isa_coverage.hpp"
#include "valu_machine.hpp"
#include "vgpu/isa/decode/decoder.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

struct OfScalar {
  const char* name;
  std::uint32_t in, out;
};
constexpr OfScalar kOfScalar[] = {
    {"v_s_exp_f32", 0x40400000, 0x41000000},  {"v_s_exp_f32", 0xff800000, 0},          {"v_s_log_f32", 0x41000000, 0x40400000},
    {"v_s_log_f32", 0x80000000, 0xff800000},  {"v_s_rcp_f32", 0x40800000, 0x3e800000}, {"v_s_rcp_f32", 0x00000001, 0x7f800000},
    {"v_s_rsq_f32", 0x40800000, 0x3f000000},  {"v_s_sqrt_f32", 0x40800000, 0x40000000}, {"v_s_exp_f16", 0x4200, 0x4800},
    {"v_s_log_f16", 0x4800, 0x4200},          {"v_s_rcp_f16", 0x4400, 0x3400},         {"v_s_rsq_f16", 0x4400, 0x3800},
    {"v_s_sqrt_f16", 0x4400, 0x4000},
};

TEST(Gfx12Rows, TranscendentalsOfScalars) {
  for (const OfScalar& c : kOfScalar) {
    Machine m(Target::gfx1201);
    m.wave.set_exec(0);  // means nothing to them
    m.wave.s[10] = c.in | (std::string(c.name).ends_with("16") ? 0xabcd0000u : 0u);
    m.wave.s[5] = ~0u;
    m.run(c.name, s(5), {s(10)});
    ASSERT_EQ(m.refused, nullptr) << c.name;
    EXPECT_EQ(m.wave.s[5], c.out) << c.name;
  }
  Machine m(Target::gfx1201);
  m.wave.s[10] = 0xc0800000;  // -4
  m.run("v_s_sqrt_f32", s(5), {s(10)}, [](Inst& i) { i.abs = 1; });
  EXPECT_EQ(m.wave.s[5], f32(2.0f));
  m.run("v_s_rcp_f32", s(5), {s(10)}, [](Inst& i) { i.neg = 1; });
  EXPECT_EQ(m.wave.s[5], f32(0.25f));
  m.run("v_s_sqrt_f32", s(5), {s(10)}, [](Inst& i) { i.abs = 1, i.clamp = true; });
  EXPECT_EQ(m.wave.s[5], f32(1.0f));
}

TEST(Gfx12Rows, PermutationsByLane) {
  for (const bool other : {false, true}) {
    const char* const name = other ? "v_permlanex16_var_b32" : "v_permlane16_var_b32";
    Machine m(Target::gfx1201);
    const auto fresh = [&] {
      m.set_lanes(10, [](unsigned l) { return 100 + l; });
      m.set_lanes(11, [](unsigned l) { return 7 * l + 0xf0; });  // the low four bits count
      m.set(1, 1);
      m.wave.set_exec(~(1ull << 3));
    };
    const auto source = [&](unsigned l) { return ((l & 16) ^ (other ? 16 : 0)) | (7 * l & 15); };
    fresh();
    m.run(name, v(1), {v(10), v(11)});
    for (unsigned l = 0; l < 32; ++l) EXPECT_EQ(m.reg(1, l), l == 3 || source(l) == 3 ? 1 : 100 + source(l)) << name << l;
    fresh();
    m.run(name, v(1), {v(10), v(11)}, [](Inst& i) { i.op_sel = 2; });  // zero from a lane that is off
    for (unsigned l = 0; l < 32; ++l) EXPECT_EQ(m.reg(1, l), l == 3 ? 1 : source(l) == 3 ? 0 : 100 + source(l)) << name << l;
    fresh();
    m.run(name, v(1), {v(10), v(11)}, [](Inst& i) { i.op_sel = 1; });  // lanes that are off are read
    for (unsigned l = 0; l < 32; ++l) EXPECT_EQ(m.reg(1, l), l == 3 ? 1 : 100 + source(l)) << name << l;
  }
}

// Small integers, which every type holds exactly.
class Values {
 public:
  explicit Values(unsigned seed) : state_(seed * 2654435761u + 1) {}
  int next(int low, int high) {
    state_ = state_ * 1664525u + 1013904223u;
    return low + static_cast<int>((state_ >> 16) % static_cast<unsigned>(high - low + 1));
  }

 private:
  std::uint32_t state_;
};

struct Matrix {
  const char* name;
  const char* type;  // of A and B, or "A B"
  unsigned width, k;
  bool sparse, half_result;
};
constexpr Matrix kMatrices[] = {
    {"v_wmma_f32_16x16x16_f16", "f16", 16, 16, false, false},   {"v_wmma_f32_16x16x16_bf16", "bf16", 16, 16, false, false},
    {"v_wmma_f16_16x16x16_f16", "f16", 16, 16, false, true},    {"v_wmma_bf16_16x16x16_bf16", "bf16", 16, 16, false, true},
    {"v_wmma_i32_16x16x16_iu8", "int", 8, 16, false, false},    {"v_wmma_i32_16x16x16_iu4", "int", 4, 16, false, false},
    {"v_wmma_i32_16x16x32_iu4", "int", 4, 32, false, false},    {"v_swmmac_f32_16x16x32_f16", "f16", 16, 32, true, false},
    {"v_swmmac_f32_16x16x32_bf16", "bf16", 16, 32, true, false}, {"v_swmmac_f16_16x16x32_f16", "f16", 16, 32, true, true},
    {"v_swmmac_bf16_16x16x32_bf16", "bf16", 16, 32, true, true}, {"v_swmmac_i32_16x16x32_iu8", "int", 8, 32, true, false},
    {"v_swmmac_i32_16x16x32_iu4", "int", 4, 32, true, false},   {"v_swmmac_i32_16x16x64_iu4", "int", 4, 64, true, false},
    {"v_wmma_f32_16x16x16_fp8_fp8", "fp8", 8, 16, false, false}, {"v_wmma_f32_16x16x16_fp8_bf8", "fp8 bf8", 8, 16, false, false},
    {"v_wmma_f32_16x16x16_bf8_fp8", "bf8 fp8", 8, 16, false, false}, {"v_wmma_f32_16x16x16_bf8_bf8", "bf8", 8, 16, false, false},
    {"v_swmmac_f32_16x16x32_fp8_fp8", "fp8", 8, 32, true, false}, {"v_swmmac_f32_16x16x32_fp8_bf8", "fp8 bf8", 8, 32, true, false},
    {"v_swmmac_f32_16x16x32_bf8_fp8", "bf8 fp8", 8, 32, true, false}, {"v_swmmac_f32_16x16x32_bf8_bf8", "bf8", 8, 32, true, false},
};
std::string type_of(const Matrix& x, unsigned operand) {
  const std::string both = x.type;
  const auto blank = both.find(' ');
  return blank == both.npos ? both : operand ? both.substr(blank + 1) : both.substr(0, blank);
}
// -3 to 3 in the 8-bit formats. Source: "OCP 8-bit Floating Point Specification".
std::uint32_t small_float(const std::string& type, int value) {
  static constexpr std::uint32_t fp8[] = {0, 0x38, 0x40, 0x44}, bf8[] = {0, 0x3c, 0x40, 0x42};
  return (type == "fp8" ? fp8 : bf8)[std::abs(value)] | (value < 0 ? 0x80u : 0u);
}

std::uint32_t encode(const Matrix& x, int value, unsigned operand = 0) {
  const std::string type = type_of(x, operand);
  if (type == "fp8" || type == "bf8") return small_float(type, value);
  if (type == "f16") return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  if (type == "bf16") return f32(static_cast<float>(value)) >> 16;
  return static_cast<std::uint32_t>(value) & ((1u << x.width) - 1);
}
int decode16(const Matrix& x, std::uint32_t bits) {
  if (std::string(x.type) == "bf16") return static_cast<int>(as_float(bits << 16));
  return static_cast<int>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
}
void put(Machine& m, unsigned first, unsigned lane, unsigned element, unsigned width, std::uint32_t bits) {
  std::uint32_t& r = m.reg(first + element * width / 32, lane);
  const unsigned shift = element * width % 32;
  r = (r & ~(((1u << width) - 1) << shift)) | bits << shift;
}

// The k of element e of a lane, counted through its registers: half of the lanes hold the other half of each run of k.
unsigned k_of(const Matrix& x, unsigned lane, unsigned e) {
  const unsigned high = lane / 16;
  if (x.width == 16 && !x.sparse) return 8 * (e / 4) + 4 * high + e % 4;
  if (x.width == 16) return 16 * (e / 8) + 8 * high + e % 8;  // B of the sparse forms
  return x.k / 2 * high + e;
}
// The first of the four k that stored element e of sparse A belongs to.
unsigned group_of(const Matrix& x, unsigned lane, unsigned e) {
  const unsigned high = lane / 16;
  if (x.width == 16) return 16 * (e / 4) + 8 * high + 4 * (e / 2 % 2);
  return x.k / 2 * high + 4 * (e / 2);
}

// key: which set of positions; signs: neg bits of the integer forms.
void check_matrix(const Matrix& x, unsigned key, unsigned signs) {
  SCOPED_TRACE(std::string(x.name) + " key " + std::to_string(key) + " signs " + std::to_string(signs));
  const bool integer = std::string(x.type) == "int";
  const auto low = [&](unsigned operand) { return integer && !(signs >> operand & 1) ? 0 : -3; };
  const auto high = [&](unsigned operand) { return integer && !(signs >> operand & 1) ? (1 << x.width) - 1 : 3; };
  Values random(x.k + key + signs);
  std::vector<int> a(16 * x.k, 0), b(16 * x.k, 0), c(256);
  for (int& value : c) value = random.next(-4, 4);
  Machine m(Target::gfx1201);
  const unsigned per_lane = x.k / 2;  // of a dense operand
  for (unsigned l = 0; l < 32; ++l) {
    const unsigned i = l % 16;
    for (unsigned e = 0; e < per_lane; ++e) put(m, 20, l, e, x.width, encode(x, b[i * x.k + k_of(x, l, e)] = random.next(low(1), high(1)), 1));
    m.reg(16, l) = ~0u;
    for (unsigned e = 0; e < (x.sparse ? per_lane / 2 : per_lane); ++e) {
      const int value = random.next(low(0), high(0));
      put(m, 10, l, e, x.width, encode(x, value));
      if (!x.sparse) {
        a[i * x.k + k_of(x, l, e)] = value;
        continue;
      }
      const unsigned position = 2 * (e % 2) + (i + e / 2) % 2;  // 0 and 2, or 1 and 3
      a[i * x.k + group_of(x, l, e) + position] = value;
      put(m, 16, l, e + (key ? per_lane / 2 : 0), 2, position);
    }
  }
  const auto element = [&](unsigned r, unsigned l) { return std::pair((r + 8 * (l / 16)) % 16, l % 16); };  // row, column
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 8; ++r) {
      const auto [i, j] = element(r, l);
      const int value = c[i * 16 + j];
      if (x.half_result) put(m, 40, l, r, 16, encode(x, value));
      else m.reg(40 + r, l) = integer ? static_cast<std::uint32_t>(value) : f32(static_cast<float>(value));
    }
  m.run(x.name, v(40), {v(10), v(20), x.sparse ? v(16) : v(40)}, [&](Inst& inst) {
    inst.op_sel = static_cast<std::uint8_t>(key);
    inst.neg = static_cast<std::uint8_t>(signs);
  });
  ASSERT_EQ(m.refused, nullptr);
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 8; ++r) {
      const auto [i, j] = element(r, l);
      int expected = c[i * 16 + j];
      for (unsigned k = 0; k < x.k; ++k) expected += a[i * x.k + k] * b[j * x.k + k];
      const int got = x.half_result ? decode16(x, m.reg(40 + r / 2, l) >> 16 * (r % 2) & 0xffff)
                      : integer     ? static_cast<int>(m.reg(40 + r, l))
                                    : static_cast<int>(as_float(m.reg(40 + r, l)));
      // A bf16 holds integers up to 256.
      if (x.half_result && std::abs(expected) > 256) continue;
      ASSERT_EQ(got, expected) << "row " << i << " column " << j;
    }
}

TEST(Gfx12Rows, Matrices) {
  for (const Matrix& x : kMatrices) {
    const bool integer = std::string(x.type) == "int";
    for (const unsigned key : {0u, 1u}) {
      if (key && (!x.sparse || x.k == 64)) continue;
      for (const unsigned signs : {0u, 1u, 2u, 3u})
        if (integer || signs == 0) check_matrix(x, key, signs);
    }
  }
}

// Signs of A's, B's and the addend's elements, and the addend's absolute value, in a product of ones: lane 0 sees
// 8 even and 8 odd products.
TEST(Gfx12Rows, ModifiersOfMatrices) {
  struct {
    unsigned neg, neg_hi;
    float sum;
  } constexpr cases[] = {{0, 0, 14}, {1, 0, -2}, {0, 1, -2}, {1, 1, -18}, {2, 2, -18}, {3, 3, 14}, {1, 2, -18}, {1, 3, -2},
                         {4, 0, 18}, {0, 4, 18},  {4, 4, 14}, {5, 1, -14}};
  for (const auto& c : cases) {
    for (const bool half : {false, true}) {
      Machine m(Target::gfx1201);
      for (unsigned r = 0; r < 4; ++r) m.set(10 + r, 0x3c003c00), m.set(20 + r, 0x3c003c00);
      for (unsigned r = 0; r < 8; ++r) m.set(40 + r, half ? 0xc000c000 : f32(-2));
      m.run(half ? "v_wmma_f16_16x16x16_f16" : "v_wmma_f32_16x16x16_f16", v(40), {v(10), v(20), v(40)}, [&](Inst& i) {
        i.neg = static_cast<std::uint8_t>(c.neg);
        i.neg_hi = static_cast<std::uint8_t>(c.neg_hi);
      });
      ASSERT_EQ(m.refused, nullptr);
      const float got = half ? static_cast<float>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(m.reg(40, 0)))) : as_float(m.reg(40, 0));
      EXPECT_EQ(got, c.sum) << c.neg << " " << c.neg_hi << (half ? " f16" : " f32");
    }
  }
  Machine m(Target::gfx1201);
  m.run("v_wmma_f32_16x16x16_fp8_fp8", v(40), {v(10), v(20), v(40)}, [](Inst& i) { i.neg = 1; });
  EXPECT_EQ(m.wave.stop_text, "neg on 8-bit floats");
}

TEST(Gfx12Rows, SmallFloats) {
  Machine m(Target::gfx1201);
  m.set(10, 0x40'44'38'b8);  // fp8: -1, 1, 3, 2
  const float bytes[] = {-1, 1, 3, 2};
  for (unsigned byte = 0; byte < 4; ++byte) {
    m.run("v_cvt_f32_fp8", v(1), {v(10)}, [&](Inst& i) { i.op_sel = static_cast<std::uint8_t>(byte >> 1 | (byte & 1) << 1); });
    EXPECT_EQ(as_float(m.reg(1, 0)), bytes[byte]) << byte;
  }
  m.run("v_cvt_pk_f32_fp8", v(2), {v(10)}, [](Inst& i) { i.op_sel = 1; });
  EXPECT_EQ(as_float(m.reg(2, 0)), 3.0f);
  EXPECT_EQ(as_float(m.reg(3, 0)), 2.0f);
  m.set(11, 0x42'40'3c'bc);  // bf8: -1, 1, 2, 3
  m.run("v_cvt_f32_bf8", v(1), {v(11)}, [](Inst& i) { i.op_sel = 3; });
  EXPECT_EQ(as_float(m.reg(1, 0)), 3.0f);
  m.run("v_cvt_pk_f32_bf8", v(2), {v(11)});
  EXPECT_EQ(as_float(m.reg(2, 0)), -1.0f);
  EXPECT_EQ(as_float(m.reg(3, 0)), 1.0f);
  m.set(12, f32(10));
  m.run("v_dot4_f32_fp8_bf8", v(1), {v(10), v(11), v(12)});
  EXPECT_EQ(as_float(m.reg(1, 0)), 10.0f + 1 + 1 + 6 + 6);
  m.run("v_dot4_f32_bf8_fp8", v(1), {v(11), v(10), v(12)}, [](Inst& i) { i.neg = 4; });
  EXPECT_EQ(as_float(m.reg(1, 0)), -10.0f + 14);
  m.run("v_dot4_f32_fp8_fp8", v(1), {v(10), v(10), v(12)});
  EXPECT_EQ(as_float(m.reg(1, 0)), 10.0f + 1 + 1 + 9 + 4);
  m.run("v_dot4_f32_bf8_bf8", v(1), {v(11), v(11), v(12)});
  EXPECT_EQ(as_float(m.reg(1, 0)), 10.0f + 1 + 1 + 4 + 9);
}

TEST(Gfx12Rows, MatricesOfASixtyFourLaneWaveStopByName) {
  const std::uint32_t words[] = {0xcc40400a, 0x1c2a0900};
  EXPECT_EQ(decode(Target::gfx1201, 32, words, 0).status, Decoded::Status::ok);
  const Decoded wide = decode(Target::gfx1201, 64, words, 0);
  EXPECT_EQ(wide.status, Decoded::Status::unknown);
  EXPECT_NE(wide.reason.find("wave of 64"), std::string::npos);
}

// Rows that the tests of the other targets know by another name or with another target.
TEST(Gfx12Rows, SameAsGfx11) {
  Machine m(Target::gfx1201);
  m.set(10, 0xffffffff);
  m.set(11, 0xfffffffe);
  m.set_wide(12, 5);
  m.run("v_mad_co_u64_u32", v(2), {v(10), v(11), v(12)});
  EXPECT_EQ(m.wide(2, 3), 0xffffffffull * 0xfffffffe + 5);
  EXPECT_EQ(m.wave.mask(kVccLo), 0u);
  m.run("v_mad_co_i64_i32", v(2), {v(10), v(11), v(12)});
  EXPECT_EQ(m.wide(2, 3), 7u) << "-1 * -2 + 5";
  m.set(10, 0x01ff'80'03);
  m.set(11, 0x02'02'02'02);
  m.set(12, 100);
  m.run("v_dot4_i32_iu8", v(1), {v(10), v(11), v(12)}, [](Inst& i) { i.neg = 1; });  // signed by unsigned
  EXPECT_EQ(static_cast<std::int32_t>(m.reg(1, 0)), 100 + 2 * (1 - 1 - 128 + 3));
  m.wave.s[kM0] = 2;
  m.set(12, 77);
  m.run("v_movrels_b32", v(1), {v(10)});
  EXPECT_EQ(m.reg(1, 0), 77u);
  m.run("v_movreld_b32", v(1), {v(12)});
  EXPECT_EQ(m.reg(3, 0), 77u);
  m.set(14, 78);
  m.run("v_movrelsd_b32", v(4), {v(12)});
  EXPECT_EQ(m.reg(6, 0), 78u);
  m.wave.s[kM0] = 4 | 5u << 16;
  m.run("v_movrelsd_2_b32", v(4), {v(10)});
  EXPECT_EQ(m.reg(9, 0), 78u);
  m.set(1, 5);
  m.run("v_permlane64_b32", v(1), {v(10)});
  EXPECT_EQ(m.reg(1, 0), 5u) << "nothing in a wave of 32";
  m.set(10, 0x11112222);
  m.set(11, 0x33334444);
  m.run("v_swap_b16", v(10), {v(11)});
  EXPECT_EQ(m.reg(10, 0), 0x11114444u);
  EXPECT_EQ(m.reg(11, 0), 0x33332222u);
  m.set_lanes(10, [](unsigned l) { return 100 + l; });
  m.wave.s[20] = 0x76543210;
  m.wave.s[21] = 0xfedcba98;
  m.run("v_permlane16_b32", v(1), {v(10), s(21), s(20)});  // each half of a row from the other
  EXPECT_EQ(m.reg(1, 0), 108u);
  EXPECT_EQ(m.reg(1, 24), 116u);
  m.run("v_permlanex16_b32", v(1), {v(10), s(21), s(20)});
  EXPECT_EQ(m.reg(1, 0), 124u);
}

// Opcodes of gfx11 that gfx12 does not have, or has for something else.
TEST(Gfx12Rows, WhatIsGone) {
  const auto status = [](std::initializer_list<std::uint32_t> words) {
    return decode(Target::gfx1201, 32, std::vector<std::uint32_t>(words), 0).status;
  };
  EXPECT_EQ(status({0xbfbd0000}), Decoded::Status::unknown) << "s_barrier";
  EXPECT_EQ(status({0xb1840001}), Decoded::Status::unknown) << "s_cmpk_eq_i32";
  EXPECT_EQ(status({0x1e040702}), Decoded::Status::unknown) << "v_min_f32";
  EXPECT_EQ(status({0xdc160000, 0x047c0002}), Decoded::Status::illegal) << "global_load_b32 in two words";
  EXPECT_EQ(status({0xee15c07c, 0, 0}), Decoded::Status::unknown) << "global_load_tr_b128 is known by name";
  EXPECT_EQ(status({0xd6800004, 0x00000102}), Decoded::Status::illegal) << "v_s_exp_f32 s4, v2";
  EXPECT_EQ(status({0xc405007c, 0x40800801, 0x80000002}), Decoded::Status::illegal) << "negative offset of a buffer";
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
