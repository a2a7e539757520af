#include <gtest/gtest.h>

#include "intercept/kernels.hpp"

namespace kerncap::intercept {
namespace {

std::unique_ptr<KernelEntry> entry(std::uint64_t kernel_object) {
  auto kernel = std::make_unique<KernelEntry>();
  kernel->kernel_object = kernel_object;
  return kernel;
}

TEST(KernelTable, FindsEveryEntryAfterGrowing) {
  KernelTable table;
  std::vector<std::unique_ptr<KernelEntry>> entries;
  for (std::uint64_t i = 1; i <= 10000; ++i) {
    entries.push_back(entry(0x7f0000000000 + i * 64));
    table.put(entries.back().get());
  }
  for (const auto& kernel : entries) ASSERT_EQ(table.find(kernel->kernel_object), kernel.get());
  EXPECT_EQ(table.find(0x40), nullptr);
}

TEST(KernelTable, LaterKernelAtTheSameAddressReplaces) {
  KernelTable table;
  const auto first = entry(0x1000);
  const auto second = entry(0x1000);
  table.put(first.get());
  table.put(second.get());
  EXPECT_EQ(table.find(0x1000), second.get());
}

}  // namespace
}  // namespace kerncap::intercept
