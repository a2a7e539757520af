// Device timestamps: the cost model's sums, and where packets lie on the GPU's clock.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "vgpu/queue/queue_time.hpp"

namespace kerncap::vgpu {
namespace {

using namespace std::chrono_literals;

// 1 us for the dispatch, then the longer of 1.7 cycles a nanosecond on each SIMD in use, and memory at its bandwidth.
TEST(DeviceTime, DispatchByTheCostModel) {
  const Model& m = model_of(isa::Target::gfx942);
  EXPECT_EQ(dispatch_ticks(m, {}, 1), 100u);
  EXPECT_EQ(dispatch_ticks(m, {.instructions = 9, .cycles = 17'000, .bytes = 0}, 1), 100u + 1000u);
  EXPECT_EQ(dispatch_ticks(m, {.instructions = 9, .cycles = 17'000, .bytes = 0}, 10), 100u + 100u);
  EXPECT_EQ(dispatch_ticks(m, {.instructions = 9, .cycles = 17'000 * 1216, .bytes = 0}, 100'000), 100u + 1000u)
      << "no more SIMDs than there are";
  EXPECT_EQ(dispatch_ticks(m, {.instructions = 9, .cycles = 17, .bytes = 5325 * 10'000}, 64), 100u + 1000u);
  EXPECT_EQ(dispatch_ticks(m, {.instructions = 9, .cycles = 17'000, .bytes = 5325 * 10'000}, 1), 100u + 1000u);
}

TEST(DeviceTime, CopyByTheCostModel) {
  EXPECT_EQ(copy_ticks(0), 100u);
  EXPECT_EQ(copy_ticks(32 * 10'000), 1100u);
}

TEST(DeviceTime, AnIdleQueuesPacketStartsByTheWallClock) {
  QueueTime time(false);
  for (int i = 0; i < 2; ++i) {
    const std::uint64_t before = gpu_ticks();
    time.begin();
    EXPECT_GE(time.start(), before);
    EXPECT_LE(time.start(), gpu_ticks());
    time.spend(7);
    EXPECT_EQ(time.end(), time.start() + 7);
    time.idle();
    std::this_thread::sleep_for(1ms);
  }
}

TEST(DeviceTime, PacketsBackToBackTakeWhatTheModelSays) {
  QueueTime time(false);
  time.begin();
  time.spend(5);
  const std::uint64_t first = time.end();
  std::this_thread::sleep_for(2ms);  // the interpreter
  time.begin();
  time.begin();  // looked at again
  EXPECT_EQ(time.start(), first);
  time.spend(11);
  EXPECT_EQ(time.end(), first + 11);
}

TEST(DeviceTime, WhatWasWaitedForIsOver) {
  QueueTime time(false);
  time.begin();
  time.end();
  time.begin();
  time.wait();
  std::this_thread::sleep_for(1ms);
  const std::uint64_t stored = gpu_ticks();
  time.spend(1);
  EXPECT_GT(time.end(), stored);

  const std::uint64_t other_queue = gpu_ticks();
  time.begin();
  time.after(other_queue);
  time.spend(1);
  EXPECT_GT(time.end(), other_queue);
}

TEST(DeviceTime, NoTimestampLiesInTheFuture) {
  QueueTime time(false);
  time.begin();
  time.spend(50'000);  // 0.5 ms
  const std::uint64_t end = time.end();
  EXPECT_EQ(end, time.start() + 50'000);
  EXPECT_GE(gpu_ticks(), end);
}

TEST(DeviceTime, WallClockOnRequest) {
  QueueTime time(true);
  time.begin();
  const std::uint64_t start = time.start();
  time.spend(1'000'000'000);
  std::this_thread::sleep_for(1ms);
  const std::uint64_t end = time.end();
  EXPECT_GE(end, start + 1'000'000 / kNsPerTick);
  EXPECT_LE(end, gpu_ticks());
}

}  // namespace
}  // namespace kerncap::vgpu
