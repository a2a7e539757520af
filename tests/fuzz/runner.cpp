// vgpu-fuzz-runner TARGET ITEMS GROUPS OUTPUTS NEAR ABSOLUTE INPUT HOST.so CODE.hsaco...: runs a generated program on the interpreter and on
// the host and compares what they leave, to the bit but for the last NEAR + ABSOLUTE outputs of a workitem: floats within units in
// the last place, and within an absolute error. Prints one line a code object: "CODE ok INSTRUCTIONS", "CODE differs COUNT" with the
// first differences, or "CODE stopped TEXT". Exit status 0: all ok, 1: not. Called by campaign.py.
#include <dlfcn.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "../native/isa_harness.hpp"

namespace {

using namespace kerncap::vgpu::isa;

struct Program {
  Target target;
  std::uint32_t items, groups;
  std::size_t outputs, near, absolute;
  std::vector<std::uint64_t> input, uniform, expected;
};

struct Case {
  Outcome outcome;
  std::vector<std::uint64_t> out;
};

Case execute_code(const Program& program, const char* path) {
  test::CodeObject code(path);
  test::HostMemory memory;
  Case result;
  result.out.resize(program.expected.size());
  std::vector<std::uint64_t> global(std::size_t{program.groups} * 4096);
  memory.add(const_cast<std::uint64_t*>(program.input.data()), program.input.size() * 8, false);
  memory.add(const_cast<std::uint64_t*>(program.uniform.data()), program.uniform.size() * 8, false);
  memory.add(result.out.data(), result.out.size() * 8);
  memory.add(global.data(), global.size() * 8);
  code.map(memory);
  const auto* descriptor = reinterpret_cast<const std::uint32_t*>(code.symbol("fuzz.kd"));
  test::Launch launch;
  launch.target = program.target;
  launch.grid[0] = program.items * program.groups;
  launch.workgroup[0] = program.items;
  launch.group_bytes = descriptor[0];
  // A dynamic stack (kernel_code_properties bit 11) has no size of its own.
  launch.private_bytes = descriptor[14] & 1u << 11 ? std::max(descriptor[1], 16384u) : descriptor[1];
  test::Arguments arguments;
  arguments.add(program.input.data()).add(program.uniform.data()).add(result.out.data()).add(global.data());
  result.outcome = test::run(launch, code, "fuzz", arguments, memory);
  return result;
}

// Bounds of the functions and of the compilers' expansions of them, on either side.
bool close(const Program& program, std::size_t at, std::uint64_t expected, std::uint64_t actual) {
  if (expected == actual) return true;
  const std::size_t field = at % program.outputs, exact = program.outputs - program.near - program.absolute;
  if (field < exact) return false;
  const auto a = std::bit_cast<float>(static_cast<std::uint32_t>(expected)), b = std::bit_cast<float>(static_cast<std::uint32_t>(actual));
  if (field >= exact + program.near) return std::abs(a - b) <= 1e-5f;
  if (std::abs(a) < 0x1p-126f && std::abs(b) < 0x1p-126f) return true;
  const auto distance = static_cast<std::int64_t>(expected & 0x7fffffff) - static_cast<std::int64_t>(actual & 0x7fffffff);
  return std::signbit(a) == std::signbit(b) && std::isfinite(a) && std::isfinite(b) && std::abs(distance) <= 4;
}

bool report(const Program& program, const char* path, const Case& c) {
  if (c.outcome.kind != Outcome::Kind::completed) {
    std::printf("%s stopped %s\n", path, c.outcome.text.c_str());
    return false;
  }
  std::size_t count = 0;
  for (std::size_t i = 0; i < c.out.size(); ++i) count += !close(program, i, program.expected[i], c.out[i]);
  if (count == 0) {
    std::printf("%s ok %llu\n", path, static_cast<unsigned long long>(c.outcome.work.instructions));
    return true;
  }
  std::printf("%s differs %zu\n", path, count);
  std::size_t shown = 0;
  for (std::size_t i = 0; i < c.out.size() && shown < 8; ++i) {
    if (close(program, i, program.expected[i], c.out[i])) continue;
    std::printf("  item %zu field %zu expected %016llx got %016llx\n", i / program.outputs, i % program.outputs,
                static_cast<unsigned long long>(program.expected[i]), static_cast<unsigned long long>(c.out[i]));
    ++shown;
  }
  return false;
}

int run(int argc, char** argv) {
  if (argc < 10) {
    std::fprintf(stderr, "usage: vgpu-fuzz-runner TARGET ITEMS GROUPS OUTPUTS NEAR ABSOLUTE INPUT HOST.so CODE.hsaco...\n");
    return 2;
  }
  Program program{};
  program.target = target_from_name(argv[1]).value();
  program.items = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 0));
  program.groups = static_cast<std::uint32_t>(std::strtoul(argv[3], nullptr, 0));
  program.outputs = std::strtoul(argv[4], nullptr, 0);
  program.near = std::strtoul(argv[5], nullptr, 0);
  program.absolute = std::strtoul(argv[6], nullptr, 0);
  std::ifstream file(argv[7], std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  std::vector<std::uint64_t> words(bytes.size() / 8);
  std::memcpy(words.data(), bytes.data(), words.size() * 8);
  // Every workitem has the same fields; what is left belongs to all of them.
  const std::size_t count = std::size_t{program.items} * program.groups;
  const std::size_t own = words.size() / count * count;
  program.input.assign(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(own));
  program.uniform.assign(words.begin() + static_cast<std::ptrdiff_t>(own), words.end());
  program.expected.resize(count * program.outputs);
  void* host = dlopen(argv[8], RTLD_NOW);
  if (!host) {
    std::fprintf(stderr, "vgpu-fuzz-runner: %s\n", dlerror());
    return 2;
  }
  using Function = void (*)(const std::uint64_t*, const std::uint64_t*, std::uint64_t*);
  reinterpret_cast<Function>(dlsym(host, "fuzz"))(program.input.data(), program.uniform.data(), program.expected.data());
  bool ok = true;
  for (int i = 9; i < argc; ++i) ok &= report(program, argv[i], execute_code(program, argv[i]));
  return ok ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "vgpu-fuzz-runner: %s\n", e.what());
    return 2;
  }
}
