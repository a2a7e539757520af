// Device memory that nobody has written: the shadow of it, and use of it in kernels (kernels/isa_check.hip).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "isa_harness.hpp"
#include "vgpu/isa/check/written.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

using check::WrittenBytes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::size_t kPage = 4096;
struct alignas(kPage) Pages {
  std::byte bytes[4 * kPage];
};

TEST(WrittenBytes, OnlyWhatIsFollowed) {
  WrittenBytes written;
  const auto pages = std::make_unique<Pages>();
  EXPECT_EQ(written.unwritten(pages->bytes, 8), 0u);
  written.add(pages->bytes, kPage + 1);
  EXPECT_EQ(written.unwritten(pages->bytes, 64), ~std::uint64_t{0});
  EXPECT_EQ(written.unwritten(pages->bytes + kPage, 8), 0xffu);
  EXPECT_EQ(written.unwritten(pages->bytes + 2 * kPage - 4, 8), 0x0fu);
  written.write(pages->bytes + 2, 3);
  EXPECT_EQ(written.unwritten(pages->bytes, 8), 0xe3u);
  written.write(pages->bytes + 3, 1, false);
  EXPECT_EQ(written.unwritten(pages->bytes, 8), 0xebu);
  written.remove(pages->bytes);
  EXPECT_EQ(written.unwritten(pages->bytes, 8), 0u);
  written.add(pages->bytes, kPage);  // used again: fresh
  EXPECT_EQ(written.unwritten(pages->bytes, 8), 0xffu);
}

TEST(WrittenBytes, AgreesWithASetOfBytes) {
  std::mt19937 random(11);
  WrittenBytes written;
  const auto pages = std::make_unique<Pages>();
  written.add(pages->bytes, 3 * kPage);  // the last page is not followed
  std::set<std::size_t> known;
  for (std::size_t k = 3 * kPage; k < 4 * kPage; ++k) known.insert(k);
  const auto set = [&](std::size_t at, bool yes) { yes || at >= 3 * kPage ? void(known.insert(at)) : void(known.erase(at)); };
  for (int step = 0; step < 400; ++step) {
    const std::size_t size = random() % 4 == 0 ? random() % (2 * kPage) : random() % 64;
    std::size_t to = random() % (4 * kPage - size), from = random() % (4 * kPage - size);
    if (random() % 8 == 0) to = to / kPage * kPage;
    if (random() % 2 == 0) {
      const bool yes = random() % 3 != 0;
      written.write(pages->bytes + to, size, yes);
      for (std::size_t k = 0; k < size; ++k) set(to + k, yes);
    } else {
      written.copy(pages->bytes + to, pages->bytes + from, size);
      std::vector<bool> source;
      for (std::size_t k = 0; k < size; ++k) source.push_back(known.contains(from + k));
      for (std::size_t k = 0; k < size; ++k) set(to + k, source[k]);
    }
    for (std::size_t k = 0; k < 4 * kPage; k += 64) {
      std::uint64_t expected = 0;
      for (std::size_t b = 0; b < 64; ++b) expected |= std::uint64_t{!known.contains(k + b)} << b;
      ASSERT_EQ(written.unwritten(pages->bytes + k, 64), expected) << "step " << step << " byte " << k;
    }
  }
}

class CheckedUnwritten : public ::testing::TestWithParam<std::string> {
 protected:
  CheckedUnwritten() : code_(std::string(KERNCAP_ISA_OBJECTS) + "/isa_check." + GetParam() + ".hsaco") {
    launch_.target = *target_from_name(GetParam());
    launch_.written = &written_;
    for (Pages* p : {in_.get(), out_.get()}) {
      memory_.add(p, sizeof *p);
      written_.add(p->bytes, sizeof *p);
    }
  }
  std::vector<std::string> kinds(const std::string& kernel, const Arguments& arguments) {
    report_ = {};
    report_.checks = *check::parse_checks("memory");
    launch_.report = &report_;
    launch_.grid[0] = launch_.workgroup[0] = 64;
    EXPECT_EQ(run(launch_, code_, kernel, arguments, memory_).kind, Outcome::Kind::completed);
    std::vector<std::string> out;
    for (const check::Finding& f : report_.findings) out.emplace_back(f.kind);
    return out;
  }
  Arguments both() const { return Arguments().add(in()).add(out()); }
  std::byte* in() const { return in_->bytes; }
  std::byte* out() const { return out_->bytes; }
  const check::Finding& first() const { return report_.findings.at(0); }

