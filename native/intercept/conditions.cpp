#include "intercept/conditions.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace kerncap::intercept {
namespace {

std::vector<Argument> described_arguments(const KernelRegistry& kernels, const KernelEntry& kernel) {
  const auto code = kernels.code_of(kernel);
  if (code) {
    const auto object = parse_code_object(*code->bytes);
    if (const auto* description = object.find_symbol(kernel.symbol)) return arguments_of(*description, kernel.demangled);
  }
  throw Error("capture.predicate", "the arguments of " + kernel.demangled + " are not known: its code object has no metadata of it",
              "--list  # and --dispatch N or --grid for one of its dispatches");
}

}  // namespace

Conditions::Conditions(std::vector<Predicate> predicates, std::uint64_t dispatch, const KernelRegistry& kernels)
    : predicates_(std::move(predicates)), dispatch_(dispatch), kernels_(kernels), closest_(predicates_.size()) {}

const Conditions::Tests& Conditions::tests_of(const KernelEntry& kernel) {
  if (const auto known = tests_.find(&kernel); known != tests_.end()) return known->second;
  Tests tests;
  const auto needs_arguments = [](const Predicate& one) { return one.kind < Predicate::Kind::Slower; };
  if (std::any_of(predicates_.begin(), predicates_.end(), needs_arguments)) tests.all = described_arguments(kernels_, kernel);
  for (std::size_t i = 0; i < predicates_.size(); ++i) {
    const Predicate& predicate = predicates_[i];
    if (predicate.kind == Predicate::Kind::Argument) tests.arguments.push_back(resolve(predicate, i, tests.all, kernel.demangled));
    if (predicate.kind != Predicate::Kind::Nan && predicate.kind != Predicate::Kind::Inf) continue;
    tests.floats[i] = float_pointers(tests.all, predicate.type);
    if (!tests.floats[i].empty()) continue;
    const bool unknown = !float_pointers(tests.all, NumberType::F32).empty();
    const auto hint = unknown ? "--when " + predicate.text + ":f32  # or f64, f16, bf16: what pointers of unknown type point to"
                              : std::string("--when slower-than=2x  # or fault: all of its pointers lead to something else");
    throw Error("capture.predicate", predicate.text + ": no argument of " + kernel.demangled +
                                         " is known to point to floats that it may store; arguments: " + list_of(tests.all), hint);
  }
  return tests_.emplace(&kernel, std::move(tests)).first->second;
}

long double Conditions::read(const KernelEntry& kernel, const ArgumentTest& test, const void* kernarg) {
  if (!reader_) reader_.emplace();
  const auto va = reinterpret_cast<std::uint64_t>(kernarg) + test.argument.offset;
  const auto bytes = reader_->read(va, test.argument.size);
  if (!bytes) {
    throw Error("capture.predicate", predicates_[test.predicate].text + ": the kernarg segment of " + kernel.demangled +
                                         " cannot be read by the host",
                "--dispatch N  # or --grid");
  }
  return value_of(test.type, *bytes);
}

Json Conditions::by_arguments(const KernelEntry& kernel, const void* kernarg) {
  const std::scoped_lock lock(mutex_);
  if (!decided_later()) ++candidates_;
  for (const ArgumentTest& test : tests_of(kernel).arguments) {
    const Predicate& predicate = predicates_[test.predicate];
    const auto value = read(kernel, test, kernarg);
    if (test.holds(value)) {
      return Json{{"predicate", predicate.text}, {"argument", test.argument.label()}, {"value", number_json(value)}};
    }
    closest_[test.predicate].add(predicate, value);
  }
  return nullptr;
}

bool Conditions::decided_later() const {
  return std::any_of(predicates_.begin(), predicates_.end(), [](const Predicate& one) { return one.kind != Predicate::Kind::Argument; });
}

bool Conditions::meant() {
  const std::scoped_lock lock(mutex_);
  return met_++ == dispatch_;
}

