// KERNCAP_VGPU: what is accepted, and that a wrong word is named.
#include "vgpu/config.hpp"

#include <gmock/gmock.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>

#include "vgpu/cores.hpp"

namespace kerncap::vgpu {
namespace {

using ::testing::HasSubstr;

std::string refused(std::string_view text) {
  try {
    parse_config(text);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Config, DefaultsArePrivateBarOneGpuQuiet) {
  const Config config = parse_config("gfx942");
  EXPECT_EQ(config.target, isa::Target::gfx942);
  EXPECT_EQ(config.gpus, 1u);
  EXPECT_FALSE(config.large_bar);
  EXPECT_EQ(config.log_level, 0);
  EXPECT_EQ(config.trace_file, "");
  EXPECT_EQ(config.threads, std::min(usable_cores(), kMaxThreads));
}

TEST(Config, TimestampsByTheModelOrTheWallClock) {
  EXPECT_FALSE(parse_config("gfx942").wall_time);
  EXPECT_FALSE(parse_config("gfx942,time=model").wall_time);
  EXPECT_TRUE(parse_config("gfx942,time=wall").wall_time);
  EXPECT_THAT(refused("gfx942,time=fast"), HasSubstr("time=fast"));
}

TEST(Config, CoresOfAnAffinityMask) {
  cpu_set_t before, one;
  ASSERT_EQ(::sched_getaffinity(0, sizeof before, &before), 0);
  CPU_ZERO(&one);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &before)) {
      CPU_SET(cpu, &one);
      break;
    }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(usable_cores(), 1u);
  ASSERT_EQ(::sched_setaffinity(0, sizeof before, &before), 0);
  EXPECT_LE(usable_cores(), static_cast<unsigned>(CPU_COUNT(&before)));
}

TEST(Config, CoresOfAQuota) {
  EXPECT_EQ(quota_cores("200000 100000\n"), 2u);
  EXPECT_EQ(quota_cores("150000 100000\n"), 2u);
  EXPECT_EQ(quota_cores("10000 100000\n"), 1u);
  EXPECT_EQ(quota_cores("max 100000\n"), 0u);
  EXPECT_EQ(quota_cores(""), 0u);
  EXPECT_EQ(quota_cores("200000"), 0u);
}

TEST(Config, Checks) {
  EXPECT_FALSE(parse_config("gfx942").checks.any());
  const Config config = parse_config("gfx90a,check=race+memory,check-report=/tmp/r,check-regions=/tmp/s");
  EXPECT_TRUE(config.checks.race && config.checks.memory);
  EXPECT_FALSE(config.checks.hazards);
  EXPECT_EQ(config.check_report, "/tmp/r");
  EXPECT_EQ(config.check_regions, "/tmp/s");
  EXPECT_THAT(refused("gfx942,check=warp"), HasSubstr("check=warp"));
}

TEST(Config, EveryOption) {
  const Config config = parse_config("gfx1100,bar=large,gpus=4,threads=3,trace=/tmp/a b.jsonl,log=3");
  EXPECT_EQ(config.target, isa::Target::gfx1100);
  EXPECT_EQ(config.gpus, 4u);
  EXPECT_EQ(config.threads, 3u);
  EXPECT_TRUE(config.large_bar);
  EXPECT_EQ(config.log_level, 3);
  EXPECT_EQ(config.trace_file, "/tmp/a b.jsonl");
  EXPECT_FALSE(parse_config("gfx90a,bar=private").large_bar);
}

TEST(Config, WrongWordsAreNamed) {
  EXPECT_THAT(refused("gfx906"), HasSubstr("gfx906"));
  EXPECT_THAT(refused(""), HasSubstr("unknown target"));
  EXPECT_THAT(refused("gfx942,bar=huge"), HasSubstr("bar=huge"));
  EXPECT_THAT(refused("gfx942,gpus=0"), HasSubstr("gpus=0"));
  EXPECT_THAT(refused("gfx942,gpus=17"), HasSubstr("gpus=17"));
  EXPECT_THAT(refused("gfx942,gpus=2x"), HasSubstr("gpus=2x"));
  EXPECT_THAT(refused("gfx942,threads=0"), HasSubstr("threads=0"));
  EXPECT_THAT(refused("gfx942,threads=257"), HasSubstr("threads=257"));
  EXPECT_THAT(refused("gfx942,trace="), HasSubstr("trace="));
  EXPECT_THAT(refused("gfx942,,log=1"), HasSubstr("''"));
}

}  // namespace
}  // namespace kerncap::vgpu
