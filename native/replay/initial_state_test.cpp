// Poisoned and perturbed states: what changes, what must not, and that chunk bounds do not matter.
#include "replay/initial_state.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

namespace kerncap::replay {
namespace {

using Bytes = std::vector<std::byte>;

Bytes random_bytes(std::size_t size) {
  std::mt19937 generator(3);
  Bytes bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(generator());
  return bytes;
}

InitialState state(InitialState::Kind kind, std::vector<InitialRange> ranges, std::uint64_t seed = 1) { return {kind, seed, std::move(ranges)}; }

TEST(Poison, ComplementsTheRangesOnly) {
  const auto poison = state(InitialState::Kind::poisoned, {{0, 5, 3}, {1, 10, 10}, {1, 30, 1}});
  const Bytes before = random_bytes(40);
  Bytes after = before;
  apply_initial(poison, 1, 0x1000, 0, after);
  for (std::size_t i = 0; i < before.size(); ++i) {
    const bool in = (i >= 10 && i < 20) || i == 30;
    EXPECT_EQ(after[i], in ? ~before[i] : before[i]) << i;
  }
  EXPECT_TRUE(touches(poison, 1, 19, 1));
  EXPECT_FALSE(touches(poison, 1, 20, 10));
  EXPECT_FALSE(touches(poison, 2, 0, 100));
  EXPECT_FALSE(touches(poison, 0, 0, 5));
}

TEST(Poison, ChunkBoundsDoNotMatter) {
  const auto poison = state(InitialState::Kind::poisoned, {{0, 3, 90}});
  const Bytes before = random_bytes(100);
  Bytes whole = before;
  apply_initial(poison, 0, 0x1000, 0, whole);
  Bytes pieces = before;
  for (std::size_t at = 0; at < 100; at += 10) apply_initial(poison, 0, 0x1000, at, std::span(pieces).subspan(at, 10));
  EXPECT_EQ(whole, pieces);
}

TEST(Perturb, ChunkBoundsDoNotMatterForAlignedElements) {
  for (const ElementType type : {ElementType::f64, ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::i32, ElementType::i8}) {
    const auto perturbed = state(InitialState::Kind::perturbed, {{0, 8, 80, type}});
    const Bytes before = random_bytes(100);
    Bytes whole = before;
    apply_initial(perturbed, 0, 0x1000, 0, whole);
    Bytes pieces = before;
    apply_initial(perturbed, 0, 0x1000, 0, std::span(pieces).first(48));
    apply_initial(perturbed, 0, 0x1000, 48, std::span(pieces).subspan(48));
    EXPECT_EQ(whole, pieces);
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + 8, before.begin()));
    EXPECT_TRUE(std::equal(whole.begin() + 88, whole.end(), before.begin() + 88));
  }
}

TEST(Perturb, DependsOnSeedAndAddress) {
  const auto change = [](std::uint64_t seed, std::uint64_t va) {
    float value = 1.0f;
    perturb(ElementType::f32, seed, va, reinterpret_cast<std::byte*>(&value));
    return value;
  };
  EXPECT_EQ(change(1, 0x1000), change(1, 0x1000));
  EXPECT_NE(change(1, 0x1000), change(2, 0x1000));
  EXPECT_NE(change(1, 0x1000), change(1, 0x1004));
}

template <typename T>
void expect_small_change(ElementType type) {
  for (const T value : {T{1}, T{-3.5}, T{1000}, static_cast<T>(0.001), std::numeric_limits<T>::max(), T{0}}) {
    for (std::uint64_t va = 0; va < 64; va += 8) {
      T changed = value;
      perturb(type, 9, va, reinterpret_cast<std::byte*>(&changed));
      ASSERT_TRUE(std::isfinite(changed));
      EXPECT_NE(changed, value);
      EXPECT_LE(std::fabs(changed - value), value == 0 ? T{1} / 64 : std::fabs(value) / 16);
    }
  }
  for (const T value : {std::numeric_limits<T>::infinity(), -std::numeric_limits<T>::infinity()}) {
    T changed = value;
    perturb(type, 9, 0, reinterpret_cast<std::byte*>(&changed));
    EXPECT_EQ(changed, value);
  }
}

TEST(Perturb, Floats) { expect_small_change<float>(ElementType::f32); }
TEST(Perturb, Doubles) { expect_small_change<double>(ElementType::f64); }

