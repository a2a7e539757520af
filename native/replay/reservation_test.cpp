// Spans of pages, reservations, and what is in the way of one.
#include "replay/reservation.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

constexpr std::uint64_t kBase = 0x7a0000000000;

Region region(std::uint64_t va, std::uint64_t size, RegionKind kind = RegionKind::pool) {
  Region out;
  out.va = va;
  out.size = size;
  out.kind = kind;
  return out;
}

bool is_free(std::uint64_t va) {
  void* const at = ::mmap(reinterpret_cast<void*>(va), 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == MAP_FAILED) return false;
  ::munmap(at, 4096);
  return true;
}

TEST(Spans, MergeWhatSharesAPage) {
  const std::vector<Region> regions = {region(0x10010, 0x20), region(0x10800, 0x1000), region(0x12000, 0x1000), region(0x20000, 0x1001),
                                       region(0x30000, 64, RegionKind::variable)};
  EXPECT_EQ(spans_of(regions, 4096), (std::vector<Span>{{0x10000, 0x12000, 0}, {0x12000, 0x13000, 0}, {0x20000, 0x22000, 0}}));
}

TEST(Spans, AnAliasIsASpanOfItsOwn) {
  std::vector<Region> regions = {region(0x10000, 0x1000, RegionKind::vmem), region(0x11000, 0x3000, RegionKind::vmem)};
  regions[0].alias_of = 1;
  EXPECT_EQ(spans_of(regions, 4096), (std::vector<Span>{{0x10000, 0x11000, 0x11000}, {0x11000, 0x14000, 0}}));
  EXPECT_THROW(spans_of(regions, 8192), Error) << "not of whole pages";
}

TEST(Reservation, KeepsCodeAddressesEmptyWhereTheyAreFree) {
  {
    Reservation reservation(std::vector<Span>{{kBase, kBase + 0x10000}});
    reservation.keep_empty(kBase + 0x20010, 0x1000);
    EXPECT_FALSE(is_free(kBase + 0x20000));
    EXPECT_FALSE(is_free(kBase + 0x21000));
    EXPECT_TRUE(is_free(kBase + 0x22000));
    reservation.keep_empty(kBase, 0x1000);  // taken
    reservation.keep_empty(0, 0x1000);
    reservation.keep_empty(kBase + 0x40000, 0);
    reservation.keep_empty(kBase + 0x40000, std::uint64_t{1} << 46);
    reservation.keep_empty(~std::uint64_t{0} - 100, 0x1000);
    EXPECT_TRUE(is_free(kBase + 0x40000));
    EXPECT_FALSE(is_free(kBase));
    reservation.give_up(kBase, kBase + 0x10000);
    EXPECT_TRUE(is_free(kBase));
  }
  EXPECT_TRUE(is_free(kBase + 0x20000));
}

TEST(Reservation, HoldsUntilGivenUpOrDestroyed) {
  const std::vector<Span> spans = {{kBase, kBase + 0x10000}, {kBase + 0x20000, kBase + 0x30000}};
  {
    Reservation reservation(spans);
    EXPECT_FALSE(is_free(kBase));
    reservation.give_up(kBase + 0x4000, kBase + 0x8000);
    EXPECT_FALSE(is_free(kBase));
    EXPECT_TRUE(is_free(kBase + 0x4000));
    EXPECT_FALSE(is_free(kBase + 0x8000));
    reservation.give_up(kBase, kBase + 0x4000);
    reservation.give_up(kBase + 0x8000, kBase + 0x10000);
    EXPECT_TRUE(is_free(kBase));
    EXPECT_TRUE(is_free(kBase + 0xf000));
    EXPECT_FALSE(is_free(kBase + 0x20000));
  }
  EXPECT_TRUE(is_free(kBase + 0x20000));
}

TEST(Reservation, GivenUpMemoryOfOthersSurvives) {
  const std::vector<Span> spans = {{kBase, kBase + 0x10000}};
  Reservation reservation(spans);
  reservation.give_up(kBase, kBase + 0x10000);
  void* const mine = ::mmap(reinterpret_cast<void*>(kBase), 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(mine, reinterpret_cast<void*>(kBase));
  reservation.give_up(kBase, kBase + 0x10000);
  reservation = Reservation();
  EXPECT_FALSE(is_free(kBase));
  ::munmap(mine, 4096);
}

TEST(Reservation, NamesWhatIsInTheWayAndHoldsNothing) {
  const auto stack = reinterpret_cast<std::uint64_t>(__builtin_frame_address(0)) & ~std::uint64_t{4095};
  const std::vector<Span> spans = {{kBase, kBase + 0x1000}, {stack, stack + 0x1000}};
  try {
    const Reservation reservation(spans);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "replay.address-taken");
    EXPECT_NE(std::string(error.what()).find("[stack]"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(is_free(kBase));
}

TEST(Reservation, ThirtyGiBCostNoMemory) {
  const std::vector<Span> spans = {{kBase, kBase + (std::uint64_t{30} << 30)}};
  const Reservation reservation(spans);
  EXPECT_FALSE(is_free(kBase + (std::uint64_t{29} << 30)));
}

}  // namespace
}  // namespace kerncap::replay
