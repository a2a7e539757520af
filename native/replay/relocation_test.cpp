// Addresses of code in captured bytes, translated to where a replay has the code and back.
#include "replay/relocation.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

namespace kerncap::replay {
namespace {

constexpr std::uint64_t kThere = 0x7f1234500000, kHere = 0x7fee00000000;

std::vector<std::byte> bytes_of(const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> bytes(words.size() * 8);
  std::memcpy(bytes.data(), words.data(), bytes.size());
  return bytes;
}
std::vector<std::uint64_t> words_of(const std::vector<std::byte>& bytes) {
  std::vector<std::uint64_t> words(bytes.size() / 8);
  std::memcpy(words.data(), bytes.data(), words.size() * 8);
  return words;
}

TEST(Relocation, TranslatesWordsWithinTheCodeAndNothingElse) {
  const Relocation relocation({{kThere, kHere, 0x3000}});
  auto bytes = bytes_of({1, kThere, kThere + 0x2fff, kThere + 0x3000, kThere - 1, ~0ull});
  EXPECT_EQ(relocation.to_device(0x1000, bytes), 2u);
  EXPECT_EQ(words_of(bytes), (std::vector<std::uint64_t>{1, kHere, kHere + 0x2fff, kThere + 0x3000, kThere - 1, ~0ull}));
  EXPECT_EQ(relocation.to_captured(0x1000, bytes), 2u);
  EXPECT_EQ(words_of(bytes), (std::vector<std::uint64_t>{1, kThere, kThere + 0x2fff, kThere + 0x3000, kThere - 1, ~0ull}));
}

TEST(Relocation, WordsLieAtMultiplesOfEightOfTheAddress) {
  const Relocation relocation({{kThere, kHere, 16}});
  auto bytes = bytes_of({0, kThere + 8, kThere});
  std::rotate(bytes.begin(), bytes.begin() + 4, bytes.end());  // now at offsets 4 and 12
  EXPECT_EQ(relocation.to_device(0x1000, bytes), 0u);
  EXPECT_EQ(relocation.to_device(0x1004, bytes), 2u);
  std::vector<std::byte> few(7);
  EXPECT_EQ(relocation.to_device(0x1000, few), 0u);
}

TEST(Relocation, FarIntoAChunkAndInEveryPlaceOfABlock) {
  const Relocation relocation({{kThere, kHere, 0x1000}});
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> words(1000);
  for (auto& word : words) word = random() >> 1;
  for (const std::size_t at : {0u, 63u, 64u, 127u, 500u, 999u}) words[at] = kThere + at;
  auto bytes = bytes_of(words);
  EXPECT_EQ(relocation.to_device(0, bytes), 6u);
  for (const std::size_t at : {0u, 63u, 64u, 127u, 500u, 999u}) words[at] = kHere + at;
  EXPECT_EQ(words_of(bytes), words);
}

TEST(Relocation, PiecesThatOverlapAreTranslatedOnce) {
  const Relocation relocation({{kThere + 64, kHere, 8}, {kThere, kHere + 64, 65}, {kThere + 200, kHere + 8, 0}});
  auto bytes = bytes_of({kThere + 64, kThere + 200});
  EXPECT_EQ(relocation.to_device(0, bytes), 1u);
  EXPECT_EQ(words_of(bytes)[0], kHere + 128);
  EXPECT_EQ(relocation.to_captured(0, bytes), 1u);
  EXPECT_EQ(words_of(bytes)[0], kThere + 64);
}

TEST(Relocation, WhatWouldNotComeBackDoesNotGoOut) {
  const Relocation relocation({{kThere, kHere, 16}, {kThere + 100, kHere + 8, 16}});
  auto bytes = bytes_of({kThere + 100, kThere + 8});
  EXPECT_EQ(relocation.to_device(0, bytes), 1u);
  EXPECT_EQ(words_of(bytes), (std::vector<std::uint64_t>{kThere + 100, kHere + 8}));
}

TEST(Relocation, NoneTranslatesNothing) {
  const Relocation none;
  auto bytes = bytes_of({0, kThere});
  EXPECT_EQ(none.to_device(0, bytes), 0u);
  EXPECT_EQ(none, Relocation(std::vector<Moved>{}));
  EXPECT_NE(none, Relocation({{kThere, kHere, 1}}));
}

TEST(Relocation, WhatIsNoElfFileHasNoSymbols) {
  const std::vector<std::byte> nothing, noise(100, std::byte{0x7f});
  EXPECT_TRUE(moved_symbols(nothing, 0, noise, 0).empty());
}

}  // namespace
}  // namespace kerncap::replay
