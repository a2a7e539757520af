// One blob while it is written: a file under a temporary name until it is named by its digest. In: frames, in order.
// Out: <directory>/<hex>. Called by ChunkWriter; one thread at a time.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/file.hpp"
#include "bundle/index.hpp"

namespace kerncap {

class BlobFile {
 public:
  explicit BlobFile(const std::filesystem::path& directory);
  ~BlobFile();  // without name(): no file is left
  BlobFile(const BlobFile&) = delete;
  BlobFile& operator=(const BlobFile&) = delete;

  std::uint64_t raw_bytes() const noexcept { return raw_bytes_; }

  // The offset at which the frame begins.
  std::uint64_t append_frame(std::span<const std::byte> frame, std::uint64_t raw_bytes);
  void append(std::span<const std::byte> bytes);
  // The sizes of all frames. Source: zstd, contrib/seekable_format/zstd_seekable_compression_format.md, a skippable frame.
  void append_seek_table();
  // No more is written. Neither waits for the disk nor asks it to begin (which waits too, when its queue is full), nor reads
  // anything: an application may be held meanwhile.
  void close();
  // After close(). The digest is that of what was written, which is read for it; `visit` gets each frame, in order.
  Blob name(const std::function<void(std::span<const std::byte> frame)>& visit);
  Blob name(const Sha256Digest& digest);

 private:
  std::filesystem::path directory_;
  std::string temporary_;
  UniqueFd fd_;
  bool named_ = false;
  std::uint64_t size_ = 0;
  std::uint64_t raw_bytes_ = 0;
  struct FrameSize {
    std::uint64_t stored = 0;
    std::uint64_t raw = 0;
  };
  std::vector<FrameSize> frames_;
};

}  // namespace kerncap
