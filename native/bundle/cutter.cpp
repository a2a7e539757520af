#include "bundle/cutter.hpp"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <limits>

namespace kerncap {
namespace {

constexpr std::uint64_t kBigBytes = std::uint64_t{64} << 30;

std::uint64_t hash(const std::byte* block) noexcept { return XXH3_64bits(block, Cutter::kBlockBytes); }

}  // namespace

CutRule CutRule::for_bytes(std::uint64_t all_bytes) noexcept {
  CutRule rule;
  if (all_bytes > kBigBytes) rule.least = 2u << 20;  // 2.6 MiB on average
  return rule;
}

std::size_t Cutter::next(std::span<const std::byte> bytes, bool last) noexcept {
  const std::uint64_t below = std::numeric_limits<std::uint64_t>::max() / rule_.blocks;
  const std::size_t seen = std::min(bytes.size(), rule_.most);
  if (looked_at_ == 0 && seen >= rule_.least) {
    before_ = hash(bytes.data() + rule_.least - 2 * kBlockBytes);
    looked_at_ = rule_.least - kBlockBytes;
  }
  std::size_t length = 0;
  while (looked_at_ != 0 && length == 0 && looked_at_ + kBlockBytes <= seen) {
    const std::uint64_t now = hash(bytes.data() + looked_at_);
    looked_at_ += kBlockBytes;
    // Constant data has no places of its own: whatever its blocks' hash is, they are all alike.
    if (now < below && now != before_) length = looked_at_;
    before_ = now;
  }
  if (length == 0 && (seen == rule_.most || last)) length = seen;
  if (length != 0) looked_at_ = 0;
  return length;
}

}  // namespace kerncap
