// Waiting for blobs that somebody brings: until they are there, and no longer than somebody does.
#include "bundle/arrival.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"

namespace kerncap {
namespace {
namespace fs = std::filesystem;

class ArrivalTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "arrival-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    std::ofstream(folder_ / "arriving").flush();
    bringer_ = open_file(folder_ / "arriving", O_RDWR);
    ASSERT_EQ(::flock(bringer_.get(), LOCK_EX), 0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void bring(const std::string& name) const {
    std::ofstream(folder_ / (name + ".part")) << name;
    fs::rename(folder_ / (name + ".part"), folder_ / name);
  }
  std::string code_of_waiting(const fs::path& marker, const std::string& blob) const {
    try {
      Arrival(marker).wait_for(folder_ / blob);
    } catch (const Error& error) {
      return error.code();
    }
    return "there";
  }

  fs::path folder_;
  UniqueFd bringer_;
};

TEST_F(ArrivalTest, WaitsUntilItIsBrought) {
  std::jthread bringer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    bring("blob");
  });
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of_waiting(folder_ / "arriving", "blob"), "there");
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(150));
}

TEST_F(ArrivalTest, EndsWhenTheBringerIsGone) {
  std::jthread bringer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    bringer_.reset();
  });
  EXPECT_EQ(code_of_waiting(folder_ / "arriving", "blob"), "bundle.missing-blob");
  bring("blob");
  EXPECT_EQ(code_of_waiting(folder_ / "arriving", "blob"), "there");
}

TEST_F(ArrivalTest, AMarkerThatIsNoneIsNotWaitedFor) {
  EXPECT_EQ(code_of_waiting(folder_ / "nothing", "blob"), "bundle.missing-blob");
  fs::create_symlink(folder_ / "arriving", folder_ / "link");
  EXPECT_EQ(code_of_waiting(folder_ / "link", "blob"), "bundle.missing-blob");
  ASSERT_EQ(::mkfifo((folder_ / "fifo").c_str(), 0600), 0);
  EXPECT_EQ(code_of_waiting(folder_ / "fifo", "blob"), "bundle.missing-blob");
}

TEST_F(ArrivalTest, SeveralWaitAtOnceAndLeaveTheBringerItsLock) {
  std::vector<std::jthread> waiting;
  for (int i = 0; i < 4; ++i) waiting.emplace_back([this] { EXPECT_EQ(code_of_waiting(folder_ / "arriving", "blob"), "there"); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  bring("blob");
  waiting.clear();
  const UniqueFd other = open_file(folder_ / "arriving", O_RDONLY);
  EXPECT_NE(::flock(other.get(), LOCK_SH | LOCK_NB), 0);
}

}  // namespace
}  // namespace kerncap
