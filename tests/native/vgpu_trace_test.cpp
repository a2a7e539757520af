// The store trace: byte ranges of one dispatch and the line that is written.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "vgpu/trace/trace_file.hpp"

namespace kerncap::vgpu {
namespace {

using Ranges = ByteRanges;

TEST(Trace, RangesAreMergedAcrossWordsAndPages) {
  AccessRanges trace;
  for (std::uint64_t va = 0x10f00; va < 0x11100; va += 4) trace.store(va, 4);
  trace.store(0x20001, 1);
  EXPECT_EQ(trace.written(), (Ranges{{0x10f00, 0x200}, {0x20001, 1}}));
  EXPECT_EQ(trace.read_first(), Ranges{});
}

TEST(Trace, AnAccessMayCrossAPage) {
  AccessRanges trace;
  trace.store(0x1ffe, 8);
  EXPECT_EQ(trace.written(), (Ranges{{0x1ffe, 8}}));
}

TEST(Trace, ReadFirstMeansBeforeTheStore) {
  AccessRanges trace;
  trace.store(0x1000, 4);
  trace.load(0x1000, 8);  // only the upper half had not been stored
  trace.store(0x1004, 4);
  EXPECT_EQ(trace.read_first(), (Ranges{{0x1004, 4}}));
  EXPECT_EQ(trace.written(), (Ranges{{0x1000, 8}}));
  EXPECT_EQ(trace.read(), (Ranges{{0x1000, 8}}));
}

TEST(Trace, ReadModifyWrite) {
  AccessRanges trace;
  trace.load(0x40, 4);
  trace.store(0x40, 4);
  EXPECT_EQ(trace.read_first(), (Ranges{{0x40, 4}}));
  EXPECT_EQ(trace.written(), (Ranges{{0x40, 4}}));
}

TEST(Trace, FullWordsAndSingleBits) {
  AccessRanges trace;
  trace.store(0x1000, 64);
  trace.store(0x1040, 1);
  trace.store(0x107f, 2);
  EXPECT_EQ(trace.written(), (Ranges{{0x1000, 65}, {0x107f, 2}}));
}

TEST(Trace, AgreesWithASetOfBytes) {
  std::mt19937 random(7);
  AccessRanges trace;
  std::set<std::uint64_t> read, written, read_first;
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t va = 0x7000 + random() % 9000;
    const std::uint32_t size = 1u << random() % 5;
    const bool store = random() % 2 != 0;
    store ? trace.store(va, size) : trace.load(va, size);
    for (std::uint64_t b = va; b < va + size; ++b) {
      (store ? written : read).insert(b);
      if (!store && !written.contains(b)) read_first.insert(b);
    }
  }
  const auto expand = [](const Ranges& ranges) {
    std::set<std::uint64_t> bytes;
    std::uint64_t last_end = 0;
    for (const auto& [va, length] : ranges) {
      EXPECT_GT(va, last_end) << "sorted, merged";
      last_end = va + length;
      for (std::uint64_t b = va; b < va + length; ++b) bytes.insert(b);
    }
    return bytes;
  };
  EXPECT_EQ(expand(trace.read()), read);
  EXPECT_EQ(expand(trace.written()), written);
  EXPECT_EQ(expand(trace.read_first()), read_first);
}

TEST(Trace, TheLine) {
  AccessRanges trace;
  trace.load(0x10, 4);
  trace.store(0x20, 4);
  const std::string line = TraceFile::line(0x7f00, 12, 3, trace, "");
  EXPECT_EQ(line, R"({"kernel_object":32512,"pid":12,"dispatch":3,"read":[[16,4]],"written":[[32,4]],"read_first":[[16,4]]})"
                  "\n");
  EXPECT_EQ(nlohmann::json::parse(TraceFile::line(1, 1, 1, {}, "a \"quoted\" reason"))["stopped"], "a \"quoted\" reason");
}

}  // namespace
}  // namespace kerncap::vgpu
