// Chunk writer and reader: round trips, determinism, damaged and missing blobs, a full disk.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <set>
#include <tuple>

#include "base/error.hpp"
#include "base/file.hpp"
#include "bundle/chunk_codec.hpp"
#include "bundle/chunk_reader.hpp"
#include "bundle/chunk_writer.hpp"
#include "bundle/used_blobs.hpp"

namespace kerncap {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

class ChunkTest : public testing::Test {
 protected:
  ChunkTest() {
    std::string name = (fs::temp_directory_path() / "kerncap-chunk-XXXXXX").native();
    directory_ = ::mkdtemp(name.data());
  }
  ~ChunkTest() override { fs::remove_all(directory_); }
  fs::path sub(const char* name) {
    fs::create_directories(directory_ / name);
    return directory_ / name;
  }
  fs::path directory_;
};

Bytes random_bytes(std::size_t size, unsigned seed) {
  std::mt19937_64 generator(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 8) {
    const std::uint64_t word = generator();
    std::memcpy(bytes.data() + i, &word, std::min<std::size_t>(8, size - i));
  }
  return bytes;
}

Bytes counting_bytes(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i / 5);
  return bytes;
}

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return "no error";
}

constexpr std::uint64_t kTestChunk = 256u << 10;

ChunkWriterOptions options(unsigned threads) {
  ChunkWriterOptions result;
  result.chunk_bytes = kTestChunk;
  result.blob_bytes = 1u << 20;
  result.threads = threads;
  return result;
}

// Writes the regions (each from its own bytes) and returns the index.
Index write_regions(const fs::path& directory, const std::vector<Bytes>& regions, unsigned threads) {
  ChunkWriter writer(directory, options(threads));
  Index index;
  std::vector<std::vector<ChunkTicket>> tickets;
  std::uint64_t va = 0x100000;
  for (const Bytes& bytes : regions) {
    Region region;
    region.va = va;
    region.size = bytes.size();
    va += (bytes.size() + 0xfffff) & ~std::uint64_t{0xfffff};
    writer.begin_region(bytes.size());
    tickets.emplace_back();
    for (std::uint64_t at = 0; at < bytes.size(); at += kTestChunk) {
      const std::size_t n = std::min<std::size_t>(kTestChunk, bytes.size() - at);
      tickets.back().push_back(writer.submit(at, std::span(bytes).subspan(at, n)));
    }
    index.regions.push_back(region);
  }
  index.blobs = writer.finish();
  for (std::size_t i = 0; i < tickets.size(); ++i) {
    for (const ChunkTicket& ticket : tickets[i]) index.regions[i].pre.push_back(ticket.chunk());
  }
  return index;
}

BlobLocations locations(const Index& index, const fs::path& directory) {
  BlobLocations result;
  for (const Blob& blob : index.blobs) {
    result[digest_text(blob.digest)] = {directory / to_hex(blob.digest), 0, blob.size};
  }
  return result;
}

void expect_equal(const Index& index, const fs::path& directory, const std::vector<Bytes>& regions) {
  const ChunkReader reader(index, locations(index, directory));
  for (std::size_t i = 0; i < regions.size(); ++i) {
    Bytes actual(regions[i].size());
    for (const Chunk& chunk : index.regions[i].pre) {
      reader.read(chunk, std::span(actual).subspan(chunk.at, chunk.length), ChunkReader::Check::digest);
    }
    EXPECT_EQ(actual, regions[i]) << "region " << i;
  }
}

std::vector<Bytes> some_regions() {
  Bytes mixed = counting_bytes(3 * kTestChunk + 13);
  std::fill_n(mixed.begin() + kTestChunk, kTestChunk, std::byte{0x5a});
  return {mixed,          random_bytes(5 * kTestChunk, 1), Bytes(2 * kTestChunk + 3), counting_bytes(100), random_bytes(4096, 2),
          Bytes(1),       random_bytes(7, 3),              counting_bytes(80000),     random_bytes(5 * kTestChunk, 1)};
}

std::vector<std::string> names_in(const fs::path& directory) {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(directory)) names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

