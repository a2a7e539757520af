// JSON input with limits and exact types. In: a file or a parsed value. Out: typed fields, or an Error that names the field.
// Called wherever a document from outside is read: control files, requests, indexes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.hpp"

namespace kerncap {

using Json = nlohmann::json;

// Parses a regular file; nesting deeper than 32 and files over `limit` bytes are refused. `code` is that of the Error thrown.
Json read_json_file(const std::filesystem::path& path, std::string_view code, std::uint64_t limit = 256u << 20);
Json parse_json(std::string_view text, std::string_view code, std::string_view what);
// Checks "schema": "<name>/<major>".
void require_schema(const Json& document, std::string_view schema, std::string_view code);
// Strings of foreign origin may hold bytes that are not UTF-8: replaced rather than refused.
std::string dump(const Json& document);
void write_json_atomic(const std::filesystem::path& path, const Json& document, Durable durable = Durable::yes);

// Typed access to the members of one object. `where` is put before the member's name in messages.
class Fields {
 public:
  Fields(const Json& object, std::string where, std::string_view code);

  bool has(const char* name) const { return object_.contains(name); }
  bool is_null(const char* name) const { return !has(name) || object_[name].is_null(); }
  std::uint64_t u64(const char* name, std::uint64_t max = std::numeric_limits<std::uint64_t>::max()) const;
  std::uint32_t u32(const char* name, std::uint32_t max = std::numeric_limits<std::uint32_t>::max()) const;
  double number(const char* name) const;
  bool boolean(const char* name) const;
  const std::string& string(const char* name) const;
  std::optional<std::string> string_or_null(const char* name) const;
  const Json& array(const char* name, std::size_t max_count) const;
  Fields object(const char* name) const;
  [[noreturn]] void fail(const std::string& name, const std::string& what) const;

 private:
  const Json& member(const char* name) const;
  const Json& object_;
  std::string where_;
  std::string code_;
};

}  // namespace kerncap
