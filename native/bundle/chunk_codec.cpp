#include "bundle/chunk_codec.hpp"

#define XXH_INLINE_ALL
#include <sys/random.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>

#include "base/error.hpp"
#include "bundle/shuffle.hpp"

namespace kerncap {
namespace {

// What a width is chosen by: pieces that are spread over the chunk.
constexpr std::size_t kSamples = 8;
constexpr std::size_t kSampleBytes = 16u << 10;
constexpr std::size_t kLeastSampleBytes = 2u << 10;
constexpr std::size_t kSampledPart = 128;  // a piece is this part of the chunk
constexpr std::size_t kWholeBytes = kSamples * kSampleBytes;  // up to this size all of it is tried
constexpr std::size_t kShuffleOverhead = 64;  // block headers beyond those of an unshuffled frame
constexpr int kFastLevel = -1;
constexpr int kStored = 0;
constexpr std::uint64_t kWindowBytes = 64u << 20;  // SPEC.md, 5

std::uint64_t load_u64(const std::byte* bytes) noexcept {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

void check(std::size_t zstd_result, const char* what) {
  if (ZSTD_isError(zstd_result)) throw Error("host.zstd", std::string(what) + ": " + ZSTD_getErrorName(zstd_result));
}

std::byte* put_bytes(std::byte* out, std::uint64_t value, int count) {
  for (int i = 0; i < count; ++i) *out++ = static_cast<std::byte>(value >> (8 * i));
  return out;
}

// A zstd frame of raw blocks. Source: RFC 8878, 3.1.1: descriptor with content size of 4 bytes, single segment, checksum.
void store(std::span<const std::byte> raw, Frame& frame) {
  constexpr std::size_t block_bytes = 128u << 10;
  const auto room = frame.room(raw.size() + 3 * (raw.size() / block_bytes + 1) + 13);
  std::byte* out = put_bytes(room.data(), 0xfd2fb528, 4);
  out = put_bytes(out, 0xa4, 1);
  out = put_bytes(out, raw.size(), 4);
  const std::uint64_t checksum = XXH64(raw.data(), raw.size(), 0);
  while (!raw.empty()) {
    const auto block = raw.first(std::min(block_bytes, raw.size()));
    raw = raw.subspan(block.size());
    out = put_bytes(out, block.size() << 3 | (raw.empty() ? 1 : 0), 3);
    out = std::copy(block.begin(), block.end(), out);
  }
  out = put_bytes(out, checksum, 4);
  frame.set_size(static_cast<std::size_t>(out - room.data()));
}

std::uint64_t random_seed() {
  std::uint64_t seed = 0;
  if (::getrandom(&seed, sizeof seed, 0) != sizeof seed) throw system_error("getrandom", errno);
  return seed;
}

// Source: RFC 8878, 3.1.1.1: a frame is one segment (bit 5 of its descriptor) or says how big its window is.
bool has_big_window(std::span<const std::byte> frame) noexcept {
  if ((frame[4] & std::byte{32}) != std::byte{0}) return false;
  const auto window = std::to_integer<unsigned>(frame[5]);
  const std::uint64_t base = std::uint64_t{1} << (10 + (window >> 3));
  return base + base / 8 * (window & 7) > kWindowBytes;
}

[[noreturn]] void corrupt(const std::string& what) { throw Error("bundle.corrupt-chunk", "chunk: " + what); }

}  // namespace

Fingerprint fingerprint_of(std::span<const std::byte> raw) {
  static const std::uint64_t seed = random_seed();
  const XXH128_hash_t hash = XXH3_128bits_withSeed(raw.data(), raw.size(), seed);
  return {hash.low64, hash.high64};
}

std::optional<std::uint64_t> find_fill(std::span<const std::byte> raw) noexcept {
  std::uint64_t value = 0;
  if (raw.size() < sizeof value) {
    std::memcpy(&value, raw.data(), raw.size());
    return value;
  }
  value = load_u64(raw.data());
  const std::size_t words = raw.size() / sizeof value;
  // Three probes make data that is not constant almost free.
  for (const std::size_t probe : {words / 3, words / 2, words - 1}) {
    if (load_u64(raw.data() + probe * sizeof value) != value) return std::nullopt;
  }
  constexpr std::size_t kBlock = 64;  // words; a branch a block lets the compiler vectorise the inside
  std::size_t i = 0;
  for (; i + kBlock <= words; i += kBlock) {
    std::uint64_t difference = 0;
    for (std::size_t k = 0; k < kBlock; ++k) difference |= load_u64(raw.data() + (i + k) * sizeof value) ^ value;
    if (difference != 0) return std::nullopt;
  }
  for (; i < words; ++i) {
    if (load_u64(raw.data() + i * sizeof value) != value) return std::nullopt;
  }
  const std::size_t tail = raw.size() % sizeof value;
  std::array<std::byte, sizeof value> pattern;
  std::memcpy(pattern.data(), &value, sizeof value);
  if (tail != 0 && std::memcmp(raw.data() + words * sizeof value, pattern.data(), tail) != 0) return std::nullopt;
  return value;
}

void write_fill(std::span<std::byte> out, std::uint64_t value) noexcept {
  while (!out.empty()) {
    const std::size_t n = std::min(out.size(), sizeof value);
    std::memcpy(out.data(), &value, n);
    out = out.subspan(n);
  }
}

std::size_t max_frame_bytes(std::size_t raw_size) noexcept { return raw_size + raw_size / 256 + 128; }

void FrameEncoder::Free::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }

FrameEncoder::FrameEncoder(int level) : level_(level), context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  if (level < -7 || level > 19) throw Error("usage.zstd-level", "zstd level " + std::to_string(level) + " is not in -7..19");
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1), "zstd");
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 1), "zstd");
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level), "zstd");
}

