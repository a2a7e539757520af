#include "isa_coverage.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

// The two instruction set variants of a VALU table are the same rows: identity is name, format and target.
using Key = std::tuple<Target, std::string, Format>;

std::set<Key>& seen() {
  static std::set<Key> keys;
  return keys;
}

const char* spelled(const Row& row, Target target) {
  return name_of(row, target);
}

template <class F>
void for_each_row(F f) {
  for (const Target target : kTargetList) {
    const auto table = [&](std::span<const Row> rows) {
      for (const Row& row : rows)
        if (row.handler && opcode_of(row, target) != kNoOpcode)
          f(target, row);
    };
    table(scalar_rows());
    table(memory_rows());
    for (const std::span<const Row> rows : valu_tables()) table(rows);
  }
}

class Coverage final : public ::testing::Environment {
 public:
  void TearDown() override {
    // A part of the tests says nothing about the whole, unless somebody asks.
    const bool whole = ::testing::GTEST_FLAG(filter) == "*";
    const char* out = std::getenv("KERNCAP_ISA_COVERAGE");
    if (!whole && !out) return;
    std::string json = "[", missing;
    for_each_row([&](Target target, const Row& row) {
      const bool tested = seen().contains({target, row.name, row.format});
      json += std::string(json.size() > 1 ? "," : "") + "\n {\"target\": \"" + std::string(name(target)) + "\", \"name\": \"" +
              spelled(row, target) + "\", \"format\": " + std::to_string(static_cast<int>(row.format)) +
              ", \"tested\": " + (tested ? "true}" : "false}");
      if (!tested) missing += std::string(name(target)) + " " + spelled(row, target) + "\n";
    });
    if (out) std::ofstream(out) << json << "\n]\n";
    EXPECT_EQ(missing, "") << "these rows have a handler and no test";
  }
};

[[maybe_unused]] const ::testing::Environment* const environment = ::testing::AddGlobalTestEnvironment(new Coverage);

}  // namespace

void exercised(Target target, const Row& row) { seen().insert({target, row.name, row.format}); }

}  // namespace kerncap::vgpu::isa::test
