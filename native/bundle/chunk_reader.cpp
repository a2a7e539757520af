#include "bundle/chunk_reader.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "bundle/chunk_codec.hpp"

namespace kerncap {
namespace {

// Opens and checks that the range is really in the file.
UniqueFd open_blob(const BlobLocations& locations, const std::string& digest, const BlobLocation*& location) {
  const auto it = locations.find(digest);
  if (it == locations.end()) throw Error("bundle.missing-blob", "blob " + digest + " is not there");
  location = &it->second;
  UniqueFd fd;
  try {
    fd = open_regular(location->path);
  } catch (const Error& error) {
    throw Error("bundle.missing-blob", "blob " + digest + ": " + error.what());
  }
  const std::uint64_t bytes = file_size(fd.get(), location->path);
  if (location->offset > bytes || location->size > bytes - location->offset) {
    throw Error("bundle.truncated", "blob " + digest + " needs " + std::to_string(location->size) + " bytes at " +
                                        std::to_string(location->offset) + " of " + printable(location->path.native()) +
                                        ", which has " + std::to_string(bytes));
  }
  return fd;
}

void check_size(const std::string& digest, std::uint64_t expected, std::uint64_t actual) {
  if (expected == actual) return;
  throw Error(actual < expected ? "bundle.truncated" : "bundle.malformed",
              "blob " + digest + " has " + std::to_string(actual) + " bytes instead of " + std::to_string(expected));
}

}  // namespace

std::vector<std::byte> read_blob(const BlobLocations& locations, const Sha256Digest& digest, std::uint64_t limit) {
  const std::string name = digest_text(digest);
  const BlobLocation* location = nullptr;
  const UniqueFd fd = open_blob(locations, name, location);
  if (location->size > limit) {
    throw Error("bundle.malformed", "blob " + name + " has " + std::to_string(location->size) + " bytes, more than " +
                                        std::to_string(limit));
  }
  std::vector<std::byte> bytes(location->size);
  if (!read_at(fd.get(), location->offset, bytes, location->path)) throw Error("bundle.truncated", "blob " + name + " ends early");
  if (sha256(bytes) != digest) throw Error("bundle.digest-mismatch", "blob " + name + " holds other bytes than its digest says");
  return bytes;
}

ChunkReader::ChunkReader(const Index& index, const BlobLocations& locations) : blobs_(index.blobs.size()) {
  std::vector<bool> used(index.blobs.size(), false);
  for (const Region& region : index.regions) {
    for (const std::vector<Chunk>* list : {&region.pre, &region.post}) {
      for (const Chunk& chunk : *list) {
        if (chunk.kind == Chunk::Kind::zstd) used.at(chunk.blob) = true;
      }
    }
  }
  for (std::size_t i = 0; i < index.blobs.size(); ++i) {
    if (!used[i]) continue;
    const std::string name = digest_text(index.blobs[i].digest);
    const BlobLocation* location = nullptr;
    UniqueFd fd = open_blob(locations, name, location);
    check_size(name, index.blobs[i].size, location->size);
    blobs_[i] = Open{std::move(fd), location->path, location->offset, location->size};
  }
}

void ChunkReader::read(const Chunk& chunk, std::span<std::byte> out, Check check) const {
  if (out.size() != chunk.length) throw Error("internal", "chunk buffer has the wrong size");
  if (chunk.kind == Chunk::Kind::fill) {
    write_fill(out, chunk.fill_value);
  } else {
    thread_local FrameDecoder decoder;
    thread_local std::vector<std::byte> frame;
    const Open& blob = blobs_.at(chunk.blob);
    if (chunk.offset > blob.size || chunk.stored > blob.size - chunk.offset) throw Error("bundle.malformed", "chunk outside its blob");
    frame.resize(chunk.stored);
    if (!read_at(blob.fd.get(), blob.offset + chunk.offset, frame, blob.path)) {
      throw Error("bundle.truncated", printable(blob.path.native()) + " ends early");
    }
    decoder.decode(frame, out);
  }
  if (check == Check::digest && sha256(out) != chunk.raw_digest) {
    throw Error("bundle.digest-mismatch", "a chunk of " + std::to_string(chunk.length) + " bytes is not what its digest says");
  }
}

}  // namespace kerncap
