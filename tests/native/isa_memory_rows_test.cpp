// Every load, store and atomic of every segment, table-driven: the tables say what each does, as the ISA manuals do.
// Lanes have addresses of their own; lanes that are off must neither touch memory nor their registers.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>

#include "memory_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

enum class Part { whole, low, high };
struct Move {
  std::string_view flat, ds;  // names of the segments' rows and of the LDS row
  unsigned bytes;
  bool sign;
  Part part;
};
constexpr Move kLoads[] = {
    {"load_ubyte", "read_u8", 1, false, Part::whole}, {"load_sbyte", "read_i8", 1, true, Part::whole},
    {"load_ushort", "read_u16", 2, false, Part::whole}, {"load_sshort", "read_i16", 2, true, Part::whole},
    {"load_dword", "read_b32", 4, false, Part::whole}, {"load_dwordx2", "read_b64", 8, false, Part::whole},
    {"load_dwordx3", "read_b96", 12, false, Part::whole}, {"load_dwordx4", "read_b128", 16, false, Part::whole},
    {"load_ubyte_d16", "read_u8_d16", 1, false, Part::low}, {"load_ubyte_d16_hi", "read_u8_d16_hi", 1, false, Part::high},
    {"load_sbyte_d16", "read_i8_d16", 1, true, Part::low}, {"load_sbyte_d16_hi", "read_i8_d16_hi", 1, true, Part::high},
    {"load_short_d16", "read_u16_d16", 2, false, Part::low}, {"load_short_d16_hi", "read_u16_d16_hi", 2, false, Part::high},
};
constexpr Move kStores[] = {
    {"store_byte", "write_b8", 1, false, Part::low}, {"store_byte_d16_hi", "write_b8_d16_hi", 1, false, Part::high},
    {"store_short", "write_b16", 2, false, Part::low}, {"store_short_d16_hi", "write_b16_d16_hi", 2, false, Part::high},
    {"store_dword", "write_b32", 4, false, Part::whole}, {"store_dwordx2", "write_b64", 8, false, Part::whole},
    {"store_dwordx3", "write_b96", 12, false, Part::whole}, {"store_dwordx4", "write_b128", 16, false, Part::whole},
};
template <std::size_t n>
const Move* find(const Move (&moves)[n], std::string_view name) {
  for (const Move& m : moves)
    if (name == m.flat || name == m.ds) return &m;
  return nullptr;
}

TEST(MemoryRows, Loads) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    const Move* move = find(kLoads, name);
    if (!move) return;
    ++rows;
    MemoryMachine m(target, row.format);
    m.run(row);
    for (unsigned l = 0; l < m.wave.size; ++l) {
      u32 expected[4] = {kOld, kOld, kOld, kOld};
      if (m.on(l) && move->bytes >= 4) {
        std::memcpy(expected, m.at(l), move->bytes);
      } else if (m.on(l)) {
        u32 value = m.at(l)[0] | (move->bytes == 2 ? m.at(l)[1] << 8 : 0);
        if (move->sign && (value >> (8 * move->bytes - 1) & 1)) value |= ~0u << 8 * move->bytes;
        expected[0] = move->part == Part::whole ? value
                      : move->part == Part::low ? (kOld & 0xffff0000) | (value & 0xffff)
                                                : (kOld & 0xffff) | value << 16;
      }
      for (unsigned k = 0; k < 4; ++k) ASSERT_EQ(m.reg(kDst + k, l), expected[k]) << "lane " << l << " register " << k;
    }
  });
  EXPECT_GE(rows, 3u * 14 * 5);
}

TEST(MemoryRows, Stores) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    const Move* move = find(kStores, name);
    if (!move) return;
    ++rows;
    MemoryMachine m(target, row.format), before(target, row.format);
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned k = 0; k < 4; ++k) m.reg(kData + k, l) = 0x9080'7060u + 0x0101'0101u * l + k;
    m.run(row);
    for (unsigned l = 0; l < m.wave.size; ++l) {
      std::uint8_t expected[kStride - kOffset];
      std::memcpy(expected, before.at(l), sizeof expected);
      for (unsigned b = 0; m.on(l) && b < move->bytes; ++b)
        expected[b] = static_cast<std::uint8_t>(m.reg(kData + b / 4, l) >> (8 * (b % 4) + (move->part == Part::high ? 16 : 0)));
      ASSERT_EQ(std::memcmp(expected, m.at(l), sizeof expected), 0) << "lane " << l;
    }
  });
  EXPECT_GE(rows, 3u * 8 * 5);
}

