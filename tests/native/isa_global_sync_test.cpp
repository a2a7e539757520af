// Barriers across workgroups: who waits, who opens them, and for which resource.
#include <algorithm>

#include "memory_machine.hpp"
#include "vgpu/isa/memory/global_sync.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

constexpr u64 kHere = 0x1000, kNext = 0x1008;
constexpr u32 kBase = 3;  // M0[21:16]; with the machine's offset of 8 it is resource 11
constexpr unsigned kResource = kBase + kOffset;

const Row& row_of(std::string_view name) {
  const auto rows = memory_rows();
  return *std::find_if(rows.begin(), rows.end(), [&](const Row& row) { return row.name == name; });
}

// One wave of a workgroup; the data of the lanes that are off, and of all but the first that is on, do not count.
class Member {
 public:
  Member(Target target, GlobalSync* sync, u32 data) : machine_(target, Format::ds) {
    dispatch_.sync = sync;
    machine_.wave.dispatch = &dispatch_;
    machine_.wave.s[kM0] = kBase << 16;
    machine_.wave.set_exec(0x50);
    machine_.may_stop = true;
    machine_.reg(kAddress, 4) = data;
  }
  // Whether the wave goes on behind the instruction.
  bool issue(std::string_view name) {
    machine_.wave.pc = kHere;
    machine_.wave.next_pc = kNext;
    machine_.wave.state = Wave::State::running;
    machine_.run(row_of(name));
    const bool goes_on = machine_.wave.next_pc == kNext && machine_.wave.state == Wave::State::running;
    EXPECT_TRUE(goes_on || machine_.wave.state == Wave::State::stopped ||
                (machine_.wave.next_pc == kHere && machine_.wave.state == Wave::State::asleep));
    return goes_on;
  }
  Wave& wave() { return machine_.wave; }

 private:
  Dispatch dispatch_{};
  MemoryMachine machine_;
};

class GlobalSyncOf : public testing::TestWithParam<Target> {};

TEST_P(GlobalSyncOf, TheLastWaveOpensTheBarrier) {
  GlobalSync sync;
  Member a(GetParam(), &sync, 2), b(GetParam(), &sync, 2), c(GetParam(), &sync, 2);
  EXPECT_TRUE(a.issue("ds_gws_init"));
  for (int round = 0; round < 3; ++round) {
    EXPECT_FALSE(a.issue("ds_gws_barrier"));
    EXPECT_FALSE(a.issue("ds_gws_barrier")) << "a wave arrives once, however often it looks";
    EXPECT_FALSE(b.issue("ds_gws_barrier"));
    EXPECT_TRUE(c.issue("ds_gws_barrier"));
    EXPECT_TRUE(b.issue("ds_gws_barrier"));
    // One that is quick comes to the next round before another has left this one.
    EXPECT_FALSE(b.issue("ds_gws_barrier"));
    EXPECT_TRUE(a.issue("ds_gws_barrier"));
    EXPECT_FALSE(a.issue("ds_gws_barrier"));
    EXPECT_TRUE(c.issue("ds_gws_barrier"));
    EXPECT_TRUE(a.issue("ds_gws_barrier"));
    EXPECT_TRUE(b.issue("ds_gws_barrier"));
  }
}

TEST_P(GlobalSyncOf, ResourcesAreApart) {
  GlobalSync sync;
  Member a(GetParam(), &sync, 1);
  a.issue("ds_gws_init");
  std::optional<u32> mine;
  EXPECT_TRUE(sync.arrive(kResource + 1, 0, mine));
  EXPECT_FALSE(a.issue("ds_gws_barrier"));
  EXPECT_TRUE(sync.arrive(kResource, 1, mine));
  EXPECT_TRUE(a.issue("ds_gws_barrier"));
}

TEST_P(GlobalSyncOf, AQueueWithoutItStops) {
  Member a(GetParam(), nullptr, 1);
  a.issue("ds_gws_barrier");
  EXPECT_EQ(a.wave().state, Wave::State::stopped);
  EXPECT_EQ(a.wave().stop_kind, Outcome::Kind::illegal);
  EXPECT_EQ(a.wave().stop_text, "the queue has no global wave sync");
}

TEST_P(GlobalSyncOf, NoActiveLaneIsNotGuessed) {
  GlobalSync sync;
  Member a(GetParam(), &sync, 1);
  a.wave().set_exec(0);
  a.issue("ds_gws_init");
  EXPECT_EQ(a.wave().state, Wave::State::stopped);
  EXPECT_EQ(a.wave().stop_kind, Outcome::Kind::unimplemented);
}

INSTANTIATE_TEST_SUITE_P(Targets, GlobalSyncOf, testing::Values(Target::gfx90a, Target::gfx942, Target::gfx950, Target::gfx1100),
                         [](const auto& tested) { return std::string(name(tested.param)); });

}  // namespace
}  // namespace kerncap::vgpu::isa::test
