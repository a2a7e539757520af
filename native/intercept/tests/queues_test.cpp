#include "intercept/queues.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <thread>

namespace kerncap::intercept {
namespace {

TEST(QueueRegistry, AQueueLivesAsLongAsItIsUsed) {
  QueueRegistry registry;
  hsa_queue_t queue{};
  QueueState& state = registry.add();
  state.queue = &queue;
  bool used = false;
  registry.while_alive(state, [&] { used = true; });
  EXPECT_FALSE(used) << "it did not exist yet";
  state.alive = true;
  EXPECT_EQ(registry.find(&queue), &state);

  std::promise<void> entered, leave;
  std::thread user([&] {
    registry.while_alive(state, [&] {
      entered.set_value();
      leave.get_future().wait();
      used = state.alive;
    });
  });
  entered.get_future().wait();
  auto given_up = std::async(std::launch::async, [&] { registry.give_up(&queue); });
  EXPECT_EQ(given_up.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  leave.set_value();
  given_up.wait();
  user.join();
  EXPECT_TRUE(used);

  used = false;
  registry.while_alive(state, [&] { used = true; });
  EXPECT_FALSE(used);
  EXPECT_EQ(registry.find(&queue), nullptr);
}

}  // namespace
}  // namespace kerncap::intercept
