#include "intercept/predicate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/error.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::size_t max_predicates = 64;
constexpr std::size_t least_times = 5;
constexpr std::size_t most_times = 1000;
constexpr std::array<std::string_view, 6> comparisons = {">", ">=", "<", "<=", "==", "!="};

Comparison parse_comparison(const Fields& fields) {
  const auto& word = fields.string("compare");
  for (std::size_t i = 0; i < comparisons.size(); ++i)
    if (word == comparisons[i]) return static_cast<Comparison>(i);
  fields.fail("compare", "one of > >= < <= == !=");
}

long double parse_value(const Fields& fields, const Json& value) {
  if (value.is_number_unsigned()) return static_cast<long double>(value.get<std::uint64_t>());
  if (value.is_number_integer()) return static_cast<long double>(value.get<std::int64_t>());
  if (value.is_number_float()) return static_cast<long double>(value.get<double>());
  fields.fail("value", "a number");
}

std::optional<NumberType> parse_type(const Fields& fields) {
  const auto word = fields.string_or_null("type");
  if (!word) return std::nullopt;
  const auto type = number_type(*word);
  if (!type) fields.fail("type", "i8 to i64, u8 to u64, f16, bf16, f32 or f64");
  return type;
}

void parse_limit(const Fields& fields, Predicate& predicate) {
  if (!fields.is_null("ratio")) predicate.ratio = fields.number("ratio");
  if (!fields.is_null("ns")) predicate.limit_ns = fields.u64("ns");
  if (predicate.ratio.has_value() == predicate.limit_ns.has_value()) fields.fail("ratio", "a number where \"ns\" is none");
  if (predicate.ratio && !(*predicate.ratio > 0)) fields.fail("ratio", "a positive number");
}

Predicate parse(const Fields& fields, const Json& object) {
  Predicate predicate;
  predicate.text = fields.string("text");
  predicate.type = parse_type(fields);
  const auto& kind = fields.string("kind");
  if (kind == "argument") {
    predicate.kind = Predicate::Kind::Argument;
    if (object.contains("argument") && object.at("argument").is_string()) {
      predicate.argument = fields.string("argument");
    } else {
      predicate.argument = static_cast<std::size_t>(fields.u64("argument"));
    }
    predicate.comparison = parse_comparison(fields);
    predicate.value = parse_value(fields, object.contains("value") ? object.at("value") : Json(nullptr));
  } else if (kind == "nan" || kind == "inf") {
    predicate.kind = kind == "nan" ? Predicate::Kind::Nan : Predicate::Kind::Inf;
    if (predicate.type && !is_float(*predicate.type)) fields.fail("type", "f16, bf16, f32 or f64");
  } else if (kind == "slower") {
    predicate.kind = Predicate::Kind::Slower;
    parse_limit(fields, predicate);
  } else if (kind != "fault") {
    fields.fail("kind", "\"argument\", \"nan\", \"inf\", \"slower\" or \"fault\"");
  }
  return predicate;
}

}  // namespace

std::vector<Predicate> read_predicates(const Json& list, std::string_view code) {
  std::vector<Predicate> predicates;
  if (!list.is_array() || list.size() > max_predicates) throw Error(std::string(code), "when: expected a list of at most 64 conditions");
  for (const Json& object : list) {
    const auto where = "when[" + std::to_string(predicates.size()) + "]";
    predicates.push_back(parse(Fields(object, where, code), object));
  }
  return predicates;
}

bool ArgumentTest::holds(long double actual) const {
  switch (comparison) {
    case Comparison::Greater: return actual > value;
    case Comparison::GreaterOrEqual: return actual >= value;
    case Comparison::Less: return actual < value;
    case Comparison::LessOrEqual: return actual <= value;
    case Comparison::Equal: return actual == value;
    case Comparison::NotEqual: break;
  }
  return actual != value;
}

ArgumentTest resolve(const Predicate& predicate, std::size_t place, const std::vector<Argument>& arguments, const std::string& kernel) {
  const auto refuse = [&](const std::string& why) {
    return Error("capture.predicate", predicate.text + ": " + why + "; arguments of " + kernel + ": " + list_of(arguments),
                 "--when 'arg[0]:i32>0'  # an argument by its number, with its type where nobody knows it");
  };
  const Argument* found = nullptr;
  for (const Argument& argument : arguments) {
    const auto* index = std::get_if<std::size_t>(&predicate.argument);
    if (index != nullptr ? argument.index == *index : argument.name == std::get<std::string>(predicate.argument)) found = &argument;
  }
  if (found == nullptr) throw refuse("there is no such argument");
  auto type = predicate.type ? predicate.type : found->number;
  if (!type && found->pointer && found->size == sizeof(std::uint64_t)) type = NumberType::U64;
  if (!type) throw refuse("it is not known which number " + found->label() + " is");
  if (size_of(*type) != found->size) {
    throw refuse(found->label() + " has " + std::to_string(found->size) + " bytes, " + std::string(word_of(*type)) + " has " +
                 std::to_string(size_of(*type)));
  }
  return {place, *found, *type, predicate.comparison, rounded_to(*type, predicate.value)};
}

void Closest::add(const Predicate& predicate, long double value) {
  if (std::isnan(value)) return;
  const auto nearer = [&] {
    switch (predicate.comparison) {
      case Comparison::Greater:
      case Comparison::GreaterOrEqual: return value > *value_;
      case Comparison::Less:
      case Comparison::LessOrEqual: return value < *value_;
      case Comparison::Equal: return std::fabs(value - predicate.value) < std::fabs(*value_ - predicate.value);
      case Comparison::NotEqual: break;
    }
    return false;
  };
  if (!value_ || nearer()) value_ = value;
}

void Durations::add(std::uint64_t ns) {
  times_.push_back(ns);
  if (times_.size() > most_times) times_.pop_front();
}

std::optional<std::uint64_t> Durations::median() const {
  if (times_.size() < least_times) return std::nullopt;
  std::vector<std::uint64_t> sorted(times_.begin(), times_.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return std::max<std::uint64_t>(*middle, 1);
}

Json number_json(long double value) {
  if (value >= 0 && value < 0x1p64L && value == std::floor(value)) return static_cast<std::uint64_t>(value);
  if (value < 0 && value >= -0x1p63L && value == std::floor(value)) return static_cast<std::int64_t>(value);
  if (!std::isfinite(value)) return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  return static_cast<double>(value);
}

}  // namespace kerncap::intercept
