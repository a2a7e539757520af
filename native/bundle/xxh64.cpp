#include "bundle/xxh64.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace kerncap {
namespace {

// Source: xxHash fast digest algorithm, doc/xxhash_spec.md, XXH64.
constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87, kPrime2 = 0xC2B2AE3D27D4EB4F, kPrime3 = 0x165667B19E3779F9,
                        kPrime4 = 0x85EBCA77C2B2AE63, kPrime5 = 0x27D4EB2F165667C5;

template <class T>
T load(const std::byte* bytes) noexcept {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::uint64_t round(std::uint64_t accumulator, std::uint64_t lane) noexcept {
  return std::rotl(accumulator + lane * kPrime2, 31) * kPrime1;
}

}  // namespace

std::uint64_t xxh64(std::span<const std::byte> bytes) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t hash = kPrime5;
  if (left >= 32) {
    std::array<std::uint64_t, 4> lanes{kPrime1 + kPrime2, kPrime2, 0, 0 - kPrime1};
    for (; left >= 32; left -= 32, at += 32) {
      for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i] = round(lanes[i], load<std::uint64_t>(at + 8 * i));
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) + std::rotl(lanes[3], 18);
    for (const std::uint64_t lane : lanes) hash = (hash ^ round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += bytes.size();
  for (; left >= 8; left -= 8, at += 8) hash = std::rotl(hash ^ round(0, load<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (left >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    left -= 4, at += 4;
  }
  for (; left > 0; --left, ++at) hash = std::rotl(hash ^ std::to_integer<std::uint64_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

}  // namespace kerncap
