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

namespace kerncap {
namespace {

constexpr std::size_t kSampleBytes = 16u << 10;
constexpr std::size_t kSamples = 8;  // spread over the chunk
constexpr int kFastLevel = -1;
constexpr int kStored = 0;

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

std::size_t max_frame_bytes(std::size_t raw_size) noexcept { return ZSTD_compressBound(raw_size); }

void FrameEncoder::Free::operator()(ZSTD_CCtx_s* context) const noexcept { ZSTD_freeCCtx(context); }

FrameEncoder::FrameEncoder(int level) : level_(level), context_(ZSTD_createCCtx()) {
  if (!context_) throw std::bad_alloc();
  if (level < -7 || level > 19) throw Error("usage.zstd-level", "zstd level " + std::to_string(level) + " is not in -7..19");
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_checksumFlag, 1), "zstd");
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_contentSizeFlag, 1), "zstd");
}

std::size_t FrameEncoder::compress(std::span<const std::byte> raw, int level, Frame& frame) {
  check(ZSTD_CCtx_setParameter(context_.get(), ZSTD_c_compressionLevel, level), "zstd");
  const auto room = frame.room(ZSTD_compressBound(raw.size()));
  const std::size_t n = ZSTD_compress2(context_.get(), room.data(), room.size(), raw.data(), raw.size());
  check(n, "compression");
  frame.set_size(n);
  return n;
}

void FrameEncoder::encode(std::span<const std::byte> raw, Frame& frame) {
  if (level_ == kStored) return store(raw, frame);
  if (raw.size() > 2 * kSamples * kSampleBytes && level_ > kFastLevel) {
    std::size_t compressed = 0;
    for (std::size_t i = 0; i < kSamples; ++i) {
      compressed += compress(raw.subspan((raw.size() - kSampleBytes) / (kSamples - 1) * i, kSampleBytes), level_, frame);
    }
    // ratio < 1.06, in integers
    if (compressed * 106 > kSamples * kSampleBytes * 100) return store(raw, frame);
  }
  compress(raw, level_, frame);
}

void FrameDecoder::Free::operator()(ZSTD_DCtx_s* context) const noexcept { ZSTD_freeDCtx(context); }

FrameDecoder::FrameDecoder() : context_(ZSTD_createDCtx()) {
  if (!context_) throw std::bad_alloc();
}

void FrameDecoder::decode(std::span<const std::byte> frame, std::span<std::byte> raw) {
  // Source: RFC 8878, 3.1.1: magic number, then the frame header descriptor whose bit 2 says that a checksum follows.
  constexpr std::array<std::byte, 4> magic{std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};
  if (frame.size() < 6 || !std::equal(magic.begin(), magic.end(), frame.begin())) corrupt("not a zstd frame");
  if ((frame[4] & std::byte{4}) == std::byte{0}) corrupt("the frame has no checksum");
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != raw.size()) {
    corrupt("the frame does not say that it holds " + std::to_string(raw.size()) + " bytes");
  }
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    corrupt("not exactly one whole frame of " + std::to_string(frame.size()) + " bytes");
  }
  const std::size_t n = ZSTD_decompressDCtx(context_.get(), raw.data(), raw.size(), frame.data(), frame.size());
  if (ZSTD_isError(n)) corrupt(ZSTD_getErrorName(n));
  if (n != raw.size()) corrupt("decoded to " + std::to_string(n) + " bytes instead of " + std::to_string(raw.size()));
}

}  // namespace kerncap