TEST(FindFill, SizesAndTails) {
  for (const std::size_t size : {1u, 7u, 8u, 9u, 16u, 1000u, 4096u, 4099u}) {
    Bytes bytes(size);
    write_fill(bytes, 0x0102030405060708);
    EXPECT_EQ(find_fill(bytes).has_value(), true) << size;
    if (size >= 8) {
      EXPECT_EQ(*find_fill(bytes), 0x0102030405060708u);
    }
    for (const std::size_t change : {std::size_t{0}, size / 2, size - 1}) {
      if (size < 16) break;
      Bytes other = bytes;
      other[change] ^= std::byte{1};
      EXPECT_FALSE(find_fill(other).has_value()) << size << " " << change;
    }
  }
}

// Digests are made from what was written: a disk that gives something else back is found out before anything gets a name.
TEST_F(ChunkTest, ReadsBackWhatItWrote) {
  for (const bool compressible : {true, false}) {
    const fs::path directory = sub(compressible ? "a" : "b");
    Bytes raw = random_bytes(kTestChunk, 7);
    if (compressible) {
      for (std::byte& b : raw) b &= std::byte{3};
    }
    ChunkWriter writer(directory, options(1));
    writer.begin_region(raw.size());
    writer.submit(0, raw).wait();
    const std::uint64_t least = raw.size() / 8;
    fs::path file;
    while (file.empty()) {
      for (const auto& entry : fs::directory_iterator(directory)) {
        if (entry.file_size() > least) file = entry.path();
      }
    }
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekp(static_cast<std::streamoff>(least / 2));
    stream.write("\x55\xaa\x55\xaa", 4);
    stream.close();
    EXPECT_EQ(code_of([&] { writer.finish(); }), "host.io");
  }
}

TEST(Fingerprint, EveryBitAndTheSizeCount) {
  for (const std::size_t size : {1u, 3u, 8u, 16u, 17u, 128u, 129u, 240u, 241u, 1024u, 5000u}) {
    Bytes bytes = random_bytes(size, 7);
    const auto all = fingerprint_of(bytes);
    EXPECT_EQ(fingerprint_of(Bytes(bytes)), all);
    EXPECT_NE(fingerprint_of(std::span(bytes).first(size - 1)), all);
    for (std::size_t bit = 0; bit < 8 * size; ++bit) {
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
      EXPECT_NE(fingerprint_of(bytes), all) << "bit " << bit << " of " << size;
      bytes[bit / 8] ^= std::byte{1} << bit % 8;
    }
  }
}

TEST_F(ChunkTest, RoundTripThroughTheIndex) {
  const auto regions = some_regions();
  const fs::path directory = sub("a");
  const Index index = write_regions(directory, regions, 2);
  expect_equal(index_from_json(to_json(index)), directory, regions);
  for (const Blob& blob : index.blobs) {
    EXPECT_EQ(sha256(read_file(directory / to_hex(blob.digest), 1u << 30)), blob.digest);
  }
  EXPECT_EQ(names_in(directory).size(), index.blobs.size());
}

TEST_F(ChunkTest, SameBytesWhateverTheThreads) {
  const auto regions = some_regions();
  const Index one = write_regions(sub("one"), regions, 1);
  for (const unsigned threads : {2u, 3u, 4u, 16u}) {
    const std::string name = std::to_string(threads);
    EXPECT_EQ(write_regions(sub(name.c_str()), regions, threads), one) << threads;
    EXPECT_EQ(names_in(sub(name.c_str())), names_in(sub("one"))) << threads;
  }
}

std::uint64_t bytes_in(const fs::path& directory) {
  std::uint64_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(directory)) bytes += entry.file_size();
  return bytes;
}

TEST_F(ChunkTest, EqualChunksAreStoredOnce) {
  const Bytes once = random_bytes(2 * kTestChunk, 1);
  Bytes again = random_bytes(4 * kTestChunk, 2);
  std::ranges::copy(std::span(once).first(kTestChunk), again.begin() + kTestChunk);
  std::ranges::copy(std::span(once).last(kTestChunk), again.begin() + 3 * kTestChunk);
  const std::vector<Bytes> regions = {once, again, once};
  const Index index = write_regions(sub("a"), regions, 4);
  expect_equal(index_from_json(to_json(index)), sub("a"), regions);
  const auto& [first, second, third] = std::tie(index.regions[0].pre, index.regions[1].pre, index.regions[2].pre);
  EXPECT_EQ(second[1].blob, first[0].blob);
  EXPECT_EQ(second[1].offset, first[0].offset);
  EXPECT_EQ(second[1].at, kTestChunk);
  EXPECT_EQ(third, first);
  EXPECT_LT(bytes_in(sub("a")), 4 * kTestChunk + 1000);
  EXPECT_EQ(index, write_regions(sub("b"), regions, 1));
}

