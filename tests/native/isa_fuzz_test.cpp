// Random words, fixed seeds: the decoder and the printer never fail, what decodes names registers that exist, and a handler
// stays inside the wave's allocations (seen by the sanitizer build) whatever the code says.
// KERNCAP_FUZZ_SCALE multiplies the number of words, KERNCAP_FUZZ_SEED changes them.
#include <gtest/gtest.h>

#include <cstdlib>

#include "isa_sandbox.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

std::uint64_t setting(const char* name, std::uint64_t fallback) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : fallback;
}
std::uint64_t scaled(std::uint64_t n) { return n * setting("KERNCAP_FUZZ_SCALE", 1); }

struct Case {
  Target target;
  unsigned wave_size;
};
class Fuzz : public ::testing::TestWithParam<Case> {
 protected:
  std::uint64_t seed() const { return setting("KERNCAP_FUZZ_SEED", 7) * 8 + static_cast<unsigned>(GetParam().target) * 2 + (GetParam().wave_size == 32); }
};

void check(const Decoded& decoded, Target target, unsigned wave_size, std::span<const std::uint32_t> words) {
  const std::string shown = std::string(name(target)) + " " + ::testing::PrintToString(std::vector(words.begin(), words.end()));
  if (decoded.status != Decoded::Status::ok) {
    ASSERT_FALSE(decoded.reason.empty()) << shown;
    return;
  }
  ASSERT_NE(decoded.inst.handler, nullptr) << shown;
  ASSERT_NE(decoded.inst.row, nullptr) << shown;
  ASSERT_GE(decoded.inst.size_bytes, 4) << shown;
  ASSERT_LE(decoded.inst.size_bytes, words.size() * 4) << shown;
  ASSERT_EQ(out_of_range(decoded.inst, wave_size), "") << shown << print(decoded, target, wave_size);
}

TEST_P(Fuzz, AnyWordsDecodeToRegistersThatExist) {
  const auto [target, wave_size] = GetParam();
  std::mt19937_64 random(seed());
  std::uint64_t good = 0;
  for (std::uint64_t n = 0; n < scaled(600'000); ++n) {
    std::uint32_t words[4];
    for (auto& w : words) w = static_cast<std::uint32_t>(random());
    const std::span<const std::uint32_t> given(words, n % 16 == 0 ? random() % 5 : 4);
    const Decoded decoded = decode(target, wave_size, given, random());
    ASSERT_NO_FATAL_FAILURE(check(decoded, target, wave_size, given));
    good += decoded.status == Decoded::Status::ok;
    if (n % 8 == 0) {
      ASSERT_FALSE(print(decoded, target, wave_size).empty());
    }
  }
  EXPECT_GT(good, scaled(60'000));
}

TEST_P(Fuzz, EveryRowWithAnyFieldsDecodesToRegistersThatExist) {
  const auto [target, wave_size] = GetParam();
  std::mt19937_64 random(seed() + 1000);
  WordGenerator generator(target);
  for (std::uint64_t n = 0; n < scaled(400) * generator.rows(); ++n) {
    std::uint32_t words[4];
    generator.make(random, n, words);
    const Decoded decoded = decode(target, wave_size, words, 0x1000);
    ASSERT_NO_FATAL_FAILURE(check(decoded, target, wave_size, words));
    if (n % 16 == 0) {
      ASSERT_FALSE(print(decoded, target, wave_size).empty());
    }
  }
}

TEST_P(Fuzz, HandlersStayInsideTheWave) {
  const auto [target, wave_size] = GetParam();
  Sandbox sandbox(target, wave_size, seed() + 2000);
  WordGenerator generator(target);
  std::array<std::uint32_t, 1024> page{};
  std::size_t row = 0;
  for (std::uint64_t pages = 0; pages < scaled(150); ++pages) {
    for (std::size_t at = 0; at < page.size(); at += 4) generator.make(sandbox.random, row++, page.data() + at);
    sandbox.load(page);
    for (std::size_t at = 0; at < page.size(); at += 4) {
      if (at % 16 == 0) sandbox.scramble();
      ASSERT_EQ(sandbox.step(at), "") << name(target) << " " << sandbox.text(at);
    }
  }
  // The generator is of use only while much of what it makes runs to the end.
  EXPECT_GT(sandbox.executed, sandbox.tried / 5);
  RecordProperty("executed", static_cast<int>(sandbox.executed));
}

INSTANTIATE_TEST_SUITE_P(Targets, Fuzz,
                         ::testing::Values(Case{Target::gfx90a, 64}, Case{Target::gfx942, 64}, Case{Target::gfx950, 64},
                                           Case{Target::gfx1100, 32}, Case{Target::gfx1100, 64}, Case{Target::gfx1201, 32},
                                           Case{Target::gfx1201, 64}),
                         [](const auto& test) {
                           return std::string(name(test.param.target)) + "_wave" + std::to_string(test.param.wave_size);
                         });

}  // namespace
}  // namespace kerncap::vgpu::isa::test