// New value of memory from the old one and the data. `name` is the operation without width and without _rtn.
template <class T>
std::optional<T> atomic_result(std::string_view name, T mem, T data, T second) {
  using S = std::make_signed_t<T>;
  const auto as_signed = [](T v) { return static_cast<S>(v); };
  if (name == "swap" || name == "wrxchg") return data;
  if (name == "add_u" || name == "add") return static_cast<T>(mem + data);
  if (name == "sub_u" || name == "sub") return static_cast<T>(mem - data);
  if (name == "rsub_u") return static_cast<T>(data - mem);
  if (name == "cond_sub_u") return mem >= data ? static_cast<T>(mem - data) : mem;
  if (name == "csub_u" || name == "sub_clamp_u") return mem < data ? T{0} : static_cast<T>(mem - data);
  if (name == "smin" || name == "min_i") return as_signed(data) < as_signed(mem) ? data : mem;
  if (name == "smax" || name == "max_i") return as_signed(data) > as_signed(mem) ? data : mem;
  if (name == "umin" || name == "min_u") return data < mem ? data : mem;
  if (name == "umax" || name == "max_u") return data > mem ? data : mem;
  if (name == "and" || name == "and_b") return mem & data;
  if (name == "or" || name == "or_b") return mem | data;
  if (name == "xor" || name == "xor_b") return mem ^ data;
  if (name == "inc" || name == "inc_u") return mem >= data ? T{0} : static_cast<T>(mem + 1);
  if (name == "dec" || name == "dec_u") return mem == 0 || mem > data ? data : static_cast<T>(mem - 1);
  if (name == "mskor_b") return static_cast<T>((mem & ~data) | second);
  if (name == "wrap_b") return mem >= data ? static_cast<T>(mem - data) : static_cast<T>(mem + second);
  if (name == "cmpswap") return mem == second ? data : mem;      // data: new, then compare
  if (name == "cmpst_b") return mem == data ? second : mem;      // gfx9 LDS: compare, then new
  if (name == "cmpstore_b") return mem == second ? data : mem;   // gfx11 LDS: new, then compare
  return std::nullopt;
}

// `atomic_add_x2`, `add_rtn_u64`, `atomic_cmpswap` to the operation's plain name.
std::string operation(std::string_view name) {
  std::string text(name.starts_with("atomic_") ? name.substr(7) : name);
  for (const std::string_view drop : {"_x2", "_rtn", "32", "64"})
    if (const std::size_t at = text.find(drop); at != std::string::npos) text.erase(at, drop.size());
  if (text.ends_with("_b") && (text == "wrxchg_b")) text = "wrxchg";
  return text;
}

template <class T>
void check_integer_atomic(Target target, const Row& row, const std::string& name, bool returns) {
  static constexpr T edges[] = {0, 1, static_cast<T>(~T{0}), static_cast<T>(~T{0} >> 1), static_cast<T>(T{1} << (sizeof(T) * 8 - 1)), 5, 6};
  MemoryMachine m(target, row.format);
  const auto pick = [](unsigned i) { return edges[i % std::size(edges)]; };
  const auto put = [&m](unsigned r, unsigned l, T value) {
    m.reg(r, l) = static_cast<u32>(value);
    if constexpr (sizeof(T) == 8) m.reg(r + 1, l) = static_cast<u32>(value >> 32);
  };
  const bool pair = name == "cmpswap";  // new and compare value in consecutive registers
  constexpr unsigned width = sizeof(T) / 4;
  for (unsigned l = 0; l < kLanes; ++l) {
    m.put<T>(l, pick(l));
    put(kData, l, pick(l / 7 + l % 2));
    put(pair ? kData + width : kData + 4, l, pick(l / 3));
  }
  m.run(row, returns);
  const bool writes = row.dst != Type::none && (returns || !(row.flags & kReturns));
  for (unsigned l = 0; l < m.wave.size; ++l) {
    const T mem = pick(l), data = pick(l / 7 + l % 2), second = pick(l / 3);
    ASSERT_EQ(m.get<T>(l), m.on(l) ? *atomic_result<T>(name, mem, data, second) : mem) << "lane " << l;
    if (!writes) continue;
    const T got = static_cast<T>(m.reg(m.dst, l) | (sizeof(T) == 8 ? u64{m.reg(m.dst + 1, l)} << 32 : 0));
    const T kept = m.dst == kData ? data : static_cast<T>(u64{kOld} << 32 | kOld);
    ASSERT_EQ(got, m.on(l) ? mem : kept) << "lane " << l;
  }
}

