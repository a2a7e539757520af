// Kernarg segments of captured and variant code objects.
#include "replay/kernarg.hpp"

#include <gtest/gtest.h>

#include <cstring>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

KernelArgument argument(std::uint32_t offset, std::uint32_t size, const char* kind) { return {offset, size, kind, "", ""}; }

KernelDescription kernel(std::vector<KernelArgument> arguments, std::uint32_t bytes) {
  KernelDescription out;
  out.kernarg_bytes = bytes;
  out.max_workgroup_workitems = 1024;
  out.arguments = std::move(arguments);
  return out;
}

CaptureInfo capture() {
  CaptureInfo info;
  info.dims = 2;
  info.grid = {1000, 6, 1};
  info.workgroup = {256, 2, 1};
  info.kernarg.resize(64);
  for (std::size_t i = 0; i < 16; ++i) info.kernarg[i] = static_cast<std::byte>(i + 1);
  return info;
}

void put(CaptureInfo& info, std::uint32_t offset, std::uint64_t value) { std::memcpy(info.kernarg.data() + offset, &value, sizeof value); }

template <typename T>
T get(const Kernarg& kernarg, std::uint32_t offset) {
  T value;
  std::memcpy(&value, kernarg.bytes.data() + offset, sizeof value);
  return value;
}

Kernarg build(const CaptureInfo& info, const KernelDescription& captured, const KernelDescription& target) {
  return build_kernarg({info, captured, target, 0x1234, [](std::uint64_t va) { return va >= 0x7000 && va < 0x8000; }});
}

std::string code_of(const CaptureInfo& info, const KernelDescription& captured, const KernelDescription& target) {
  try {
    build(info, captured, target);
  } catch (const Error& error) {
    return error.code();
  }
  return "no error";
}

const std::vector<KernelArgument> kExplicit = {argument(0, 8, "global_buffer"), argument(8, 4, "by_value")};

TEST(Kernarg, CapturedBytesStayAsTheyAre) {
  auto arguments = kExplicit;
  arguments.push_back(argument(16, 4, "hidden_block_count_x"));
  arguments.push_back(argument(24, 8, "hidden_none"));
  const auto captured = kernel(arguments, 64);
  CaptureInfo info = capture();
  put(info, 16, 77);  // whatever the application wrote is right by definition
  put(info, 24, 88);
  const Kernarg kernarg = build(info, captured, captured);
  EXPECT_EQ(kernarg.bytes, info.kernarg);
  EXPECT_TRUE(kernarg.rebuilt.empty());
}

TEST(Kernarg, QueuePointerIsRebuilt) {
  const auto captured = kernel({argument(16, 8, "hidden_queue_ptr")}, 64);
  CaptureInfo info = capture();
  put(info, 16, 0xdeadbeef);
  const Kernarg kernarg = build(info, captured, captured);
  EXPECT_EQ(get<std::uint64_t>(kernarg, 16), 0x1234u);
  ASSERT_EQ(kernarg.rebuilt.size(), 1u);
  EXPECT_EQ(kernarg.rebuilt[0].first, 16u);
}

TEST(Kernarg, RuntimeBuffersAreKeptNullOrCapturedElseRefused) {
  CaptureInfo info = capture();
  for (const char* kind : {"hidden_printf_buffer", "hidden_heap_v1", "hidden_multigrid_sync_arg"}) {
    const auto captured = kernel({argument(16, 8, kind)}, 64);
    put(info, 16, 0);
    EXPECT_EQ(code_of(info, captured, captured), "no error") << kind;
    put(info, 16, 0x7010);
    EXPECT_EQ(get<std::uint64_t>(build(info, captured, captured), 16), 0x7010u) << kind;
    put(info, 16, 0x9000);
    EXPECT_EQ(code_of(info, captured, captured), "replay.unsupported-hidden-argument") << kind;
  }
  for (const char* kind : {"hidden_default_queue", "hidden_completion_action"}) {
    const auto captured = kernel({argument(16, 8, kind)}, 64);
    put(info, 16, 0x7010);
    EXPECT_EQ(code_of(info, captured, captured), "replay.unsupported-hidden-argument") << kind;
    put(info, 16, 0);
    EXPECT_EQ(code_of(info, captured, captured), "no error") << kind;
  }
  const auto unknown = kernel({argument(16, 8, "hidden_from_the_future")}, 64);
  EXPECT_EQ(code_of(info, unknown, unknown), "replay.unsupported-hidden-argument");
}

