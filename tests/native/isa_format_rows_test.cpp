// Typed buffer accesses: MUBUF *_format_* with the resource's format and MTBUF with the instruction's, against
// data/isa_format_vectors.txt, whose values were worked out by tests/isa/model/formats.py.
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <optional>
#include <sstream>

#include "memory_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

struct FormatVector {
  std::string line;
  int gfx9 = -1, gfx11 = -1;  // -1: the family does not have the format
  bool store = false, half = false;
  std::vector<std::optional<u32>> registers;  // empty: any NaN
  bool held = true;                           // the format holds the values
  std::array<std::uint8_t, 16> element{};
};

std::vector<FormatVector> read_vectors() {
  std::ifstream file(KERNCAP_TEST_DATA "/isa_format_vectors.txt");
  EXPECT_TRUE(file);
  std::vector<FormatVector> out;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, gfx9, gfx11, direction, bits, registers, element;
    words >> name >> gfx9 >> gfx11 >> direction >> bits >> registers >> element;
    FormatVector v;
    v.line = line;
    if (gfx9 != "-") v.gfx9 = std::stoi(gfx9, nullptr, 16);
    if (gfx11 != "-") v.gfx11 = std::stoi(gfx11, nullptr, 16);
    v.store = direction == "store";
    v.half = bits == "16";
    std::istringstream parts(registers);
    for (std::string part; std::getline(parts, part, ',');)
      v.registers.push_back(part == "nan" ? std::nullopt : std::optional(static_cast<u32>(std::stoul(part, nullptr, 16))));
    v.held = element != "-";
    if (v.held) {
      element.insert(0, 32 - element.size(), '0');
      for (std::size_t k = 0; k < 16; ++k) v.element[k] = static_cast<std::uint8_t>(std::stoul(element.substr(30 - 2 * k, 2), nullptr, 16));
    }
    out.push_back(std::move(v));
  }
  return out;
}

struct Shape {
  unsigned components;
  bool store, half, high;
};
std::optional<Shape> shape_of(std::string_view name) {
  const std::size_t at = name.find("_format_");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view tail = name.substr(name.rfind('_') + 1);
  return Shape{static_cast<unsigned>(tail.size()), name.starts_with("store"), name.find("d16") != std::string_view::npos,
               name.find("_hi_") != std::string_view::npos};
}

constexpr u32 kIdentity = 4 | 5 << 3 | 6 << 6 | 7 << 9;  // dst_sel: X, Y, Z, W
void set_format(MemoryMachine& m, const Row& row, int format, u32 select, Inst& inst) {
  const bool gfx9 = family(m.wave.target) == Family::gfx9;
  const auto code = static_cast<u32>(format);
  if (row.format == Format::mtbuf) inst.data_format = static_cast<std::uint8_t>(code);
  else m.wave.s[7] = select | (gfx9 ? (code >> 4) << 12 | (code & 15) << 15 : code << 12 | 3u << 28);
}

bool is_nan(u32 bits, bool half) { return half ? (bits & 0x7fff) > 0x7c00 : (bits & 0x7fffffff) > 0x7f800000; }

u32 component(MemoryMachine& m, unsigned first, unsigned lane, const Shape& s, unsigned c) {
  if (!s.half) return m.reg(first + c, lane);
  return m.reg(first + c / 2, lane) >> (s.high || c % 2 ? 16 : 0) & 0xffff;
}

void check_load(Target target, const Row& row, const Shape& s, const FormatVector& v, int format) {
  MemoryMachine m(target, row.format);
  for (unsigned l = 0; l < m.wave.size; ++l) std::memcpy(m.at(l), v.element.data(), 16);
  m.run(row, true, [&](Inst& inst) { set_format(m, row, format, kIdentity, inst); });
  for (unsigned l = 0; l < m.wave.size; ++l) {
    if (!m.on(l)) {
      for (unsigned k = 0; k < 4; ++k) ASSERT_EQ(m.reg(kDst + k, l), kOld) << v.line;
      continue;
    }
    for (unsigned c = 0; c < s.components; ++c) {
      const u32 got = component(m, kDst, l, s, c);
      ASSERT_TRUE(v.registers[c] ? got == *v.registers[c] : is_nan(got, s.half)) << v.line << ", component " << c << ": " << std::hex << got;
    }
    // Nothing else: the other half of the last register, and the next register.
    const unsigned used = s.half ? (s.components + 1) / 2 : s.components;
    if (s.half && s.components % 2) {
      const u32 other = m.reg(kDst + used - 1, l);
      ASSERT_EQ(s.high ? other & 0xffff : other >> 16, s.high ? kOld & 0xffff : kOld >> 16) << v.line;
    }
    ASSERT_EQ(m.reg(kDst + used, l), kOld) << v.line;
  }
}

void check_store(Target target, const Row& row, const Shape& s, const FormatVector& v, int format, unsigned bytes) {
  MemoryMachine m(target, row.format), before(target, row.format);
  for (unsigned l = 0; l < m.wave.size; ++l)
    for (unsigned c = 0; c < s.components; ++c) {
      u32& reg = m.reg(kData + (s.half ? c / 2 : c), l);
      const u32 value = *v.registers[c];
      if (!s.half) reg = value;
      else if (s.high || c % 2) reg = (reg & 0xffff) | value << 16;
      else reg = (reg & 0xffff0000) | value;
    }
  m.may_stop = true;
  m.run(row, true, [&](Inst& inst) { set_format(m, row, format, kIdentity, inst); });
  ASSERT_EQ(m.wave.state == Wave::State::running, v.held) << v.line;
  for (unsigned l = 0; l < m.wave.size; ++l) {
    std::uint8_t expected[kStride - kOffset];
    std::memcpy(expected, before.at(l), sizeof expected);
    if (m.on(l) && v.held) std::memcpy(expected, v.element.data(), bytes);
    ASSERT_EQ(std::memcmp(expected, m.at(l), sizeof expected), 0) << v.line << ", lane " << l;
  }
}

