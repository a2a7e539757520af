#include "bundle/used_blobs.hpp"

#include <functional>
#include <utility>

#include "base/error.hpp"

namespace kerncap {
namespace {

void each_stored_chunk(Index& index, const std::function<void(Chunk&)>& visit) {
  const auto all = [&](std::vector<Chunk>& chunks) {
    for (Chunk& chunk : chunks) {
      if (chunk.kind == Chunk::Kind::zstd) visit(chunk);
    }
  };
  for (Region& region : index.regions) {
    all(region.pre);
    all(region.post);
    for (auto& state : region.between) all(state);
  }
}

}  // namespace

void keep_used_blobs(Index& index, const std::filesystem::path& blob_directory) {
  std::vector<bool> used(index.blobs.size());
  each_stored_chunk(index, [&](const Chunk& chunk) { used.at(chunk.blob) = true; });
  std::vector<std::uint32_t> number(index.blobs.size());
  std::vector<Blob> kept;
  for (std::size_t i = 0; i < index.blobs.size(); ++i) {
    number[i] = static_cast<std::uint32_t>(kept.size());
    if (used[i]) {
      kept.push_back(index.blobs[i]);
      continue;
    }
    const auto path = blob_directory / to_hex(index.blobs[i].digest);
    std::error_code error;
    std::filesystem::remove(path, error);
    if (error) throw system_error("cannot remove " + printable(path.native()), error.value());
  }
  each_stored_chunk(index, [&](Chunk& chunk) { chunk.blob = number[chunk.blob]; });
  index.blobs = std::move(kept);
}

}  // namespace kerncap
