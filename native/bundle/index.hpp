// The index of a capture: which memory there is and where its chunks lie (index.json, docs/interfaces.md).
// In: a parsed document, which may be hostile. Out: an Index whose every number has been checked, or bundle.malformed.
// Called by the tool library (writing) and kerncap-replay (reading).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/json.hpp"

namespace kerncap {

// Limits that are checked before anything is allocated by them: those of bundle_spec/SPEC.md, 7, and of kerncap/bundle/limits.py.
namespace limits {
inline constexpr std::uint64_t kChunkBytes = 64u << 20;        // raw bytes of one chunk
inline constexpr std::uint64_t kBlobBytes = 256u << 20;
inline constexpr std::uint64_t kRegionBytes = std::uint64_t{4} << 40;
inline constexpr std::uint64_t kVaEnd = std::uint64_t{1} << 57;  // 5-level paging: the largest user address on x86-64
inline constexpr std::size_t kBlobs = 20'000;
inline constexpr std::size_t kRegions = 131'072;
inline constexpr std::size_t kChunks = 393'216;  // of all regions and states
inline constexpr std::size_t kFlags = 32;
inline constexpr std::size_t kSteps = 1024;  // dispatches of a sequence
inline constexpr std::size_t kSymbolBytes = 64u << 10;
}  // namespace limits

struct Blob {
  Sha256Digest digest{};
  std::uint64_t size = 0;
  bool operator==(const Blob&) const = default;
};

struct Chunk {
  enum class Kind : std::uint8_t { zstd, fill };
  std::uint64_t at = 0;      // offset in the region (given in `post`, the running sum in `pre`)
  std::uint64_t length = 0;  // raw bytes
  Kind kind = Kind::fill;
  Sha256Digest raw_digest{};
  std::uint64_t fill_value = 0;  // fill: little-endian u64, repeated; a tail takes its low bytes
  std::uint32_t blob = 0;        // zstd: index into Index::blobs
  std::uint64_t offset = 0;      // zstd: first byte of the frame in the blob
  std::uint64_t stored = 0;      // zstd: bytes of the frame
  std::uint32_t width = 1;       // zstd: of the words whose bytes are shuffled in the frame (shuffle.hpp)
  bool operator==(const Chunk&) const = default;
};

enum class RegionKind : std::uint8_t { pool, vmem, lock, svm, variable };
enum class Segment : std::uint8_t { device, host, kernarg };
const char* to_string(RegionKind kind) noexcept;
const char* to_string(Segment segment) noexcept;

struct Region {
  std::uint64_t va = 0;
  std::uint64_t size = 0;
  RegionKind kind = RegionKind::pool;
  Segment segment = Segment::device;
  std::vector<std::string> flags;
  std::optional<std::string> symbol;  // of a variable
  std::uint32_t agent = 0;
  std::optional<std::uint32_t> alias_of;  // the region whose first `size` bytes these are, mapped once more: no chunks
  std::vector<Chunk> pre;   // the region from 0 to size without gaps
  std::vector<Chunk> post;  // the chunks with changed bytes, sorted; each has the bounds of a chunk of `pre`
  std::uint32_t step = 0;   // of a variable in a sequence: the first dispatch whose code object holds it
  std::vector<std::vector<Chunk>> between;  // of a sequence with all states: what each dispatch but the last changed
  std::uint64_t end() const noexcept { return va + size; }
  bool operator==(const Region&) const = default;
};

struct Index {
  std::vector<Blob> blobs;
  std::vector<Region> regions;  // sorted by va, not overlapping
  bool operator==(const Index&) const = default;
};

Json to_json(const Index& index);
// Throws bundle.malformed, bundle.limit, bundle.unknown-kind with the name of what is wrong.
Index index_from_json(const Json& document);

}  // namespace kerncap
