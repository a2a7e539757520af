// Where raw bytes are cut into chunks: at places that the bytes themselves tell, so that what has moved within its region, or stands
// behind something that has grown, is cut where it was before and is found to be known. In: the bytes of a region, piece by piece.
// Out: the lengths of its chunks. Called by the tool library while it takes a snapshot.
//
// The chunks of a region depend on its bytes and the rule alone, never on the pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace kerncap {

struct CutRule {
  std::size_t least = 256u << 10;  // bytes of a chunk, but for the last of a region
  std::size_t most = 4u << 20;
  std::uint64_t blocks = 1536;     // one block in so many is the last of its chunk: 1 MiB on average

  // A closure so big that an index of chunks of 1 MiB would be beyond its limits gets larger ones.
  static CutRule for_bytes(std::uint64_t all_bytes) noexcept;
};

class Cutter {
 public:
  // GPU allocators place what they give out at multiples of this.
  static constexpr std::size_t kBlockBytes = 512;

  explicit Cutter(CutRule rule = {}) noexcept : rule_(rule) {}

  // `bytes` from the beginning of a chunk on, `last` when the region ends with them: the length of the chunk, or 0 when it cannot be
  // told before there are more bytes (the same and what follows). Whoever gets a length asks for the next chunk then.
  std::size_t next(std::span<const std::byte> bytes, bool last) noexcept;
  // A new region.
  void begin() noexcept { looked_at_ = 0; }

 private:
  CutRule rule_;
  std::size_t looked_at_ = 0;  // bytes of this chunk
  std::uint64_t before_ = 0;   // of the block before
};

}  // namespace kerncap
