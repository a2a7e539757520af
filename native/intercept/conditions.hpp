// Which of the dispatches that match by name and geometry is captured: the n-th that meets one of the control file's predicates.
// In: dispatches. Out: what was met, and of those that met nothing how many there were and what came closest.
// Called by capture.cpp, from packet callbacks and from the worker.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "intercept/kernels.hpp"
#include "intercept/predicate.hpp"
#include "intercept/staging.hpp"

namespace kerncap::intercept {

class Conditions {
 public:
  Conditions(std::vector<Predicate> predicates, std::uint64_t dispatch, const KernelRegistry& kernels);

  bool none() const { return predicates_.empty(); }

  // For the dispatch that is meant: which of its arguments meets a predicate, as capture.json's `trigger` has it. Reads the kernarg
  // segment.
  // Throws Error("capture.predicate") when that cannot be decided.
  std::optional<Json> by_arguments(const KernelEntry& kernel, const void* kernarg);

  // For seen-<pid>.json.
  Json report() const;

 private:
  struct Tests {
    std::vector<ArgumentTest> arguments;
  };
  const Tests& tests_of(const KernelEntry& kernel);
  long double read(const KernelEntry& kernel, const ArgumentTest& test, const void* kernarg);

  const std::vector<Predicate> predicates_;
  const std::uint64_t dispatch_;  // of those that meet one, from 0
  const KernelRegistry& kernels_;
  mutable std::mutex mutex_;
  std::map<const KernelEntry*, Tests> tests_;
  std::optional<HostReader> reader_;
  std::uint64_t candidates_ = 0;
  std::uint64_t met_ = 0;
  std::vector<Closest> closest_;
};

}  // namespace kerncap::intercept
