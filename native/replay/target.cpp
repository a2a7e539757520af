#include "replay/target.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace kerncap::replay {
namespace {

struct Target {
  std::string triple;  // "amdgcn-amd-amdhsa--"
  std::string processor;
  std::vector<std::string> features;  // "xnack-"
};

// "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
Target split_isa(const std::string& isa) {
  Target target;
  std::size_t at = isa.rfind("--");
  at = at == std::string::npos ? 0 : at + 2;
  std::size_t colon = isa.find(':', at);
  target.triple = isa.substr(0, at);
  target.processor = isa.substr(at, colon == std::string::npos ? colon : colon - at);
  while (colon != std::string::npos) {
    const std::size_t next = isa.find(':', colon + 1);
    target.features.push_back(isa.substr(colon + 1, next == std::string::npos ? next : next - colon - 1));
    colon = next;
  }
  return target;
}

// Processors that run a generic target's code. Source: LLVM, "User Guide for AMDGPU Backend", Generic Processor.
const std::map<std::string, std::set<std::string>>& generic_targets() {
  static const std::map<std::string, std::set<std::string>> targets{
      {"gfx9-generic", {"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}},
      {"gfx9-4-generic", {"gfx940", "gfx941", "gfx942", "gfx950"}},
      {"gfx10-1-generic", {"gfx1010", "gfx1011", "gfx1012", "gfx1013"}},
      {"gfx10-3-generic", {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}},
      {"gfx11-generic", {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}},
      {"gfx12-generic", {"gfx1200", "gfx1201"}},
  };
  return targets;
}

bool runs_on(const std::string& processor, const std::string& agent) {
  if (processor == agent) return true;
  const auto generic = generic_targets().find(processor);
  return generic != generic_targets().end() && generic->second.contains(agent);
}

}  // namespace

bool isa_matches(const std::string& agent_isa, const std::string& code_isa) {
  const Target agent = split_isa(agent_isa);
  const Target code = split_isa(code_isa);
  if (agent.triple != code.triple || !runs_on(code.processor, agent.processor)) return false;
  return std::ranges::all_of(code.features, [&](const std::string& feature) {
    return std::ranges::find(agent.features, feature) != agent.features.end();
  });
}

}  // namespace kerncap::replay
