#include <gtest/gtest.h>

#include <cstring>

#include "intercept/hsa_api.hpp"
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

constexpr hsa_agent_t kAgent{3};
constexpr char kSymbol[] = "_Z5scalePf.kd";

// An executable with one kernel of that name.
void one_kernel_an_executable() {
  auto& core = hsa().core;
  core.hsa_executable_iterate_symbols_fn = [](hsa_executable_t executable, auto visit, void* data) {
    return visit(executable, hsa_executable_symbol_t{executable.handle}, data);
  };
  core.hsa_executable_symbol_get_info_fn = [](hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute, void* value) {
    const auto store = [value](auto number) { std::memcpy(value, &number, sizeof number); };
    switch (attribute) {
      case HSA_EXECUTABLE_SYMBOL_INFO_TYPE: store(HSA_SYMBOL_KIND_KERNEL); break;
      case HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH: store(static_cast<std::uint32_t>(sizeof kSymbol - 1)); break;
      case HSA_EXECUTABLE_SYMBOL_INFO_NAME: std::memcpy(value, kSymbol, sizeof kSymbol - 1); break;
      case HSA_EXECUTABLE_SYMBOL_INFO_AGENT: store(kAgent); break;
      case HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT: store(symbol.handle * 64); break;
      default: store(std::uint32_t{8});
    }
    return HSA_STATUS_SUCCESS;
  };
}

// A library of thousands of kernels is loaded for one that is meant, and its readers live as long as its modules.
TEST(KernelRegistry, TheCopyOfWhatNobodyMeansGoesBeforeItsReader) {
  one_kernel_an_executable();
  for (const auto& [pattern, keep_all, kept] :
       {std::tuple{"scale", false, true}, std::tuple{"other", false, false}, std::tuple{"other", true, true}}) {
    KernelRegistry registry(KernelSelector(pattern, MatchMode::Base), keep_all);
    CodeBytes bytes = std::make_shared<std::vector<std::byte>>(100);
    const std::weak_ptr<const std::vector<std::byte>> watched = bytes;
    registry.reader_created({7}, std::move(bytes));
    registry.code_loaded({1}, kAgent, {7}, {11});
    EXPECT_FALSE(watched.expired());
    registry.executable_frozen({1});
    EXPECT_EQ(!watched.expired(), kept) << pattern;
    registry.code_loaded({2}, kAgent, {7}, {12});  // from the same reader once more
    registry.executable_frozen({2});
    EXPECT_EQ(registry.find(2 * 64)->matched.load(), pattern == std::string("scale"));
  }
}

}  // namespace
}  // namespace kerncap::intercept
