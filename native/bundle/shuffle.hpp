// The byte-shuffle filter of a chunk (bundle_spec/SPEC.md, 5): the bytes of `width`-byte words sorted by their place in the word, so
// that zstd finds what numbers have in common. Pure; called by the codec.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace kerncap {

// What a chunk's `w` may be. 1: not shuffled.
inline constexpr std::array<unsigned, 4> kShuffleWidths{1, 2, 4, 8};
bool is_shuffle_width(unsigned long long width) noexcept;

// All first bytes, then all second bytes, ...; what is left of the last word stays at the end. `out` has raw's size and is other memory.
void shuffle_bytes(std::span<const std::byte> raw, unsigned width, std::span<std::byte> out) noexcept;
// The way back.
void unshuffle_bytes(std::span<const std::byte> shuffled, unsigned width, std::span<std::byte> out) noexcept;

}  // namespace kerncap
