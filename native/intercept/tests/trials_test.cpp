#include "intercept/trials.hpp"

#include <gtest/gtest.h>

namespace kerncap::intercept {
namespace {

TEST(Trials, LastAsLongAsTheLastThatBegan) {
  Trials trials;
  EXPECT_FALSE(trials.is_tried("matmul"));
  trials.begin("matmul");
  trials.begin("matmul");
  trials.begin("softmax");
  trials.end("matmul");
  EXPECT_TRUE(trials.is_tried("matmul"));
  trials.end("matmul");
  EXPECT_FALSE(trials.is_tried("matmul"));
  EXPECT_TRUE(trials.is_tried("softmax"));
  EXPECT_FALSE(trials.is_tried("matmul_2"));
}

TEST(Trials, AnEndWithoutABeginIsNone) {
  Trials trials;
  trials.end("matmul");
  trials.begin("matmul");
  EXPECT_TRUE(trials.is_tried("matmul"));
}

}  // namespace
}  // namespace kerncap::intercept
