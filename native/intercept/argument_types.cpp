#include "intercept/argument_types.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace kerncap::intercept {
namespace {

static_assert(std::numeric_limits<long double>::digits >= 64);

struct TypeRow {
  NumberType type;
  std::string_view word;
  std::size_t size;
};
constexpr std::array<TypeRow, 12> types = {{{NumberType::I8, "i8", 1},
                                            {NumberType::U8, "u8", 1},
                                            {NumberType::I16, "i16", 2},
                                            {NumberType::U16, "u16", 2},
                                            {NumberType::I32, "i32", 4},
                                            {NumberType::U32, "u32", 4},
                                            {NumberType::I64, "i64", 8},
                                            {NumberType::U64, "u64", 8},
                                            {NumberType::F16, "f16", 2},
                                            {NumberType::BF16, "bf16", 2},
                                            {NumberType::F32, "f32", 4},
                                            {NumberType::F64, "f64", 8}}};

// On Linux for x86-64 and amdgcn: `long` has 8 bytes, `char` is signed.
constexpr std::array<std::pair<std::string_view, NumberType>, 44> spellings = {{
    {"float", NumberType::F32}, {"double", NumberType::F64}, {"_Float16", NumberType::F16}, {"half", NumberType::F16},
    {"__half", NumberType::F16}, {"__half2", NumberType::F16}, {"hip_bfloat16", NumberType::BF16},
    {"__hip_bfloat16", NumberType::BF16}, {"__hip_bfloat162", NumberType::BF16}, {"__bf16", NumberType::BF16},
    {"float2", NumberType::F32}, {"float3", NumberType::F32}, {"float4", NumberType::F32}, {"double2", NumberType::F64},
    {"char", NumberType::I8}, {"signed char", NumberType::I8}, {"unsigned char", NumberType::U8}, {"uchar", NumberType::U8},
    {"bool", NumberType::U8}, {"short", NumberType::I16}, {"unsigned short", NumberType::U16}, {"ushort", NumberType::U16},
    {"int", NumberType::I32}, {"unsigned int", NumberType::U32}, {"unsigned", NumberType::U32}, {"uint", NumberType::U32},
    {"long", NumberType::I64}, {"unsigned long", NumberType::U64}, {"ulong", NumberType::U64}, {"long long", NumberType::I64},
    {"unsigned long long", NumberType::U64}, {"size_t", NumberType::U64}, {"ptrdiff_t", NumberType::I64},
    {"int8_t", NumberType::I8}, {"uint8_t", NumberType::U8}, {"int16_t", NumberType::I16}, {"uint16_t", NumberType::U16},
    {"int32_t", NumberType::I32}, {"uint32_t", NumberType::U32}, {"int64_t", NumberType::I64}, {"uint64_t", NumberType::U64},
    {"float16", NumberType::F32}, {"float8", NumberType::F32}, {"half2", NumberType::F16},
}};

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Words that say nothing about what the bits are.
std::string unqualified(std::string_view type) {
  constexpr std::array<std::string_view, 6> qualifiers = {"const", "volatile", "restrict", "__restrict__", "struct", "class"};
  std::string out;
  for (std::size_t at = 0; at < type.size();) {
    const auto end = std::min(type.find_first_of(" *", at), type.size());
    const auto word = type.substr(at, end - at);
    bool qualifier = word.empty();
    for (const auto one : qualifiers) qualifier = qualifier || word == one;
    if (!qualifier) out += (out.empty() || out.back() == '*' ? "" : " ") + std::string(word);
    if (end < type.size() && type[end] == '*') out += '*';
    at = end + 1;
  }
  return out;
}

bool says_const(std::string_view type) {
  constexpr std::string_view word = "const";
  for (auto at = type.find(word); at != std::string_view::npos; at = type.find(word, at + 1)) {
    const auto end = at + word.size();
    const bool starts = at == 0 || type[at - 1] == ' ' || type[at - 1] == '*';
    if (starts && (end == type.size() || type[end] == ' ')) return true;
  }
  return false;
}

std::vector<std::string> split_top_level(std::string_view text) {
  std::vector<std::string> parts;
  int depth = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '[' || c == '{') ++depth;
    if (c == '>' || c == ')' || c == ']' || c == '}') --depth;
    if (c != ',' || depth != 0) continue;
    parts.emplace_back(trimmed(text.substr(last, i - last)));
    last = i + 1;
  }
  const auto tail = trimmed(text.substr(last));
  if (!tail.empty() && tail != "void") parts.emplace_back(tail);
  return parts;
}

template <class T>
T load(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

// Source: IEEE 754-2008, binary16.
long double half_value(std::uint16_t bits) {
  const int exponent = (bits >> 10) & 31;
  const int fraction = bits & 1023;
  const long double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == 31) return fraction != 0 ? std::numeric_limits<long double>::quiet_NaN() : sign * std::numeric_limits<long double>::infinity();
  return sign * (exponent == 0 ? std::ldexp(static_cast<long double>(fraction), -24)
                               : std::ldexp(static_cast<long double>(fraction + 1024), exponent - 25));
}

