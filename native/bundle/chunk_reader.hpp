// Reads chunks back. In: the index and where each blob's bytes lie (a file, or a range of one: a blob within a tar).
// Out: raw bytes in the caller's buffer, checked. Called by kerncap-replay from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.hpp"
#include "bundle/arrival.hpp"
#include "bundle/index.hpp"

namespace kerncap {

struct BlobLocation {
  std::filesystem::path path;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// "sha256:<hex>" -> where
using BlobLocations = std::unordered_map<std::string, BlobLocation>;

// A whole blob of at most `limit` bytes, digest checked: bundle.missing-blob, bundle.truncated, bundle.digest-mismatch.
std::vector<std::byte> read_blob(const BlobLocations& locations, const Sha256Digest& digest, std::uint64_t limit);

class ChunkReader {
 public:
  enum class Check : std::uint8_t { checksum, digest };  // digest: also the sha256 of the raw bytes

  // Opens every blob that a chunk refers to, so that a missing or short one is found before anything is restored. With `arrival`
  // each is opened when a chunk of it is read for the first time, which waits for it.
  ChunkReader(const Index& index, const BlobLocations& locations, std::optional<Arrival> arrival = std::nullopt);

  // out.size() must be chunk.length. Throws bundle.corrupt-chunk or bundle.truncated, and with an arrival what the constructor
  // would. Thread-safe.
  void read(const Chunk& chunk, std::span<std::byte> out, Check check = Check::checksum) const;

 private:
  struct Open {
    Blob blob;
    std::once_flag once;
    UniqueFd fd;
    std::filesystem::path path;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  const Open& opened(std::uint32_t blob) const;
  void open(Open& blob) const;

  BlobLocations locations_;
  std::optional<Arrival> arrival_;
  std::size_t count_;
  std::unique_ptr<Open[]> blobs_;  // a once_flag cannot be moved
};

}  // namespace kerncap