unsigned bytes_of(const std::string& line) {
  unsigned bits = 0;
  std::istringstream parts(line.substr(0, line.find(' ')));
  for (std::string part; std::getline(parts, part, '_');)
    if (part[0] <= '9') bits += static_cast<unsigned>(std::stoul(part));
  return bits / 8;
}

TEST(FormatRows, EveryFormatInBothDirections) {
  const std::vector<FormatVector> vectors = read_vectors();
  ASSERT_GT(vectors.size(), 1500u);
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    const std::optional<Shape> s = shape_of(name);
    if (!s) return;
    ++rows;
    for (const FormatVector& v : vectors) {
      const int format = family(target) == Family::gfx9 ? v.gfx9 : v.gfx11;
      if (format < 0 || v.store != s->store || v.half != s->half || v.registers.size() != s->components) continue;
      if (s->store) ASSERT_NO_FATAL_FAILURE(check_store(target, row, *s, v, format, bytes_of(v.line)));
      else ASSERT_NO_FATAL_FAILURE(check_load(target, row, *s, v, format));
    }
  });
  EXPECT_EQ(rows, kTargetList.size() * 34);
}

const Row& row_named(Target target, std::string_view name) {
  const Row* found = nullptr;
  for_each_memory_row([&](Target t, const Row& row, std::string_view) {
    if (t == target && name == row.name) found = &row;
  });
  EXPECT_NE(found, nullptr) << name;
  return *found;
}

// The resource's component selects: constants, and any order.
TEST(FormatRows, ComponentSelects) {
  MemoryMachine m(Target::gfx942, Format::mubuf);
  const Row& load = row_named(Target::gfx942, "buffer_load_format_xyzw");
  for (unsigned l = 0; l < 64; ++l) m.put<u32>(l, 0x04030201);
  const u32 select = 6 | 0 << 3 | 1 << 6 | 4 << 9;  // Z, 0, 1, X
  const auto run = [&](int format) { m.run(load, true, [&](Inst& inst) { set_format(m, load, format, select, inst); }); };
  run(0x4a);  // 8_8_8_8 uint
  EXPECT_EQ(m.reg(kDst, 0), 3u);
  EXPECT_EQ(m.reg(kDst + 1, 0), 0u);
  EXPECT_EQ(m.reg(kDst + 2, 0), 1u);
  EXPECT_EQ(m.reg(kDst + 3, 0), 1u);
  run(0x2a);  // uscaled: a float
  EXPECT_EQ(m.reg(kDst, 0), 0x40400000u);
  EXPECT_EQ(m.reg(kDst + 2, 0), 0x3f800000u);
}

TEST(FormatRows, WhatIsNotStatedStops) {
  const auto stops = [](const char* name, int format, u32 select) {
    MemoryMachine m(Target::gfx90a, Format::mubuf);
    m.may_stop = true;
    const Row& row = row_named(Target::gfx90a, name);
    m.run(row, true, [&](Inst& inst) { set_format(m, row, format, select, inst); });
    return m.wave.stop_kind == Outcome::Kind::unimplemented;
  };
  EXPECT_TRUE(stops("buffer_load_format_x", 0x00, kIdentity));        // no format
  EXPECT_TRUE(stops("buffer_load_format_x", 0x71, kIdentity));        // a float of 8 bits
  EXPECT_TRUE(stops("buffer_load_format_x", 0x04, kIdentity));        // unorm of 32 bits
  EXPECT_TRUE(stops("tbuffer_load_format_x", 0x62, kIdentity));       // number format 6
  EXPECT_TRUE(stops("buffer_store_format_xy", 0x4b, 5 | 4 << 3));     // components change places
  EXPECT_FALSE(stops("buffer_store_format_xy", 0x4b, kIdentity));
}

// Out of range: loads give zeros, stores end nowhere. A structured resource counts records.
TEST(FormatRows, OutOfRange) {
  for (const bool store : {false, true}) {
    MemoryMachine m(Target::gfx942, Format::mtbuf), before(Target::gfx942, Format::mtbuf);
    const Row& row = row_named(Target::gfx942, store ? "tbuffer_store_format_xy" : "tbuffer_load_format_xy");
    m.wave.s[5] |= kStride << 16;
    m.wave.s[6] = 10;  // records
    for (unsigned l = 0; l < 64; ++l) m.reg(kAddress, l) = l;
    m.run(row, true, [&](Inst& inst) {
      inst.offen = false;
      inst.idxen = true;
      inst.data_format = 0x4b;  // 32_32 uint
    });
    for (unsigned l = 0; l < 64; ++l) {
      if (store) {
        EXPECT_EQ(m.get<u32>(l), m.on(l) && l < 10 ? kOld : before.get<u32>(l)) << l;
      } else if (m.on(l)) {
        EXPECT_EQ(m.reg(kDst, l), l < 10 ? m.get<u32>(l) : 0u) << l;
      }
    }
  }
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
