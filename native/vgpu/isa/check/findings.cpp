#include "vgpu/isa/check/findings.hpp"

#include <algorithm>

namespace kerncap::vgpu::isa::check {

std::optional<Checks> parse_checks(std::string_view text) {
  Checks checks;
  while (true) {
    const auto plus = text.find('+');
    const std::string_view word = text.substr(0, plus);
    if (word == "memory" || word == "all") checks.memory = true;
    if (word == "race" || word == "all") checks.race = true;
    if (word == "hazards" || word == "all") checks.hazards = true;
    if (word != "memory" && word != "race" && word != "hazards" && word != "all") return std::nullopt;
    if (plus == std::string_view::npos) return checks;
    text.remove_prefix(plus + 1);
  }
}

std::vector<std::string> names(const Checks& checks) {
  std::vector<std::string> out;
  if (checks.memory) out.emplace_back("memory");
  if (checks.race) out.emplace_back("race");
  if (checks.hazards) out.emplace_back("hazards");
  return out;
}

void Findings::add(const char* check, const char* kind, std::uint64_t pc, std::uint64_t other_pc, bool benign,
                   const std::function<void(Finding&)>& fill) {
  const auto [at, added] =
      index_.try_emplace({kind, std::min(pc, other_pc), std::max(pc, other_pc)}, report_.findings.size());
  const auto describe = [&](Finding& finding) {
    finding.check = check;
    finding.kind = kind;
    finding.benign = benign;
    finding.site.pc = pc;
    fill(finding);
  };
  if (!added) {
    Finding& known = report_.findings[at->second];
    if (known.benign && !benign) describe(known);
    ++known.count;
    return;
  }
  if (report_.findings.size() >= kMaxFindings) {
    index_.erase(at);
    return limit("more than 1000 different findings: the rest is not listed");
  }
  describe(report_.findings.emplace_back());
}

void Findings::limit(const char* text) {
  if (std::find(report_.limits.begin(), report_.limits.end(), text) == report_.limits.end())
    report_.limits.emplace_back(text);
}

}  // namespace kerncap::vgpu::isa::check