TEST(Kernarg, TheHostcallBufferIsNullOrNowhere) {
  CaptureInfo info = capture();
  const auto captured = kernel({argument(16, 8, "hidden_hostcall_buffer")}, 64);
  put(info, 16, 0);
  EXPECT_EQ(get<std::uint64_t>(build(info, captured, captured), 16), 0u);
  for (const std::uint64_t va : {0x7010, 0x9000}) {  // captured or not: its service is gone
    put(info, 16, va);
    const auto replayed = get<std::uint64_t>(build(info, captured, captured), 16);
    EXPECT_EQ(replayed, absent_hostcall_va);
    EXPECT_TRUE(calls_host(replayed + 24));
    EXPECT_FALSE(calls_host(va));
  }
}

TEST(Kernarg, VariantGetsItsOwnHiddenArguments) {
  const auto captured = kernel(kExplicit, 16);
  auto arguments = kExplicit;
  const char* kinds[] = {"hidden_block_count_x", "hidden_block_count_y", "hidden_block_count_z"};
  for (std::uint32_t i = 0; i < 3; ++i) arguments.push_back(argument(16 + 4 * i, 4, kinds[i]));
  arguments.push_back(argument(28, 2, "hidden_group_size_x"));
  arguments.push_back(argument(30, 2, "hidden_remainder_x"));
  arguments.push_back(argument(32, 2, "hidden_grid_dims"));
  arguments.push_back(argument(40, 8, "hidden_queue_ptr"));
  arguments.push_back(argument(48, 4, "hidden_dynamic_lds_size"));
  CaptureInfo info = capture();
  info.group_segment_bytes = 512;
  const Kernarg kernarg = build(info, captured, kernel(arguments, 56));
  EXPECT_EQ(kernarg.bytes.size(), 56u);
  EXPECT_EQ(std::memcmp(kernarg.bytes.data(), info.kernarg.data(), 12), 0);
  EXPECT_EQ(get<std::uint32_t>(kernarg, 16), 3u);
  EXPECT_EQ(get<std::uint32_t>(kernarg, 20), 3u);
  EXPECT_EQ(get<std::uint32_t>(kernarg, 24), 1u);
  EXPECT_EQ(get<std::uint16_t>(kernarg, 28), 256u);
  EXPECT_EQ(get<std::uint16_t>(kernarg, 30), 1000u % 256);
  EXPECT_EQ(get<std::uint16_t>(kernarg, 32), 2u);
  EXPECT_EQ(get<std::uint64_t>(kernarg, 40), 0x1234u);
  EXPECT_EQ(get<std::uint32_t>(kernarg, 48), 512u);
}

TEST(Kernarg, VariantWithOtherArgumentsIsRefused) {
  const auto captured = kernel(kExplicit, 16);
  const CaptureInfo info = capture();
  EXPECT_EQ(code_of(info, captured, kernel({kExplicit[0]}, 16)), "replay.variant-arguments");
  EXPECT_EQ(code_of(info, captured, kernel({kExplicit[0], argument(8, 8, "by_value")}, 16)), "replay.variant-arguments");
  EXPECT_EQ(code_of(info, captured, kernel({argument(0, 8, "by_value"), kExplicit[1]}, 16)), "replay.variant-arguments");
  const auto beyond = kernel({argument(60, 8, "by_value")}, 68);
  EXPECT_EQ(code_of(info, beyond, kernel({argument(60, 8, "by_value")}, 68)), "bundle.malformed");
}

TEST(LaunchSizes, VariantKeepsTheDynamicLdsAndIsCheckedAgainstTheLaunch) {
  CaptureInfo info = capture();
  info.group_segment_bytes = 1000;
  info.private_segment_bytes = 64;
  auto captured = kernel({}, 0);
  captured.group_segment_bytes = 400;
  auto variant = kernel({}, 0);
  variant.group_segment_bytes = 100;
  variant.private_segment_bytes = 16;
  EXPECT_EQ(launch_sizes(info, captured, captured).group_segment_bytes, 1000u);
  EXPECT_EQ(launch_sizes(info, captured, variant).group_segment_bytes, 700u);
  EXPECT_EQ(launch_sizes(info, captured, variant).private_segment_bytes, 16u);
  const auto code = [&] {
    try {
      launch_sizes(info, captured, variant);
    } catch (const Error& error) {
      return error.code();
    }
    return std::string("no error");
  };
  variant.required_workgroup = {256, 2, 1};
  EXPECT_EQ(code(), "no error");
  variant.required_workgroup = {256, 1, 1};
  EXPECT_EQ(code(), "replay.variant-launch");
  variant.required_workgroup.reset();
  variant.max_workgroup_workitems = 511;
  EXPECT_EQ(code(), "replay.variant-launch");
}

}  // namespace
}  // namespace kerncap::replay