TEST(MemoryRows, IntegerAtomics) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    if (!(row.flags & kReturns)) return;
    const std::string op = operation(name);
    if (!atomic_result<u32>(op, 0, 0, 0)) return;
    ++rows;
    const Type data = row.dst != Type::none ? row.dst : row.src1;
    for (const bool returns : {true, false}) {
      if (data == Type::b64) check_integer_atomic<u64>(target, row, op, returns);
      else check_integer_atomic<u32>(target, row, op, returns);
    }
  });
  EXPECT_GE(rows, 3u * (13 * 2 * 3 + 4 * 12));
}

// Floating point: sums that are exact, so that every rounding gives the same, and signs of zero.
template <class T, class Bits>
void check_float_atomic(Target target, const Row& row, const std::string& op) {
  static constexpr T values[] = {0, -0.0f, 1.5f, -2.25f, 3, -1024, 0.125f};
  MemoryMachine m(target, row.format);
  const auto mem = [](unsigned l) { return values[l % std::size(values)]; };
  const auto data = [](unsigned l) { return values[(l / 7 + 2) % std::size(values)]; };
  for (unsigned l = 0; l < kLanes; ++l) {
    m.put<T>(l, mem(l));
    const auto bits = std::bit_cast<Bits>(data(l));
    m.reg(kData, l) = static_cast<u32>(bits);
    if constexpr (sizeof(T) == 8) m.reg(kData + 1, l) = static_cast<u32>(bits >> 32);
  }
  m.run(row);
  for (unsigned l = 0; l < m.wave.size; ++l) {
    const T a = mem(l), b = data(l);
    T expected = op == "add_f" ? a + b : op == "min_f" ? (b < a ? b : a) : (b > a ? b : a);
    if (a == 0 && b == 0 && op != "add_f") continue;  // which zero: not stated
    ASSERT_EQ(std::bit_cast<Bits>(m.get<T>(l)), std::bit_cast<Bits>(m.on(l) ? expected : a)) << "lane " << l;
  }
}

TEST(MemoryRows, FloatAtomics) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    const std::string op = operation(name);
    if (op != "add_f" && op != "min_f" && op != "max_f") return;
    ++rows;
    const Type data = row.dst != Type::none ? row.dst : row.src1;
    if (data == Type::b64) check_float_atomic<double, u64>(target, row, op);
    else check_float_atomic<float, u32>(target, row, op);
  });
  EXPECT_GE(rows, 30u);
}

// minimumNumber and maximumNumber of gfx12: a NaN loses, two make the data's a quiet one, -0 is less than +0.
template <class Bits>
void check_number_atomic(Target target, const Row& row, bool max) {
  constexpr bool wide = sizeof(Bits) == 8;
  constexpr Bits one = wide ? static_cast<Bits>(0x3ff0000000000000) : 0x3f800000u, two = wide ? static_cast<Bits>(0x4000000000000000) : 0x40000000u;
  constexpr Bits zero = 0, minus = Bits{1} << (sizeof(Bits) * 8 - 1), quiet_bit = wide ? static_cast<Bits>(0x8000000000000) : 0x400000u;
  constexpr Bits inf = wide ? static_cast<Bits>(0x7ff0000000000000) : 0x7f800000u;
  constexpr Bits quiet = inf | quiet_bit | 5, signals = inf | 3;
  struct Case { Bits mem, data, low, high; };
  static constexpr Case cases[] = {{one, two, one, two}, {two, one, one, two}, {zero, minus, minus, zero}, {minus, zero, minus, zero},
                                   {quiet, one, one, one}, {one, quiet, one, one}, {signals, two, two, two}, {two, signals, two, two},
                                   {quiet, signals, signals | quiet_bit, signals | quiet_bit}, {inf, inf | minus, inf | minus, inf}};
  MemoryMachine m(target, row.format);
  const auto at = [](unsigned l) { return cases[l % std::size(cases)]; };
  for (unsigned l = 0; l < kLanes; ++l) {
    m.put<Bits>(l, at(l).mem);
    m.reg(kData, l) = static_cast<u32>(at(l).data);
    if constexpr (wide) m.reg(kData + 1, l) = static_cast<u32>(at(l).data >> 32);
  }
  m.run(row);
  for (unsigned l = 0; l < m.wave.size; ++l) {
    const Case c = at(l);
    ASSERT_EQ(m.get<Bits>(l), m.on(l) ? max ? c.high : c.low : c.mem) << "lane " << l;
    if (row.dst != Type::none && m.on(l)) {
      ASSERT_EQ(m.reg(m.dst, l), static_cast<u32>(c.mem)) << "lane " << l;
    }
  }
}
TEST(MemoryRows, NumberAtomics) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    const bool max = name.find("max_num") != name.npos;
    if (!max && name.find("min_num") == name.npos) return;
    ++rows;
    if (name.ends_with("64")) check_number_atomic<u64>(target, row, max);
    else check_number_atomic<u32>(target, row, max);
  });
  EXPECT_EQ(rows, 6u + 8u);
}

