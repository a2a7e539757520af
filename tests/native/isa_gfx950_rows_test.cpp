// What gfx950 adds beside conversions and matrices: swaps between lanes, truth tables, transposed loads, a larger LDS.
#include "memory_machine.hpp"
#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

// Source: "CDNA4 ISA", V_PERMLANE16_SWAP_B32 and V_PERMLANE32_SWAP_B32: the odd rows of the first with the even ones of the second.
void check_swap(const char* name, unsigned step) {
  SCOPED_TRACE(name);
  const std::uint64_t pairs = 0x0000ffff0000ffff, halves = step == 16 ? pairs | pairs << 16 : ~std::uint64_t{0};
  for (const std::uint64_t exec : {halves, std::uint64_t{0x00f000f000f000f0}, std::uint64_t{0}}) {
    Machine m(Target::gfx950);
    m.set_lanes(10, [](unsigned l) { return 100 + l; });
    m.set_lanes(11, [](unsigned l) { return 200 + l; });
    m.wave.set_exec(exec);
    m.run(name, v(10), {v(11)});
    ASSERT_EQ(m.wave.state, Wave::State::running) << m.wave.stop_text;
    for (unsigned l = 0; l < 64; ++l) {
      const bool on = exec >> l & 1;
      ASSERT_EQ(m.reg(10, l), on && (l & step) ? 200 + l - step : 100 + l) << "lane " << l;
      ASSERT_EQ(m.reg(11, l), on && !(l & step) ? 100 + l + step : 200 + l) << "lane " << l;
    }
  }
  Machine m(Target::gfx950);
  m.wave.set_exec(1);  // its partner is off
  m.run(name, v(10), {v(11)});
  EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
}
TEST(Gfx950Rows, SwapsOfRowsAndHalves) {
  check_swap("v_permlane16_swap_b32", 16);
  check_swap("v_permlane32_swap_b32", 32);
}

// Bit 4a + 2b + c of the table. 0xca chooses b or c by a, 0x96 is the exclusive or, 0xe8 the majority.
TEST(Gfx950Rows, TruthTables) {
  Machine m(Target::gfx950);
  const auto table = [](unsigned bits, unsigned op_sel = 0) {
    return [=](Inst& i) { i.simm = static_cast<decltype(i.simm)>(bits), i.op_sel = static_cast<std::uint8_t>(op_sel); };
  };
  const std::uint32_t a = 0xff00f0cc, b = 0x12345678, c = 0x9abcdef0;
  EXPECT_EQ(m.op("v_bitop3_b32", {a, b, c}, table(0xca)), (a & b) | (~a & c));
  EXPECT_EQ(m.op("v_bitop3_b32", {a, b, c}, table(0x96)), a ^ b ^ c);
  EXPECT_EQ(m.op("v_bitop3_b32", {a, b, c}, table(0xe8)), (a & b) | (a & c) | (b & c));
  for (unsigned bits = 0; bits < 256; ++bits)
    for (unsigned k = 0; k < 8; ++k)
      ASSERT_EQ(m.op("v_bitop3_b32", {k >> 2, k >> 1 & 1, k & 1}, table(bits)) & 1, bits >> k & 1) << bits << ' ' << k;
  m.set(1, 0x11112222);
  EXPECT_EQ(m.op("v_bitop3_b16", {a, b, c}, table(0x96)), 0x11110000u | ((a ^ b ^ c) & 0xffff));
  m.set(1, 0x11112222);
  EXPECT_EQ(m.op("v_bitop3_b16", {a, b, c}, table(0x96, 8 | 1)), ((a >> 16 ^ b ^ c) & 0xffff) << 16 | 0x2222);
  m.set(1, 7);
  m.wave.set_exec(0x4);
  m.op("v_bitop3_b32", {a, b, c}, table(0xff));
  EXPECT_EQ(m.reg(1, 2), 0xffffffffu);
  EXPECT_EQ(m.reg(1, 3), 7u);
  m.wave.set_exec(0);
  m.op("v_bitop3_b32", {a, b, c}, table(0));
  EXPECT_EQ(m.reg(1, 2), 0xffffffffu);
}