std::size_t FrameEncoder::compress(std::span<const std::byte> raw, unsigned width, Frame& frame) {
  if (width != 1) return compress_shuffled(raw, width, frame);
  const auto room = frame.room(ZSTD_compressBound(raw.size()));
  const std::size_t n = ZSTD_compress2(context_.get(), room.data(), room.size(), raw.data(), raw.size());
  check(n, "compression");
  frame.set_size(n);
  return n;
}

// A block never holds bytes of two places of a word: what they have in common is how often each value comes, which zstd describes
// once a block.
std::size_t FrameEncoder::compress_shuffled(std::span<const std::byte> raw, unsigned width, Frame& frame) {
  const auto shuffled = shuffled_.room(raw.size());
  shuffle_bytes(raw, width, shuffled);
  // A block more for each place, with a header and, where it does not compress, raw.
  const auto room = frame.room(ZSTD_compressBound(raw.size()) + kShuffleOverhead);
  ZSTD_outBuffer out{room.data(), room.size(), 0};
  check(ZSTD_CCtx_reset(context_.get(), ZSTD_reset_session_only), "zstd");
  check(ZSTD_CCtx_setPledgedSrcSize(context_.get(), raw.size()), "zstd");
  const std::size_t words = raw.size() / width;
  for (unsigned place = 0; place < width; ++place) {
    const bool last = place + 1 == width;
    const auto bytes = last ? shuffled.subspan(place * words) : shuffled.subspan(place * words, words);
    ZSTD_inBuffer in{bytes.data(), bytes.size(), 0};
    const std::size_t left = ZSTD_compressStream2(context_.get(), &out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
    check(left, "compression");
    if (left != 0 || in.pos != in.size) throw Error("internal", "a frame is larger than it can be");
  }
  frame.set_size(out.pos);
  return out.pos;
}

// Nothing: none is worth it.
std::optional<unsigned> FrameEncoder::choose_width(std::span<const std::byte> raw, Frame& frame) {
  std::span<const std::byte> sample = raw;
  if (raw.size() > kWholeBytes) {
    // Whole words of every width, from places where words begin.
    const std::size_t piece = std::clamp(raw.size() / kSampledPart, kLeastSampleBytes, kSampleBytes) / 8 * 8;
    const auto room = sample_.room(kSamples * piece);
    const std::size_t stride = (raw.size() - piece) / (kSamples - 1) / 8 * 8;
    for (std::size_t i = 0; i < kSamples; ++i) std::ranges::copy(raw.subspan(stride * i, piece), room.subspan(i * piece).begin());
    sample = room;
  }
  unsigned best = 1;
  std::size_t least = 0;
  for (const unsigned width : kShuffleWidths) {
    const std::size_t n = compress(sample, width, frame);
    // A wider word has to be worth the work of both sides.
    if (width != 1 && n * 100 > least * 97) continue;
    best = width;
    least = n;
  }
  // ratio < 1.06, in integers
  if (raw.size() > kWholeBytes && least * 106 > sample.size() * 100) return std::nullopt;
  return best;
}

unsigned FrameEncoder::encode(std::span<const std::byte> raw, Frame& frame) {
  unsigned width = 1;
  if (level_ > kFastLevel && level_ != kStored) {
    const auto chosen = choose_width(raw, frame);
    if (!chosen) {
      store(raw, frame);
      return 1;
    }
    width = *chosen;
  }
  if (level_ == kStored) {
    store(raw, frame);
  } else {
    compress(raw, width, frame);
  }
  return width;
}

void FrameDecoder::Free::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

FrameDecoder::FrameDecoder() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

void FrameDecoder::decode(std::span<const std::byte> frame, unsigned width, std::span<std::byte> raw) {
  if (width == 1) return decompress(frame, raw);
  const auto room = shuffled_.room(raw.size());
  decompress(frame, room);
  unshuffle_bytes(room, width, raw);
}

void FrameDecoder::decompress(std::span<const std::byte> frame, std::span<std::byte> raw) {
  // Source: RFC 8878, 3.1.1: magic number, then the frame header descriptor whose bit 2 says that a checksum follows.
  constexpr std::array<std::byte, 4> magic{std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};
  if (frame.size() < 6 || !std::equal(magic.begin(), magic.end(), frame.begin())) corrupt("not a zstd frame");
  if ((frame[4] & std::byte{4}) == std::byte{0}) corrupt("the frame has no checksum");
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != raw.size()) {
    corrupt("the frame does not say that it holds " + std::to_string(raw.size()) + " bytes");
  }
  if (has_big_window(frame)) corrupt("the frame needs a window of more than 64 MiB");
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    corrupt("not exactly one whole frame of " + std::to_string(frame.size()) + " bytes");
  }
  const std::size_t n = ZSTD_decompressDCtx(context_.get(), raw.data(), raw.size(), frame.data(), frame.size());
  if (ZSTD_isError(n)) corrupt(ZSTD_getErrorName(n));
  if (n != raw.size()) corrupt("decoded to " + std::to_string(n) + " bytes instead of " + std::to_string(raw.size()));
}

}  // namespace kerncap