// Many equal ones at the same time: whichever thread is first.
TEST_F(ChunkTest, EqualChunksInARow) {
  const Bytes bytes = random_bytes(kTestChunk, 3);
  Bytes many;
  for (int i = 0; i < 40; ++i) many.insert(many.end(), bytes.begin(), bytes.end());
  const Index index = write_regions(sub("a"), {many}, 8);
  EXPECT_EQ(index, write_regions(sub("b"), {many}, 1));
  EXPECT_LT(bytes_in(sub("a")), kTestChunk + 1000);
  expect_equal(index, sub("a"), {many});
}

TEST_F(ChunkTest, WhatChangedIntoSomethingKnownIsNotStored) {
  const Bytes source = random_bytes(kTestChunk, 1), target = random_bytes(kTestChunk, 2);
  ChunkWriter writer(sub("a"), options(2));
  writer.begin_region(source.size());
  const ChunkTicket first = writer.submit(0, source);
  writer.begin_region(target.size());
  const ChunkTicket second = writer.submit(0, target);
  second.wait();
  const ChunkTicket copied = writer.submit(0, source, second.fingerprint());
  copied.wait();
  writer.finish();
  EXPECT_FALSE(copied.unchanged());
  EXPECT_EQ(copied.chunk(), first.chunk());
  EXPECT_LT(bytes_in(sub("a")), 2 * kTestChunk + 1000);
}

TEST_F(ChunkTest, EqualBlobsAreOneFile) {
  const Index index = write_regions(sub("a"), some_regions(), 2);
  std::set<Sha256Digest> digests;
  for (const Blob& blob : index.blobs) EXPECT_TRUE(digests.insert(blob.digest).second);
  EXPECT_EQ(index.regions[1].pre[0].blob, index.regions[8].pre[0].blob);
}

TEST_F(ChunkTest, SmallRegionsShareABlobAndLargeOnesAreSplit) {
  const Index index = write_regions(sub("a"), {random_bytes(4096, 1), random_bytes(5 * kTestChunk, 2), random_bytes(4096, 3)}, 2);
  EXPECT_EQ(index.regions[0].pre[0].blob, index.regions[2].pre[0].blob);
  EXPECT_NE(index.regions[1].pre[3].blob, index.regions[1].pre[4].blob);
  EXPECT_EQ(index.blobs.size(), 3u);
}

TEST_F(ChunkTest, UnchangedChunksAreNotStored) {
  Bytes bytes = random_bytes(kTestChunk, 1);
  Bytes changed = bytes;
  changed[17] ^= std::byte{1};
  ChunkWriter writer(sub("a"), options(2));
  writer.begin_region(bytes.size());
  const ChunkTicket pre = writer.submit(0, bytes);
  pre.wait();
  const ChunkTicket same = writer.submit(0, bytes, pre.fingerprint());
  const ChunkTicket other = writer.submit(0, changed, pre.fingerprint());
  same.wait();
  other.wait();
  writer.finish();
  EXPECT_TRUE(same.unchanged());
  EXPECT_FALSE(other.unchanged());
  EXPECT_EQ(other.chunk().raw_digest, sha256(changed));
}

TEST_F(ChunkTest, BlobsThatAreNoLongerWantedGo) {
  const fs::path directory = sub("a");
  auto regions = some_regions();
  Index index = write_regions(directory, regions, 2);
  const auto all = index.blobs.size();
  const Blob unwanted = index.blobs[index.regions[0].pre[0].blob];
  index.regions.erase(index.regions.begin());
  regions.erase(regions.begin());
  keep_used_blobs(index, directory);
  EXPECT_EQ(index.blobs.size(), all - 1);
  EXPECT_EQ(names_in(directory).size(), all - 1);
  EXPECT_FALSE(fs::exists(directory / to_hex(unwanted.digest)));
  expect_equal(index_from_json(to_json(index)), directory, regions);
}

TEST_F(ChunkTest, StandardZstdReadsABlob) {
  const Bytes bytes = counting_bytes(3 * kTestChunk);
  const Index index = write_regions(sub("a"), {bytes}, 2);
  const Bytes blob = read_file(sub("a") / to_hex(index.blobs.at(0).digest), 1u << 30);
  Bytes actual(bytes.size());
  EXPECT_EQ(ZSTD_decompress(actual.data(), actual.size(), blob.data(), blob.size()), bytes.size());
  EXPECT_EQ(actual, bytes);
}

