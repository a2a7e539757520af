#include "bundle/shuffle.hpp"

#include <algorithm>
#include <cstring>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace kerncap {
namespace {

#if defined(__SSE2__)
constexpr std::size_t kLane = 16;

struct Register {
  __m128i bytes;
};

// Registers hold 16 words in memory order; afterwards register i holds their bytes number i. log2(W) steps, each of which
// parts even from odd bytes.
template <std::size_t W>
void part(std::array<Register, W>& v) noexcept {
  const __m128i low = _mm_set1_epi16(0x00ff);
  for (std::size_t step = 1; step < W; step *= 2) {
    std::array<Register, W> next;
    for (std::size_t i = 0; i < W / 2; ++i) {
      const __m128i a = v[2 * i].bytes, b = v[2 * i + 1].bytes;
      next[i].bytes = _mm_packus_epi16(_mm_and_si128(a, low), _mm_and_si128(b, low));
      next[i + W / 2].bytes = _mm_packus_epi16(_mm_srli_epi16(a, 8), _mm_srli_epi16(b, 8));
    }
    v = next;
  }
}

template <std::size_t W>
void join(std::array<Register, W>& v) noexcept {
  for (std::size_t step = 1; step < W; step *= 2) {
    std::array<Register, W> next;
    for (std::size_t i = 0; i < W / 2; ++i) {
      const __m128i a = v[i].bytes, b = v[i + W / 2].bytes;
      next[2 * i].bytes = _mm_unpacklo_epi8(a, b);
      next[2 * i + 1].bytes = _mm_unpackhi_epi8(a, b);
    }
    v = next;
  }
}

const __m128i* at(const std::byte* place) noexcept { return reinterpret_cast<const __m128i*>(place); }
__m128i* at(std::byte* place) noexcept { return reinterpret_cast<__m128i*>(place); }
#endif

// Gives how many words were done; the caller does the rest byte by byte.
template <std::size_t W>
std::size_t shuffle_lanes([[maybe_unused]] const std::byte* raw, [[maybe_unused]] std::byte* out, std::size_t words) noexcept {
  std::size_t word = 0;
#if defined(__SSE2__)
  for (; word + kLane <= words; word += kLane) {
    std::array<Register, W> v;
    for (std::size_t i = 0; i < W; ++i) v[i].bytes = _mm_loadu_si128(at(raw + word * W + i * kLane));
    part(v);
    for (std::size_t i = 0; i < W; ++i) _mm_storeu_si128(at(out + i * words + word), v[i].bytes);
  }
#endif
  return word;
}

template <std::size_t W>
std::size_t unshuffle_lanes([[maybe_unused]] const std::byte* shuffled, [[maybe_unused]] std::byte* out, std::size_t words) noexcept {
  std::size_t word = 0;
#if defined(__SSE2__)
  for (; word + kLane <= words; word += kLane) {
    std::array<Register, W> v;
    for (std::size_t i = 0; i < W; ++i) v[i].bytes = _mm_loadu_si128(at(shuffled + i * words + word));
    join(v);
    for (std::size_t i = 0; i < W; ++i) _mm_storeu_si128(at(out + word * W + i * kLane), v[i].bytes);
  }
#endif
  return word;
}

template <std::size_t W>
void shuffle_words(std::span<const std::byte> raw, std::span<std::byte> out) noexcept {
  const std::size_t words = raw.size() / W;
  for (std::size_t word = shuffle_lanes<W>(raw.data(), out.data(), words); word < words; ++word) {
    for (std::size_t i = 0; i < W; ++i) out[i * words + word] = raw[word * W + i];
  }
  std::ranges::copy(raw.subspan(words * W), out.subspan(words * W).begin());
}

template <std::size_t W>
void unshuffle_words(std::span<const std::byte> shuffled, std::span<std::byte> out) noexcept {
  const std::size_t words = shuffled.size() / W;
  for (std::size_t word = unshuffle_lanes<W>(shuffled.data(), out.data(), words); word < words; ++word) {
    for (std::size_t i = 0; i < W; ++i) out[word * W + i] = shuffled[i * words + word];
  }
  std::ranges::copy(shuffled.subspan(words * W), out.subspan(words * W).begin());
}

}  // namespace

bool is_shuffle_width(unsigned long long width) noexcept { return std::ranges::find(kShuffleWidths, width) != kShuffleWidths.end(); }

void shuffle_bytes(std::span<const std::byte> raw, unsigned width, std::span<std::byte> out) noexcept {
  if (width == 2) return shuffle_words<2>(raw, out);
  if (width == 4) return shuffle_words<4>(raw, out);
  if (width == 8) return shuffle_words<8>(raw, out);
  std::ranges::copy(raw, out.begin());
}

void unshuffle_bytes(std::span<const std::byte> shuffled, unsigned width, std::span<std::byte> out) noexcept {
  if (width == 2) return unshuffle_words<2>(shuffled, out);
  if (width == 4) return unshuffle_words<4>(shuffled, out);
  if (width == 8) return unshuffle_words<8>(shuffled, out);
  std::ranges::copy(shuffled, out.begin());
}

}  // namespace kerncap
