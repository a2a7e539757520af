#include "intercept/selection.hpp"

#include <cxxabi.h>
#include <fnmatch.h>

#include <cctype>
#include <cstdlib>
#include <memory>

#include "base/error.hpp"
#include "intercept/mangled_name.hpp"

namespace kerncap::intercept {
namespace {

bool is_identifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$'; }

// Index of the bracket that opens the group closed at `close`, or npos. Only `open`/`shut` are counted.
std::size_t opening(std::string_view text, std::size_t close, char open, char shut) {
  int depth = 0;
  for (std::size_t i = close + 1; i-- > 0;) {
    if (text[i] == shut) ++depth;
    if (text[i] == open && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::string_view trim_right(std::string_view text) {
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string_view drop_clone_suffixes(std::string_view text) {
  for (;;) {
    text = trim_right(text);
    if (text.empty() || text.back() != ']') return text;
    const auto open = text.rfind(" [clone ");
    if (open == std::string_view::npos) return text;
    text = text.substr(0, open);
  }
}

// Of a constrained function: "void scale<float>(float*) requires is_small<float>".
std::string_view drop_requires(std::string_view text) {
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if (text[i] == '>' || text[i] == ')') --depth;
    if (depth == 0 && text.substr(i).starts_with(" requires ")) return text.substr(0, i);
  }
  return text;
}

std::string_view drop_qualifiers(std::string_view text) {
  for (const std::string_view word : {" const", " volatile", " &&", " &"}) {
    while (text.ends_with(word)) text = trim_right(text.substr(0, text.size() - word.size()));
  }
  return text;
}

// Position of an "operator" keyword that starts the last component, or npos.
std::size_t operator_keyword(std::string_view text) {
  constexpr std::string_view word = "operator";
  const auto at = text.rfind(word);
  if (at == std::string_view::npos) return at;
  const bool starts = at == 0 || !is_identifier(text[at - 1]);
  const auto after = at + word.size();
  const bool ends = after == text.size() || !is_identifier(text[after]);
  // A later "::" means that the operator is a scope of what follows (a lambda inside operator()).
  if (!starts || !ends || text.find("::", after) != std::string_view::npos) return std::string_view::npos;
  return at;
}

std::string_view drop_parameters(std::string_view text) {
  if (text.empty() || text.back() != ')') return text;
  const auto open = opening(text, text.size() - 1, '(', ')');
  if (open == std::string_view::npos || open == 0) return text;
  if (text.substr(open).starts_with("(anonymous namespace)")) return text;
  if (text.substr(0, open).ends_with("operator") && text.size() == open + 2) return text;  // "operator()" without parameters
  return trim_right(text.substr(0, open));
}

// Start of the last component that is not inside brackets: after `::` (when `scopes`) or after the return type's blank.
std::size_t component_start(std::string_view text, bool scopes) {
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    if (c == '>' || c == ')' || c == '}' || c == ']') ++depth;
    if (c == '<' || c == '(' || c == '{' || c == '[') --depth;
    if (depth > 0) continue;
    if (c == ' ') return i + 1;
    if (scopes && c == ':' && i > 0 && text[i - 1] == ':') return i + 1;
  }
  return 0;
}

std::string_view drop_template_arguments(std::string_view text) {
  if (text.empty() || text.back() != '>') return text;
  int angle = 0;
  int round = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    const char c = text[i];
    if (c == ')' || c == '}') ++round;
    if (c == '(' || c == '{') --round;
    if (round > 0) continue;
    if (c == '>' && (i == 0 || text[i - 1] != '-')) ++angle;
    if (c == '<' && --angle == 0) return trim_right(text.substr(0, i));
  }
  return text;
}

}  // namespace

MatchMode parse_match_mode(std::string_view word) {
  if (word == "auto") return MatchMode::Auto;
  if (word == "exact") return MatchMode::Exact;
  if (word == "base") return MatchMode::Base;
  if (word == "glob") return MatchMode::Glob;
  if (word == "regex") return MatchMode::Regex;
  if (word == "mangled") return MatchMode::Mangled;
  throw Error("capture.control", "unknown match mode \"" + std::string(word) + "\"",
              "use auto, exact, base, glob, regex or mangled");
}

std::string demangle(const std::string& mangled) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                         &std::free);
  if (status == 0 && text) return text.get();
  return name_of_mangled(mangled).value_or(mangled);
}

std::string_view qualified_name(std::string_view demangled) {
  const auto head = drop_parameters(drop_qualifiers(drop_requires(drop_clone_suffixes(demangled))));
  const auto op = operator_keyword(head);
  if (op != std::string_view::npos) return head.substr(component_start(head.substr(0, op), false));
  return head.substr(component_start(head, false));
}

std::string_view base_name(std::string_view demangled) {
  const auto name = qualified_name(demangled);
  if (const auto op = operator_keyword(name); op != std::string_view::npos) return name.substr(op);
  const auto plain = drop_template_arguments(name);
  return plain.substr(component_start(plain, true));
}

KernelSelector::KernelSelector(std::optional<std::string> pattern, MatchMode mode)
    : pattern_(std::move(pattern)), mode_(mode) {
  if (!pattern_ || mode_ != MatchMode::Regex) return;
  try {
    regex_.emplace(*pattern_);
  } catch (const std::regex_error& error) {
    throw Error("capture.pattern", "not a regular expression: " + *pattern_ + ": " + error.what(),
                "--match base  # or quote brackets and stars of C++ names: this is ECMAScript syntax");
  }
}

bool KernelSelector::matches_exact(const std::string& demangled) const { return demangled == *pattern_; }

bool KernelSelector::matches_base(const std::string& demangled) const {
  const auto name = qualified_name(demangled);
  return base_name(demangled) == *pattern_ || name == *pattern_ || drop_template_arguments(name) == *pattern_;
}

bool KernelSelector::matches_glob(const std::string& mangled, const std::string& demangled) const {
  const auto fits = [&](const std::string& name) { return fnmatch(pattern_->c_str(), name.c_str(), 0) == 0; };
  return fits(demangled) || fits(std::string(base_name(demangled))) || fits(mangled);
}

bool KernelSelector::matches(const std::string& mangled, const std::string& demangled) const {
  if (!pattern_) return false;
  switch (mode_) {
    case MatchMode::Mangled: return mangled == *pattern_;
    case MatchMode::Exact: return matches_exact(demangled);
    case MatchMode::Base: return matches_base(demangled);
    case MatchMode::Glob: return matches_glob(mangled, demangled);
    case MatchMode::Regex: return std::regex_search(demangled, *regex_) || std::regex_search(mangled, *regex_);
    case MatchMode::Auto: break;
  }
  if (mangled == *pattern_ || matches_exact(demangled) || matches_base(demangled)) return true;
  return pattern_->find_first_of("*?[") != std::string::npos && matches_glob(mangled, demangled);
}

}  // namespace kerncap::intercept
