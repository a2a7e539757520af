// The checksum of zstd frames. In: bytes. Out: XXH64 with seed 0. Called by chunk_codec.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kerncap {

std::uint64_t xxh64(std::span<const std::byte> bytes) noexcept;

}  // namespace kerncap
