#include "replay/target.hpp"

#include <algorithm>
#include <vector>

namespace kerncap::replay {
namespace {

struct Target {
  std::string processor;
  std::vector<std::string> features;  // "xnack-"
};

// "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
Target split_isa(const std::string& isa) {
  Target target;
  std::size_t at = isa.rfind("--");
  at = at == std::string::npos ? 0 : at + 2;
  std::size_t colon = isa.find(':', at);
  target.processor = isa.substr(0, colon);
  while (colon != std::string::npos) {
    const std::size_t next = isa.find(':', colon + 1);
    target.features.push_back(isa.substr(colon + 1, next == std::string::npos ? next : next - colon - 1));
    colon = next;
  }
  return target;
}

}  // namespace

bool isa_matches(const std::string& agent_isa, const std::string& code_isa) {
  const Target agent = split_isa(agent_isa);
  const Target code = split_isa(code_isa);
  if (agent.processor != code.processor) return false;
  return std::ranges::all_of(code.features, [&](const std::string& feature) {
    return std::ranges::find(agent.features, feature) != agent.features.end();
  });
}

}  // namespace kerncap::replay