void Conditions::missed(std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  missed_ += count;
}

Json Conditions::after(const Ran& ran) {
  const std::scoped_lock lock(mutex_);
  ++candidates_;
  Durations& earlier = durations_[{ran.kernel, ran.grid, ran.workgroup}];
  const auto median = earlier.median();
  Json trigger = ran.by_arguments;
  for (std::size_t i = 0; i < predicates_.size(); ++i) {
    Json met = met_after(i, ran, median);
    if (trigger.is_null()) trigger = std::move(met);
  }
  if (ran.ns) earlier.add(*ran.ns);
  if (trigger.is_null() || met_++ != dispatch_) return nullptr;
  trigger["candidates"] = candidates_;
  return trigger;
}

std::vector<LookedAt> Conditions::to_look_at(const KernelEntry& kernel, std::span<const std::byte> kernarg,
                                             const std::function<std::optional<std::uint64_t>(std::uint64_t)>& region_end) {
  const std::scoped_lock lock(mutex_);
  const Tests& tests = tests_of(kernel);
  std::vector<LookedAt> list;
  for (const auto& [place, floats] : tests.floats)
    for (FloatSpan& span : float_spans(floats, tests.all, kernarg, region_end)) list.push_back({place, std::move(span), {}});
  return list;
}

Json Conditions::met_after(std::size_t place, const Ran& ran, const std::optional<std::uint64_t>& median) {
  const Predicate& predicate = predicates_[place];
  if (predicate.kind == Predicate::Kind::Fault && ran.fault_va) return {{"predicate", predicate.text}, {"first_va", *ran.fault_va}};
  if (predicate.kind == Predicate::Kind::Slower && !ran.fault_va) return slower(place, ran, median);
  for (const LookedAt& looked : ran.looked_at) {
    const NonFinite& found = predicate.kind == Predicate::Kind::Nan ? looked.found.nan : looked.found.inf;
    if (looked.predicate != place || found.count == 0) continue;
    return {{"predicate", predicate.text},
            {"argument", looked.span.label},
            {"type", word_of(looked.span.type)},
            {"count", found.count},
            {"first_va", found.first_va}};
  }
  return nullptr;
}

Json Conditions::slower(std::size_t place, const Ran& ran, const std::optional<std::uint64_t>& median) {
  const Predicate& predicate = predicates_[place];
  if (!ran.ns) {
    throw Error("capture.predicate", predicate.text + ": the device gave a dispatch of " + ran.kernel->demangled + " no time stamps",
                "--dispatch N  # for one of its dispatches");
  }
  Json met = {{"predicate", predicate.text}, {"dispatch_ns", *ran.ns}};
  if (predicate.limit_ns) {
    if (*ran.ns > *predicate.limit_ns) return met;
    closest_[place].add(predicate, static_cast<long double>(*ran.ns));
    return nullptr;
  }
  if (!median) return nullptr;
  const auto ratio = static_cast<double>(*ran.ns) / static_cast<double>(*median);
  met["median_ns"] = *median;
  if (ratio > *predicate.ratio) return met;
  closest_[place].add(predicate, static_cast<long double>(ratio));
  return nullptr;
}

Json Conditions::report() const {
  const std::scoped_lock lock(mutex_);
  if (predicates_.empty()) return nullptr;
  Json closest = Json::array();
  for (std::size_t i = 0; i < predicates_.size(); ++i) {
    const auto value = closest_[i].value();
    const char* unit = predicates_[i].ratio ? "x" : predicates_[i].limit_ns ? " ns" : "";
    closest.push_back({{"predicate", predicates_[i].text}, {"value", value ? number_json(*value) : Json(nullptr)}, {"unit", unit}});
  }
  return {{"candidates", candidates_}, {"met", met_}, {"missed", missed_}, {"closest", std::move(closest)}};
}

}  // namespace kerncap::intercept
