// KFD events: waits, ages, auto-reset, memory faults.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "vgpu/queue/events.hpp"

namespace kerncap::vgpu {
namespace {

kfd_event_data waiting_for(std::uint32_t id, std::uint64_t age = 0) {
  kfd_event_data data = {};
  data.event_id = id;
  data.signal_event_data.last_event_age = age;
  return data;
}

TEST(Events, TimesOutThenSeesTheSet) {
  Events events;
  const auto id = events.create(KFD_IOC_EVENT_SIGNAL, false);
  auto data = waiting_for(id);
  EXPECT_EQ(events.wait({&data, 1}, false, 1), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_TIMEOUT));
  EXPECT_TRUE(events.set(id));
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE)) << "stays set";
  EXPECT_TRUE(events.reset(id));
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_TIMEOUT));
}

TEST(Events, AutoResetIsConsumedByOneWait) {
  Events events;
  const auto id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  events.set(id);
  auto data = waiting_for(id);
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_TIMEOUT));
}

TEST(Events, AnAgeThatTheWaiterHasNotSeenIsReady) {
  Events events;
  const auto id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  auto data = waiting_for(id, 1);
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_TIMEOUT));
  events.set(id);
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
  EXPECT_EQ(data.signal_event_data.last_event_age, 2u);
}

// Asks with the age 1 of an event that was raised: ready at once, unless the same thread has just been told so.
std::chrono::microseconds asked_with_an_old_age(Events& events, std::uint32_t id) {
  auto data = waiting_for(id, 1);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(events.wait({&data, 1}, false, 0xffffffff), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
  EXPECT_GT(data.signal_event_data.last_event_age, 1u);
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start);
}

TEST(Events, TheSameQuestionIsAnsweredAfterARest) {
  Events events;
  const auto id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  events.set(id);
  auto data = waiting_for(id);
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE)) << "not signaled now";
  asked_with_an_old_age(events, id);
  for (int i = 0; i < 3; ++i) EXPECT_GE(asked_with_an_old_age(events, id), Events::kRepeatWait);
}

// A busy machine may make some of the answers late, not most of them.
TEST(Events, AfterARaiseThereIsNoRest) {
  Events events;
  const auto id = events.create(KFD_IOC_EVENT_SIGNAL, true), other = events.create(KFD_IOC_EVENT_SIGNAL, true);
  events.set(id);
  auto data = waiting_for(id);
  EXPECT_EQ(events.wait({&data, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE)) << "not signaled now";
  unsigned rested = 0;
  for (int i = 0; i < 40; ++i) {
    events.set(other);
    rested += asked_with_an_old_age(events, id) >= Events::kRepeatWait;
  }
  EXPECT_LT(rested, 20u);
}

TEST(Events, WakesASleepingWaiter) {
  Events events;
  const auto a = events.create(KFD_IOC_EVENT_SIGNAL, true), b = events.create(KFD_IOC_EVENT_SIGNAL, true);
  std::thread raiser([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    events.set(b);
  });
  kfd_event_data data[] = {waiting_for(a), waiting_for(b)};
  EXPECT_EQ(events.wait(data, false, 0xffffffff), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
  raiser.join();
}

TEST(Events, WaitForAll) {
  Events events;
  const auto a = events.create(KFD_IOC_EVENT_SIGNAL, false), b = events.create(KFD_IOC_EVENT_SIGNAL, false);
  kfd_event_data data[] = {waiting_for(a), waiting_for(b)};
  events.set(a);
  EXPECT_EQ(events.wait(data, true, 1), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_TIMEOUT));
  events.set(b);
  EXPECT_EQ(events.wait(data, true, 1), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
}

TEST(Events, ADestroyedEventFailsItsWaiter) {
  Events events;
  const auto id = events.create(KFD_IOC_EVENT_SIGNAL, true);
  std::thread destroyer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    events.destroy(id);
  });
  auto data = waiting_for(id);
  EXPECT_EQ(events.wait({&data, 1}, false, 0xffffffff), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_FAIL));
  destroyer.join();
  EXPECT_FALSE(events.set(id));
}

TEST(Events, SignalIdsEnd) {
  Events events;
  for (std::uint32_t i = 0; i < Events::kSignalLimit; ++i) ASSERT_NE(events.create(KFD_IOC_EVENT_SIGNAL, true), 0u);
  EXPECT_EQ(events.create(KFD_IOC_EVENT_SIGNAL, true), 0u);
  EXPECT_NE(events.create(KFD_IOC_EVENT_MEMORY, true), 0u);
  EXPECT_TRUE(events.destroy(17));
  EXPECT_EQ(events.create(KFD_IOC_EVENT_SIGNAL, true), 17u);
}

TEST(Events, EveryMemoryEventLearnsOfAFault) {
  Events events;
  const auto one = events.create(KFD_IOC_EVENT_MEMORY, false), two = events.create(KFD_IOC_EVENT_MEMORY, false);
  const auto other = events.create(KFD_IOC_EVENT_SIGNAL, false);
  events.raise_memory_fault(0x5a17, 0x7f0000001234, Events::Denied::not_present);
  kfd_event_data data[] = {waiting_for(one), waiting_for(two)};
  EXPECT_EQ(events.wait(data, true, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
  for (const auto& d : data) {
    EXPECT_EQ(d.memory_exception_data.va, 0x7f0000001000u);
    EXPECT_EQ(d.memory_exception_data.gpu_id, 0x5a17u);
    EXPECT_EQ(d.memory_exception_data.failure.NotPresent, 1u);
    EXPECT_EQ(d.memory_exception_data.failure.ReadOnly, 0u);
  }
  auto signal = waiting_for(other);
  EXPECT_EQ(events.wait({&signal, 1}, false, 0), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_TIMEOUT));
}

}  // namespace
}  // namespace kerncap::vgpu
