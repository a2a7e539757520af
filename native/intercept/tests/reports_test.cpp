// What the tool says to Python, when little is left to say it with.
#include "intercept/reports.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

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

}  // namespace
}  // namespace kerncap::intercept
