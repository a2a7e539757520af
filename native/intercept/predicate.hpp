// Conditions that a dispatch must meet to be captured (`kerncap extract --when`); any one of them is enough.
// In: the control file's `when`, a kernel's arguments, the bytes of its kernarg segment. Out: whether one is met, and what came
// closest. Pure; called by conditions.cpp.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/json.hpp"
#include "intercept/argument_types.hpp"

namespace kerncap::intercept {

enum class Comparison { Greater, GreaterOrEqual, Less, LessOrEqual, Equal, NotEqual };

struct Predicate {
  enum class Kind {
    Argument,  // decided before the dispatch
    Nan,       // these after it
    Inf,
    Slower,
    Fault,
  };
  std::string text;  // as it was typed
  Kind kind = Kind::Fault;
  // Argument: which one, by place or by name, and what it is compared with
  std::variant<std::size_t, std::string> argument;
  Comparison comparison = Comparison::Greater;
  long double value = 0;
  // Argument: its type; Nan, Inf: what pointers of unknown type point to
  std::optional<NumberType> type;
  // Slower: one of them
  std::optional<double> ratio;
  std::optional<std::uint64_t> limit_ns;
};

// Throws Error(`code`) for what is no list of predicates.
std::vector<Predicate> read_predicates(const Json& list, std::string_view code);

// A predicate on an argument, for one kernel.
struct ArgumentTest {
  std::size_t predicate = 0;  // its place in the list
  Argument argument;
  NumberType type = NumberType::I32;
  Comparison comparison = Comparison::Greater;
  long double value = 0;

  bool holds(long double actual) const;
};

// Throws Error("capture.predicate"), which lists the arguments, where there is no such argument or nobody knows its type.
ArgumentTest resolve(const Predicate& predicate, std::size_t place, const std::vector<Argument>& arguments, const std::string& kernel);

// The value that came closest to meeting a comparison.
class Closest {
 public:
  void add(const Predicate& predicate, long double value);
  std::optional<long double> value() const { return value_; }

 private:
  std::optional<long double> value_;
};

// Times of the dispatches of one kernel with one geometry.
class Durations {
 public:
  void add(std::uint64_t ns);
  // Of the last thousand; nothing before there have been five.
  std::optional<std::uint64_t> median() const;

 private:
  std::deque<std::uint64_t> times_;
};

// As JSON has it: an integer where it is one.
Json number_json(long double value);

}  // namespace kerncap::intercept
