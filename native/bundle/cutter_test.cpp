// Where chunks are cut: the same whatever the pieces, found again after a shift, bounded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "bundle/cutter.hpp"

namespace kerncap {
namespace {

using Bytes = std::vector<std::byte>;
constexpr CutRule kRule;

Bytes noise(std::size_t size, unsigned seed) {
  std::mt19937_64 generator(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i + 8 <= size; i += 8) {
    const std::uint64_t word = generator();
    std::memcpy(bytes.data() + i, &word, 8);
  }
  return bytes;
}

// The lengths when `piece` bytes come at a time, as the snapshot has them: what is left is put before the next piece.
std::vector<std::size_t> cut(const Bytes& bytes, std::size_t piece = kRule.most) {
  Cutter cutter;
  std::vector<std::size_t> lengths;
  std::size_t begin = 0;
  for (std::size_t end = 0; end < bytes.size();) {
    end = std::min(end + piece, bytes.size());
    while (const auto n = cutter.next(std::span(bytes).subspan(begin, end - begin), end == bytes.size())) {
      lengths.push_back(n);
      begin += n;
      if (begin == end) break;
    }
    EXPECT_LT(end - begin, kRule.most);
  }
  EXPECT_EQ(begin, bytes.size());
  return lengths;
}

TEST(Cutter, DoesNotDependOnThePieces) {
  Bytes bytes = noise((40u << 20) + 1234, 1);
  std::fill_n(bytes.begin() + (8 << 20), 9 << 20, std::byte{0});
  const auto lengths = cut(bytes);
  for (const std::size_t piece : {512u, 4096u, 100'000u, 1u << 20, 64u << 20}) EXPECT_EQ(cut(bytes, piece), lengths) << piece;
}

TEST(Cutter, KeepsToItsRule) {
  const auto lengths = cut(noise(256u << 20, 2));
  for (std::size_t i = 0; i + 1 < lengths.size(); ++i) {
    EXPECT_GE(lengths[i], kRule.least);
    EXPECT_LE(lengths[i], kRule.most);
    EXPECT_EQ(lengths[i] % Cutter::kBlockBytes, 0u);
  }
  EXPECT_NEAR(static_cast<double>(lengths.size()), 256, 60);
  EXPECT_EQ(cut(noise(100, 3)), std::vector<std::size_t>{100});
  EXPECT_EQ(cut(noise(kRule.least, 4)), std::vector<std::size_t>{kRule.least});
}

// Whatever the value is: also one whose blocks have a hash that cuts.
TEST(Cutter, ConstantBytesAreCutAtTheMaximum) {
  for (unsigned value = 0; value < 256; value += 5) {
    const auto lengths = cut(Bytes(20u << 20, static_cast<std::byte>(value)));
    EXPECT_EQ(lengths.size(), 5u) << value;
  }
}

// Counting numbers have blocks of their own as well.
TEST(Cutter, CutsNumbersThatCount) {
  std::vector<std::uint32_t> numbers(16u << 20);
  std::iota(numbers.begin(), numbers.end(), 0u);
  Bytes bytes(numbers.size() * 4);
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  EXPECT_GT(cut(bytes).size(), 40u);
}

std::set<Sha256Digest> chunks_of(const Bytes& bytes) {
  std::set<Sha256Digest> digests;
  std::size_t at = 0;
  for (const std::size_t length : cut(bytes)) {
    digests.insert(sha256(std::span(bytes).subspan(at, length)));
    at += length;
  }
  return digests;
}

TEST(Cutter, FindsItsPlacesAgain) {
  const Bytes tensor = noise(64u << 20, 5);
  Bytes before(80u << 20), after(80u << 20);
  std::ranges::copy(tensor, before.begin() + 4096);
  std::ranges::copy(tensor, after.begin() + 4096 + 78 * 512);
  const auto known = chunks_of(before);
  std::size_t unknown = 0;
  for (const auto& digest : chunks_of(after)) unknown += known.contains(digest) ? 0 : 1;
  EXPECT_LE(unknown, 4u);
}

TEST(Cutter, LargerChunksForAHugeClosure) {
  EXPECT_EQ(CutRule::for_bytes(std::uint64_t{64} << 30).least, kRule.least);
  EXPECT_GT(CutRule::for_bytes((std::uint64_t{64} << 30) + 1).least, kRule.least);
}

}  // namespace
}  // namespace kerncap
