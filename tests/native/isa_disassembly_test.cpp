// Every instruction of the test kernels, decoded and printed, against llvm-objdump: operands and modifiers as text.
// KERNCAP_ISA_MORE_OBJECTS may name a folder with further *.TARGET.*.hsaco files.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <regex>
#include <sstream>

#include "isa_harness.hpp"
#include "vgpu/isa/decode/decoder.hpp"
#include "vgpu/isa/print/printer.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

namespace fs = std::filesystem;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string out;
  std::array<char, 65536> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe.get())) out.append(buffer.data(), n);
  return out;
}

std::string squeeze(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\t') c = ' ';
    if (c == ' ' && (out.empty() || out.back() == ' ')) continue;
    out += c;
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

// KERNCAP_LLVM_OBJDUMP names another one than the image's.
std::string objdump() {
  const char* other = std::getenv("KERNCAP_LLVM_OBJDUMP");
  return other ? other : KERNCAP_LLVM_OBJDUMP;
}

// v0.l and v0.h are printed by LLVM 19 and later.
bool prints_halves() {
  const std::string version = output_of(objdump() + " --version");
  const std::size_t at = version.find("LLVM version ");
  return at != std::string::npos && std::stoi(version.substr(at + 13)) >= 19;
}

std::vector<fs::path> objects(const std::string& target) {
  std::vector<fs::path> out;
  std::vector<std::string> folders{KERNCAP_ISA_OBJECTS};
  if (const char* more = std::getenv("KERNCAP_ISA_MORE_OBJECTS")) folders.emplace_back(more);
  for (const std::string& folder : folders)
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".hsaco" && entry.path().filename().string().find("." + target + ".") != std::string::npos)
        out.push_back(entry.path());
  return out;
}

class Disassembly : public ::testing::TestWithParam<std::string> {};

TEST_P(Disassembly, AgreesWithLlvm) {
  const Target target = *target_from_name(GetParam());
  const unsigned wave_size = contains(kRdna, target) ? 32 : 64;
  const bool halves = prints_halves();
  // By itself LLVM 21 names the halves of gfx12's registers in some instructions and not in others.
  const std::string options = family(target) == Family::gfx12 ? " --mattr=+real-true16 -d " : " -d ";
  const std::regex half("(v[0-9]+)\\.[lh]");
  std::size_t compared = 0, different = 0;
  std::map<std::string, std::pair<std::size_t, std::string>> examples;
  for (const fs::path& object : objects(GetParam())) {
    std::istringstream lines(output_of(objdump() + options + object.string()));
    for (std::string line; std::getline(lines, line);) {
      const std::size_t comment = line.find("// ");
      if (line.empty() || line[0] != '\t' || comment == std::string::npos) continue;
      const std::string expected = squeeze(line.substr(0, comment));
      if (expected == "...") continue;
      std::istringstream fields(line.substr(comment + 3));
      std::string address, word;
      fields >> address;
      std::vector<std::uint32_t> words;
      while (fields >> word && word[0] != '<') words.push_back(static_cast<std::uint32_t>(std::stoul(word, nullptr, 16)));
      const Decoded decoded = decode(target, wave_size, words, std::stoull(address, nullptr, 16));
      std::string actual = squeeze(print(decoded, target, wave_size));
      if (!halves) actual = std::regex_replace(actual, half, "$1");
      ++compared;
      const bool whole = decoded.inst.size_bytes == words.size() * 4;
      // Padding behind a kernel is never executed; everything else that a compiler emits has to run.
      const bool runs = decoded.status == Decoded::Status::ok || expected == "s_code_end";
      if (whole && actual == expected && runs) continue;
      ++different;
      auto& example = examples[expected.substr(0, expected.find(' '))];
      if (example.first++ == 0)
        example.second = expected + "   |   " + actual + (whole ? "" : " (length)") + (decoded.reason.empty() ? "" : "   " + decoded.reason);
    }
  }
  std::string report;
  for (const auto& [name, example] : examples) report += std::to_string(example.first) + "  " + example.second + "\n";
  EXPECT_EQ(different, 0u) << compared << " compared; llvm | ours:\n" << report;
  EXPECT_GT(compared, 1000u);
  RecordProperty("compared", static_cast<int>(compared));
}

INSTANTIATE_TEST_SUITE_P(Targets, Disassembly, ::testing::ValuesIn(compiled_targets()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace kerncap::vgpu::isa::test
