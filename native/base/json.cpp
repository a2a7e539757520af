#include "base/json.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"

namespace kerncap {
namespace {
constexpr int kMaxDepth = 32;

// Looked for before anything is parsed. The parser's own callback would do, but takes time with the square of the entries of a list.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      in_string = c != '"';
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// Whether an object has a member twice, which the parser itself settles in silence by taking the last one.
class MemberTwice : public nlohmann::json_sax<Json> {
 public:
  bool found() const { return found_; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  bool number_float(number_float_t, const string_t&) override { return true; }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(std::size_t) override {
    members_.emplace_back();
    return true;
  }
  bool key(string_t& name) override {
    found_ = !members_.back().insert(std::move(name)).second;
    return !found_;
  }
  bool end_object() override {
    members_.pop_back();
    return true;
  }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override { return false; }

 private:
  std::vector<std::set<std::string>> members_;  // of the objects that are open
  bool found_ = false;
};

bool has_a_member_twice(std::string_view text) {
  MemberTwice sax;
  static_cast<void>(Json::sax_parse(text, &sax));
  return sax.found();
}

}  // namespace

Json parse_json(std::string_view text, std::string_view code, std::string_view what) {
  if (is_too_deep(text)) throw Error(std::string(code), std::string(what) + " is nested too deeply");
  Json document = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) throw Error(std::string(code), std::string(what) + " is not valid JSON");
  if (has_a_member_twice(text)) throw Error(std::string(code), std::string(what) + " has a member twice in one object");
  return document;
}

Json read_json_file(const std::filesystem::path& path, std::string_view code, std::uint64_t limit) {
  const std::vector<std::byte> bytes = read_file(path, limit);
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, code, printable(path.native()));
}

void require_schema(const Json& document, std::string_view schema, std::string_view code) {
  const Fields fields(document, "document", code);
  const std::string& actual = fields.string("schema");
  if (actual != schema) {
    // Another major version of the right document is told apart from another document: bundle.unsupported-version.
    if (actual.starts_with(schema.substr(0, schema.rfind('/') + 1))) {
      throw Error(std::string(code.substr(0, code.find('.'))) + ".unsupported-version",
                  "schema is \"" + printable(actual) + "\", this version reads \"" + std::string(schema) + "\"",
                  "git pull && scripts/setup  # in the clone of kerncap");
    }
    throw Error(std::string(code), "schema is \"" + printable(actual) + "\", this version reads \"" + std::string(schema) + "\"");
  }
}

std::string dump(const Json& document) { return document.dump(-1, ' ', false, Json::error_handler_t::replace); }

void write_json_atomic(const std::filesystem::path& path, const Json& document, Durable durable) {
  write_file_atomic(path, dump(document) + "\n", durable);
}

Fields::Fields(const Json& object, std::string where, std::string_view code)
    : object_(object), where_(std::move(where)), code_(code) {
  if (!object_.is_object()) throw Error(code_, where_ + " is not an object");
}

void Fields::fail(const std::string& name, const std::string& what) const {
  throw Error(code_, where_ + "." + name + ": " + what);
}

const Json& Fields::member(const char* name) const {
  const auto it = object_.find(name);
  if (it == object_.end()) fail(name, "is missing");
  return *it;
}

std::uint64_t Fields::u64(const char* name, std::uint64_t max) const {
  const Json& value = member(name);
  // A positive integer literal parses as unsigned; anything else (negative, float, string) is refused.
  if (!value.is_number_unsigned()) fail(name, "is not an unsigned integer");
  const auto number = value.get<std::uint64_t>();
  if (number > max) fail(name, std::to_string(number) + " is more than " + std::to_string(max));
  return number;
}

std::uint32_t Fields::u32(const char* name, std::uint32_t max) const { return static_cast<std::uint32_t>(u64(name, max)); }

double Fields::number(const char* name) const {
  const Json& value = member(name);
  if (!value.is_number()) fail(name, "is not a number");
  return value.get<double>();
}

bool Fields::boolean(const char* name) const {
  const Json& value = member(name);
  if (!value.is_boolean()) fail(name, "is not true or false");
  return value.get<bool>();
}

const std::string& Fields::string(const char* name) const {
  const Json& value = member(name);
  if (!value.is_string()) fail(name, "is not a string");
  return value.get_ref<const std::string&>();
}

std::optional<std::string> Fields::string_or_null(const char* name) const {
  if (is_null(name)) return std::nullopt;
  return string(name);
}

const Json& Fields::array(const char* name, std::size_t max_count) const {
  const Json& value = member(name);
  if (!value.is_array()) fail(name, "is not an array");
  if (value.size() > max_count) fail(name, "has " + std::to_string(value.size()) + " entries, more than " + std::to_string(max_count));
  return value;
}

Fields Fields::object(const char* name) const { return Fields(member(name), where_ + "." + name, code_); }

}  // namespace kerncap