TEST(Perturb, EveryHalfStaysFiniteAndNormalOnesChange) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    for (const ElementType type : {ElementType::f16, ElementType::bf16}) {
      auto changed = static_cast<std::uint16_t>(bits);
      perturb(type, 5, bits * 2, reinterpret_cast<std::byte*>(&changed));
      const std::uint32_t exponent_mask = type == ElementType::f16 ? 0x7c00 : 0x7f80;
      const bool finite = (bits & exponent_mask) != exponent_mask;
      ASSERT_EQ((changed & exponent_mask) != exponent_mask, finite) << bits;
      if (!finite) {
        ASSERT_EQ(changed, bits);
      }
      const std::uint32_t magnitude = bits & 0x7fff;
      const bool normal = (bits & exponent_mask) != 0;
      if (finite && (normal || magnitude == 0)) {
        ASSERT_NE(changed, bits);
      }
    }
  }
}

TEST(Perturb, EveryFloatOf8BitsStaysWhatItIs) {
  const auto is_special = [](ElementType type, std::uint32_t bits) {
    if (type == ElementType::f8e4m3) return (bits & 0x7f) == 0x7f;
    if (type == ElementType::f8e5m2) return (bits & 0x7c) == 0x7c;
    return bits == 0x80;
  };
  for (const ElementType type : {ElementType::f8e4m3, ElementType::f8e5m2, ElementType::f8e4m3fnuz, ElementType::f8e5m2fnuz}) {
    int moved = 0;
    for (std::uint32_t bits = 0; bits < 0x100; ++bits) {
      auto changed = static_cast<std::uint8_t>(bits);
      perturb(type, 5, bits, reinterpret_cast<std::byte*>(&changed));
      ASSERT_EQ(is_special(type, changed), is_special(type, bits)) << bits;
      ASSERT_EQ(changed & 0xfe, bits & 0xfe);
      moved += changed != bits ? 1 : 0;
    }
    EXPECT_GE(moved, 248);
  }
}

TEST(Perturb, KnownHalves) {
  // 1.0 in fp16 less 1/16 at most: from 0x3b80 (0.9375)
  for (std::uint64_t va = 0; va < 1000; va += 2) {
    std::uint16_t value = 0x3c00;
    perturb(ElementType::f16, 1, va, reinterpret_cast<std::byte*>(&value));
    EXPECT_GE(value, 0x3b80);
    EXPECT_LT(value, 0x3c00);
  }
}

TEST(Perturb, IntegersMoveByOne) {
  for (std::uint64_t va = 0; va < 64; va += 4) {
    std::uint32_t value = 0;
    perturb(ElementType::i32, 1, va, reinterpret_cast<std::byte*>(&value));
    EXPECT_TRUE(value == 1 || value == 0xffffffff);
  }
}

TEST(Perturb, Bits16ChangesFloatsOfAnyWidthALittle) {
  const auto changed = [](auto value, std::uint64_t va) {
    auto* const bytes = reinterpret_cast<std::byte*>(&value);
    for (std::size_t i = 0; i < sizeof value; i += 2) perturb(ElementType::bits16, 3, va + i, bytes + i);
    return value;
  };
  int moved = 0;
  for (std::uint64_t va = 0x1000; va < 0x1800; va += 8) {
    const float single = changed(1.5f, va);
    EXPECT_LE(std::fabs(single - 1.5f), 1.0f / 64);
    moved += single != 1.5f ? 1 : 0;
    EXPECT_LE(std::fabs(changed(1.5, va) - 1.5), 1.0 / 8);
    EXPECT_EQ(changed(std::uint16_t{0x3c00}, va) | 1, 0x3c01);
    for (const int kept : {0x0000, 0x8000, 0x0005, 0x7c00, 0xfc00, 0x7e01}) {
      EXPECT_EQ(changed(static_cast<std::uint16_t>(kept), va), kept);
    }
  }
  EXPECT_GT(moved, 64);
}

TEST(Perturb, PairsChangePlacesOrStay) {
  int exchanged = 0;
  for (std::uint64_t va = 0; va < 800; va += 8) {
    std::uint32_t pair[2] = {7, 0xdeadbeef};
    perturb(ElementType::pair32, 1, va, reinterpret_cast<std::byte*>(pair));
    const bool swapped = pair[0] == 0xdeadbeef;
    EXPECT_EQ(pair[0], swapped ? 0xdeadbeef : 7u);
    EXPECT_EQ(pair[1], swapped ? 7u : 0xdeadbeef);
    exchanged += swapped ? 1 : 0;
  }
  EXPECT_GT(exchanged, 25);
  EXPECT_LT(exchanged, 75);
}

}  // namespace
}  // namespace kerncap::replay
