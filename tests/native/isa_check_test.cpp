// The checked mode: each fault is found where it is, its clean twin is not. Kernels: kernels/isa_check.hip.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "isa_harness.hpp"
#include "vgpu/isa/memory/global_sync.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class Checked : public ::testing::TestWithParam<std::string> {
 protected:
  Checked() : code_(std::string(KERNCAP_ISA_OBJECTS) + "/isa_check." + GetParam() + ".hsaco") {
    launch_.target = *target_from_name(GetParam());
    memory_.add(in_.data(), in_.size() * 4);
    memory_.add(out_.data(), out_.size() * 4);
  }
  bool gfx12() const { return family(launch_.target) == Family::gfx12; }
  bool gfx9() const { return family(launch_.target) == Family::gfx9; }
  // Runs with one check; the kinds that were found, benign ones too.
  std::vector<std::string> kinds(const char* check, const std::string& kernel, const Arguments& arguments,
                                 std::uint32_t grid = 64, std::uint32_t workgroup = 64) {
    report_ = {};
    report_.checks = *check::parse_checks(check);
    std::fill(out_.begin(), out_.end(), 0);
    launch_.report = &report_;
    launch_.grid[0] = grid;
    launch_.workgroup[0] = workgroup;
    outcome_ = run(launch_, code_, kernel, arguments, memory_);
    std::vector<std::string> out;
    for (const check::Finding& f : report_.findings) out.emplace_back(f.kind);
    return out;
  }
  std::vector<std::string> hazards(const std::string& kernel) {
    return kinds("hazards", kernel, Arguments().add(in_.data()).add(out_.data()));
  }
  const check::Finding& first() const { return report_.findings.at(0); }

  std::vector<int> in_ = std::vector<int>(4096, 3), out_ = std::vector<int>(8192, 0);
  HostMemory memory_;
  CodeObject code_;
  Launch launch_;
  check::Report report_;
  Outcome outcome_;
};

TEST_P(Checked, VectorLoadWithoutWait) {
  EXPECT_THAT(hazards("vector_load"), ElementsAre("missing-wait"));
  EXPECT_THAT(first().site.text, HasSubstr("v_mov_b32"));
  EXPECT_THAT(first().other->text, HasSubstr("global_load_"));
  EXPECT_THAT(first().message, HasSubstr(gfx12() ? "loadcnt" : "vmcnt"));
  EXPECT_THAT(hazards("vector_load_ok"), IsEmpty());
}
TEST_P(Checked, LoadsComeBackInOrder) {
  EXPECT_THAT(hazards("second_load"), ElementsAre("missing-wait"));
  EXPECT_THAT(hazards("second_load_ok"), IsEmpty());
}
TEST_P(Checked, RegisterOverwrittenBeforeTheLoad) {
  EXPECT_THAT(hazards("overwritten"), ElementsAre("overwritten-before-load"));
  EXPECT_THAT(hazards("overwritten_ok"), IsEmpty());
}
TEST_P(Checked, LdsLoadWithoutWait) {
  EXPECT_THAT(kinds("hazards", "lds_load", Arguments().add(out_.data())), ElementsAre("missing-wait"));
  EXPECT_THAT(first().message, HasSubstr(gfx12() ? "dscnt" : "lgkmcnt"));
  EXPECT_THAT(kinds("hazards", "lds_load_ok", Arguments().add(out_.data())), IsEmpty());
}
TEST_P(Checked, ScalarLoadsComeBackInAnyOrder) {
  EXPECT_THAT(hazards("scalar_load"), ElementsAre("missing-wait"));
  EXPECT_THAT(hazards("scalar_load_ok"), IsEmpty());
}

