// What is kept of the times and launch geometries of kernels; the timing itself runs in the end-to-end tests.
#include "intercept/dispatch_timer.hpp"

#include <gtest/gtest.h>

#include "intercept/launches.hpp"

namespace kerncap::intercept {
namespace {

TEST(KernelTimes, SumsLeastMostAndSquares) {
  KernelTimes times;
  for (const std::uint64_t ns : {100u, 400u, 250u, 250u}) times.add(ns);
  EXPECT_EQ(times.timed, 4u);
  EXPECT_EQ(times.total, 1000u);
  EXPECT_EQ(times.least, 100u);
  EXPECT_EQ(times.most, 400u);
  EXPECT_DOUBLE_EQ(times.squares, 150.0 * 150.0 * 2);  // the mean is 250
  EXPECT_EQ(times.calls, 0u) << "counted when a dispatch is submitted";
}

TEST(LaunchLog, CountsEachGeometryInOrderOfItsFirstDispatch) {
  KernelEntry one, two;
  LaunchLog log;
  log.add(two, {64, 1, 1}, {64, 1, 1}, 0);
  log.add(one, {128, 1, 1}, {64, 1, 1}, 1);
  log.add(one, {64, 1, 1}, {64, 1, 1}, 2);
  log.add(one, {128, 1, 1}, {64, 1, 1}, 3);
  const auto list = log.list();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].kernel, &two);
  EXPECT_EQ(list[1].kernel, &one);
  EXPECT_EQ(list[1].dispatches, 2u);
  EXPECT_EQ(list[1].first, 1u);
  EXPECT_EQ(list[2].grid, (Dim3{64, 1, 1}));
  EXPECT_TRUE(log.whole());
}

TEST(LaunchLog, StopsAtItsLimitAndSaysSo) {
  KernelEntry kernel;
  LaunchLog log;
  for (std::uint32_t i = 0; i < 5000; ++i) log.add(kernel, {i + 1, 1, 1}, {64, 1, 1}, i);
  EXPECT_EQ(log.list().size(), 4096u);
  EXPECT_FALSE(log.whole());
  log.add(kernel, {1, 1, 1}, {64, 1, 1}, 5000);
  EXPECT_EQ(log.list()[0].dispatches, 2u) << "known geometries are still counted";
}

}  // namespace
}  // namespace kerncap::intercept
