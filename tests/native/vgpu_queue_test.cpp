// Command processors without a runtime: packets are written as an application would, and read back.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa_ext_amd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>
#include <type_traits>
#include <vector>

#include "vgpu/queue/aql.hpp"
#include "vgpu/queue/limits.hpp"
#include "vgpu/queue/sdma.hpp"
#include "vgpu/queue/signal.hpp"

namespace kerncap::vgpu {
namespace {

using namespace std::chrono_literals;

bool eventually(const std::function<bool()>& condition) {
  for (const auto limit = std::chrono::steady_clock::now() + 60s; std::chrono::steady_clock::now() < limit;) {
    if (condition()) return true;
    std::this_thread::sleep_for(1ms);
  }
  return condition();
}

// Memory that the queue's thread uses at the same time.
template <class T>
T now(T& shared) { return std::atomic_ref<T>(shared).load(); }
template <class T>
void put(T& shared, std::type_identity_t<T> value) { std::atomic_ref<T>(shared).store(value); }

constexpr std::uint64_t kPackets = 16;
// Everything that the application shares with the GPU, at a device address that is not its host address.
struct Shared {
  alignas(64) std::byte ring[kPackets * 64];
  alignas(64) amd_queue_t queue;
  alignas(64) amd_signal_t signals[4];
  alignas(8) std::uint64_t mailbox, write_pointer, read_pointer, words[8];
};
constexpr std::uint64_t kVa = 0x600000000000;

class QueueTest : public ::testing::Test {
 protected:
  QueueTest()
      : shared_(std::make_unique<Shared>()),
        trace_(""),
        gpu_{model_of(isa::Target::gfx942), 0x5a17, pages_, events_, trace_} {
    std::memset(static_cast<void*>(shared_.get()), 0, sizeof(Shared));
    auto* host = reinterpret_cast<std::byte*>(shared_.get());
    pages_.map(kVa, sizeof(Shared), host, true, Backing::adopt(host, sizeof(Shared)), true);
    inactive_event_ = events_.create(KFD_IOC_EVENT_SIGNAL, false);
    shared_->queue.queue_inactive_signal.handle = va(&shared_->signals[3]);
    shared_->signals[3].event_mailbox_ptr = va(&shared_->mailbox);
    shared_->signals[3].event_id = inactive_event_;
    memory_event_ = events_.create(KFD_IOC_EVENT_MEMORY, false);
  }
  ~QueueTest() override {
    if (queue_) queue_->stop();
  }

  template <class T>
  std::uint64_t va(const volatile T* host) const {
    return kVa + (reinterpret_cast<std::uintptr_t>(host) - reinterpret_cast<std::uintptr_t>(shared_.get()));
  }
  hsa_signal_t handle(unsigned signal) const { return {va(&shared_->signals[signal])}; }
  std::int64_t value(unsigned signal) const { return *signal_value(pages_, handle(signal).handle); }
  void set(unsigned signal, std::int64_t to) { put(*const_cast<std::int64_t*>(&shared_->signals[signal].value), to); }
  std::uint64_t& write_index() { return const_cast<std::uint64_t&>(shared_->queue.write_dispatch_id); }
  std::uint64_t& read_index() { return const_cast<std::uint64_t&>(shared_->queue.read_dispatch_id); }
  bool raised(std::uint32_t event) {
    kfd_event_data data = {};
    data.event_id = event;
    return events_.wait({&data, 1}, false, 0) == KFD_IOC_WAIT_RESULT_COMPLETE;
  }