  std::unique_ptr<Pages> in_ = std::make_unique<Pages>(), out_ = std::make_unique<Pages>();
  WrittenBytes written_;
  HostMemory memory_;
  CodeObject code_;
  Launch launch_;
  check::Report report_;
};

TEST_P(CheckedUnwritten, AValueThatIsUsed) {
  written_.write(in_->bytes, 60 * 4);
  EXPECT_THAT(kinds("increment", both().add(60)), IsEmpty());
  EXPECT_THAT(kinds("increment", both().add(63)), ElementsAre("uninitialised"));
  EXPECT_EQ(first().count, 3u);
  EXPECT_EQ(*first().site.lane + first().site.wave * (family(launch_.target) == Family::gfx9 ? 64 : 32), 60u);
  EXPECT_EQ(first().address, reinterpret_cast<std::uintptr_t>(in_->bytes) + 240);
  EXPECT_THAT(first().site.text, HasSubstr("_load_"));
  EXPECT_THAT(first().other->text, HasSubstr("v_add"));
  EXPECT_STREQ(first().space, "global");
}
TEST_P(CheckedUnwritten, WhatAKernelStoresIsWritten) {
  written_.write(in_->bytes, 256);
  EXPECT_THAT(kinds("increment", both().add(64)), IsEmpty());
  EXPECT_THAT(kinds("increment", Arguments().add(out()).add(in()).add(64)), IsEmpty());
}
TEST_P(CheckedUnwritten, ScalarLoadsAndShorts) {
  EXPECT_THAT(kinds("increment_uniform", both()), ElementsAre("uninitialised"));
  EXPECT_THAT(kinds("increment_shorts", both()), ElementsAre("uninitialised"));
  written_.write(in_->bytes, 128);
  EXPECT_THAT(kinds("increment_uniform", both()), IsEmpty());
  EXPECT_THAT(kinds("increment_shorts", both()), IsEmpty());
}
TEST_P(CheckedUnwritten, ACopyIsNoUseAndTakesItAlong) {
  for (const char* copy : {"copy", "copy_padded"}) {
    EXPECT_THAT(kinds(copy, both().add(64)), IsEmpty());
    EXPECT_EQ(written_.unwritten(out_->bytes, 8), 0xffu) << copy;
    EXPECT_THAT(kinds("increment", Arguments().add(out()).add(in() + kPage).add(64)), ElementsAre("uninitialised"));
  }
  written_.write(in_->bytes, 2);
  EXPECT_THAT(kinds("copy_shorts", both()), IsEmpty());
  EXPECT_EQ(written_.unwritten(out_->bytes, 8), 0xfcu);
}
TEST_P(CheckedUnwritten, PaddingIsNoUse) {
  EXPECT_THAT(kinds("fill_padded", Arguments().add(in())), IsEmpty());
  EXPECT_EQ(written_.unwritten(in_->bytes, 8), 0x0eu);
  EXPECT_THAT(kinds("copy_padded", both()), IsEmpty());
  EXPECT_THAT(kinds("sum_padded", Arguments().add(out()).add(in())), IsEmpty());
}
TEST_P(CheckedUnwritten, AValueThatIsNotChosen) {
  written_.write(in_->bytes, 40);
  EXPECT_THAT(kinds("choose", both().add(10)), IsEmpty());
  EXPECT_EQ(written_.unwritten(out_->bytes, 64), 0u);
  EXPECT_THAT(kinds("choose", both().add(11)), IsEmpty());  // passed on
  EXPECT_EQ(written_.unwritten(out_->bytes, 64), 0xful << 40);
}
TEST_P(CheckedUnwritten, Atomics) {
  EXPECT_THAT(kinds("count_up", Arguments().add(out())), ElementsAre("uninitialised"));
  EXPECT_THAT(first().site.text, HasSubstr("atomic_add"));
  EXPECT_EQ(first().count, 64u);
  EXPECT_FALSE(first().other.has_value());
  EXPECT_THAT(kinds("count_up", Arguments().add(out())), IsEmpty());
  EXPECT_THAT(kinds("exchange", both()), IsEmpty());  // passes on what was there
  EXPECT_EQ(written_.unwritten(in_->bytes, 4), 0u);
  EXPECT_EQ(written_.unwritten(out_->bytes, 4), 0xfu);
}

INSTANTIATE_TEST_SUITE_P(Targets, CheckedUnwritten, ::testing::Values("gfx90a", "gfx942", "gfx1100"),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace kerncap::vgpu::isa::test
