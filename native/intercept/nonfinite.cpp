#include "intercept/nonfinite.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>

namespace kerncap::intercept {
namespace {

std::optional<std::uint64_t> address(const Argument& argument, std::span<const std::byte> kernarg) {
  std::uint64_t va = 0;
  if (argument.size != sizeof va || argument.offset + sizeof va > kernarg.size()) return std::nullopt;
  std::memcpy(&va, kernarg.data() + argument.offset, sizeof va);
  return va == 0 ? std::nullopt : std::optional(va);
}

enum class Class { Finite, Nan, Inf };

// `infinity`: the bits of infinity, all bits of the exponent and none of the fraction.
template <class Bits>
Class class_of(const std::byte* at, Bits infinity) {
  Bits bits;
  std::memcpy(&bits, at, sizeof bits);
  const auto magnitude = static_cast<Bits>(bits & (std::numeric_limits<Bits>::max() >> 1));
  return magnitude > infinity ? Class::Nan : magnitude == infinity ? Class::Inf : Class::Finite;
}

template <class Bits>
void add_new(NewNonFinite& found, Bits infinity, std::span<const std::byte> before, std::span<const std::byte> after, std::uint64_t va) {
  for (std::size_t at = 0; at + sizeof(Bits) <= after.size(); at += sizeof(Bits)) {
    const Class now = class_of(after.data() + at, infinity);
    if (now == Class::Finite || now == class_of(before.data() + at, infinity)) continue;
    NonFinite& of = now == Class::Nan ? found.nan : found.inf;
    if (of.count++ == 0) of.first_va = va + at;
  }
}

}  // namespace

std::vector<Argument> float_pointers(const std::vector<Argument>& arguments, std::optional<NumberType> otherwise) {
  std::vector<Argument> list;
  for (Argument argument : arguments) {
    if (!argument.pointer || argument.to_constant) continue;
    if (!argument.element) argument.element = otherwise;
    if (argument.element && is_float(*argument.element)) list.push_back(std::move(argument));
  }
  return list;
}

std::vector<FloatSpan> float_spans(const std::vector<Argument>& floats, const std::vector<Argument>& all,
                                   std::span<const std::byte> kernarg,
                                   const std::function<std::optional<std::uint64_t>(std::uint64_t)>& region_end) {
  std::vector<std::uint64_t> starts;
  for (const Argument& argument : all)
    if (const auto va = argument.pointer ? address(argument, kernarg) : std::nullopt) starts.push_back(*va);
  std::sort(starts.begin(), starts.end());
  std::map<std::uint64_t, FloatSpan> spans;
  std::map<std::uint64_t, bool> agree;
  for (const Argument& argument : floats) {
    const auto va = address(argument, kernarg);
    const auto end = va ? region_end(*va) : std::nullopt;
    if (!end) continue;
    const auto next = std::upper_bound(starts.begin(), starts.end(), *va);
    const auto limit = next == starts.end() ? *end : std::min(*end, *next);
    const auto size = limit - *va;
    const auto whole = size - size % size_of(*argument.element);
    const auto [known, is_new] = spans.try_emplace(*va, FloatSpan{argument.label(), *argument.element, *va, whole});
    if (is_new) agree[*va] = true;
    if (known->second.type != *argument.element) agree[*va] = false;
  }
  for (const Argument& argument : all) {
    const auto va = argument.pointer && argument.element ? address(argument, kernarg) : std::nullopt;
    const auto span = va ? spans.find(*va) : spans.end();
    if (span != spans.end() && span->second.type != *argument.element) agree[*va] = false;
  }
  std::vector<FloatSpan> list;
  for (auto& [va, span] : spans)
    if (agree[va] && span.size > 0) list.push_back(std::move(span));
  return list;
}

void NewNonFinite::add(NumberType type, std::span<const std::byte> before, std::span<const std::byte> after, std::uint64_t va) {
  switch (type) {
    case NumberType::F16: return add_new<std::uint16_t>(*this, 0x7C00, before, after, va);
    case NumberType::BF16: return add_new<std::uint16_t>(*this, 0x7F80, before, after, va);
    case NumberType::F32: return add_new<std::uint32_t>(*this, 0x7F800000, before, after, va);
    case NumberType::F64: return add_new<std::uint64_t>(*this, 0x7FF0000000000000, before, after, va);
    default: break;
  }
}

}  // namespace kerncap::intercept