// Two halves added apart: 1.5 + 0.25 and -2 + 2.
TEST(MemoryRows, PackedAtomics) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    const bool half = name.ends_with("_f16"), brain = name.ends_with("_bf16");
    if (name.find("pk_add") == std::string_view::npos) return;
    ASSERT_TRUE(half || brain);
    ++rows;
    MemoryMachine m(target, row.format);
    const u32 old = half ? 0xc000'3e00 : 0xc000'3fc0, data = half ? 0x4000'3400 : 0x4000'3e80, sum = half ? 0x0000'3f00 : 0x0000'3fe0;
    for (unsigned l = 0; l < kLanes; ++l) m.put<u32>(l, old), m.reg(kData, l) = data;
    m.run(row);
    for (unsigned l = 0; l < m.wave.size; ++l) ASSERT_EQ(m.get<u32>(l), m.on(l) ? sum : old) << "lane " << l;
    if (row.dst != Type::none) {
      EXPECT_EQ(m.reg(m.dst, 0), old);
    }
  });
  EXPECT_GE(rows, 9u);
}

// Compare and store as floats: zeros of both signs are equal, a NaN equals nothing.
template <class T, class Bits>
void check_float_compare(Target target, const Row& row) {
  static constexpr T values[] = {0, -0.0f, 1.5f, -2.25f, std::numeric_limits<T>::quiet_NaN()};
  // cmpst of gfx9: compare, then new; cmpstore of gfx11 and cmpswap: new, then compare.
  const bool compare_first = std::string_view(row.name).find("cmpst_") != std::string_view::npos;
  const bool pair = row.format != Format::ds;
  constexpr unsigned width = sizeof(T) / 4;
  MemoryMachine m(target, row.format);
  const auto mem = [](unsigned l) { return values[l % 5]; };
  const auto compare = [](unsigned l) { return values[l / 5 % 5]; };
  const auto put = [&m](unsigned r, unsigned l, Bits value) {
    m.reg(r, l) = static_cast<u32>(value);
    if constexpr (sizeof(T) == 8) m.reg(r + 1, l) = static_cast<u32>(u64{value} >> 32);
  };
  for (unsigned l = 0; l < kLanes; ++l) {
    const Bits fresh = 1000 + l, expected = std::bit_cast<Bits>(compare(l));
    m.put<T>(l, mem(l));
    put(kData, l, compare_first ? expected : fresh);
    put(pair ? kData + width : kData + 4, l, compare_first ? fresh : expected);
  }
  m.run(row);
  for (unsigned l = 0; l < m.wave.size; ++l) {
    const bool stored = m.on(l) && mem(l) == compare(l);
    ASSERT_EQ(m.get<Bits>(l), stored ? Bits{1000 + l} : std::bit_cast<Bits>(mem(l))) << "lane " << l;
    if (row.dst == Type::none || !m.on(l)) continue;
    ASSERT_EQ(m.reg(m.dst, l), static_cast<u32>(std::bit_cast<Bits>(mem(l)))) << "lane " << l;
  }
}
TEST(MemoryRows, FloatCompareAndStore) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    if (!name.starts_with("cmpst") && name != "atomic_cmpswap_f32") return;
    if (name.find("_f") == std::string_view::npos) return;
    ++rows;
    if (name.ends_with("64")) check_float_compare<double, u64>(target, row);
    else check_float_compare<float, u32>(target, row);
  });
  EXPECT_EQ(rows, (kTargetList.size() - 1) * 4 + 3);  // gfx12 has none
}

