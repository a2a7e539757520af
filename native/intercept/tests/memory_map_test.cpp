#include "intercept/memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

namespace kerncap::intercept {
namespace {

constexpr hsa_agent_t gpu{2};
constexpr hsa_agent_t other_gpu{3};

Allocation allocation(std::uint64_t va, std::uint64_t size, hsa_agent_t owner) {
  Allocation result;
  result.va = va;
  result.size = size;
  result.owner = owner;
  return result;
}

void add(MemoryMap& map, Allocation item) {
  const auto lock = map.lock();
  map.add(std::move(item));
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges(MemoryMap& map, hsa_agent_t agent) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
  for (const auto& region : map.closure(agent)) list.emplace_back(region.va, region.size);
  return list;
}

using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

TEST(Closure, HoldsWhatTheAgentOwnsOrWasGivenAccessTo) {
  MemoryMap map;
  add(map, allocation(0x1000, 0x100, gpu));
  add(map, allocation(0x2000, 0x100, other_gpu));
  add(map, allocation(0x3000, 0x100, hsa_agent_t{1}));
  auto open = allocation(0x4000, 0x100, hsa_agent_t{1});
  open.open_to_all = true;
  add(map, open);
  EXPECT_EQ(ranges(map, gpu), (Ranges{{0x1000, 0x100}, {0x4000, 0x100}}));
  {
    const auto lock = map.lock();
    map.allow_access(0x2080, &gpu, 1);  // any address inside
    map.allow_access(0x3000, &gpu, 1);
  }
  EXPECT_EQ(ranges(map, gpu), (Ranges{{0x1000, 0x100}, {0x2000, 0x100}, {0x3000, 0x100}, {0x4000, 0x100}}));
  {
    const auto lock = map.lock();
    map.allow_access(0x3000, &other_gpu, 1);  // replaces the list
    map.remove(0x1000);
  }
  EXPECT_EQ(ranges(map, gpu), (Ranges{{0x2000, 0x100}, {0x4000, 0x100}}));
}

TEST(Closure, CutsAwayOverlaps) {
  MemoryMap map;
  add(map, allocation(0x1000, 0x200, gpu));
  auto second = allocation(0x1100, 0x300, gpu);
  second.host_ptr = 0x9100;
  add(map, second);
  add(map, allocation(0x1180, 0x80, gpu));  // wholly inside
  EXPECT_EQ(ranges(map, gpu), (Ranges{{0x1000, 0x200}, {0x1200, 0x200}}));
  EXPECT_EQ(map.closure(gpu)[1].host_ptr, 0x9200u);
}

TEST(Closure, PaddingUpToTheEndOfThePageIsARegionOfItsOwn) {
  MemoryMap map;
  auto first = allocation(0x1000, 0xf00, gpu);
  first.padding = 0x100;
  first.host_ptr = 0x9000;
  add(map, first);
  auto second = allocation(0x4000, 0x10, gpu);
  second.padding = 0xff0;
  add(map, second);
  add(map, allocation(0x4080, 0x80, gpu));
  EXPECT_EQ(ranges(map, gpu), (Ranges{{0x1000, 0xf00}, {0x1f00, 0x100}, {0x4000, 0x10}, {0x4010, 0x70}, {0x4080, 0x80}}));
  const auto regions = map.closure(gpu);
  EXPECT_TRUE(regions[0].flags.empty());
  EXPECT_EQ(regions[1].flags, std::vector<std::string>{"padding"});
  EXPECT_EQ(regions[1].host_ptr, 0x9f00u);
}

TEST(Closure, VmemIsReachedOnceAccessIsSet) {
  MemoryMap map;
  auto mapping = allocation(0x10000, 0x1000, hsa_agent_t{0});
  mapping.kind = RegionKind::vmem;
  add(map, mapping);
  EXPECT_TRUE(ranges(map, gpu).empty());
  {
    const auto lock = map.lock();
    map.set_vmem_access(0x8000, 0x10000, {gpu.handle}, false);
  }
  EXPECT_EQ(ranges(map, gpu), (Ranges{{0x10000, 0x1000}}));
  {
    const auto lock = map.lock();
    map.remove_range(0x10000, 0x1000);
  }
  EXPECT_TRUE(ranges(map, gpu).empty());
}

TEST(Hold, ReleasesWaitUntilTheSnapshotIsOver) {
  MemoryMap map;
  std::atomic<bool> released{false};
  std::optional<MemoryMap::Hold> hold(std::in_place, map);
  std::thread thread([&] {
    const auto lock = map.lock_for_release();
    released = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(released);
  EXPECT_FALSE(hold->broken());
  { const auto allocations_go_on = map.lock(); }
  hold.reset();
  thread.join();
  EXPECT_TRUE(released);
}

TEST(Hold, IsBrokenByAReleaseThatWaitedTooLong) {
  MemoryMap map;
  map.set_hold_limit(std::chrono::milliseconds(20));
  const MemoryMap::Hold hold(map);
  { const auto lock = map.lock_for_release(); }
  EXPECT_TRUE(hold.broken());
}

}  // namespace
}  // namespace kerncap::intercept
