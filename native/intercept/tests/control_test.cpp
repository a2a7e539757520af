#include "intercept/control.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "base/error.hpp"
#include "intercept/rank.hpp"

namespace kerncap::intercept {
namespace {

class ControlFile : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    const std::filesystem::path path = testing::TempDir() + "/control.json";
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(ControlFile, ReadsEverything) {
  const auto control = read_control(write(R"({"schema": "kerncap.capture-control/1", "work_dir": "/tmp/w", "kernel": "k",
    "mode": "list", "match": "base", "dispatch": 3, "after_ms": 1.5, "grid": [8, 1, 1], "workgroup": null, "after": "stop", "timeout_s": 2.5,
    "budget_bytes": 5000, "when": [{"text": "arg[0]>1", "kind": "argument", "argument": 0, "compare": ">", "value": 1}], "threads": 1,
    "zstd_level": -1, "ranks": 3})"));
  EXPECT_EQ(control.work_dir, "/tmp/w");
  EXPECT_EQ(control.kernel, "k");
  EXPECT_EQ(control.mode, Mode::List);
  EXPECT_EQ(control.match, MatchMode::Base);
  EXPECT_DOUBLE_EQ(control.after_ms, 1.5);
  EXPECT_EQ(control.dispatch, 3u);
  EXPECT_EQ(control.launch.grid, (Dim3{8, 1, 1}));
  EXPECT_FALSE(control.launch.workgroup);
  EXPECT_TRUE(control.stop_after);
  ASSERT_EQ(control.when.size(), 1u);
  EXPECT_EQ(control.when[0].text, "arg[0]>1");
  EXPECT_EQ(control.budget_bytes, 5000u);
  EXPECT_DOUBLE_EQ(control.timeout_s, 2.5);
  EXPECT_EQ(control.zstd_level, -1);
  EXPECT_FALSE(control.ranks.all);
  EXPECT_EQ(control.ranks.only, 3u);
}

TEST_F(ControlFile, Sequence) {
  const std::string head = R"({"schema": "kerncap.capture-control/1", "work_dir": "/tmp/w", "kernel": "k", "sequence": )";
  const auto control = read_control(write(head + R"({"count": 3, "last_kernel": null, "last_match": "base", "per_queue": true, "states": "each"}})"));
  ASSERT_TRUE(control.sequence);
  EXPECT_EQ(control.sequence->count, 3u);
  EXPECT_TRUE(control.sequence->per_queue);
  EXPECT_TRUE(control.sequence->each_state);
  EXPECT_EQ(read_control(write(head + R"({"last_kernel": "z", "states": "end"}})")).sequence->last_kernel, "z");
  for (const char* rest : {R"({"states": "end"}})", R"({"count": 1, "states": "end"}})", R"({"count": 1025, "states": "end"}})",
                           R"({"count": 2, "last_kernel": "z", "states": "end"}})", R"({"count": 2, "states": "some"}})", R"({"count": 2}})"}) {
    EXPECT_THROW(read_control(write(head + rest)), Error) << rest;
  }
}

TEST_F(ControlFile, NullKernelOnlyLists) {
  EXPECT_FALSE(read_control(write(R"({"schema": "kerncap.capture-control/1", "work_dir": "/tmp/w", "kernel": null})")).kernel);
}

TEST_F(ControlFile, RefusesWhatItDoesNotKnow) {
  const std::string head = R"({"schema": "kerncap.capture-control/1", "work_dir": "/tmp/w", "kernel": "k", )";
  for (const char* rest : {R"("match": "fuzzy"})", R"("after": "maybe"})", R"("grid": [1]})", R"("timeout_s": 0})", R"("threads": 0})",
                           R"("mode": "watch"})", R"("when": {}})", R"("when": [{"text": "x", "kind": "soon"}]})", R"("after_ms": -1})", R"("ranks": "some"})",
                           R"("ranks": -1})"}) {
    EXPECT_THROW(read_control(write(head + rest)), Error) << rest;
  }
  EXPECT_THROW(read_control(write(R"({"schema": "kerncap.capture-control/2", "work_dir": "/tmp/w", "kernel": "k"})")), Error);
  EXPECT_THROW(read_control(write(R"({"schema": "kerncap.capture-control/1", "work_dir": "relative", "kernel": "k"})")), Error);
}

TEST_F(ControlFile, EveryRankWorksInADirectoryOfItsOwn) {
  Control control;
  control.work_dir = testing::TempDir() + "/ranks";
  control.ranks.all = true;
  const auto own = for_this_process(control).work_dir;
  EXPECT_EQ(own.parent_path(), control.work_dir);
  EXPECT_EQ(own.filename(), own_rank() ? "rank-" + std::to_string(*own_rank()) : "pid-" + std::to_string(getpid()));
  EXPECT_TRUE(std::filesystem::is_directory(own));
}

TEST_F(ControlFile, AnotherRankOnlyLists) {
  Control control;
  control.ranks.only = own_rank().value_or(0) + 1;
  EXPECT_EQ(for_this_process(control).mode, Mode::List);
  control.ranks.only.reset();
  EXPECT_EQ(for_this_process(control).mode, Mode::Capture);
}

TEST_F(ControlFile, WorkDirIsFoundInAFileThatIsOtherwiseWrong) {
  EXPECT_EQ(work_dir_of(write(R"({"work_dir": "/tmp/w", "match": 3})")), "/tmp/w");
  EXPECT_EQ(work_dir_of(write("not json")), std::nullopt);
}

}  // namespace
}  // namespace kerncap::intercept