TEST(Gfx950Rows, DotProductsOfBrainFloats) {
  Machine m(Target::gfx950);
  m.set(10, 0x40003f80);  // 1 and 2
  m.set(11, 0xc0404080);  // 4 and -3
  m.set(1, f32(0.5f));
  m.run("v_dot2_f32_bf16", v(2), {v(10), v(11), k(f32(10.0f))});
  EXPECT_EQ(as_float(m.reg(2, 63)), 8.0f);
  m.wave.set_exec(0xf0);
  m.run("v_dot2c_f32_bf16", v(1), {v(10), v(11)});
  EXPECT_EQ(as_float(m.reg(1, 5)), -1.5f);
  EXPECT_EQ(as_float(m.reg(1, 3)), 0.5f);
}

// Sixteen lanes share a matrix; each reads a piece of a row and gets a column. Of b16: lane l's piece is columns
// 4 * (l % 4) .. + 3 of row l / 4, and it gets column l. Source: "CDNA4 ISA", MFMA Transpose Load from LDS.
void check_transposed(std::string_view name, unsigned bits, unsigned dwords) {
  SCOPED_TRACE(name);
  const unsigned each = dwords * 32 / bits, lanes_a_row = 16 / each;
  for (const Row& row : memory_rows()) {
    if (name != row.name) continue;
    MemoryMachine m(Target::gfx950, Format::ds);
    const auto code = [&](unsigned group, unsigned r, unsigned column) { return (group * 5 + r * 3 + column * 7 + r * column) & ((1u << bits) - 1); };
    for (unsigned l = 0; l < 64; ++l) {
      std::uint8_t* const at = m.wave.group->lds.data() + l * kStride + 16;
      std::memset(at, 0, 4 * dwords);
      for (unsigned e = 0; e < each; ++e) {
        const unsigned c = code(l / 16, l % 16 / lanes_a_row, l % lanes_a_row * each + e);
        for (unsigned b = 0; b < bits; ++b) at[(e * bits + b) / 8] |= static_cast<std::uint8_t>((c >> b & 1) << (e * bits + b) % 8);
      }
    }
    const auto aligned = [](Inst& i) { i.offset = 16; };
    m.wave.set_exec(0);
    m.run(row, true, aligned);
    for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(m.reg(kDst, l), kOld);
    m.wave.set_exec(~u64{0});
    m.run(row, true, aligned);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned r = 0; r < each; ++r) {
        u32 got = 0;
        for (unsigned b = 0; b < bits; ++b) got |= (m.reg(kDst + (r * bits + b) / 32, l) >> (r * bits + b) % 32 & 1) << b;
        ASSERT_EQ(got, code(l / 16, r, l % 16)) << "lane " << l << " element " << r;
      }
    m.may_stop = true;
    m.wave.set_exec(0xffff);
    m.run(row, true, aligned);
    EXPECT_EQ(m.wave.stop_kind, Outcome::Kind::unimplemented);
    MemoryMachine crooked(Target::gfx950, Format::ds);
    crooked.may_stop = true;
    crooked.wave.set_exec(~u64{0});
    crooked.run(row, true, [](Inst& i) { i.offset = 4; });
    EXPECT_EQ(crooked.wave.stop_kind, Outcome::Kind::aperture_violation);
    return;
  }
  ADD_FAILURE() << "no row";
}
TEST(Gfx950Rows, TransposedLoads) {
  check_transposed("ds_read_b64_tr_b16", 16, 2);
  check_transposed("ds_read_b64_tr_b8", 8, 2);
  check_transposed("ds_read_b96_tr_b6", 6, 3);
  check_transposed("ds_read_b64_tr_b4", 4, 2);
}

TEST(Gfx950Rows, SizeOfLds) {
  EXPECT_EQ(lds_limit(Target::gfx950), 160u * 1024);
  EXPECT_EQ(lds_limit(Target::gfx942), 64u * 1024);
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
