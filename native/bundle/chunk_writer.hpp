// Writes captured memory as content-addressed blobs of zstd frames. In: raw chunks, in order. Out: files named by their
// sha256, and the Chunk entries for the index. Called by the tool library while it takes a snapshot.
//
//   ChunkWriter writer(directory / "blobs/sha256", {});
//   writer.begin_region(region.size);
//   auto ticket = writer.submit(at, staging);        // several in flight, one staging buffer each
//   ticket.wait();                                   // `staging` may be used again
//   writer.begin_region(region.size);                // second pass: post-state
//   auto changed = writer.submit(at, staging, ticket.fingerprint());  // writes nothing if the bytes are the same
//   index.blobs = writer.finish();                   // then ticket.chunk() is final
//
// The same bytes are stored once: a chunk that is like an earlier one, of whatever region and state, shares its frame.
// What is written depends only on the order of submissions, never on the number of threads, and is on the disk after
// sync_blobs() only. Declare the staging buffers
// before the writer: when something throws, the writer must end first, since its threads may still read them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/digest.hpp"
#include "bundle/chunk_codec.hpp"
#include "bundle/index.hpp"

namespace kerncap {

struct ChunkWriterOptions {
  int zstd_level = 1;
  std::uint64_t chunk_bytes = 4u << 20;            // at most
  std::uint64_t blob_bytes = 60u << 20;            // of a region, in which the chunks of one blob begin: at most 64 MiB raw
  std::uint64_t shared_region_bytes = 64u << 10;   // smaller regions share blobs
  unsigned threads = 2;
};

struct ChunkTicketState;

class ChunkTicket {
 public:
  ChunkTicket() = default;
  explicit ChunkTicket(std::shared_ptr<ChunkTicketState> state) : state_(std::move(state)) {}
  // Until the raw bytes are no longer needed. Throws what went wrong in a worker, if anything did.
  void wait() const;
  std::uint64_t length() const noexcept;  // raw bytes
  // After wait().
  const Fingerprint& fingerprint() const;
  bool unchanged() const;  // the bytes have the fingerprint given to submit(): nothing was stored, chunk() must not be used
  // After ChunkWriter::finish().
  const Chunk& chunk() const;

 private:
  std::shared_ptr<ChunkTicketState> state_;
};

class ChunkWriter {
 public:
  // `blob_directory` must exist; the blobs appear in it as <hex>.
  ChunkWriter(std::filesystem::path blob_directory, ChunkWriterOptions options);
  ~ChunkWriter();  // without finish(): stops the threads and removes the files that have no name yet
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

  const ChunkWriterOptions& options() const noexcept;

  // The chunks that follow belong to one region (or one region's changed chunks). Decides in which blob they go.
  void begin_region(std::uint64_t region_bytes);
  // `raw` (at most 64 MiB) must stay valid and unchanged until wait(). Blocks while too many chunks are in flight.
  // Throws what went wrong earlier. One thread at a time.
  ChunkTicket submit(std::uint64_t at, std::span<const std::byte> raw,
                     std::optional<Fingerprint> unless = std::nullopt);
  // Waits for everything, closes and names the blobs. No submit() afterwards.
  std::vector<Blob> finish();

  // A file kept as a blob of its own (the code object). Any time before finish(); is not part of finish()'s list.
  static Blob write_blob(const std::filesystem::path& blob_directory, std::span<const std::byte> bytes);
  // Waits until all that is in the directory is on the disk. Nothing before does: an application may be held meanwhile, and a
  // busy disk takes seconds for each file.
  static void sync_blobs(const std::filesystem::path& blob_directory);

  std::uint64_t raw_bytes() const noexcept;  // submitted so far

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kerncap
