// Every MFMA, SMFMAC and WMMA row with small integers, whose sums no order of addition changes, against a plain product.
// Shapes and types come from the instruction's name. Register layouts: "CDNA3 ISA", Matrix Arithmetic Instructions; "RDNA3 ISA", WMMA.
#include <cstdio>
#include <random>
#include <regex>

#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

struct Shape {
  unsigned m = 0, k = 0, blocks = 1;
  std::string out, a, b;  // element types
  bool sparse = false;
};

bool parse(const std::string& name, Shape& shape) {
  static const std::regex pattern("v_(s?mfm?ac?)_(f32|i32|f64)_([0-9]+)x[0-9]+x([0-9]+)(?:_([0-9]+)b)?_?([a-z]+[0-9]+)(?:_1k|_([a-z]+[0-9]+))?");
  std::smatch match;
  if (!std::regex_match(name, match, pattern)) return false;
  shape.sparse = match[1] == "smfmac";
  shape.out = match[2];
  shape.m = static_cast<unsigned>(std::stoul(match[3]));
  shape.k = static_cast<unsigned>(std::stoul(match[4]));
  shape.a = match[6];
  shape.b = match[7].matched && match[7].length() ? std::string(match[7]) : shape.a;
  return true;
}

unsigned bits_of(const std::string& type) { return type == "f64" ? 64 : type.ends_with("32") ? 32 : type.ends_with("16") ? 16 : 8; }

// Integers from -3 to 3 in a type; fp8 (three bits of mantissa) with bias 8 and bf8 (two) with 16 on gfx942, with 7 and 15 later.
std::uint64_t encode(const std::string& type, int value, Target target = Target::gfx942) {
  const std::uint32_t single = f32(static_cast<float>(value));
  const unsigned magnitude = static_cast<unsigned>(value < 0 ? -value : value);
  const std::uint64_t sign = value < 0 ? 1 : 0;
  if (type == "f64") return f64(value);
  if (type == "f32" || type == "xf32") return single;
  if (type == "bf16") return single >> 16;
  if (type == "f16") return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  if (type == "i8") return static_cast<std::uint8_t>(value);
  constexpr std::uint8_t fp8[] = {0x00, 0x40, 0x48, 0x4c}, bf8[] = {0x00, 0x40, 0x44, 0x46};
  const unsigned bias = target == Target::gfx942 || !magnitude ? 0 : type == "fp8" ? 8 : 4;  // one less in the exponent
  return ((type == "fp8" ? fp8 : bf8)[magnitude] - bias) | (magnitude ? sign << 7 : 0);
}

// Blocks of one-block products in a wave, as the shape's element count says.
unsigned count_blocks(const std::string& name, unsigned m, unsigned k) {
  std::smatch match;
  static const std::regex explicit_count("_([0-9]+)b_");
  if (std::regex_search(name, match, explicit_count)) return static_cast<unsigned>(std::stoul(match[1]));
  // The older spelling leaves it out: 4x4 has sixteen; 16x16 four and 32x32 two where k is the small one of the type.
  if (m == 4) return name.find("f64") != std::string::npos ? 4 : 16;
  const bool sixteen_bit = name.find("f16") != std::string::npos, i8 = name.find("i8") != std::string::npos;
  const bool old_bf16 = name.find("bf16") != std::string::npos && name.find("_1k") == std::string::npos && name.find("x2bf16") != std::string::npos;
  if (m == 32) return (k == 1 || old_bf16 || (k == 4 && (sixteen_bit || i8) && name.find("x4bf16") == std::string::npos) || name.ends_with("x4bf16_1k")) ? 2 : 1;
  return (k == 1 || old_bf16 || (k == 4 && (i8 || (sixteen_bit && name.find("x4bf16") == std::string::npos))) || name.ends_with("x4bf16_1k")) ? 4 : 1;
}

class Elements {
 public:
  explicit Elements(unsigned seed) : random_(seed) {}
  int next() { return static_cast<int>(random_() % 7) - 3; }

 private:
  std::mt19937 random_;
};

void put(Machine& m, unsigned base, unsigned lane, unsigned element, unsigned bits, std::uint64_t value) {
  if (bits == 64) {
    m.reg(base + 2 * element, lane) = static_cast<std::uint32_t>(value);
    m.reg(base + 2 * element + 1, lane) = static_cast<std::uint32_t>(value >> 32);
    return;
  }
  const unsigned per = 32 / bits;
  std::uint32_t& r = m.reg(base + element / per, lane);
  const unsigned shift = element % per * bits;
  const std::uint32_t mask = bits == 32 ? ~0u : ((1u << bits) - 1) << shift;
  r = (r & ~mask) | static_cast<std::uint32_t>(value << shift & mask);
}

