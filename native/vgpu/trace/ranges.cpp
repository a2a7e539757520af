#include "vgpu/trace/ranges.hpp"

#include <algorithm>
#include <bit>

namespace kerncap::vgpu {
namespace {

// Calls visit(word, mask) for the bits [first, first + count) of an array of 64-bit words.
template <class Visit>
void for_words(std::uint64_t first, std::uint64_t count, Visit visit) {
  while (count != 0) {
    const std::uint64_t bit = first % 64, n = std::min(count, 64 - bit);
    const std::uint64_t ones = n == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1;
    visit(first / 64, ones << bit);
    first += n;
    count -= n;
  }
}

}  // namespace

AccessRanges::Page& AccessRanges::page(std::uint64_t number) {
  Recent& recent = recent_[number % kRecent];
  if (recent.page == nullptr || recent.number != number) {
    auto& slot = pages_[number];
    if (!slot) slot = std::make_unique<Page>();
    recent = {number, slot.get()};
  }
  return *recent.page;
}

void AccessRanges::load(std::uint64_t va, std::uint32_t size_bytes) noexcept {
  for (std::uint64_t left = size_bytes; left != 0;) {
    const std::uint64_t at = va % kPageBytes, n = std::min(left, kPageBytes - at);
    Page& p = page(va / kPageBytes);
    for_words(at, n, [&](std::uint64_t word, std::uint64_t mask) {
      p.read[word] |= mask;
      p.read_first[word] |= mask & ~p.written[word];
    });
    va += n;
    left -= n;
  }
}

void AccessRanges::store(std::uint64_t va, std::uint32_t size_bytes) noexcept {
  for (std::uint64_t left = size_bytes; left != 0;) {
    const std::uint64_t at = va % kPageBytes, n = std::min(left, kPageBytes - at);
    Page& p = page(va / kPageBytes);
    for_words(at, n, [&](std::uint64_t word, std::uint64_t mask) { p.written[word] |= mask; });
    va += n;
    left -= n;
  }
}

ByteRanges AccessRanges::ranges(std::uint64_t (Page::*bits)[kPageBytes / 64]) const {
  ByteRanges out;
  const auto append = [&out](std::uint64_t va, std::uint64_t length) {
    if (!out.empty() && out.back().first + out.back().second == va)
      out.back().second += length;
    else
      out.emplace_back(va, length);
  };
  for (const auto& [number, p] : pages_) {
    const auto& words = (*p).*bits;
    for (std::uint64_t w = 0; w < kPageBytes / 64; ++w) {
      std::uint64_t rest = words[w];
      while (rest != 0) {
        const auto first = static_cast<std::uint64_t>(std::countr_zero(rest));
        const auto length = static_cast<std::uint64_t>(std::countr_one(rest >> first));
        append(number * kPageBytes + w * 64 + first, length);
        if (first + length == 64) break;
        rest &= ~std::uint64_t{0} << (first + length);
      }
    }
  }
  return out;
}

}  // namespace kerncap::vgpu