// To `digits` bits of mantissa, ties to even, with the format's least exponent; beyond `most` it is infinite.
long double rounded(long double value, int digits, int least_exponent, long double most) {
  if (!std::isfinite(value) || value == 0) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const long double unit = std::ldexp(1.0L, exponent - digits + 1);
  const long double near = std::nearbyint(value / unit) * unit;
  return std::fabs(near) > most ? std::copysign(std::numeric_limits<long double>::infinity(), value) : near;
}

}  // namespace

std::size_t size_of(NumberType type) noexcept { return types[static_cast<std::size_t>(type)].size; }
bool is_float(NumberType type) noexcept { return type >= NumberType::F16; }
std::string_view word_of(NumberType type) noexcept { return types[static_cast<std::size_t>(type)].word; }

std::optional<NumberType> number_type(std::string_view word) noexcept {
  for (const auto& row : types)
    if (row.word == word) return row.type;
  return std::nullopt;
}

std::optional<NumberType> spelled_number(std::string_view type) {
  std::string name = unqualified(type);
  constexpr std::string_view vector = "HIP_vector_type<";
  if (name.starts_with(vector)) name = name.substr(vector.size(), std::min(name.find(','), name.size()) - vector.size());
  for (const auto& [spelling, number] : spellings)
    if (name == spelling) return number;
  return std::nullopt;
}

std::optional<std::vector<std::string>> parameters(std::string_view demangled) {
  auto text = trimmed(demangled);
  if (const auto clone = text.rfind(" [clone "); clone != std::string_view::npos && text.ends_with(']')) text = text.substr(0, clone);
  if (!text.ends_with(')')) return std::nullopt;
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) {
      if (i == 0) return std::nullopt;
      return split_top_level(text.substr(i + 1, text.size() - i - 2));
    }
  }
  return std::nullopt;
}

std::string Argument::label() const { return name.empty() ? "argument " + std::to_string(index) : name; }

std::vector<Argument> arguments_of(const KernelDescription& kernel, std::string_view demangled) {
  std::vector<Argument> list;
  for (const KernelArgument& known : kernel.arguments) {
    if (known.hidden()) continue;
    Argument argument;
    argument.index = list.size();
    argument.offset = known.offset;
    argument.size = known.size;
    argument.pointer = known.value_kind == "global_buffer" || known.value_kind == "dynamic_shared_pointer";
    argument.name = known.name;
    argument.type = known.type_name;
    list.push_back(std::move(argument));
  }
  const auto spelled = parameters(demangled);
  for (Argument& argument : list) {
    if (argument.type.empty() && spelled && spelled->size() == list.size()) argument.type = (*spelled)[argument.index];
    if (argument.pointer) {
      auto target = unqualified(argument.type);
      if (!target.ends_with('*')) continue;
      target.pop_back();
      argument.to_constant = says_const(argument.type.substr(0, argument.type.rfind('*')));
      argument.element = spelled_number(target);
    } else if (const auto number = spelled_number(argument.type); number && size_of(*number) == argument.size) {
      argument.number = number;
    }
  }
  return list;
}

std::string list_of(const std::vector<Argument>& arguments) {
  if (arguments.empty()) return "none";
  std::string text;
  for (const Argument& argument : arguments) {
    if (!text.empty()) text += ", ";
    text += std::to_string(argument.index) + ":" + (argument.name.empty() ? "" : " " + argument.name) + " (" +
            (argument.type.empty() ? std::to_string(argument.size) + " bytes of unknown type" : argument.type) + ")";
  }
  return text;
}

long double value_of(NumberType type, std::span<const std::byte> bytes) {
  switch (type) {
    case NumberType::I8: return load<std::int8_t>(bytes);
    case NumberType::U8: return load<std::uint8_t>(bytes);
    case NumberType::I16: return load<std::int16_t>(bytes);
    case NumberType::U16: return load<std::uint16_t>(bytes);
    case NumberType::I32: return load<std::int32_t>(bytes);
    case NumberType::U32: return load<std::uint32_t>(bytes);
    case NumberType::I64: return static_cast<long double>(load<std::int64_t>(bytes));
    case NumberType::U64: return static_cast<long double>(load<std::uint64_t>(bytes));
    case NumberType::F16: return half_value(load<std::uint16_t>(bytes));
    case NumberType::BF16: {
      const std::uint32_t wide = static_cast<std::uint32_t>(load<std::uint16_t>(bytes)) << 16;
      return load<float>(std::as_bytes(std::span(&wide, 1)));
    }
    case NumberType::F32: return load<float>(bytes);
    case NumberType::F64: break;
  }
  return load<double>(bytes);
}

long double rounded_to(NumberType type, long double literal) {
  switch (type) {
    case NumberType::F16: return rounded(literal, 11, -14, 65504);
    case NumberType::BF16: return rounded(literal, 8, -126, std::ldexp(255.0L, 120));
    case NumberType::F32: return static_cast<float>(literal);
    case NumberType::F64: return static_cast<double>(literal);
    default: return literal;
  }
}

}  // namespace kerncap::intercept
