// The ordered pipeline: order, bounded slots, errors from either side.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "replay/ordered_pipeline.hpp"

namespace kerncap::replay {
namespace {

struct Slot {
  std::size_t value = 0;
  std::atomic<bool> in_use{false};
};

TEST(Pipeline, ConsumesInOrderWithFewSlots) {
  for (const std::size_t slots : {1u, 2u, 4u}) {
    std::vector<Slot> buffers(slots);
    std::vector<std::size_t> seen;
    run_ordered<Slot>(
        100, 3, buffers,
        [](std::size_t i, Slot& slot) {
          EXPECT_FALSE(slot.in_use.exchange(true));
          if (i % 7 == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
          slot.value = i * i;
        },
        [&](std::size_t i, Slot& slot) {
          EXPECT_EQ(slot.value, i * i);
          seen.push_back(i);
          slot.in_use = false;
        });
    ASSERT_EQ(seen.size(), 100u);
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], i);
  }
}

TEST(Pipeline, NoTasks) {
  std::vector<Slot> buffers(2);
  run_ordered<Slot>(0, 2, buffers, [](std::size_t, Slot&) { FAIL(); }, [](std::size_t, Slot&) { FAIL(); });
}

TEST(Pipeline, ErrorsEndItFromBothSides) {
  std::vector<Slot> buffers(2);
  const auto nothing = [](std::size_t, Slot&) {};
  const auto fails = [](std::size_t i, Slot&) {
    if (i == 5) throw std::runtime_error("five");
  };
  EXPECT_THROW(run_ordered<Slot>(1000, 2, buffers, fails, nothing), std::runtime_error);
  EXPECT_THROW(run_ordered<Slot>(1000, 2, buffers, nothing, fails), std::runtime_error);
  EXPECT_THROW(run_ordered<Slot>(6, 2, buffers, fails, nothing), std::runtime_error);
}

}  // namespace
}  // namespace kerncap::replay
