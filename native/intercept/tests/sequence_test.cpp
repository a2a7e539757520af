// Sequences from the packet callback to the sealed directory, on the fake runtime.
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "base/digest.hpp"
#include "bundle/index.hpp"
#include "intercept/packets.hpp"
#include "intercept/tests/application.hpp"

namespace {

using namespace kerncap;
using namespace kerncap::intercept;
using namespace kerncap::intercept::fake;

// Three dispatches that match, from the second of the process on.
struct Chain : Application {
  explicit Chain(const char* states, double timeout_s = 20) : Application("twice", timeout_s) {
    Json control = control_for(work_dir, "twice", timeout_s);
    control["sequence"] = {{"count", 3}, {"last_kernel", nullptr}, {"states", states}};
    std::ofstream(work_dir / "control.json") << control.dump();
    load(runtime);
    start(runtime);
    for (auto& signal : done) runtime.core.hsa_signal_create_fn(1, 0, nullptr, &signal);
    submit({launch(hsa_signal_t{0})});
  }

  hsa_kernel_dispatch_packet_t waiting_for(hsa_signal_t signal, hsa_signal_t completion) const {
    const Packet packet = barrier(signal, completion);
    hsa_kernel_dispatch_packet_t bytes;
    std::memcpy(&bytes, &packet, sizeof bytes);
    return bytes;
  }