  void start_aql() {
    const RingLayout layout = {va(shared_->ring), sizeof shared_->ring, va(&shared_->queue.write_dispatch_id),
                               va(&shared_->queue.read_dispatch_id)};
    for (std::uint64_t i = 0; i < kPackets; ++i) shared_->ring[i * 64] = std::byte{HSA_PACKET_TYPE_INVALID};
    queue_ = std::make_unique<AqlQueue>(1, gpu_, layout, &doorbell_);
    queue_->start();
  }
  // Body first, header last, then the doorbell.
  template <class Packet>
  void submit(Packet packet, unsigned type) {
    static_assert(sizeof(Packet) == 64);
    const std::uint64_t index = now(write_index());
    put(write_index(), index + 1);
    std::byte* slot = shared_->ring + (index % kPackets) * 64;
    std::memcpy(slot + 2, reinterpret_cast<std::byte*>(&packet) + 2, 62);
    reinterpret_cast<std::atomic<std::uint16_t>*>(slot)->store(static_cast<std::uint16_t>(type));
    doorbell_.store(index);
  }
  static hsa_kernel_dispatch_packet_t dispatch() {
    hsa_kernel_dispatch_packet_t packet = {};
    packet.setup = 1;
    packet.workgroup_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.grid_size_x = 64;
    packet.kernel_object = 0x40;
    return packet;
  }
  void expect_error(std::uint32_t bits) {
    EXPECT_TRUE(eventually([&] { return value(3) != 0; }));
    EXPECT_EQ(static_cast<std::uint64_t>(value(3)), bits);
    EXPECT_TRUE(eventually([&] { return raised(inactive_event_); })) << "after the value";
    EXPECT_EQ(now(read_index()), 0u) << "the packet stays at the head";
    EXPECT_EQ(value(0), 1) << "its signal never completes";
  }

