#include "intercept/mangled_name.hpp"

#include <algorithm>
#include <vector>

namespace kerncap::intercept {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_lower(char c) { return c >= 'a' && c <= 'z'; }

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::optional<std::string> function_name() {
    if (!take("_Z")) return std::nullopt;
    const bool nested = take("N");
    while (nested && (peek() == 'r' || peek() == 'V' || peek() == 'K' || peek() == 'R' || peek() == 'O')) ++at_;
    std::string name;
    if (take("St")) name = "std";
    for (;;) {
      take("L");  // of internal linkage
      const auto part = source_name();
      if (!part) return std::nullopt;
      if (!name.empty()) name += "::";
      name += part->starts_with("_GLOBAL__N") ? "(anonymous namespace)" : *part;
      while (peek() == 'B') {  // an ABI tag
        ++at_;
        if (!source_name()) return std::nullopt;
      }
      if (peek() == 'I') {
        if (nested && !skip_arguments()) return std::nullopt;
        name += "<...>";
      }
      if (!nested || take("E")) return name;
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  bool take(std::string_view word) {
    if (!text_.substr(std::min(at_, text_.size())).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  std::optional<std::string> source_name() {
    std::size_t length = 0;
    if (!is_digit(peek())) return std::nullopt;
    while (is_digit(peek()) && length <= text_.size()) length = 10 * length + static_cast<std::size_t>(text_[at_++] - '0');
    if (length == 0 || length > text_.size() - at_) return std::nullopt;
    at_ += length;
    return std::string(text_.substr(at_ - length, length));
  }

  // `S_`, `T0_`, `A16_`: digits or capitals up to an underscore.
  bool skip_number() {
    while (is_digit(peek()) || (peek() >= 'A' && peek() <= 'Z')) ++at_;
    return take("_");
  }

  // The number of a literal, `n5E`.
  bool skip_value() {
    take("n");
    while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++at_;
    return take("E");
  }

  // From `I` to its `E`. Expressions are not understood.
  bool skip_arguments() {
    std::vector<char> open;
    do {
      const char c = peek();
      if (c == 'E') {
        const char opened = open.back();
        open.pop_back();
        ++at_;
        if (opened == 'U' && !skip_number()) return false;          // a lambda
        if (opened == 'L' && !skip_value()) return false;           // the type of a literal ended
      } else if (!skip_token(c, open)) {
        return false;
      }
    } while (!open.empty());
    return true;
  }

  bool skip_token(char c, std::vector<char>& open) {
    if (is_digit(c)) return source_name().has_value();
    ++at_;
    switch (c) {
      case 'I': case 'N': case 'J': case 'F': open.push_back(c); return true;
      case 'L': return skip_literal(open);
      case 'U': open.push_back(c); return take("l");
      case 'S': case 'T':
        if (!is_lower(peek())) return skip_number();
        ++at_;
        return true;
      case 'A': return skip_number();
      case 'D': ++at_; return text_[at_ - 1] != 'T' && text_[at_ - 1] != 't';
      case 'P': case 'R': case 'O': case 'K': case 'V': case 'M': case 'B': return true;
      default: return is_lower(c);
    }
  }

  bool skip_literal(std::vector<char>& open) {
    if (is_lower(peek())) {
      ++at_;
      return skip_value();
    }
    if (is_digit(peek())) return source_name() && skip_value();
    if (!take("N")) return false;
    open.push_back('L');
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<std::string> name_of_mangled(std::string_view mangled) { return Parser(mangled).function_name(); }

}  // namespace kerncap::intercept