  Runtime runtime;
  std::array<hsa_signal_t, 4> done{};
};

void one_state_before_and_one_after_all() {
  Chain chain("end");
  // In batches as an application pleases: the barrier waits for the first one's signal, which the tool withholds.
  submit({chain.launch(chain.done[0])});
  submit({chain.waiting_for(chain.done[0], chain.done[1]), chain.launch(hsa_signal_t{0})});
  EXPECT_FALSE(fs::exists(chain.work_dir / "capture.partial")) << "the last one is not there yet";
  submit({chain.launch(chain.done[2]), chain.launch(chain.done[3])});
  std::thread processor([&] { chain.runtime.run_queue({chain.done.begin(), chain.done.end()}); });
  EXPECT_TRUE(wait_for(chain.work_dir / "capture/capture.json"));
  processor.join();
  for (const auto signal : chain.done) {
    EXPECT_EQ(value_of(signal), 0);
    EXPECT_EQ(reinterpret_cast<amd_signal_t*>(signal.handle)->end_ts, 3000u);
  }
  EXPECT_EQ(chain.data[1], 1 << 5);  // all five ran
  const auto document = read(chain.work_dir / "capture/capture.json");
  EXPECT_EQ(document["consistency"]["state"], "consistent") << document["consistency"].dump();
  const auto& later = document["sequence"]["later"];
  ASSERT_EQ(later.size(), 2u);
  EXPECT_EQ(document["dispatch"]["queue_index"], 1);
  EXPECT_EQ(later[1]["dispatch"]["queue_index"], 3);
  EXPECT_EQ(later[0]["barriers_before"], Json::parse(R"([{"type": "and", "barrier": true, "waits_for": [0]}])"));
  EXPECT_TRUE(later[1]["barriers_before"].empty());
  const Index index = index_from_json(read(chain.work_dir / "capture/index.json"));
  int before[n];
  int after[n];
  for (int i = 0; i < n; ++i) {
    before[i] = 2 * i;
    after[i] = 16 * i;
  }
  for (const auto& region : index.regions) {
    if (region.va != reinterpret_cast<std::uint64_t>(chain.data)) continue;
    EXPECT_EQ(region.pre.at(0).raw_digest, sha256(std::as_bytes(std::span(before))));
    EXPECT_EQ(region.post.at(0).raw_digest, sha256(std::as_bytes(std::span(after))));
    EXPECT_TRUE(region.between.empty());
  }
  EXPECT_EQ(chain.unload(chain.done.size()), 0u);
  leave();
}

void every_state() {
  Chain chain("each");
  submit({chain.launch(chain.done[0]), chain.launch(chain.done[1]), chain.launch(chain.done[2]), chain.launch(chain.done[3])});
  std::thread processor([&] { chain.runtime.run_queue({chain.done.begin(), chain.done.end()}); });
  EXPECT_TRUE(wait_for(chain.work_dir / "capture/capture.json"));
  processor.join();
  EXPECT_EQ(read(chain.work_dir / "capture/capture.json")["sequence"]["states"], "each");
  const Index index = index_from_json(read(chain.work_dir / "capture/index.json"));
  for (const auto& region : index.regions) {
    ASSERT_EQ(region.between.size(), 2u);
    if (region.va != reinterpret_cast<std::uint64_t>(chain.data)) continue;
    for (int step = 0; step < 3; ++step) {
      int values[n];
      for (int i = 0; i < n; ++i) values[i] = i << (step + 2);
      const Chunk& chunk = step < 2 ? region.between[static_cast<std::size_t>(step)].at(0) : region.post.at(0);
      EXPECT_EQ(chunk.raw_digest, sha256(std::as_bytes(std::span(values)))) << step;
    }
  }
  EXPECT_EQ(chain.unload(chain.done.size()), 0u);
  leave();
}

void expect_broken(Chain& chain, const std::string& why) {
  const auto error = Application::said(chain.work_dir, "error");
  std::thread processor([&] { chain.runtime.run_queue({chain.done.begin(), chain.done.end()}); });
  EXPECT_TRUE(wait_for(error));
  processor.join();
  EXPECT_EQ(read(error)["code"], "capture.sequence-broken");
  EXPECT_NE(read(error)["message"].get<std::string>().find(why), std::string::npos) << read(error)["message"];
  for (const auto signal : chain.done) EXPECT_EQ(value_of(signal), 0);
  EXPECT_FALSE(fs::exists(chain.work_dir / "capture"));
}

void a_packet_that_nobody_knows_ends_it() {
  Chain chain("end");
  auto agent_dispatch = chain.waiting_for(hsa_signal_t{0}, chain.done[1]);
  agent_dispatch.header = HSA_PACKET_TYPE_AGENT_DISPATCH << HSA_PACKET_HEADER_TYPE;
  submit({chain.launch(chain.done[0]), agent_dispatch, chain.launch(chain.done[2]), chain.launch(chain.done[3])});
  expect_broken(chain, "a packet of type 4");
  leave();
}

void a_dependency_that_is_not_met_ends_it() {
  Chain chain("end", 3);
  hsa_signal_t other{};
  chain.runtime.core.hsa_signal_create_fn(1, 0, nullptr, &other);
  submit({chain.launch(chain.done[0]), chain.waiting_for(other, chain.done[1]), chain.launch(chain.done[2]), chain.launch(chain.done[3])});
  std::thread later([&] {
    wait_for(Application::said(chain.work_dir, "error"));
    chain.runtime.core.hsa_signal_store_screlease_fn(other, 0);
  });
  expect_broken(chain, "dispatch 1 of the sequence waits for work outside of its queue");
  later.join();
  leave();
}

void a_signal_of_several_packets_ends_it() {
  Chain chain("end");
  hsa_signal_t both{};
  chain.runtime.core.hsa_signal_create_fn(2, 0, nullptr, &both);
  submit({chain.launch(both), chain.launch(both), chain.waiting_for(both, chain.done[0]), chain.launch(chain.done[1]),
          chain.launch(chain.done[2]), chain.launch(chain.done[3])});
  expect_broken(chain, "a barrier waits for a signal that several of them complete");
  EXPECT_EQ(value_of(both), 0);
  leave();
}

class Sequences : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Sequences, OneStateBeforeAndOneAfterAll) { EXPECT_EXIT(one_state_before_and_one_after_all(), testing::ExitedWithCode(0), ""); }
TEST_F(Sequences, EveryState) { EXPECT_EXIT(every_state(), testing::ExitedWithCode(0), ""); }
TEST_F(Sequences, UnknownPacket) { EXPECT_EXIT(a_packet_that_nobody_knows_ends_it(), testing::ExitedWithCode(0), ""); }
TEST_F(Sequences, DependencyThatIsNotMet) { EXPECT_EXIT(a_dependency_that_is_not_met_ends_it(), testing::ExitedWithCode(0), ""); }
TEST_F(Sequences, SignalOfSeveralPackets) { EXPECT_EXIT(a_signal_of_several_packets_ends_it(), testing::ExitedWithCode(0), ""); }

}  // namespace
