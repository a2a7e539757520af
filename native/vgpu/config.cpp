#include "vgpu/config.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <stdexcept>

#include "vgpu/cores.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

unsigned parse_number(std::string_view word, std::string_view value, unsigned low, unsigned high) {
  unsigned number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error != std::errc() || end != value.data() + value.size() || number < low || number > high)
    throw std::invalid_argument("KERNCAP_VGPU: '" + std::string(word) + "': expected a number from " +
                                std::to_string(low) + " to " + std::to_string(high));
  return number;
}

void apply_option(Config& config, std::string_view word) {
  const auto equals = word.find('=');
  const std::string_view key = word.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? "" : word.substr(equals + 1);
  if (key == "bar" && (value == "private" || value == "large")) {
    config.large_bar = value == "large";
  } else if (key == "gpus") {
    config.gpus = parse_number(word, value, 1, kMaxGpus);
  } else if (key == "log") {
    config.log_level = static_cast<int>(parse_number(word, value, 0, 4));
  } else if (key == "threads") {
    config.threads = parse_number(word, value, 1, kMaxThreads);
  } else if (key == "vram") {
    config.vram_mib = parse_number(word, value, kMinVramMib, kMaxVramMib);
  } else if (key == "time" && (value == "model" || value == "wall")) {
    config.wall_time = value == "wall";
  } else if (key == "trace" && !value.empty()) {
    config.trace_file = value;
  } else if (key == "check" && isa::check::parse_checks(value)) {
    config.checks = *isa::check::parse_checks(value);
  } else if (key == "check-report" && !value.empty()) {
    config.check_report = value;
  } else if (key == "check-regions" && !value.empty()) {
    config.check_regions = value;
  } else if (key == "stops" && !value.empty()) {
    config.stops_file = value;
  } else {
    throw std::invalid_argument("KERNCAP_VGPU: unknown option '" + std::string(word) +
                                "' (known: bar=private|large, gpus=N, threads=N, vram=MIB, time=model|wall, trace=FILE, stops=FILE, check=memory|race|hazards|all, "
                                "check-report=FILE, check-regions=FILE, log=0..4)");
  }
}

std::string known_targets() {
  std::string names;
  for (const isa::Target target : isa::kTargetList) names.append(names.empty() ? "" : ", ").append(isa::name(target));
  return names;
}

}  // namespace

Config parse_config(std::string_view text) {
  Config config;
  config.threads = std::min(usable_cores(), kMaxThreads);
  bool first = true;
  while (first || !text.empty()) {
    const auto comma = text.find(',');
    const std::string_view word = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (first) {
      const auto target = isa::target_from_name(word);
      if (!target)
        throw std::invalid_argument("KERNCAP_VGPU: unknown target '" + std::string(word) + "' (known: " + known_targets() + ")");
      config.target = *target;
      first = false;
    } else {
      apply_option(config, word);
    }
  }
  return config;
}

const Config* active_config() noexcept {
  // Leaked on purpose: other threads may still ask while exit handlers run.
  static const Config* const config = []() -> const Config* {
    const char* text = std::getenv("KERNCAP_VGPU");
    if (text == nullptr || *text == '\0') return nullptr;
    try {
      auto* parsed = new Config(parse_config(text));
      report::set_log_level(parsed->log_level);
      if (!parsed->stops_file.empty()) report::set_stops_file(parsed->stops_file.c_str());
      return parsed;
    } catch (const std::exception& error) {
      report::stopped("vgpu.bad-configuration", error.what());
      return nullptr;
    }
  }();
  return config;
}

}  // namespace kerncap::vgpu
