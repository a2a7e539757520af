// Reads chunks back. In: the index and where each blob's bytes lie (a file, or a range of one: a blob within a tar).
// Out: raw bytes in the caller's buffer, checked. Called by kerncap-replay from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/file.hpp"
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

  // Opens every blob that a chunk refers to, so that a missing or short one is found before anything is restored.
  ChunkReader(const Index& index, const BlobLocations& locations);

  // out.size() must be chunk.length. Throws bundle.corrupt-chunk or bundle.truncated. Thread-safe.
  void read(const Chunk& chunk, std::span<std::byte> out, Check check = Check::checksum) const;

 private:
  struct Open {
    UniqueFd fd;
    std::filesystem::path path;
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
  };
  std::vector<Open> blobs_;
};

}  // namespace kerncap
