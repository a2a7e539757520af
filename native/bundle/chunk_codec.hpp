// One chunk between raw bytes and what is stored of it: fill detection, byte shuffle, zstd frames. Pure: no files, no threads of its own.
// In: raw bytes. Out: a frame, or nothing for a fill. Called by ChunkWriter and ChunkReader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "bundle/frame.hpp"

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace kerncap {

// Tells whether memory changed between two readings, at the speed of memory: 128 bits of XXH3, seeded by chance for each process,
// so that no data can be made to have those of other data. Never stored.
struct Fingerprint {
  std::uint64_t low = 0, high = 0;
  bool operator==(const Fingerprint&) const = default;
};
Fingerprint fingerprint_of(std::span<const std::byte> raw);

// The u64 that repeats through all of `raw` (a tail of fewer than 8 bytes takes its low bytes), if there is one.
std::optional<std::uint64_t> find_fill(std::span<const std::byte> raw) noexcept;
void write_fill(std::span<std::byte> out, std::uint64_t value) noexcept;

// The largest frame that a chunk of `raw_size` bytes can have.
std::size_t max_frame_bytes(std::size_t raw_size) noexcept;

class FrameEncoder {
 public:
  explicit FrameEncoder(int level);
  // One frame with content size and checksum, of `raw` shuffled by the width that is returned (shuffle.hpp), chosen by samples. Data
  // that does not compress whatever the width (ratio under 1.06) is stored as raw blocks. Level 0: nothing is compressed, all blocks
  // are raw. The result depends only on `raw`, the level and libzstd.
  unsigned encode(std::span<const std::byte> raw, Frame& frame);

 private:
  struct Free {
    void operator()(ZSTD_CCtx_s* context) const noexcept;
  };
  std::size_t compress(std::span<const std::byte> raw, unsigned width, Frame& frame);
  std::size_t compress_shuffled(std::span<const std::byte> raw, unsigned width, Frame& frame);
  std::optional<unsigned> choose_width(std::span<const std::byte> raw, Frame& frame);
  int level_;
  Frame sample_;
  Frame shuffled_;
  std::unique_ptr<ZSTD_CCtx_s, Free> context_;
};

class FrameDecoder {
 public:
  FrameDecoder();
  // Decodes exactly one frame of exactly raw.size() bytes with a checksum, shuffled by `width`; anything else is bundle.corrupt-chunk.
  void decode(std::span<const std::byte> frame, unsigned width, std::span<std::byte> raw);

 private:
  struct Free {
    void operator()(ZSTD_DCtx_s* context) const noexcept;
  };
  void decompress(std::span<const std::byte> frame, std::span<std::byte> out);
  Frame shuffled_;
  std::unique_ptr<ZSTD_DCtx_s, Free> context_;
};

}  // namespace kerncap
