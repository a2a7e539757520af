#include "replay/initial_state.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace kerncap::replay {
namespace {

// Source: Steele et al., "Fast splittable pseudorandom number generators" (SplitMix64's finaliser).
std::uint64_t mix(std::uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// 0.25..1: never so little that a change would be lost in a format of few bits.
double magnitude_of(std::uint64_t random) noexcept {
  return 0.25 + 0.75 * static_cast<double>(random >> 12) / static_cast<double>(std::uint64_t{1} << 52);
}

// Always towards zero, so that nothing overflows; 1/16 and 1/64 are visible with the 8 bits of bf16's significand.
double changed(double value, std::uint64_t random) noexcept {
  if (value == 0) return ((random & 1) != 0 ? 1 : -1) * magnitude_of(random) / 64;
  return value * (1 - magnitude_of(random) / 16);
}

double half_to_double(std::uint16_t bits) noexcept {
  const int exponent = (bits >> 10) & 31;
  const double fraction = bits & 1023;
  const double sign = (bits & 0x8000) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

// Truncates; the value is within the range of the format.
std::uint16_t double_to_half(double value) noexcept {
  const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude < 0x1p-14) return static_cast<std::uint16_t>(sign | static_cast<int>(std::ldexp(magnitude, 24)));
  const int exponent = std::ilogb(magnitude);
  const int significand = static_cast<int>(std::ldexp(magnitude, 10 - exponent));
  return static_cast<std::uint16_t>(sign | ((exponent + 15) << 10) | (significand & 1023));
}

template <typename T>
T load(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
template <typename T>
void store(std::byte* bytes, T value) noexcept {
  std::memcpy(bytes, &value, sizeof value);
}

// The lowest bit of the significand, unless that would make or undo an infinity or a NaN. Source: OCP "8-bit Floating Point
// Specification"; LLVM APFloat, Float8E4M3FNUZ and Float8E5M2FNUZ (0x80 is their only NaN, they have no infinity).
void perturb_f8(ElementType type, std::byte* element) noexcept {
  const auto value = load<std::uint8_t>(element);
  const std::uint8_t magnitude = value & 0x7f;
  bool kept = false;
  if (type == ElementType::f8e4m3) kept = magnitude >= 0x7e;
  if (type == ElementType::f8e5m2) kept = magnitude >= 0x7c;
  if (type == ElementType::f8e4m3fnuz || type == ElementType::f8e5m2fnuz) kept = value == 0x80 || value == 0x81;
  if (!kept) store<std::uint8_t>(element, value ^ 1);
}

template <typename T>
void perturb_integer(std::uint64_t random, std::byte* element) noexcept {
  const T value = load<T>(element);
  store<T>(element, static_cast<T>((random & 1) != 0 ? value + 1 : value - 1));
}

template <typename T>
void exchange(std::uint64_t random, std::byte* pair) noexcept {
  if ((random & 1) == 0) return;
  const T first = load<T>(pair);
  store(pair, load<T>(pair + sizeof first));
  store(pair + sizeof first, first);
}

// The first range that ends after `at`.
auto first_range(const InitialState& initial, std::uint32_t region, std::uint64_t at) noexcept {
  return std::ranges::partition_point(initial.ranges, [&](const InitialRange& range) {
    return std::pair(range.region, range.end()) <= std::pair(region, at);
  });
}

}  // namespace

bool touches(const InitialState& initial, std::uint32_t region, std::uint64_t at, std::uint64_t length) noexcept {
  const auto it = first_range(initial, region, at);
  return it != initial.ranges.end() && it->region == region && it->offset < at + length;
}

void perturb(ElementType type, std::uint64_t seed, std::uint64_t va, std::byte* element) noexcept {
  const std::uint64_t random = mix(mix(seed) ^ va);
  switch (type) {
    case ElementType::f64: {
      const double value = load<double>(element);
      if (std::isfinite(value)) store(element, changed(value, random));
      return;
    }
    case ElementType::f32: {
      const float value = load<float>(element);
      if (std::isfinite(value)) store(element, static_cast<float>(changed(value, random)));
      return;
    }
    case ElementType::f16: {
      const double value = half_to_double(load<std::uint16_t>(element));
      if (std::isfinite(value)) store(element, double_to_half(changed(value, random)));
      return;
    }
    case ElementType::bf16: {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(load<std::uint16_t>(element)) << 16);
      if (!std::isfinite(value)) return;
      const auto next = std::bit_cast<std::uint32_t>(static_cast<float>(changed(value, random)));
      store(element, static_cast<std::uint16_t>(next >> 16));
      return;
    }
    case ElementType::f8e4m3:
    case ElementType::f8e5m2:
    case ElementType::f8e4m3fnuz:
    case ElementType::f8e5m2fnuz:
      return perturb_f8(type, element);
    case ElementType::i64:
      return perturb_integer<std::uint64_t>(random, element);
    case ElementType::i32:
      return perturb_integer<std::uint32_t>(random, element);
    case ElementType::i16:
      return perturb_integer<std::uint16_t>(random, element);
    case ElementType::i8:
      return perturb_integer<std::uint8_t>(random, element);
    case ElementType::bits16: {
      // The lowest bit of each half: a small change of a float of any width, which neither makes nor undoes an infinity. Infinities,
      // NaNs and zeros of 16 bits stay: the upper half of a float that must stay finite never looks like one of them.
      const auto value = load<std::uint16_t>(element);
      constexpr std::uint16_t kExponent = 0x7c00;
      const bool changeable = (value & kExponent) != 0 && (value & kExponent) != kExponent;
      if (changeable && (random & 1) != 0) store<std::uint16_t>(element, value ^ 1);
      return;
    }
    case ElementType::pair32:
      return exchange<std::uint32_t>(random, element);
    case ElementType::pair64:
      return exchange<std::uint64_t>(random, element);
  }
}

void apply_initial(const InitialState& initial, std::uint32_t region, std::uint64_t region_va, std::uint64_t at,
                   std::span<std::byte> bytes) noexcept {
  const std::uint64_t end = at + bytes.size();
  for (auto it = first_range(initial, region, at); it != initial.ranges.end() && it->region == region && it->offset < end; ++it) {
    const std::uint64_t from = std::max(it->offset, at);
    const std::uint64_t to = std::min(it->end(), end);
    if (initial.kind == InitialState::Kind::poisoned) {
      for (std::uint64_t i = from; i < to; ++i) bytes[i - at] = ~bytes[i - at];
    } else if (initial.kind == InitialState::Kind::perturbed) {
      // Whole elements only, counted from the start of the range; one that crosses a chunk's bounds stays as it is.
      const std::uint64_t size = size_of(it->type);
      for (std::uint64_t i = it->offset + (from - it->offset + size - 1) / size * size; i + size <= to; i += size) {
        perturb(it->type, initial.seed, region_va + i, bytes.data() + (i - at));
      }
    }
  }
}

}  // namespace kerncap::replay
