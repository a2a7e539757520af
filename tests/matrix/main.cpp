// matrix TARGET [--fast] [--flush] [--partial] [--wave64] [--generic] [--only CASE]... CODE.hsaco...: runs every case
// on the code objects' kernels and prints "CASE: right" or "CASE: WRONG: why". Exit status 0: all right, 1: not. Called
// by matrix.py.
#include "matrix.hpp"

#include <algorithm>
#include <sstream>

namespace matrix {

std::vector<Registered>& cases() {
  static std::vector<Registered> all;
  return all;
}

hipFunction_t Case::function(const char* name) const {
  for (const hipModule_t module : setting_.modules) {
    hipFunction_t found = nullptr;
    if (hipModuleGetFunction(&found, module, name) == hipSuccess) return found;
  }
  (void)hipGetLastError();
  throw std::runtime_error(std::string("no kernel ") + name);
}

std::pair<hipDeviceptr_t, std::size_t> Case::symbol(const char* name) const {
  for (const hipModule_t module : setting_.modules) {
    hipDeviceptr_t at{};
    std::size_t bytes = 0;
    if (hipModuleGetGlobal(&at, &bytes, module, name) == hipSuccess) return {at, bytes};
  }
  throw std::runtime_error(std::string("no variable ") + name);
}

void Case::complain(const std::string& text) const { complaints_ += (complaints_.empty() ? "" : "; ") + text; }

void Case::first_difference(const char* what, std::size_t at, double got, double want) const {
  char text[160];
  std::snprintf(text, sizeof text, "%s[%zu] is %.17g instead of %.17g", what, at, got, want);
  complain(text);
}

namespace {

bool applies(const Registered& r, const std::string& target, const std::vector<std::string>& only) {
  if (!only.empty() && std::find(only.begin(), only.end(), r.name) == only.end()) return false;
  std::istringstream words(r.targets);
  std::string word;
  bool any = false;
  while (words >> word) {
    any = true;
    if (word == target) return true;
  }
  return !any;
}

int run(int argc, char** argv) {
  Setting setting;
  std::vector<std::string> only;
  if (argc < 2)
    throw std::runtime_error(
        "usage: matrix TARGET [--fast] [--flush] [--partial] [--wave64] [--generic] [--only CASE]... CODE.hsaco...");
  setting.target = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--fast")
      setting.fast = true;
    else if (word == "--flush")
      setting.flush = true;
    else if (word == "--partial")
      setting.partial = true;
    else if (word == "--generic")
      setting.generic = true;
    else if (word == "--wave64")
      setting.wave64 = true;
    else if (word == "--only" && i + 1 < argc)
      only.push_back(argv[++i]);
    else {
      hipModule_t module{};
      check(hipModuleLoad(&module, word.c_str()), word.c_str());
      setting.modules.push_back(module);
    }
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  int wrong = 0, ran = 0;
  for (const Registered& r : cases()) {
    if (!applies(r, setting.target, only)) continue;
    Case t(setting);
    std::printf("%s: ", r.name);
    std::fflush(stdout);
    try {
      r.run(t);
    } catch (const std::exception& e) {
      t.complain(e.what());
    }
    ++ran;
    wrong += !t.complaints().empty();
    std::puts(t.complaints().empty() ? "right" : ("WRONG: " + t.complaints()).c_str());
  }
  std::printf("matrix: %d cases, %d wrong\n", ran, wrong);
  return wrong || !ran ? 1 : 0;
}

}  // namespace
}  // namespace matrix

int main(int argc, char** argv) {
  try {
    return matrix::run(argc, argv);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "matrix: %s\n", e.what());
    return 2;
  }
}
