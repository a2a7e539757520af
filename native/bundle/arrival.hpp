// Blobs that are still on their way while a replay runs: whoever brings them holds the marker file locked (flock, exclusive) and
// renames each blob to its place when it is whole and checked. In: the marker's path. Out: the blob is there, or an Error as soon
// as nobody brings it any more. Called by the chunk reader, from several threads at once.
#pragma once

#include <filesystem>
#include <utility>

namespace kerncap {

class Arrival {
 public:
  explicit Arrival(std::filesystem::path marker) : marker_(std::move(marker)) {}

  // Returns when there is something at `blob`. Throws bundle.missing-blob.
  void wait_for(const std::filesystem::path& blob) const;

 private:
  bool is_underway() const;
  std::filesystem::path marker_;
};

}  // namespace kerncap
