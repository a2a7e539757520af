#include "intercept/nonfinite.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>

namespace kerncap::intercept {
namespace {

constexpr float nan32 = std::numeric_limits<float>::quiet_NaN();
constexpr float inf32 = std::numeric_limits<float>::infinity();

template <class T>
NewNonFinite added(NumberType type, const std::vector<T>& before, const std::vector<T>& after) {
  NewNonFinite found;
  found.add(type, std::as_bytes(std::span(before)), std::as_bytes(std::span(after)), 0x1000);
  return found;
}

TEST(NonFinite, OnlyWhatIsNewCounts) {
  const auto found = added<float>(NumberType::F32, {0, nan32, 1, inf32, 2, -inf32, 3}, {0, nan32, nan32, inf32, -inf32, nan32, inf32});
  EXPECT_EQ(found.nan.count, 2u);  // elements 2 and 5, which was infinite
  EXPECT_EQ(found.nan.first_va, 0x1000u + 8);
  EXPECT_EQ(found.inf.count, 2u);
  EXPECT_EQ(found.inf.first_va, 0x1000u + 16);
}

TEST(NonFinite, EveryType) {
  const auto f16 = added<std::uint16_t>(NumberType::F16, {0, 0, 0, 0}, {0x7BFF, 0x7C00, 0xFC01, 0xFC00});
  EXPECT_EQ(f16.nan.count, 1u);
  EXPECT_EQ(f16.inf.count, 2u);
  EXPECT_EQ(f16.nan.first_va, 0x1004u);
  const auto bf16 = added<std::uint16_t>(NumberType::BF16, {0, 0, 0}, {0x7C01, 0x7F80, 0x7F81});  // the first is finite in bf16
  EXPECT_EQ(bf16.nan.count, 1u);
  EXPECT_EQ(bf16.inf.count, 1u);
  const auto f64 = added<double>(NumberType::F64, {0, 0}, {std::numeric_limits<double>::max(), -std::numeric_limits<double>::infinity()});
  EXPECT_EQ(f64.nan.count, 0u);
  EXPECT_EQ(f64.inf.first_va, 0x1008u);
}

struct Call {
  std::vector<Argument> all;
  std::vector<std::byte> kernarg;
  void add(std::uint64_t va, std::optional<NumberType> element, bool to_constant = false) {
    Argument argument;
    argument.index = all.size();
    argument.offset = static_cast<std::uint32_t>(kernarg.size());
    argument.size = 8;
    argument.pointer = true;
    argument.element = element;
    argument.to_constant = to_constant;
    all.push_back(argument);
    kernarg.resize(kernarg.size() + 8);
    std::memcpy(kernarg.data() + argument.offset, &va, sizeof va);
  }
  std::vector<FloatSpan> spans(std::optional<NumberType> otherwise = std::nullopt) const {
    const auto region_end = [](std::uint64_t va) { return va >= 0x1000 && va < 0x2000 ? std::optional<std::uint64_t>(0x2000) : std::nullopt; };
    return float_spans(float_pointers(all, otherwise), all, kernarg, region_end);
  }
};

TEST(FloatSpans, EndAtTheNextArgumentOrTheRegion) {
  Call call;
  call.add(0x1000, NumberType::F32);
  call.add(0x1803, NumberType::I32);       // bounds the first one
  call.add(0x1900, NumberType::F16, true);  // may not be stored through
  call.add(0x1A00, NumberType::F64);
  call.add(0x9000, NumberType::F32);  // points to nothing that was captured
  call.add(0, NumberType::F32);
  const auto spans = call.spans();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].label, "argument 0");
  EXPECT_EQ(spans[0].size, 0x800u);  // whole elements
  EXPECT_EQ(spans[1].va, 0x1A00u);
  EXPECT_EQ(spans[1].size, 0x600u);
}

TEST(FloatSpans, UnknownTypesAreWhatIsSaid) {
  Call call;
  call.add(0x1000, std::nullopt);
  EXPECT_TRUE(call.spans().empty());
  const auto spans = call.spans(NumberType::BF16);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].type, NumberType::BF16);
}

TEST(FloatSpans, NothingIsSaidOfWhatArgumentsDisagreeAbout) {
  Call same, floats, integer;
  for (Call* call : {&same, &floats, &integer}) call->add(0x1000, NumberType::F32);
  same.add(0x1000, NumberType::F32);
  floats.add(0x1000, NumberType::F16);
  integer.add(0x1000, NumberType::I32);
  EXPECT_EQ(same.spans().size(), 1u);
  EXPECT_TRUE(floats.spans().empty());
  EXPECT_TRUE(integer.spans().empty());
}

}  // namespace
}  // namespace kerncap::intercept