// Row of D in register r of a lane, for one block.
unsigned row_of(const Shape& s, unsigned r, unsigned lane) {
  if (s.m == 32) return 8 * (r / 4) + 4 * (lane / 32) + r % 4;
  if (s.m == 16) return 4 * (lane / 16) + r % 4;
  return r;
}

void check_dense(Target target, const Row& row, const Shape& s) {
  const unsigned M = s.m, K = s.k, B = s.blocks, per_lane = M * K * B / 64, registers = M * M * B / 64;
  Elements random(M * 1000 + K);
  std::vector<int> a(B * M * K), b(B * M * K), c(B * M * M);
  for (auto* values : {&a, &b, &c})
    for (int& x : *values) x = random.next();
  Machine m(target);
  const unsigned wide = s.out == "f64" ? 2 : 1;
  for (unsigned l = 0; l < 64; ++l) {
    const bool f64 = s.out == "f64";  // k goes by groups of sixteen lanes, blocks lie inside a group
    const unsigned lanes_k = K / per_lane, i = l % M;
    const unsigned block = f64 ? l / M % B : l / (M * lanes_k), k0 = f64 ? l / 16 : l / M % lanes_k * per_lane;
    for (unsigned e = 0; e < per_lane; ++e) {
      put(m, 10, l, e, bits_of(s.a), encode(s.a, a[(block * M + i) * K + k0 + e], target));
      put(m, 20, l, e, bits_of(s.b), encode(s.b, b[(block * M + i) * K + k0 + e], target));  // b[block][column][k]
    }
  }
  const auto place = [&](unsigned r, unsigned l) {  // of element r of lane l in c
    if (s.out == "f64") return std::array<unsigned, 3>{l / M % B, 4 * r + l / 16, l % M};
    const unsigned per_block = M == 4 ? 4 : M * M / 64, block = M == 4 ? l / 4 : r / per_block;
    return std::array<unsigned, 3>{block, row_of(s, r % per_block, l), l % M};
  };
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < registers; ++r) {
      const auto [block, i, j] = place(r, l);
      const int value = c[(block * M + i) * M + j];
      put(m, 40, l, r, 32 * wide, s.out == "i32" ? static_cast<std::uint32_t>(value) : encode(s.out, value));
    }
  m.wave.set_exec(0);  // ignored
  m.run(row.name, v(40), {v(10), v(20), v(40)});
  ASSERT_EQ(m.refused, nullptr);
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < registers; ++r) {
      const auto [block, i, j] = place(r, l);
      int want = c[(block * M + i) * M + j];
      for (unsigned k = 0; k < K; ++k) want += a[(block * M + i) * K + k] * b[(block * M + j) * K + k];
      if (wide == 2) {
        ASSERT_EQ(as_double(m.wide(40 + 2 * r, l)), want) << "lane " << l << " element " << r;
      } else if (s.out == "i32") {
        ASSERT_EQ(static_cast<int>(m.reg(40 + r, l)), want) << "lane " << l << " register " << r;
      } else {
        ASSERT_EQ(as_float(m.reg(40 + r, l)), static_cast<float>(want)) << "lane " << l << " register " << r;
      }
    }
}

