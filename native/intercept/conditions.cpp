#include "intercept/conditions.hpp"

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
  std::optional<std::vector<Argument>> arguments;
  for (std::size_t i = 0; i < predicates_.size(); ++i) {
    if (predicates_[i].kind != Predicate::Kind::Argument) continue;
    if (!arguments) arguments = described_arguments(kernels_, kernel);
    tests.arguments.push_back(resolve(predicates_[i], i, *arguments, kernel.demangled));
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

std::optional<Json> Conditions::by_arguments(const KernelEntry& kernel, const void* kernarg) {
  const std::scoped_lock lock(mutex_);
  ++candidates_;
  for (const ArgumentTest& test : tests_of(kernel).arguments) {
    const Predicate& predicate = predicates_[test.predicate];
    const auto value = read(kernel, test, kernarg);
    if (test.holds(value)) {
      if (met_++ != dispatch_) return std::nullopt;
      return Json{{"predicate", predicate.text}, {"argument", test.argument.label()}, {"value", number_json(value)}};
    }
    closest_[test.predicate].add(predicate, value);
  }
  return std::nullopt;
}

Json Conditions::report() const {
  const std::scoped_lock lock(mutex_);
  if (predicates_.empty()) return nullptr;
  Json closest = Json::array();
  for (std::size_t i = 0; i < predicates_.size(); ++i) {
    const auto value = closest_[i].value();
    closest.push_back({{"predicate", predicates_[i].text}, {"value", value ? number_json(*value) : Json(nullptr)}});
  }
  return {{"candidates", candidates_}, {"met", met_}, {"closest", std::move(closest)}};
}

}  // namespace kerncap::intercept