// Two dwords, each replaced where bit 31 of its data is set, by the other bits.
TEST(MemoryRows, ConditionalExchange) {
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    if (name != "condxchg32_rtn_b64") return;
    MemoryMachine m(target, row.format), before(target, row.format);
    for (unsigned l = 0; l < kLanes; ++l)
      for (unsigned k = 0; k < 2; ++k) m.reg(kData + k, l) = (l >> k & 1 ? 0x8000'0000 : 0) | (100 * l + k);
    m.run(row);
    for (unsigned l = 0; l < m.wave.size; ++l)
      for (unsigned k = 0; k < 2; ++k) {
        u32 now, old;
        std::memcpy(&now, m.at(l) + 4 * k, 4);
        std::memcpy(&old, before.at(l) + 4 * k, 4);
        ASSERT_EQ(now, m.on(l) && (l >> k & 1) ? 100 * l + k : old) << "lane " << l;
        ASSERT_EQ(m.reg(kDst + k, l), m.on(l) ? old : kOld) << "lane " << l;
      }
  });
}

// Lane l's dword is at m0 + offset + 4 * l.
TEST(MemoryRows, AddressByLane) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    if (name != "read_addtid_b32" && name != "write_addtid_b32") return;
    ++rows;
    MemoryMachine m(target, row.format), before(target, row.format);
    m.wave.s[kM0] = 0xabcd'0040;  // the low half counts
    for (unsigned l = 0; l < kLanes; ++l) m.reg(kData, l) = 0x1000 + l;
    m.run(row);
    for (unsigned l = 0; l < m.wave.size; ++l) {
      u32 now, old;
      std::memcpy(&now, m.wave.group->lds.data() + 0x40 + kOffset + 4 * l, 4);
      std::memcpy(&old, before.wave.group->lds.data() + 0x40 + kOffset + 4 * l, 4);
      const bool load = row.dst != Type::none;
      ASSERT_EQ(now, !load && m.on(l) ? 0x1000 + l : old) << "lane " << l;
      if (load) {
        ASSERT_EQ(m.reg(kDst, l), m.on(l) ? old : kOld) << "lane " << l;
      }
    }
  });
  EXPECT_EQ(rows, kTargetList.size() * 2);
}

// load_lds_dwordx3 and x4: 16 bytes a lane in LDS; of x3 the fourth dword stays.
void check_wide_load_to_lds(Target target, const Row& row, unsigned bytes) {
  MemoryMachine m(target, row.format), before(target, Format::ds);
  m.wave.s[kM0] = 64;
  m.run(row);
  for (unsigned l = 0; l < m.wave.size; ++l) {
    const std::size_t at = 64 + kOffset + 16 * l;
    std::uint8_t expected[16];
    std::memcpy(expected, before.wave.group->lds.data() + at, 16);
    if (m.on(l)) std::memcpy(expected, m.at(l), bytes);
    ASSERT_EQ(std::memcmp(m.wave.group->lds.data() + at, expected, 16), 0) << "lane " << l;
  }
}

