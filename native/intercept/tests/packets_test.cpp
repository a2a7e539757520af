#include "intercept/packets.hpp"

#include "intercept/dependents.hpp"

#include <gtest/gtest.h>
#include <hsa/hsa_ext_amd.h>

#include <vector>

namespace kerncap::intercept {
namespace {

Packet dispatch(std::uint64_t kernel_object) {
  hsa_kernel_dispatch_packet_t packet{};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
  packet.kernel_object = kernel_object;
  Packet bytes;
  std::memcpy(&bytes, &packet, sizeof bytes);
  return bytes;
}

Packet other(hsa_packet_type_t type) {
  Packet packet{};
  packet.header = static_cast<std::uint16_t>(type << HSA_PACKET_HEADER_TYPE);
  return packet;
}

// What reaches the queue: kernel objects of dispatches, -1 for other packets, 99 where the target was taken.
struct Queue {
  std::vector<std::int64_t> seen;
  int writes = 0;
  void write(std::span<const Packet> part) {
    ++writes;
    for (const auto& packet : part) {
      seen.push_back(is_dispatch(packet) ? static_cast<std::int64_t>(as_dispatch(packet).kernel_object) : -1);
    }
  }
};

Queue walk(const std::vector<Packet>& batch, std::uint64_t target) {
  Queue queue;
  walk_batch(batch, [&](std::span<const Packet> part) { queue.write(part); },
             [&](const Packet& packet, auto flush) {
               if (as_dispatch(packet).kernel_object != target) return false;
               flush();
               queue.seen.push_back(99);
               return true;
             });
  return queue;
}

TEST(WalkBatch, SplitsAroundTheTarget) {
  const auto vendor = other(HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  const auto fence = other(HSA_PACKET_TYPE_BARRIER_AND);
  const auto queue = walk({dispatch(1), vendor, dispatch(7), fence, dispatch(2)}, 7);
  EXPECT_EQ(queue.seen, (std::vector<std::int64_t>{1, -1, 99, -1, 2}));
  EXPECT_EQ(queue.writes, 2);
}

TEST(WalkBatch, TargetFirstLastAndAlone) {
  EXPECT_EQ(walk({dispatch(7), dispatch(1)}, 7).seen, (std::vector<std::int64_t>{99, 1}));
  EXPECT_EQ(walk({dispatch(1), dispatch(7)}, 7).seen, (std::vector<std::int64_t>{1, 99}));
  const auto alone = walk({dispatch(7)}, 7);
  EXPECT_EQ(alone.seen, (std::vector<std::int64_t>{99}));
  EXPECT_EQ(alone.writes, 0);
}

TEST(WalkBatch, WholeBatchInOneWriteWithoutTarget) {
  const auto queue = walk({dispatch(1), other(HSA_PACKET_TYPE_BARRIER_OR), dispatch(2)}, 7);
  EXPECT_EQ(queue.seen, (std::vector<std::int64_t>{1, -1, 2}));
  EXPECT_EQ(queue.writes, 1);
}

TEST(WalkBatch, FlushedButNotTakenIsWrittenOnce) {
  Queue queue;
  const std::vector<Packet> batch = {dispatch(1), dispatch(7), dispatch(2)};
  walk_batch(batch, [&](std::span<const Packet> part) { queue.write(part); },
             [&](const Packet& packet, auto flush) {
               if (as_dispatch(packet).kernel_object == 7) flush();
               return false;
             });
  EXPECT_EQ(queue.seen, (std::vector<std::int64_t>{1, 7, 2}));
}

TEST(FencedTarget, ChangesHeaderAndSignalOnly) {
  auto packet = dispatch(7);
  packet.body[20] = 0x5a;
  const auto fenced = fenced_target(packet, hsa_signal_t{0x1234});
  EXPECT_EQ(as_dispatch(fenced).completion_signal.handle, 0x1234u);
  EXPECT_TRUE(fenced.header & (1 << HSA_PACKET_HEADER_BARRIER));
  EXPECT_TRUE(is_dispatch(fenced));
  EXPECT_EQ(0, std::memcmp(packet.body, fenced.body, 54));  // all but the signal
}

TEST(Dependents, BarrierPacketsNameWhatTheyWaitFor) {
  Dependents dependents;
  dependents.add(hsa_signal_t{0});  // no signal is never waited for
  dependents.add(hsa_signal_t{0x40});
  EXPECT_TRUE(dependents.depends(dependencies(barrier(hsa_signal_t{0x40}, hsa_signal_t{0}))));
  EXPECT_FALSE(dependents.depends(dependencies(barrier(hsa_signal_t{0x80}, hsa_signal_t{0x40}))));
  EXPECT_FALSE(dependents.depends(dependencies(barrier(hsa_signal_t{0}, hsa_signal_t{0}))));
  EXPECT_TRUE(dependencies(dispatch(0x40)).empty());

  hsa_amd_barrier_value_packet_t value{};
  value.header.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
  value.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  value.signal = hsa_signal_t{0x40};
  value.completion_signal = hsa_signal_t{0x99};
  Packet packet;
  std::memcpy(&packet, &value, sizeof packet);
  EXPECT_TRUE(dependents.depends(dependencies(packet)));
  EXPECT_EQ(completion_of(packet).handle, 0x99u);
}

}  // namespace
}  // namespace kerncap::intercept