  std::unique_ptr<Shared> shared_;
  PageTable pages_;
  Events events_;
  TraceFile trace_;
  GpuContext gpu_;
  std::atomic<std::uint64_t> doorbell_{0};
  std::unique_ptr<Queue> queue_;
  std::uint32_t inactive_event_ = 0, memory_event_ = 0;
};

TEST_F(QueueTest, BarrierWaitsForAllItsSignals) {
  start_aql();
  set(0, 1), set(1, 1), set(2, 1);
  hsa_barrier_and_packet_t barrier = {};
  barrier.dep_signal[0] = handle(1);
  barrier.dep_signal[4] = handle(2);
  barrier.completion_signal = handle(0);
  submit(barrier, HSA_PACKET_TYPE_BARRIER_AND);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(value(0), 1);
  set(1, 0);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(value(0), 1);
  set(2, 0);
  EXPECT_TRUE(eventually([&] { return value(0) == 0; }));
  EXPECT_EQ(now(read_index()), 1u);
  EXPECT_EQ(now(shared_->ring[0]), std::byte{HSA_PACKET_TYPE_INVALID});
  EXPECT_LE(shared_->signals[0].start_ts, shared_->signals[0].end_ts);
  EXPECT_NE(shared_->signals[0].end_ts, 0u);
}

// The cost model: a tick each, one after the other, and not before what they depend on has ended.
TEST_F(QueueTest, BarriersQueuedTogetherFollowEachOther) {
  start_aql();
  set(0, 1), set(1, 1), set(2, 1);
  hsa_barrier_and_packet_t gate = {}, first = {}, second = {};
  gate.dep_signal[0] = handle(2);
  first.completion_signal = handle(0);
  second.completion_signal = handle(1);
  submit(gate, HSA_PACKET_TYPE_BARRIER_AND);
  submit(first, HSA_PACKET_TYPE_BARRIER_AND);
  submit(second, HSA_PACKET_TYPE_BARRIER_AND);
  std::this_thread::sleep_for(5ms);
  const std::uint64_t opened = gpu_ticks();
  set(2, 0);
  ASSERT_TRUE(eventually([&] { return value(1) == 0; }));
  const amd_signal_t &a = shared_->signals[0], &b = shared_->signals[1];
  EXPECT_GE(a.start_ts, opened);
  EXPECT_EQ(a.end_ts, a.start_ts + kBarrierTicks);
  EXPECT_EQ(b.start_ts, a.end_ts);
  EXPECT_EQ(b.end_ts, b.start_ts + kBarrierTicks);
  EXPECT_LE(b.end_ts, gpu_ticks());
}

// The packet before it ended long before, in model time, when the host made the store that it waits for.
TEST_F(QueueTest, ABarrierEndsNoEarlierThanTheHostsStore) {
  QueueTime time(false);
  time.begin();
  time.spend(1);
  time.end();
  std::this_thread::sleep_for(1ms);  // the next packet is there, but not looked at yet
  const std::uint64_t stored = gpu_ticks();
  set(1, 0);
  time.begin();
  time.after(signal_end(pages_, handle(1).handle));
  time.spend(kBarrierTicks);
  EXPECT_GT(time.end(), stored);

  time.begin();
  shared_->signals[1].end_ts = stored + 1;  // a packet completed it
  EXPECT_EQ(signal_end(pages_, handle(1).handle), stored + 1);
  shared_->signals[1].end_ts = gpu_ticks() + 1'000'000'000;  // nonsense of the application
  const std::uint64_t bounded = signal_end(pages_, handle(1).handle);
  EXPECT_LE(bounded, gpu_ticks());
}

TEST_F(QueueTest, BarrierOrNeedsOne) {
  start_aql();
  set(0, 1), set(1, 1), set(2, 0);
  hsa_barrier_or_packet_t barrier = {};
  barrier.dep_signal[0] = handle(1);
  barrier.dep_signal[1] = handle(2);
  barrier.completion_signal = handle(0);
  submit(barrier, HSA_PACKET_TYPE_BARRIER_OR);
  EXPECT_TRUE(eventually([&] { return value(0) == 0; }));
}

TEST_F(QueueTest, BarrierValue) {
  start_aql();
  set(0, 1), set(1, 0x10);
  hsa_amd_barrier_value_packet_t barrier = {};
  barrier.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  barrier.signal = handle(1);
  barrier.value = 4;
  barrier.mask = 0xf;
  barrier.cond = HSA_SIGNAL_CONDITION_GTE;
  barrier.completion_signal = handle(0);
  submit(barrier, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  std::this_thread::sleep_for(5ms);
  EXPECT_EQ(value(0), 1);
  set(1, 5);
  EXPECT_TRUE(eventually([&] { return value(0) == 0; }));
}

TEST_F(QueueTest, CompletionRaisesTheInterrupt) {
  start_aql();
  const auto event = events_.create(KFD_IOC_EVENT_SIGNAL, false);
  set(0, 1);
  shared_->signals[0].event_mailbox_ptr = va(&shared_->mailbox);
  shared_->signals[0].event_id = event;
  hsa_barrier_and_packet_t barrier = {};
  barrier.completion_signal = handle(0);
  submit(barrier, HSA_PACKET_TYPE_BARRIER_AND);
  EXPECT_TRUE(eventually([&] { return raised(event); }));
  EXPECT_EQ(now(shared_->mailbox), event);
}

TEST_F(QueueTest, PacketsRunInOrderAroundTheRing) {
  start_aql();
  set(0, 100);
  hsa_barrier_and_packet_t barrier = {};
  barrier.completion_signal = handle(0);
  for (std::uint64_t i = 0; i < 3 * kPackets; ++i) {
    ASSERT_TRUE(eventually([&] { return i - now(read_index()) < kPackets; }));
    submit(barrier, HSA_PACKET_TYPE_BARRIER_AND);
  }
  EXPECT_TRUE(eventually([&] { return value(0) == 100 - 3 * static_cast<std::int64_t>(kPackets); }));
}

// Also when the queue's thread is held up between completing one signal and looking at the ring again: others keep it from
// raising the interrupt.
TEST_F(QueueTest, NoPacketStartsBeforeItWasSubmitted) {
  std::vector<std::jthread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([this](const std::stop_token& over) { while (!over.stop_requested()) raised(memory_event_); });
  start_aql();
  hsa_barrier_and_packet_t barrier = {};
  barrier.completion_signal = handle(0);
  shared_->signals[0].event_mailbox_ptr = va(&shared_->mailbox);
  shared_->signals[0].event_id = events_.create(KFD_IOC_EVENT_SIGNAL, true);
  unsigned early = 0;
  for (int i = 0; i < 500; ++i) {
    set(0, 1);
    const std::uint64_t before = gpu_ticks();
    submit(barrier, HSA_PACKET_TYPE_BARRIER_AND);
    for (const auto limit = std::chrono::steady_clock::now() + 60s; value(0) != 0;)
      ASSERT_LT(std::chrono::steady_clock::now(), limit);
    early += shared_->signals[0].start_ts < before;
  }
  EXPECT_EQ(early, 0u);
}

TEST_F(QueueTest, WithoutADoorbellNothingRuns) {
  start_aql();
  set(0, 1);
  hsa_barrier_and_packet_t barrier = {};
  barrier.completion_signal = handle(0);
  std::this_thread::sleep_for(20ms);  // parked
  const std::uint64_t index = now(write_index());
  std::memcpy(shared_->ring + 2, reinterpret_cast<std::byte*>(&barrier) + 2, 62);
  put(write_index(), index + 1);
  put(shared_->ring[0], std::byte{HSA_PACKET_TYPE_BARRIER_AND});
  std::this_thread::sleep_for(20ms);
  EXPECT_EQ(value(0), 1);
  doorbell_.store(index);
  EXPECT_TRUE(eventually([&] { return value(0) == 0; }));
}

TEST_F(QueueTest, UnknownPacketStopsTheQueue) {
  start_aql();
  set(0, 1);
  hsa_agent_dispatch_packet_t packet = {};
  packet.completion_signal = handle(0);
  ::testing::internal::CaptureStderr();
  submit(packet, HSA_PACKET_TYPE_AGENT_DISPATCH);
  expect_error(0x20);
  EXPECT_EQ(::testing::internal::GetCapturedStderr().rfind("kerncap-vgpu: vgpu.unknown-packet: AQL packet of type 4", 0), 0u);
}

TEST_F(QueueTest, UnknownVendorPacket) {
  start_aql();
  set(0, 1);
  hsa_amd_barrier_value_packet_t packet = {};
  packet.header.AmdFormat = 9;
  packet.completion_signal = handle(0);
  submit(packet, HSA_PACKET_TYPE_VENDOR_SPECIFIC);
  expect_error(0x20);
}

TEST_F(QueueTest, DispatchLimits) {
  struct Case {
    const char* what;
    std::uint32_t bits;
    std::function<void(hsa_kernel_dispatch_packet_t&)> change;
  };
  const Case cases[] = {
      {"no dimensions", 0x2, [](auto& p) { p.setup = 0; }},
      {"empty grid", 0x2, [](auto& p) { p.grid_size_x = 0; }},
      {"empty workgroup", 0x2, [](auto& p) { p.workgroup_size_y = 0; }},
      {"LDS", 0x4, [](auto& p) { p.group_segment_size = 65537; }},
      {"null code", 0x8, [](auto& p) { p.kernel_object = 0; }},
      {"workgroup", 0x40, [](auto& p) { p.workgroup_size_x = 1025; }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    shared_->queue.write_dispatch_id = 0;
    shared_->queue.read_dispatch_id = 0;
    set(0, 1), set(3, 0);
    events_.reset(inactive_event_);
    start_aql();
    auto packet = dispatch();
    packet.completion_signal = handle(0);
    one.change(packet);
    submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
    expect_error(one.bits);
    queue_->stop();
    queue_.reset();
  }
}

// 1024 workitems are 16 waves, four on each SIMD of a compute unit, which has 512 registers for a lane.
TEST_F(QueueTest, ADispatchNeedsItsRegisters) {
  start_aql();
  set(0, 1);
  auto packet = dispatch();
  packet.workgroup_size_x = 1024;
  packet.kernel_object = va(&shared_->signals[2]);  // 64 bytes as a kernel descriptor
  const std::uint32_t rsrc1 = 16;                   // 17 * 8 registers
  std::memcpy(reinterpret_cast<std::byte*>(&shared_->signals[2]) + 48, &rsrc1, sizeof rsrc1);
  packet.completion_signal = handle(0);
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  expect_error(0x80);
}

TEST(VectorRegisters, OfAWorkgroupFitItsSimds) {
  const auto fits = [](isa::Target target, std::uint32_t rsrc1, std::uint64_t workitems, bool wave32) {
    std::byte descriptor[64] = {};
    std::memcpy(descriptor + 48, &rsrc1, sizeof rsrc1);
    return !too_many_vgprs(model_of(target), descriptor, workitems, wave32).has_value();
  };
  for (const isa::Target target : {isa::Target::gfx90a, isa::Target::gfx942}) {
    EXPECT_TRUE(fits(target, 15, 1024, false)) << "128 of each of four waves";
    EXPECT_FALSE(fits(target, 16, 1024, false));
    EXPECT_TRUE(fits(target, 63, 256, false)) << "512 of one wave";
    EXPECT_FALSE(fits(target, 63, 257, false)) << "five waves on four SIMDs";
  }
  constexpr std::uint32_t wgp = 1u << 29;
  const isa::Target t = isa::Target::gfx1100;
  EXPECT_TRUE(fits(t, 11, 1024, true)) << "96 of each of 16 waves on two SIMDs";
  EXPECT_FALSE(fits(t, 12, 1024, true)) << "104, handed out as 120";
  EXPECT_TRUE(fits(t, 23 | wgp, 1024, true)) << "192 of each of 8 waves on four SIMDs";
  EXPECT_FALSE(fits(t, 24 | wgp, 1024, true));
  EXPECT_TRUE(fits(t, 31, 320, true)) << "256, handed out as 264, of each of five waves";
  EXPECT_FALSE(fits(t, 31, 384, true)) << "six";
  EXPECT_TRUE(fits(t, 23, 1024, false)) << "96 of each of eight waves of 64";
  EXPECT_FALSE(fits(t, 24, 1024, false));
}

TEST_F(QueueTest, UnmappedCodeIsAPageFaultAndTheQueueHalts) {
  start_aql();
  set(0, 1);
  auto packet = dispatch();
  packet.kernel_object = 0x123456789000;
  packet.completion_signal = handle(0);
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_TRUE(eventually([&] { return raised(memory_event_); }));
  hsa_barrier_and_packet_t barrier = {};
  barrier.completion_signal = handle(0);
  submit(barrier, HSA_PACKET_TYPE_BARRIER_AND);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(value(0), 1);
  EXPECT_EQ(value(3), 0) << "no queue error: the fault is told by the memory event";
}

TEST_F(QueueTest, ScratchIsAskedForAndWaitedFor) {
  start_aql();
  set(0, 1);
  // A kernel descriptor in mapped memory.
  auto packet = dispatch();
  packet.private_segment_size = 256;
  packet.kernel_object = va(shared_->signals);  // any mapped, aligned address; never executed
  packet.completion_signal = handle(0);
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_TRUE(eventually([&] { return value(3) == 1; })) << "wave64 scratch";
  EXPECT_TRUE(eventually([&] { return raised(inactive_event_); })) << "after the value";
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(now(read_index()), 0u);
}

TEST_F(QueueTest, AnAnswerWithTooLittleScratchIsNotAskedForAgain) {
  start_aql();
  set(0, 1);
  auto packet = dispatch();
  packet.private_segment_size = 0xffffffff;
  packet.kernel_object = va(shared_->signals);
  packet.completion_signal = handle(0);
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  ASSERT_TRUE(eventually([&] { return value(3) == 1; }));
  ::testing::internal::CaptureStderr();
  set(3, 0);
  expect_error(0x20);
  EXPECT_EQ(::testing::internal::GetCapturedStderr().rfind("kerncap-vgpu: vgpu.no-scratch: the runtime gives 0 bytes", 0), 0u);
}

// Hardware fetches no instructions from memory that was not allocated for code.
TEST_F(QueueTest, CodeInDataMemoryIsAPageFault) {
  start_aql();
  set(0, 1);
  alignas(64) static std::array<std::uint32_t, 1024> data{};  // a descriptor whose code starts 512 bytes behind it
  data[4] = 512;
  auto* host = reinterpret_cast<std::byte*>(data.data());
  pages_.map(kVa + 0x100000, sizeof data, host, true, Backing::adopt(host, sizeof data), false);
  auto packet = dispatch();
  packet.kernel_object = kVa + 0x100000;
  packet.completion_signal = handle(0);
  ::testing::internal::CaptureStderr();
  submit(packet, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  kfd_event_data event = {};
  event.event_id = memory_event_;
  EXPECT_EQ(events_.wait({&event, 1}, false, 60000), static_cast<std::uint32_t>(KFD_IOC_WAIT_RESULT_COMPLETE));
  EXPECT_EQ(event.memory_exception_data.va, kVa + 0x100000);
  EXPECT_EQ(event.memory_exception_data.failure.NoExecute, 1u);
  EXPECT_EQ(event.memory_exception_data.failure.NotPresent, 0u);
  EXPECT_EQ(value(0), 1);
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("instruction fetch from unmapped or not executable address 0x600000100200"),
            std::string::npos);
}

TEST_F(QueueTest, SdmaExecutesUpToTheDoorbell) {
  const RingLayout layout = {va(shared_->ring), sizeof shared_->ring, va(&shared_->write_pointer),
                             va(&shared_->read_pointer)};
  queue_ = std::make_unique<SdmaQueue>(2, gpu_, layout, &doorbell_);
  queue_->start();
  shared_->words[0] = 0x1122334455667788;
  shared_->words[2] = 10;
  const auto low = [](std::uint64_t v) { return static_cast<std::uint32_t>(v); };
  const auto high = [](std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); };
  const std::uint64_t from = va(&shared_->words[0]), to = va(&shared_->words[1]), count = va(&shared_->words[2]);
  const std::uint32_t commands[] = {1, 7, 0, low(from), high(from), low(to), high(to),
                                    10u | (47u << 25), low(count), high(count), ~0u, ~0u, 0, 0, 0};
  std::memcpy(shared_->ring, commands, sizeof commands);
  doorbell_.store(7 * 4);
  EXPECT_TRUE(eventually([&] { return now(shared_->read_pointer) == 7 * 4; }));
  EXPECT_EQ(now(shared_->words[1]), 0x1122334455667788u);
  EXPECT_EQ(now(shared_->words[2]), 10u);
  doorbell_.store(15 * 4);
  EXPECT_TRUE(eventually([&] { return now(shared_->read_pointer) == 15 * 4; }));
  EXPECT_EQ(now(shared_->words[2]), 9u);
}

TEST_F(QueueTest, SdmaUnknownOperationHangsTheGpu) {
  const auto hang = events_.create(KFD_IOC_EVENT_HW_EXCEPTION, false);
  const RingLayout layout = {va(shared_->ring), sizeof shared_->ring, va(&shared_->write_pointer),
                             va(&shared_->read_pointer)};
  queue_ = std::make_unique<SdmaQueue>(2, gpu_, layout, &doorbell_);
  queue_->start();
  const std::uint32_t command = 0x2;
  std::memcpy(shared_->ring, &command, sizeof command);
  doorbell_.store(4);
  EXPECT_TRUE(eventually([&] { return raised(hang); }));
  EXPECT_EQ(now(shared_->read_pointer), 0u);
}

}  // namespace
}  // namespace kerncap::vgpu