TEST_F(ChunkTest, AbandonedWriterLeavesNothing) {
  const Bytes bytes = random_bytes(kTestChunk, 1);
  {
    ChunkWriter writer(sub("a"), options(2));
    writer.begin_region(bytes.size());
    writer.submit(0, bytes).wait();
  }
  EXPECT_TRUE(names_in(sub("a")).empty());
}

TEST_F(ChunkTest, WriteErrorIsReported) {
  const Bytes bytes = random_bytes(kTestChunk, 1);
  EXPECT_EQ(code_of([&] {
              ChunkWriter writer(directory_ / "missing", options(2));
              writer.begin_region(bytes.size());
              for (int i = 0; i < 20; ++i) writer.submit(0, bytes);
              writer.finish();
            }),
            "host.io");
}

TEST_F(ChunkTest, OneFlippedBitIsFound) {
  const fs::path directory = sub("a");
  const Index index = write_regions(directory, {counting_bytes(1000)}, 1);
  const fs::path path = directory / to_hex(index.blobs.at(0).digest);
  const Bytes good = read_file(path, 1u << 20);
  const Chunk& chunk = index.regions[0].pre[0];
  Bytes out(chunk.length);
  for (std::size_t i = 0; i < chunk.stored; ++i) {
    Bytes bad = good;
    bad[i] ^= std::byte{0x10};
    write_file_atomic(path, bad);
    const ChunkReader reader(index, locations(index, directory));
    // A frame has a few bits without meaning (an unused header bit, padding): then the data must be right all the same.
    const std::string code = code_of([&] { reader.read(chunk, out); });
    EXPECT_TRUE(code == "bundle.corrupt-chunk" || (code == "no error" && out == counting_bytes(1000))) << "byte " << i << " " << code;
    EXPECT_EQ(code_of([&] { read_blob(locations(index, directory), index.blobs[0].digest, 1u << 20); }), "bundle.digest-mismatch");
  }
}

TEST_F(ChunkTest, WithAnArrivalBlobsAreOpenedWhenTheyAreRead) {
  const fs::path directory = sub("a");
  const Bytes bytes = counting_bytes(1000);
  const Index index = write_regions(directory, {bytes}, 1);
  const fs::path path = directory / to_hex(index.blobs.at(0).digest);
  fs::rename(path, directory / "elsewhere");
  const ChunkReader reader(index, locations(index, directory), Arrival(directory / "no marker"));
  Bytes out(1000);
  EXPECT_EQ(code_of([&] { reader.read(index.regions[0].pre[0], out); }), "bundle.missing-blob");
  fs::rename(directory / "elsewhere", path);  // what failed is tried again
  EXPECT_EQ(code_of([&] { reader.read(index.regions[0].pre[0], out); }), "no error");
  EXPECT_EQ(out, bytes);
}

TEST_F(ChunkTest, MissingAndTruncatedBlobsAreFoundAtOpening) {
  const fs::path directory = sub("a");
  const Index index = write_regions(directory, {counting_bytes(1000)}, 1);
  const fs::path path = directory / to_hex(index.blobs.at(0).digest);
  EXPECT_EQ(code_of([&] { ChunkReader(index, {}); }), "bundle.missing-blob");
  BlobLocations wrong = locations(index, directory);
  wrong.begin()->second.offset = ~std::uint64_t{0};
  EXPECT_EQ(code_of([&] { ChunkReader(index, wrong); }), "bundle.truncated");
  wrong.begin()->second = {path, 0, 5};
  EXPECT_EQ(code_of([&] { ChunkReader(index, wrong); }), "bundle.truncated");
  fs::resize_file(path, index.blobs[0].size - 1);
  EXPECT_EQ(code_of([&] { ChunkReader(index, locations(index, directory)); }), "bundle.truncated");
  fs::remove(path);
  EXPECT_EQ(code_of([&] { ChunkReader(index, locations(index, directory)); }), "bundle.missing-blob");
}

Bytes encoded(int level, const Bytes& raw) {
  Frame frame;
  FrameEncoder(level).encode(raw, frame);
  return {frame.bytes().begin(), frame.bytes().end()};
}

#if !defined(__SANITIZE_ADDRESS__)  // it keeps freed memory
std::size_t most_memory_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) return std::stoul(line.substr(6));
  return 0;
}

