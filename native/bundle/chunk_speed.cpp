// How fast chunks are written and read, on memory and without a device. In: files, each one region. Out: a capture's index and blobs,
// and one JSON line of figures. Called by benchmarks/chunks.py.
//
//   chunk_speed write DIR THREADS LEVEL FILE...   DIR/index.json, DIR/blobs/sha256
//   chunk_speed restore DIR THREADS               every region into memory that is resident already, then compared with its digests

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <iostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "bundle/chunk_reader.hpp"
#include "bundle/chunk_writer.hpp"
#include "bundle/cutter.hpp"

namespace kerncap {
namespace {

using Bytes = std::vector<std::byte>;

class Watch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count(); }

 private:
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
};

// Of all threads: tells more than the clock where other programs run.
double cpu_s() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::vector<Bytes> read_files(std::span<char*> paths) {
  std::vector<Bytes> regions;
  for (const char* path : paths) regions.push_back(read_file(path, std::uint64_t{1} << 40));
  return regions;
}

// As the tool library does it, but for the copy into its buffers.
std::vector<std::vector<ChunkTicket>> submit(ChunkWriter& writer, const std::vector<Bytes>& regions) {
  std::vector<std::vector<ChunkTicket>> tickets;
  std::uint64_t all_bytes = 0;
  for (const Bytes& bytes : regions) all_bytes += bytes.size();
  Cutter cutter(CutRule::for_bytes(all_bytes));
  for (const Bytes& bytes : regions) {
    writer.begin_region(bytes.size());
    tickets.emplace_back();
    std::span<const std::byte> left(bytes);
    while (!left.empty()) {
      const auto chunk = left.first(cutter.next(left, true));
      tickets.back().push_back(writer.submit(bytes.size() - left.size(), chunk));
      left = left.subspan(chunk.size());
    }
  }
  for (const auto& region : tickets)
    for (const ChunkTicket& ticket : region) ticket.wait();
  return tickets;
}

Json write(const std::filesystem::path& directory, unsigned threads, int level, std::span<char*> paths) {
  const auto regions = read_files(paths);
  std::filesystem::create_directories(directory / "blobs/sha256");
  const double cpu_before = cpu_s();
  const Watch watch;
  ChunkWriterOptions options;
  options.threads = threads;
  options.zstd_level = level;
  ChunkWriter writer(directory / "blobs/sha256", options);
  const auto tickets = submit(writer, regions);
  const double held_s = watch.seconds(), held_cpu_s = cpu_s() - cpu_before;
  Index index;
  index.blobs = writer.finish();
  const double whole_s = watch.seconds(), whole_cpu_s = cpu_s() - cpu_before;
  ChunkWriter::sync_blobs(directory / "blobs/sha256");
  const double synced_s = watch.seconds();
  std::uint64_t va = std::uint64_t{1} << 40, chunks = 0, stored = 0;
  for (std::size_t i = 0; i < regions.size(); ++i) {
    Region region;
    region.va = va;
    region.size = regions[i].size();
    va += (region.size + (2u << 20)) >> 21 << 21;
    for (const ChunkTicket& ticket : tickets[i]) region.pre.push_back(ticket.chunk());
    chunks += region.pre.size();
    index.regions.push_back(std::move(region));
  }
  for (const Blob& blob : index.blobs) stored += blob.size;
  write_json_atomic(directory / "index.json", to_json(index));
  return {{"raw_bytes", writer.raw_bytes()}, {"stored_bytes", stored}, {"chunks", chunks},    {"blobs", index.blobs.size()},
          {"held_s", held_s},                {"whole_s", whole_s},     {"synced_s", synced_s}, {"held_cpu_s", held_cpu_s},
          {"whole_cpu_s", whole_cpu_s}};
}

Json restore(const std::filesystem::path& directory, unsigned threads) {
  const Index index = index_from_json(read_json_file(directory / "index.json", "bundle.malformed"));
  BlobLocations locations;
  for (const Blob& blob : index.blobs) locations[digest_text(blob.digest)] = {directory / "blobs/sha256" / to_hex(blob.digest), 0, blob.size};
  const ChunkReader reader(index, locations);
  struct Work {
    const Chunk* chunk;
    std::span<std::byte> out;
  };
  std::vector<Bytes> memory;
  std::vector<Work> work;
  for (const Region& region : index.regions) memory.emplace_back(region.size, std::byte{0xa5});
  for (std::size_t i = 0; i < memory.size(); ++i) {
    for (const Chunk& chunk : index.regions[i].pre) work.push_back({&chunk, std::span(memory[i]).subspan(chunk.at, chunk.length)});
  }
  const auto all = [&](const auto& action) {
    std::atomic<std::size_t> next{0};
    std::vector<std::jthread> pool;
    for (unsigned t = 0; t < threads; ++t) pool.emplace_back([&] {
      for (std::size_t i = next++; i < work.size(); i = next++) action(work[i]);
    });
  };
  const Watch watch;
  all([&](const Work& one) { reader.read(*one.chunk, one.out); });
  const double restore_s = watch.seconds();
  std::atomic<std::uint64_t> wrong{0}, bytes{0};
  all([&](const Work& one) {
    wrong += sha256(one.out) == one.chunk->raw_digest ? 0 : 1;
    bytes += one.out.size();
  });
  if (wrong != 0) throw Error("internal", std::to_string(wrong) + " chunks are not what was written");
  return {{"raw_bytes", bytes.load()}, {"restore_s", restore_s}};
}

Json run(std::span<char*> arguments) {
  const std::string mode = arguments.size() > 1 ? arguments[1] : "";
  if (mode == "write" && arguments.size() > 5) {
    return write(arguments[2], static_cast<unsigned>(std::atoi(arguments[3])), std::atoi(arguments[4]), arguments.subspan(5));
  }
  if (mode == "restore" && arguments.size() == 4) return restore(arguments[2], static_cast<unsigned>(std::atoi(arguments[3])));
  throw Error("usage", "chunk_speed write DIR THREADS LEVEL FILE... | restore DIR THREADS");
}

}  // namespace
}  // namespace kerncap

int main(int argc, char** argv) {
  try {
    std::cout << kerncap::dump(kerncap::run({argv, static_cast<std::size_t>(argc)})) << "\n";
    return 0;
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