// load_lds_*: element l goes to LDS at m0 + offset + 4 * l, a dword each.
TEST(MemoryRows, LoadsToLds) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    if (!name.starts_with("load_lds_")) return;
    ++rows;
    if (name.ends_with("x3") || name.ends_with("x4")) return check_wide_load_to_lds(target, row, name.ends_with("x3") ? 12 : 16);
    MemoryMachine m(target, row.format);
    m.wave.s[kM0] = 64;
    m.run(row);
    const std::string_view kind = name.substr(9);
    for (unsigned l = 0; l < m.wave.size; ++l) {
      u32 value, initial;
      std::memcpy(&value, m.wave.group->lds.data() + 64 + kOffset + 4 * l, 4);
      std::memcpy(&initial, MemoryMachine(target, Format::ds).wave.group->lds.data() + 64 + kOffset + 4 * l, 4);
      const std::uint8_t* at = m.at(l);
      const u32 expected = kind == "dword" ? m.get<u32>(l)
                           : kind == "ubyte" ? at[0]
                           : kind == "sbyte" ? static_cast<u32>(std::int32_t{static_cast<std::int8_t>(at[0])})
                           : kind == "ushort" ? u32{m.get<std::uint16_t>(l)}
                                              : static_cast<u32>(std::int32_t{m.get<std::int16_t>(l)});
      ASSERT_EQ(value, m.on(l) ? expected : initial) << "lane " << l;
    }
  });
  EXPECT_EQ(rows, 3u * 5 + 2 * 5 + 2);  // five of global on gfx9, of scratch from gfx942 on; two wide ones of gfx950
}

// Two addresses: offsets in units of the element, times 64 in the stride forms.
TEST(MemoryRows, TwoAddresses) {
  unsigned rows = 0;
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    if (!(row.flags & kTwoAddress)) return;
    ++rows;
    const bool load = row.dst != Type::none, store = row.src1 != Type::none;  // both: an exchange
    const unsigned width = name.ends_with("b64") ? 8 : 4;
    const unsigned unit = width * (name.find("st64") != std::string_view::npos ? 64 : 1);
    MemoryMachine m(target, Format::ds);
    std::vector<std::uint8_t>& lds = m.wave.group->lds;
    m.wave.set_exec(0x5);
    for (unsigned l = 0; l < kLanes; ++l) {
      m.reg(kAddress, l) = 8 * l;
      for (unsigned k = 0; k < 8; ++k) m.reg(kData + k, l) = 0x1000 * (k + 1) + l;
    }
    Inst inst;
    inst.row = &row;
    inst.format = Format::ds;
    inst.offset0 = 3;
    inst.offset1 = 1;
    inst.src[0].kind = OperandKind::vgpr;
    inst.src[0].index = kAddress;
    inst.src[1].index = kData;
    inst.src[3].index = kData + 4;
    inst.dst.index = kDst;
    const std::vector<std::uint8_t> before = lds;
    row.handler(m.wave, inst);
    exercised(target, row);
    for (unsigned l = 0; l < 4; ++l) {
      const bool on = l == 0 || l == 2;
      for (unsigned part = 0; part < 2; ++part)
        for (unsigned k = 0; k < width / 4; ++k) {
          const std::size_t at = 8 * l + (part ? 1 : 3) * unit + 4 * k;
          u32 now, old;
          std::memcpy(&now, lds.data() + at, 4);
          std::memcpy(&old, before.data() + at, 4);
          const bool overlap = width == 8 && unit == 8;  // with the other lane's elements
          if (load && !(store && overlap)) {
            ASSERT_EQ(m.reg(kDst + part * (width / 4) + k, l), on ? old : kOld);
          }
          if (store && on && !overlap) {
            ASSERT_EQ(now, 0x1000 * (part * 4 + k + 1) + l);
          }
        }
    }
  });
  EXPECT_EQ(rows, kTargetList.size() * 12);
}

// What has no effect here, and appends: the count of active lanes.
TEST(MemoryRows, CacheOperationsAndCounters) {
  for_each_memory_row([&](Target target, const Row& row, std::string_view name) {
    MemoryMachine m(target, row.format);
    if (row.src0 == Type::none && row.dst == Type::none && row.src1 == Type::none) {
      MemoryMachine before(target, row.format);
      m.run(row);
      for (unsigned l = 0; l < kLanes; ++l) ASSERT_EQ(std::memcmp(m.at(l), before.at(l), kStride - kOffset), 0);
    } else if (name == "append" || name == "consume") {
      m.wave.s[kM0] = 64u << 16;
      u32 counter = 1000;
      std::memcpy(m.wave.group->lds.data() + 64 + kOffset, &counter, 4);
      m.run(row);
      const auto lanes = static_cast<u32>(std::popcount(m.wave.exec()));
      std::memcpy(&counter, m.wave.group->lds.data() + 64 + kOffset, 4);
      EXPECT_EQ(counter, name == "append" ? 1000 + lanes : 1000 - lanes);
      EXPECT_EQ(m.reg(kDst, 0), 1000u);
    }
  });
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
