// Differences, range lists and change logs.
#include "replay/changes.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;
using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Runs runs_of(const Bytes& a, const Bytes& b, std::uint64_t gap, std::uint64_t* count = nullptr) {
  Runs runs;
  const std::uint64_t n = find_differences(a, b, gap, [&](std::uint64_t at, std::uint64_t length) { runs.emplace_back(at, length); });
  if (count != nullptr) *count = n;
  return runs;
}

TEST(FindDifferences, RunsAndGaps) {
  const Bytes a(10000);
  Bytes b = a;
  for (const std::size_t i : {0u, 1u, 5u, 4095u, 4096u, 9999u}) b[i] = std::byte{1};
  std::uint64_t count = 0;
  EXPECT_EQ(runs_of(a, b, 0, &count), (Runs{{0, 2}, {5, 1}, {4095, 2}, {9999, 1}}));
  EXPECT_EQ(count, 6u);
  EXPECT_EQ(runs_of(a, b, 4), (Runs{{0, 6}, {4095, 2}, {9999, 1}}));
  EXPECT_EQ(runs_of(a, b, 3), (Runs{{0, 2}, {5, 1}, {4095, 2}, {9999, 1}}));
  EXPECT_TRUE(runs_of(a, a, 64).empty());
  EXPECT_TRUE(runs_of({}, {}, 64).empty());
}

TEST(FindDifferences, AgreesWithCountingByHand) {
  std::mt19937 generator(1);
  for (int round = 0; round < 50; ++round) {
    Bytes a(9000);
    Bytes b = a;
    std::uint64_t expected = 0;
    for (int i = 0; i < round * 20; ++i) b[generator() % b.size()] = static_cast<std::byte>(generator());
    for (std::size_t i = 0; i < a.size(); ++i) expected += a[i] != b[i];
    std::uint64_t count = 0;
    Bytes patched = a;
    for (const auto& [at, length] : runs_of(a, b, 16, &count)) std::copy_n(b.begin() + static_cast<std::ptrdiff_t>(at), length, patched.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_EQ(count, expected);
    EXPECT_EQ(patched, b);
  }
}

TEST(RangeList, JoinsAndStaysSmall) {
  RangeList list(100);
  for (std::uint64_t i = 0; i < 10000; ++i) list.add(1, i * 16, 4);
  list.add(0, 8, 4);
  const auto ranges = list.sorted();
  EXPECT_LT(ranges.size(), 100u);
  EXPECT_EQ(ranges.front(), (ByteRange{0, 8, 4}));
  EXPECT_EQ(ranges.at(1).offset, 0u);
  EXPECT_EQ(ranges.back().end(), 9999u * 16 + 4);
  RangeList exact;
  exact.add(0, 4, 4);
  exact.add(0, 0, 4);
  exact.add(0, 9, 1);
  EXPECT_EQ(exact.sorted(), (std::vector<ByteRange>{{0, 0, 8}, {0, 9, 1}}));
}

Index small_index() {
  Index index;
  index.regions.resize(2);
  index.regions[0].size = 1000;
  index.regions[1].size = 1000;
  return index;
}

Bytes filled(std::size_t size, int value) { return Bytes(size, static_cast<std::byte>(value)); }

TEST(ChangeLog, AppliesWhatFallsInAChunk) {
  ChangeLog log;
  log.append(0, 10, filled(10, 1));
  log.append(0, 20, filled(5, 2));
  log.append(1, 0, filled(4, 3));
  Bytes bytes = filled(8, 0);
  EXPECT_TRUE(log.touches(0, 16, 8));
  log.apply(0, 16, bytes);
  EXPECT_EQ(bytes, (Bytes{std::byte{1}, std::byte{1}, std::byte{1}, std::byte{1}, std::byte{2}, std::byte{2}, std::byte{2}, std::byte{2}}));
  EXPECT_FALSE(log.touches(0, 25, 100));
  EXPECT_FALSE(log.touches(0, 0, 10));
  EXPECT_FALSE(log.touches(1, 4, 1));
}

TEST(ChangeLog, SpillsToAFileAndReadsBack) {
  ChangeLog log;
  const Bytes piece = filled(8u << 20, 7);
  for (std::uint64_t i = 0; i < 10; ++i) log.append(0, i * piece.size(), piece);
  Bytes bytes = filled(16, 0);
  log.apply(0, 72u << 20, bytes);
  EXPECT_EQ(bytes, filled(16, 7));
}

class DumpTest : public testing::Test {
 protected:
  DumpTest() {
    std::string name = (fs::temp_directory_path() / "kerncap-dump-XXXXXX").native();
    directory_ = ::mkdtemp(name.data());
  }
  ~DumpTest() override { fs::remove_all(directory_); }
  std::string load_code(const Index& index, const Json& initial) {
    try {
      ChangeLog::load(directory_, index, initial);
    } catch (const Error& error) {
      return error.code();
    }
    return "no error";
  }
  fs::path directory_;
};

TEST_F(DumpTest, RoundTrip) {
  ChangeLog log;
  log.append(0, 10, filled(10, 1));
  log.append(1, 990, filled(10, 2));
  const Json initial = {{"kind", "captured"}};
  log.save(directory_, initial);
  const ChangeLog again = ChangeLog::load(directory_, small_index(), initial);
  Bytes bytes = filled(10, 0);
  again.apply(1, 990, bytes);
  EXPECT_EQ(bytes, filled(10, 2));
  EXPECT_EQ(load_code(small_index(), {{"kind", "poisoned"}}), "usage.bad-dump");
}

TEST_F(DumpTest, RefusesWhatDoesNotFit) {
  const Json initial = {{"kind", "captured"}};
  ChangeLog log;
  log.append(1, 990, filled(10, 2));
  log.save(directory_, initial);
  Index small = small_index();
  small.regions[1].size = 999;
  EXPECT_EQ(load_code(small, initial), "usage.bad-dump");
  small.regions.resize(1);
  EXPECT_EQ(load_code(small, initial), "usage.bad-dump");
  fs::resize_file(directory_ / "changed.bin", 9);
  EXPECT_EQ(load_code(small_index(), initial), "usage.bad-dump");
}

}  // namespace
}  // namespace kerncap::replay
