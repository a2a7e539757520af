// Collects what the checks find: one entry a (kind, instruction pair), counted.
// In: occurrences. Out: Report::findings. Used by every check.
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <tuple>

#include "vgpu/isa/check/check.hpp"

namespace kerncap::vgpu::isa::check {

class Findings {
 public:
  explicit Findings(Report& report) : report_(report) {}

  // Counts an occurrence; `fill` describes it and is only called for the first of its kind at this pair of instructions, in
  // either order, and for the first error where all before were benign. kind must be a literal: it is kept.
  void add(const char* check, const char* kind, std::uint64_t pc, std::uint64_t other_pc, bool benign,
           const std::function<void(Finding&)>& fill);
  // Says once that something was not looked at.
  void limit(const char* text);

 private:
  static constexpr std::size_t kMaxFindings = 1000;
  Report& report_;
  std::map<std::tuple<std::string_view, std::uint64_t, std::uint64_t>, std::size_t> index_;
};

}  // namespace kerncap::vgpu::isa::check
