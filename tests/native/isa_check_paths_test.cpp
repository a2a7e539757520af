// Hazards along the path that takes no branch, through all code of the test objects: compilers promise every path, so this one
// is clean as well. Reaches code that no test runs. KERNCAP_CHECK_OBJECTS names a folder with objects of other compilers.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "isa_harness.hpp"
#include "vgpu/isa/check/wait_states.hpp"
#include "vgpu/isa/check/waits.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

namespace fs = std::filesystem;

// What a path may not be followed beyond.
bool leaves(const Inst& i) {
  const std::string_view n = i.row->name;
  return n == "s_branch" || n == "s_endpgm" || n.starts_with("s_setpc") || n.starts_with("s_swappc") || n == "s_call_b64";
}

struct Path {
  Path(Target target, unsigned wave_size) {
    wave.target = target;
    wave.size = wave_size;
    wave.set_exec(~std::uint64_t{0});
  }
  void restart() {
    waits = {};
    states = {};
  }
  Wave wave;
  check::Waits waits;
  check::WaitStates states;
};

// Findings as text; `instructions` counts what was looked at.
std::vector<std::string> scan(CodeObject& code, Target target, std::size_t& instructions) {
  HostMemory memory;
  code.map(memory);
  AddressCache cache(memory);
  const unsigned wave_size = family(target) == Family::gfx9 ? 64 : 32;
  check::Code described(target, wave_size, cache);
  Path path(target, wave_size);
  std::vector<std::string> out;
  std::vector<check::Waits::Hit> hits;
  std::vector<check::WaitStates::Hit> states;
  for (std::uint64_t pc = code.text_va(); pc < code.text_va() + code.text_bytes();) {
    const check::Described* d = described.at(pc);
    if (d->decoded.status != Decoded::Status::ok) {  // padding between functions
      path.restart();
      pc += 4;
      continue;
    }
    path.waits.find(path.wave, *d, hits);
    for (const auto& hit : hits) out.push_back(described.text(pc) + " needs " + described.text(hit.load_pc));
    path.states.step(path.wave, *d, states);
    for (const auto& hit : states) out.push_back(described.text(pc) + ": " + hit.rule + ": " + described.text(hit.writer_pc));
    path.waits.count(path.wave, *d);
    // FLAT goes to memory as far as is known.
    path.waits.issue(path.wave, *d, {check::Access{}});
    if (leaves(*d->inst)) path.restart();
    ++instructions;
    pc += d->inst->size_bytes;
  }
  return out;
}

std::vector<fs::path> objects() {
  std::vector<fs::path> out;
  for (const char* folder : {KERNCAP_ISA_OBJECTS, static_cast<const char*>(std::getenv("KERNCAP_CHECK_OBJECTS"))}) {
    if (!folder) continue;
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".hsaco" && !entry.path().filename().string().starts_with("isa_check."))
        out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(CheckedPaths, CompilersCodeIsClean) {
  std::size_t instructions = 0, files = 0;
  for (const fs::path& path : objects()) {
    for (const Target target : kTargetList) {
      if (path.filename().string().find("." + std::string(name(target)) + ".") == std::string::npos) continue;
      CodeObject code(path.string());
      const std::vector<std::string> found = scan(code, target, instructions);
      for (std::size_t k = 0; k < std::min<std::size_t>(found.size(), 20); ++k) ADD_FAILURE() << path << ": " << found[k];
      EXPECT_EQ(found.size(), 0u) << path;
      ++files;
    }
  }
  EXPECT_GE(files, 12u);
  EXPECT_GT(instructions, 20'000u);
  RecordProperty("instructions", std::to_string(instructions));
}

// The scan can find something.
TEST(CheckedPaths, FaultsAreFound) {
  for (const std::string& compiled : compiled_targets()) {
    const Target target = *target_from_name(compiled);
    CodeObject code(std::string(KERNCAP_ISA_OBJECTS) + "/isa_check." + compiled + ".hsaco");
    std::size_t instructions = 0;
    // A register each.
    const std::size_t faults = target == Target::gfx90a ? 17 : family(target) == Family::gfx9 ? 21 : 6;
    EXPECT_EQ(scan(code, target, instructions).size(), faults) << name(target);
  }
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
