// What the tool says to Python, when little is left to say it with.
#include "intercept/reports.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <vector>

namespace kerncap::intercept {
namespace {

namespace fs = std::filesystem;

class Reports : public testing::Test {
 protected:
  Reports() {
    std::string name = (fs::temp_directory_path() / "kerncap-reports-XXXXXX").native();
    folder = ::mkdtemp(name.data());
  }
  ~Reports() override { fs::remove_all(folder); }

  fs::path report() const { return folder / ("error-" + std::to_string(::getpid()) + ".json"); }

  fs::path folder;
};

// Opens what can be opened, and closes it again.
class NoDescriptors {
 public:
  NoDescriptors() {
    for (int fd; (fd = ::dup(STDIN_FILENO)) >= 0;) taken_.push_back(fd);
  }
  ~NoDescriptors() {
    for (const int fd : taken_) ::close(fd);
  }

 private:
  std::vector<int> taken_;
};

TEST_F(Reports, AnErrorIsAFile) {
  report_error(folder, Error("capture.x", "what happened", "what to do"));
  std::ifstream file(report());
  const Json document = Json::parse(file);
  EXPECT_FALSE(fs::is_symlink(report()));
  EXPECT_EQ(document["code"], "capture.x");
  EXPECT_EQ(document["message"], "what happened");
  EXPECT_EQ(document["hint"], "what to do");
}

TEST_F(Reports, AnErrorIsTheTargetOfALinkWhereNoDescriptorIsLeft) {
  {
    const NoDescriptors all;
    report_error(folder, Error("host.descriptors", "none \xff left"));
  }
  const Json document = Json::parse(fs::read_symlink(report()).native());
  EXPECT_EQ(document["schema"], "kerncap.error/1");
  EXPECT_EQ(document["code"], "host.descriptors");
  EXPECT_TRUE(document["hint"].is_null());
}

TEST_F(Reports, ALongErrorStillIsALink) {
  {
    const NoDescriptors all;
    report_error(folder, Error("host.descriptors", std::string(100000, '\n')));
  }
  const Json document = Json::parse(fs::read_symlink(report()).native());
  EXPECT_EQ(document["code"], "host.descriptors");
  EXPECT_GT(document["message"].get<std::string>().size(), 100u);
}

TEST_F(Reports, NobodyIsToldWhereWhoAskedIsGone) {
  testing::internal::CaptureStderr();
  report_error(folder / "gone", Error("capture.x", "what happened"));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(fs::exists(folder / "gone"));
}

// A runtime that is initialised again, or another program of the same process id.
TEST_F(Reports, WhatALibrarySaidThatWasLoadedBeforeIsKept) {
  say_loaded(folder);
  report_error(folder, Error("capture.x", "the first"));
  say_loaded(folder);
  report_error(folder, Error("capture.x", "the second"));
  std::ifstream first(report());
  std::ifstream second(folder / ("error-" + std::to_string(::getpid()) + "-2.json"));
  EXPECT_EQ(Json::parse(first)["message"], "the first");
  EXPECT_EQ(Json::parse(second)["message"], "the second");
  const fs::path other = folder / "other";  // in which this is the first
  fs::create_directory(other);
  say_loaded(other);
  EXPECT_TRUE(fs::exists(other / ("loaded-" + std::to_string(::getpid()) + ".json")));
}

TEST_F(Reports, AClaimIsTakenAgainOnlyUntilTheCaptureIsWhole) {
  EXPECT_TRUE(take_claim(folder));
  EXPECT_TRUE(take_claim(folder));
  fs::create_directory(folder / "capture");
  EXPECT_FALSE(take_claim(folder));
}

// No file may grow, as in an application that limits itself: SIGXFSZ would end it.
void report_without_a_byte(const fs::path& folder) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_FSIZE, &none);
  say_loaded(folder);
  try {
    take_claim(folder);
  } catch (const Error& error) {
    report_error(folder, error);
    ::_exit(error.code() == "host.io" && error.hint() ? 0 : 2);
  }
  ::_exit(3);
}

TEST_F(Reports, AFileThatMayNotGrowDoesNotEndTheApplication) {
  EXPECT_EXIT(report_without_a_byte(folder), testing::ExitedWithCode(0), "");
  const auto entries = fs::directory_iterator(folder);
  EXPECT_TRUE(std::any_of(begin(entries), end(entries), [](const auto& entry) { return entry.is_symlink(); }));
}

// Nobody reads the application's messages any more: SIGPIPE would end it. One of its own stays pending.
void speak_to_nobody(const fs::path& folder) {
  int ends[2];
  if (::pipe(ends) != 0) ::_exit(2);
  ::close(ends[0]);
  ::dup2(ends[1], STDERR_FILENO);
  report_error(folder, Error("capture.x", "what happened"));
  sigset_t pipe_signal, pending;
  sigemptyset(&pipe_signal);
  sigaddset(&pipe_signal, SIGPIPE);
  ::sigprocmask(SIG_BLOCK, &pipe_signal, nullptr);
  ::raise(SIGPIPE);
  report_error(folder, Error("capture.x", "what happened then"));
  ::sigpending(&pending);
  ::_exit(sigismember(&pending, SIGPIPE) == 1 ? 0 : 3);
}

TEST_F(Reports, AReaderWhoIsGoneDoesNotEndTheApplication) {
  EXPECT_EXIT(speak_to_nobody(folder), testing::ExitedWithCode(0), "");
  EXPECT_TRUE(fs::exists(folder));
}

}  // namespace
}  // namespace kerncap::intercept
