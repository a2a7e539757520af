// Every VALU mnemonic of the census of real code objects has a row, and no two rows of a target share an opcode.
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

std::string census_path() { return KERNCAP_TEST_DATA "/census_valu.txt"; }

TEST(ValuCoverage, CensusMnemonicsHaveRows) {
  std::ifstream file(census_path());
  ASSERT_TRUE(file) << census_path();
  std::string line;
  unsigned seen = 0, missing = 0;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string mnemonic, target_name;
    words >> mnemonic;
    while (words >> target_name) {
      const auto target = target_from_name(target_name);
      ASSERT_TRUE(target) << target_name;
      ++seen;
      if (find_row(*target, mnemonic)) continue;
      ++missing;
      ADD_FAILURE() << target_name << ": " << mnemonic;
    }
  }
  EXPECT_GT(seen, 600u);
  RecordProperty("missing", static_cast<int>(missing));
}

TEST(ValuCoverage, OpcodesAreUniqueAndHaveHandlers) {
  for (const Target target : kTargetList) {
    std::map<std::pair<Format, std::uint16_t>, std::string> taken;
    for (const auto& table : valu_tables())
      for (const Row& row : table) {
        EXPECT_NE(row.handler, nullptr) << row.name;
        const std::uint16_t op = opcode_of(row, target);
        if (!(row.targets & bit(target)) || op == kNoOpcode) continue;
        const auto [at, fresh] = taken.emplace(std::pair{row.format, op}, row.name);
        EXPECT_TRUE(fresh) << name(target) << ": " << row.name << " and " << at->second;
      }
  }
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