class CheckedGfx11 : public Checked {};
TEST_P(CheckedGfx11, HalvesOfARegisterAreApart) {
  EXPECT_THAT(hazards("half_load"), ElementsAre("missing-wait"));
  EXPECT_THAT(hazards("half_load_ok"), IsEmpty());
}
// gfx1100 interlocks these itself.
class CheckedGfx9 : public Checked {};
TEST_P(CheckedGfx9, WaitStates) {
  EXPECT_THAT(kinds("hazards", "dpp_read", Arguments().add(out_.data())), ElementsAre("missing-wait-states"));
  EXPECT_THAT(first().message, HasSubstr("DPP reads it: 2 wait states needed, 1 found"));
  EXPECT_THAT(kinds("hazards", "dpp_read_ok", Arguments().add(out_.data())), IsEmpty());
  EXPECT_THAT(hazards("scalar_to_memory"), ElementsAre("missing-wait-states"));
  EXPECT_THAT(first().message, HasSubstr("5 wait states needed, 4 found"));
  EXPECT_THAT(hazards("scalar_to_memory_ok"), IsEmpty());
  EXPECT_THAT(kinds("hazards", "matrix_result", Arguments().add(out_.data()).add(out_.data())), ElementsAre("missing-wait-states"));
  EXPECT_THAT(first().message, HasSubstr("MFMA"));
  EXPECT_THAT(kinds("hazards", "matrix_result_ok", Arguments().add(out_.data()).add(out_.data())), IsEmpty());
}
TEST_P(CheckedGfx9, ChainsOfMatrixInstructions) {
  const bool gfx90a = launch_.target == Target::gfx90a;
  const auto finds = [&](const std::string& kernel, const std::string& message) {
    SCOPED_TRACE(kernel);
    EXPECT_THAT(kinds("hazards", kernel, Arguments().add(out_.data())), ElementsAre("missing-wait-states"));
    ASSERT_FALSE(report_.findings.empty());
    EXPECT_THAT(first().message, HasSubstr(message));
    EXPECT_THAT(kinds("hazards", kernel + "_ok", Arguments().add(out_.data())), IsEmpty());
  };
  finds("matrix_factor", "MFMA writes VGPR, it is read too early: 5 wait states needed, 4 found");
  finds("matrix_overlap", gfx90a ? "2 wait states needed, 1 found" : "3 wait states needed, 1 found");
  finds("matrix_operand", "VALU writes VGPR, MFMA reads it: 2 wait states needed, 1 found");
  finds("matrix_accumulator", "MFMA reads its accumulator, it is overwritten too early: 1 wait states needed, 0 found");
  finds("matrix_doubles", "MFMA on doubles, v_fma_f64: 2 wait states needed, 0 found");
  finds("dot_result", "v_dot writes VGPR, it is overwritten too early: 3 wait states needed, 2 found");
  if (!gfx90a) return finds("matrix_sum", "MFMA adds to it too early: 2 wait states needed, 1 found");
  EXPECT_THAT(kinds("hazards", "matrix_sum", Arguments().add(out_.data())), IsEmpty());
}

TEST_P(Checked, RaceInAWorkgroup) {
  EXPECT_THAT(kinds("race", "lds_race", Arguments().add(out_.data()), 256, 256), ElementsAre("race-in-workgroup"));
  EXPECT_STREQ(first().space, "lds");
  EXPECT_FALSE(first().benign);
  EXPECT_NE(first().site.wave, first().other->wave);
  EXPECT_NE(first().site.pc, first().other->pc);
  EXPECT_THAT(kinds("race", "lds_race_ok", Arguments().add(out_.data()), 256, 256), IsEmpty());
  EXPECT_THAT(kinds("race", "neighbours_ok", Arguments().add(out_.data()), 256, 256), IsEmpty());
}
TEST_P(Checked, RaceAcrossWorkgroups) {
  const std::vector<std::string> found = kinds("race", "global_race", Arguments().add(out_.data()), 256, 64);
  EXPECT_THAT(found, ::testing::Contains("race-across-workgroups"));
  EXPECT_THAT(found, ::testing::Each("race-across-workgroups"));
  EXPECT_EQ(first().address, reinterpret_cast<std::uintptr_t>(out_.data()));
  EXPECT_NE(first().site.workgroup[0], first().other->workgroup[0]);
  EXPECT_THAT(kinds("race", "global_race_ok", Arguments().add(out_.data()), 256, 64), IsEmpty());
}
TEST_P(CheckedGfx9, WorkgroupsMeetAtGlobalWaveSync) {
  constexpr std::uint32_t groups = 4, workgroup = 128, waves = groups * workgroup / 64;
  GlobalSync sync;
  sync.init(0, waves - 1);
  launch_.sync = &sync;
  const auto arguments = [&] { return Arguments().add(out_.data()).add(waves - 1); };
  EXPECT_THAT(kinds("race", "meet_ok", arguments(), groups * workgroup, workgroup), IsEmpty());
  EXPECT_EQ(outcome_.kind, Outcome::Kind::completed);
  for (std::uint32_t round = 0; round < 3; ++round)
    for (std::uint32_t i = 0; i < 512; ++i) EXPECT_EQ(out_[round * 1024 + 512 + i], static_cast<int>((i / workgroup + 1) % groups + round));
  // Nothing says that the store is complete when the wave comes to the barrier.
  EXPECT_THAT(kinds("race", "meet_race", arguments(), groups * workgroup, workgroup), ::testing::Contains("race-across-workgroups"));
}
TEST_P(Checked, SameValueIsBenign) {
  EXPECT_THAT(kinds("race", "same_value", Arguments().add(out_.data()), 128, 32), ElementsAre("race-across-workgroups"));
  EXPECT_TRUE(first().benign);
}
TEST_P(Checked, LanesOfOneStore) {
  EXPECT_THAT(kinds("race", "lanes_race", Arguments().add(out_.data()), 32, 32), ElementsAre("race-in-store"));
}
TEST_P(Checked, LastBlockDone) {
  const auto arguments = [&] { return Arguments().add(out_.data()).add(out_.data() + 4096).add(out_.data() + 4352); };
  EXPECT_THAT(kinds("race", "last_block_race", arguments(), 2048, 256), ElementsAre("race-across-workgroups"));
  EXPECT_THAT(kinds("race", "last_block_ok", arguments(), 2048, 256), IsEmpty());
  EXPECT_EQ(out_[4352 + 5], 0 + 1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 * 5);
}
TEST_P(Checked, DecoupledLookBack) {
  const auto arguments = [&] { return Arguments().add(out_.data()).add(out_.data() + 4096); };
  EXPECT_THAT(kinds("race", "look_back_race", arguments(), 1024, 64), ::testing::Contains("race-across-workgroups"));
  EXPECT_THAT(kinds("race", "look_back_ok", arguments(), 1024, 64), IsEmpty());
  EXPECT_EQ(out_[15], 16);
}

