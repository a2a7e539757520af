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

ChunkReader::ChunkReader(const Index& index, const BlobLocations& locations, std::optional<Arrival> arrival)
    : locations_(locations), arrival_(std::move(arrival)), count_(index.blobs.size()), blobs_(std::make_unique<Open[]>(count_)) {
  std::vector<bool> used(count_, false);
  for (const Region& region : index.regions) {
    for (const std::vector<Chunk>* list : {&region.pre, &region.post}) {
      for (const Chunk& chunk : *list) {
        if (chunk.kind == Chunk::Kind::zstd) used.at(chunk.blob) = true;
      }
    }
  }
  for (std::size_t i = 0; i < count_; ++i) {
    blobs_[i].blob = index.blobs[i];
    if (used[i] && !arrival_) opened(static_cast<std::uint32_t>(i));
  }
}

const ChunkReader::Open& ChunkReader::opened(std::uint32_t blob) const {
  if (blob >= count_) throw Error("bundle.malformed", "chunk of a blob that does not exist");
  Open& open_blob = blobs_[blob];
  std::call_once(open_blob.once, [&] { open(open_blob); });
  return open_blob;
}

void ChunkReader::open(Open& open) const {
  const std::string name = digest_text(open.blob.digest);
  if (const auto it = locations_.find(name); arrival_ && it != locations_.end()) arrival_->wait_for(it->second.path);
  const BlobLocation* location = nullptr;
  open.fd = open_blob(locations_, name, location);
  check_size(name, open.blob.size, location->size);
  open.path = location->path;
  open.offset = location->offset;
  open.size = location->size;
}

void ChunkReader::read(const Chunk& chunk, std::span<std::byte> out, Check check) const {
  if (out.size() != chunk.length) throw Error("internal", "chunk buffer has the wrong size");
  if (chunk.kind == Chunk::Kind::fill) {
    write_fill(out, chunk.fill_value);
  } else {
    thread_local FrameDecoder decoder;
    thread_local std::vector<std::byte> frame;
    const Open& blob = opened(chunk.blob);
    if (chunk.offset > blob.size || chunk.stored > blob.size - chunk.offset) throw Error("bundle.malformed", "chunk outside its blob");
    frame.resize(chunk.stored);
    if (!read_at(blob.fd.get(), blob.offset + chunk.offset, frame, blob.path)) {
      throw Error("bundle.truncated", printable(blob.path.native()) + " ends early");
    }
    decoder.decode(frame, chunk.width, out);
  }
  if (check == Check::digest && sha256(out) != chunk.raw_digest) {
    throw Error("bundle.digest-mismatch", "a chunk of " + std::to_string(chunk.length) + " bytes is not what its digest says");
  }
}

}  // namespace kerncap
