// Which of the dispatches that match by name and geometry is captured: the n-th that meets one of the control file's predicates.
// In: dispatches. Out: what was met, and of those that met nothing how many there were and what came closest.
// Called by capture.cpp, from packet callbacks and from the worker.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "intercept/kernels.hpp"
#include "intercept/nonfinite.hpp"
#include "intercept/predicate.hpp"
#include "intercept/staging.hpp"

namespace kerncap::intercept {

// Floats that a dispatch may have stored, for a predicate that asks for what they are now.
struct LookedAt {
  std::size_t predicate = 0;  // its place in the list
  FloatSpan span;
  NewNonFinite found;
};

// A dispatch that ran.
struct Ran {
  const KernelEntry* kernel = nullptr;
  Dim3 grid{}, workgroup{};
  std::optional<std::uint64_t> fault_va;
  std::optional<std::uint64_t> ns;
  Json by_arguments;
  std::vector<LookedAt> looked_at;
};

class Conditions {
 public:
  Conditions(std::vector<Predicate> predicates, std::uint64_t dispatch, const KernelRegistry& kernels);

  bool none() const { return predicates_.empty(); }

  // Some can be decided only after the dispatch ran.
  bool decided_later() const;

  // Which argument of a dispatch meets a predicate, as capture.json's `trigger` has it; null when none does. Reads the kernarg segment.
  // Throws Error("capture.predicate") when that cannot be decided.
  Json by_arguments(const KernelEntry& kernel, const void* kernarg);
  // Of those that meet one, this is the n-th.
  bool meant();
  // What to look at once the dispatch has run.
  std::vector<LookedAt> to_look_at(const KernelEntry& kernel, std::span<const std::byte> kernarg,
                                   const std::function<std::optional<std::uint64_t>(std::uint64_t)>& region_end);
  // Whether a dispatch that ran is the target: the predicate that it meets, or null.
  Json after(const Ran& ran);
  // So many could not be looked at.
  void missed(std::uint64_t count);

  // For seen-<pid>.json.
  Json report() const;

 private:
  struct Tests {
    std::vector<Argument> all;
    std::vector<ArgumentTest> arguments;
    std::map<std::size_t, std::vector<Argument>> floats;  // by predicate
  };
  Json met_after(std::size_t place, const Ran& ran, const std::optional<std::uint64_t>& median);
  Json slower(std::size_t place, const Ran& ran, const std::optional<std::uint64_t>& median);
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
  std::uint64_t missed_ = 0;
  std::map<std::tuple<const KernelEntry*, Dim3, Dim3>, Durations> durations_;
  std::vector<Closest> closest_;
};

}  // namespace kerncap::intercept
