#include "intercept/held_state.hpp"

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <string>

#include "base/error.hpp"

namespace kerncap::intercept {
namespace {

std::vector<std::byte> filled(std::size_t size, int value) { return std::vector<std::byte>(size, static_cast<std::byte>(value)); }

bool holds(const HeldState& held, std::size_t region, const std::vector<std::byte>& bytes) {
  std::vector<std::byte> there(bytes.size());
  held.read(region, 0, there);
  return there == bytes;
}

class Held : public testing::Test {
 protected:
  std::filesystem::path directory = testing::TempDir();
};

TEST_F(Held, WhatIsTheSameIsNotWrittenAgain) {
  HeldState held(directory, std::nullopt);
  held.begin({{0x1000, 8192}, {0x8000, 100}});
  std::size_t written = 0;
  const auto store = [&](std::size_t region, std::uint64_t at, const std::vector<std::byte>& bytes) {
    const bool differs = held.store(region, at, bytes);
    written += differs ? bytes.size() : 0;
    return differs;
  };
  EXPECT_TRUE(store(0, 0, filled(4096, 7)));
  EXPECT_FALSE(store(0, 4096, filled(4096, 0)));
  EXPECT_TRUE(store(1, 0, filled(100, 9)));
  EXPECT_EQ(written, 4196u);
  held.begin({{0x1000, 8192}, {0x8000, 100}});
  EXPECT_FALSE(store(0, 0, filled(4096, 7)));
  EXPECT_TRUE(store(0, 4096, filled(4096, 8)));
  EXPECT_FALSE(store(1, 0, filled(100, 9)));
  EXPECT_EQ(written, 8292u);
  std::array<std::byte, 2> there{};
  held.read(0, 4095, there);
  EXPECT_EQ(there[0], std::byte{7});
  EXPECT_EQ(there[1], std::byte{8});
}

TEST_F(Held, RegionsComeAndGoAndMayHaveNoBytes) {
  HeldState held(directory, std::nullopt);
  held.begin({{0x1000, 4096}, {0x3000, 4096}});
  held.store(0, 0, filled(4096, 1));
  held.store(1, 0, filled(4096, 2));
  held.begin({{0x3000, 4096}, {0x5000, 0}, {0x7000, 4096}});
  EXPECT_TRUE(holds(held, 0, filled(4096, 2)));
  EXPECT_TRUE(holds(held, 2, filled(4096, 0)));
  held.begin({{0x1000, 4096}, {0x3000, 8192}});  // the same place again, and another size
  EXPECT_TRUE(holds(held, 0, filled(4096, 0)));
  EXPECT_TRUE(holds(held, 1, filled(8192, 0)));
}

TEST_F(Held, NothingBeyondTheBudgetOrTheRegion) {
  HeldState held(directory, 5000);
  held.begin({{0x1000, 4096}, {0x3000, 904}});
  EXPECT_THROW(held.store(1, 900, filled(8, 1)), Error);
  std::array<std::byte, 8> there{};
  EXPECT_THROW(held.read(1, 900, there), Error);
  try {
    held.begin({{0x1000, 4096}, {0x3000, 905}});
    FAIL() << "5001 bytes were accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "capture.budget");
    EXPECT_NE(error.hint()->find("--budget 5001"), std::string::npos);
  }
}

TEST_F(Held, OnlyPiecesThatDifferAreWritten) {
  HeldState held(directory, std::nullopt);
  auto bytes = filled(1 << 20, 3);
  held.begin({{0x1000, bytes.size()}});
  EXPECT_TRUE(held.store(0, 0, bytes));
  bytes.front() = bytes[700000] = bytes.back() = std::byte{4};
  EXPECT_TRUE(held.store(0, 0, bytes));
  EXPECT_TRUE(holds(held, 0, bytes));
  EXPECT_FALSE(held.store(0, 0, bytes));
}

TEST_F(Held, LeavesNothingBehind) {
  const auto place = directory / "held-alone";
  std::filesystem::create_directory(place);
  HeldState held(place, std::nullopt);
  held.begin({{0x1000, 4096}});
  held.store(0, 0, filled(4096, 1));
  EXPECT_TRUE(std::filesystem::is_empty(place));
}

}  // namespace
}  // namespace kerncap::intercept