TEST_P(Checked, ALineThatTheCacheStillHolds) {
  const auto arguments = [&] { return Arguments().add(out_.data()).add(out_.data() + 256).add(out_.data() + 512); };
  EXPECT_THAT(kinds("race", "stale_look", arguments(), 128, 64), ElementsAre("missing-acquire"));
  EXPECT_EQ(first().site.workgroup[0], 1u);
  EXPECT_EQ(first().other->workgroup[0], 0u);
  EXPECT_EQ(first().address, reinterpret_cast<std::uintptr_t>(out_.data()));
  EXPECT_THAT(kinds("race", "stale_look_ok", arguments(), 128, 64), IsEmpty());
  EXPECT_EQ(out_[512], 7);
}

TEST_P(Checked, LdsOutOfBounds) {
  launch_.group_bytes = 256;
  EXPECT_THAT(kinds("memory", "lds_outside", Arguments().add(out_.data()).add(0)), IsEmpty());
  EXPECT_THAT(kinds("memory", "lds_outside", Arguments().add(out_.data()).add(10)), ElementsAre("lds-out-of-bounds"));
  // The first of the ten that read too far.
  EXPECT_EQ(*first().site.lane + first().site.wave * (gfx9() ? 64 : 32), 54u);
  EXPECT_EQ(first().address, 256u);
  EXPECT_EQ(first().count, 10u);
}
TEST_P(Checked, LdsThatNobodyWrote) {
  EXPECT_THAT(kinds("memory", "lds_unwritten", Arguments().add(out_.data()).add(256), 256, 256), IsEmpty());
  EXPECT_THAT(kinds("memory", "lds_unwritten", Arguments().add(out_.data()).add(200), 256, 256), ElementsAre("lds-uninitialised"));
  EXPECT_EQ(first().count, 56u);
}
TEST_P(Checked, BeyondARegion) {
  const auto va = [](const std::vector<int>& v) { return reinterpret_cast<std::uintptr_t>(v.data()); };
  launch_.regions = {{va(in_), 1000}, {va(out_), 8192 * 4}};
  const auto arguments = [&](int n) { return Arguments().add(in_.data()).add(out_.data()).add(n); };
  EXPECT_THAT(kinds("memory", "copy", arguments(250), 256), IsEmpty());
  EXPECT_THAT(kinds("memory", "copy", arguments(252), 256), ElementsAre("out-of-bounds"));
  EXPECT_EQ(first().address, va(in_) + 1000);
  EXPECT_EQ(first().count, 2u);
  EXPECT_EQ(outcome_.kind, Outcome::Kind::completed);
  EXPECT_THAT(kinds("memory", "copy", Arguments().add(in_.data()).add(out_.data() + 8192).add(64)), ElementsAre("unmapped"));
  EXPECT_EQ(first().address, va(out_) + 8192 * 4);
  EXPECT_EQ(outcome_.kind, Outcome::Kind::page_fault);
}

TEST(Checks, NamesOfChecks) {
  EXPECT_TRUE(check::parse_checks("all")->hazards);
  EXPECT_FALSE(check::parse_checks("memory+race")->hazards);
  EXPECT_FALSE(check::parse_checks("memory+").has_value());
  EXPECT_FALSE(check::parse_checks("").has_value());
}

INSTANTIATE_TEST_SUITE_P(Targets, CheckedGfx11, ::testing::ValuesIn(compiled_targets("gfx1")),
                         [](const auto& instance) { return instance.param; });
INSTANTIATE_TEST_SUITE_P(Targets, CheckedGfx9, ::testing::ValuesIn(compiled_targets("gfx9")),
                         [](const auto& instance) { return instance.param; });
INSTANTIATE_TEST_SUITE_P(Targets, Checked, ::testing::ValuesIn(compiled_targets()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace kerncap::vgpu::isa::test