// However much is stored: a few chunks on their way.
TEST_F(ChunkTest, MemoryIsBounded) {
  ChunkWriter writer(sub("blobs"), {});
  constexpr std::size_t chunk = 4u << 20, chunks = 64;
  Bytes raw = random_bytes(chunk, 9);
  std::vector<ChunkTicket> tickets;
  writer.begin_region(chunk * chunks);
  const auto before = most_memory_kib();
  ASSERT_GT(before, 0u);
  for (std::size_t i = 0; i < chunks; ++i) {
    raw[0] = static_cast<std::byte>(i);
    tickets.push_back(writer.submit(i * chunk, raw));
    tickets.back().wait();
  }
  EXPECT_EQ(writer.finish().size(), 5u);  // of 60 MiB, in which chunks begin
  EXPECT_LT(most_memory_kib() - before, 64u << 10);
}
#endif

TEST(Frame, KeepsItsMemory) {
  Frame frame;
  EXPECT_TRUE(frame.empty());
  const std::byte* const first = frame.room(1000).data();
  frame.set_size(10);
  EXPECT_EQ(frame.bytes().size(), 10u);
  EXPECT_EQ(frame.room(900).data(), first);
  EXPECT_TRUE(frame.empty());
  EXPECT_EQ(frame.capacity(), 1000u);
}

TEST(FrameDecoder, RefusesFramesThatAreNotOurs) {
  const Bytes raw = counting_bytes(5000);
  Bytes frame(ZSTD_compressBound(raw.size()));
  frame.resize(ZSTD_compress(frame.data(), frame.size(), raw.data(), raw.size(), 1));  // no checksum
  Bytes out(raw.size());
  FrameDecoder decoder;
  EXPECT_EQ(code_of([&] { decoder.decode(frame, 1, out); }), "bundle.corrupt-chunk");
  frame = encoded(1, raw);
  decoder.decode(frame, 1, out);
  EXPECT_EQ(out, raw);
  Bytes small(raw.size() - 1);
  EXPECT_EQ(code_of([&] { decoder.decode(frame, 1, small); }), "bundle.corrupt-chunk");
  Bytes two = frame;
  two.insert(two.end(), frame.begin(), frame.end());
  EXPECT_EQ(code_of([&] { decoder.decode(two, 1, out); }), "bundle.corrupt-chunk");
  EXPECT_EQ(code_of([&] { decoder.decode({}, 1, out); }), "bundle.corrupt-chunk");
  // One raw block whose header asks for a window of 64 MiB, which is allowed, or of more.
  for (const auto& [window, code] : {std::pair{0x80, "no error"}, {0x81, "bundle.corrupt-chunk"}, {0xff, "bundle.corrupt-chunk"}}) {
    Bytes windowed(frame.begin(), frame.begin() + 4);
    for (const int byte : {0x84, window, 5000 & 255, 5000 >> 8, 0, 0, (5000 << 3 | 1) & 255, (5000 << 3) >> 8, 0}) windowed.push_back(std::byte(byte));
    windowed.insert(windowed.end(), raw.begin(), raw.end());
    windowed.insert(windowed.end(), frame.end() - 4, frame.end());
    EXPECT_EQ(code_of([&] { decoder.decode(windowed, 1, out); }), code) << window;
  }
  for (std::size_t n = 0; n < frame.size(); ++n) {
    EXPECT_EQ(code_of([&] { decoder.decode(std::span(frame).first(n), 1, out); }), "bundle.corrupt-chunk") << n;
  }
}

// The decoder is libzstd's: it knows the blocks and compares the checksum.
TEST(FrameEncoder, LevelZeroStores) {
  for (const std::size_t size : {1u, 3u, 4u, 11u, 31u, 32u, 77u, 131071u, 131072u, 131073u, 1u << 20, (1u << 22) - 5}) {
    Bytes raw(size), got(size);
    for (std::size_t i = 0; i < size; ++i) raw[i] = static_cast<std::byte>(i * 7 + i / 251);
    const Bytes frame = encoded(0, raw);
    EXPECT_EQ(frame.size(), size + 3 * (1 + (size - 1) / 131072) + 13) << size;
    FrameDecoder().decode(frame, 1, got);
    EXPECT_EQ(got, raw) << size;
  }
}

TEST(FrameEncoder, IncompressibleDataStaysItsSize) {
  const Bytes raw = random_bytes(1u << 20, 5);
  EXPECT_LT(encoded(1, raw).size(), raw.size() + 100);
}

}  // namespace
}  // namespace kerncap