// Two of four: A holds K / 2 elements a row, the index register two bits of position for each. A lane has two registers of A,
// four of B, and 8 (16-bit elements) or 16 bits of index, in the set of the index register that abid names; the instructions
// that gfx950 adds have twice that, the second half for the second half of K.
void check_sparse(Target target, const Row& row, const Shape& s, unsigned set, unsigned cbsz) {
  const unsigned M = s.m, K = s.k, registers = M * M / 64, bits = bits_of(s.a), stored = M * K / 128, dense = 2 * stored;
  const unsigned run = 128 / bits, runs = dense / run;  // consecutive k of a lane
  Elements random(M + K + set);
  std::vector<int> a(M * K, 0), b(M * K);
  for (int& x : b) x = random.next();
  Machine m(target);
  const std::uint32_t c = s.out == "i32" ? 2 : f32(2.0f);
  for (unsigned l = 0; l < 64; ++l) {
    const unsigned i = l % M;
    const auto k_of = [&](unsigned e) { return e / run * (K / runs) + l / M * run + e % run; };
    std::uint32_t index = 0;
    for (unsigned e = 0; e < stored; ++e) {
      // Positions 0 and 2, or 1 and 3, in a group of four.
      const unsigned position = 2 * (e % 2) + (i + e / 2) % 2;
      const int value = random.next();
      a[i * K + k_of(4 * (e / 2) + position)] = value;
      index |= position << (2 * e);
      put(m, 10, l, e, bits, encode(s.a, value, target));
    }
    for (unsigned e = 0; e < dense; ++e) put(m, 20, l, e, bits, encode(s.b, b[i * K + k_of(e)], target));
    // The other sets say something else.
    const unsigned shift = 2 * stored * set;
    const std::uint32_t mine = static_cast<std::uint32_t>((std::uint64_t{1} << (2 * stored)) - 1) << shift;
    m.reg(16, l) = (~(index << shift) & ~mine) | index << shift;
    for (unsigned r = 0; r < registers; ++r) m.reg(40 + r, l) = c;
  }
  m.run(row.name, v(40), {v(10), v(20), v(16)}, [&](Inst& i) {
    i.abid = static_cast<std::uint8_t>(cbsz ? 1 : set);
    i.cbsz = static_cast<std::uint8_t>(cbsz);
  });
  ASSERT_EQ(m.refused, nullptr);
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned r = 0; r < registers; ++r) {
      const unsigned i = row_of(s, r, l), j = l % M;
      int want = 2;
      for (unsigned k = 0; k < K; ++k) want += a[i * K + k] * b[j * K + k];
      const std::uint32_t expected = s.out == "i32" ? static_cast<std::uint32_t>(want) : f32(static_cast<float>(want));
      ASSERT_EQ(m.reg(40 + r, l), expected) << "lane " << l << " register " << r;
    }
}

TEST(MatrixRows, MfmaAndSmfmac) {
  unsigned rows = 0;
  for (const Target target : {Target::gfx90a, Target::gfx942, Target::gfx950})
    for (const std::span<const Row> table : valu_tables())
      for (const Row& row : table) {
        if (row.format != Format::vop3p_mai || !(row.targets & bit(target)) || std::string(row.name).find("accvgpr") != std::string::npos) continue;
        if (std::string_view(row.name).ends_with("f8f6f4")) continue;  // isa_scaled_matrix_test.cpp
        SCOPED_TRACE(row.name);
        Shape shape;
        ASSERT_TRUE(parse(row.name, shape));
        shape.blocks = count_blocks(row.name, shape.m, shape.k);
        ++rows;
        if (!shape.sparse) {
          check_dense(target, row, shape);
          continue;
        }
        for (unsigned set = 0; set < 2048 / (shape.m * shape.k); ++set) check_sparse(target, row, shape, set, 0);
        check_sparse(target, row, shape, 0, 1);
      }
  EXPECT_EQ(rows, 27u + 46 + 64);
}

TEST(MatrixRows, WmmaOfBf16) {
  Machine m(Target::gfx1100);
  Elements random(3);
  int a[16][16], b[16][16];
  for (auto* matrix : {&a, &b})
    for (auto& line : *matrix)
      for (int& x : line) x = random.next();
  for (unsigned l = 0; l < 32; ++l) {
    for (unsigned k = 0; k < 16; ++k) put(m, 10, l, k, 16, encode("bf16", a[l % 16][k])), put(m, 20, l, k, 16, encode("bf16", b[l % 16][k]));
    for (unsigned r = 0; r < 8; ++r) m.reg(30 + r, l) = f32(1.0f), m.reg(40 + r, l) = 0x3f80'1234;
  }
  m.run("v_wmma_f32_16x16x16_bf16", v(30), {v(10), v(20), v(30)});
  m.run("v_wmma_bf16_16x16x16_bf16", v(40), {v(10), v(20), v(40)}, [](Inst& i) { i.op_sel = 4; });  // the high halves
  for (unsigned l = 0; l < 32; ++l)
    for (unsigned r = 0; r < 8; ++r) {
      int want = 1;
      for (unsigned k = 0; k < 16; ++k) want += a[2 * r + l / 16][k] * b[l % 16][k];
      EXPECT_EQ(as_float(m.reg(30 + r, l)), static_cast<float>(want));
      EXPECT_EQ(m.reg(40 + r, l), static_cast<std::uint32_t>(encode("bf16", want)) << 16 | 0x1234);
    }
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
