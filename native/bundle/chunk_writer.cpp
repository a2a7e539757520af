#include "bundle/chunk_writer.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "base/file.hpp"
#include "bundle/blob_file.hpp"
#include "bundle/chunk_codec.hpp"
#include "bundle/frame.hpp"

namespace kerncap {
namespace {

// Which blob a chunk goes to: chunks with the same key share one. Key 0 is the shared blob of small regions, which is
// replaced by the next when it is full.
using BlobKey = std::uint64_t;

// What two chunks with the same bytes have in common.
struct Content {
  Fingerprint fingerprint;
  std::uint64_t length = 0;
  bool operator==(const Content&) const = default;
};
struct ContentHash {
  std::size_t operator()(const Content& content) const noexcept { return content.fingerprint.low; }
};

// The threads live inside the application: its signal handlers must never run on them.
class BlockSignals {
 public:
  BlockSignals() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old_);
  }
  ~BlockSignals() { pthread_sigmask(SIG_SETMASK, &old_, nullptr); }
  BlockSignals(const BlockSignals&) = delete;
  BlockSignals& operator=(const BlockSignals&) = delete;

 private:
  sigset_t old_{};
};

}  // namespace

struct ChunkTicketState {
  // Set by submit()
  std::span<const std::byte> raw;
  std::optional<Fingerprint> unless;
  BlobKey key = 0;
  // Set by a worker, under `mutex`
  Frame frame;
  Fingerprint fingerprint{};
  bool unchanged = false;
  bool encoded = false;
  // Set by a worker or the writer thread: the first chunk with these bytes, whose frame is this one's too
  const ChunkTicketState* same = nullptr;
  // Set by the writer thread
  bool written = false;
  Chunk chunk;

  std::mutex mutex;
  std::condition_variable changed;
  std::exception_ptr failure;
};

void ChunkTicket::wait() const {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->encoded; });
  if (state_->failure) std::rethrow_exception(state_->failure);
}
std::uint64_t ChunkTicket::length() const noexcept { return state_->chunk.length; }
const Fingerprint& ChunkTicket::fingerprint() const { return state_->fingerprint; }
bool ChunkTicket::unchanged() const { return state_->unchanged; }
const Chunk& ChunkTicket::chunk() const { return state_->chunk; }

class ChunkWriter::Impl {
 public:
  Impl(std::filesystem::path directory, ChunkWriterOptions options) : options_(options), directory_(std::move(directory)) {
    if (options_.threads == 0 || options_.threads > 64) throw Error("usage.threads", "threads must be 1 to 64");
    if (options_.chunk_bytes == 0 || options_.chunk_bytes > limits::kChunkBytes || options_.blob_bytes == 0) {
      throw Error("usage.chunk-bytes", "chunk and blob sizes must be positive, a chunk at most 64 MiB");
    }
    const FrameEncoder level_is_valid(options_.zstd_level);
    const BlockSignals no_signals;
    try {
      for (unsigned i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
      threads_.emplace_back([this] { write(); });
    } catch (...) {
      stop();
      throw;
    }
  }

  ~Impl() { stop(); }

  void begin_region(std::uint64_t region_bytes) {
    shared_ = region_bytes < options_.shared_region_bytes;
    if (!shared_) region_key_ = next_key_;
    next_key_ += shared_ ? 0 : 1 + (region_bytes - 1) / options_.blob_bytes;
  }

  ChunkTicket submit(std::uint64_t at, std::span<const std::byte> raw, std::optional<Fingerprint> unless) {
    if (raw.empty() || raw.size() > limits::kChunkBytes) throw Error("internal", "a chunk has 1 byte to 64 MiB");
    auto state = std::make_shared<ChunkTicketState>();
    state->raw = raw;
    state->unless = unless;
    state->key = shared_ ? 0 : region_key_ + at / options_.blob_bytes;
    state->chunk.at = at;
    state->chunk.length = raw.size();
    std::unique_lock lock(mutex_);
    room_.wait(lock, [this] { return failure_ || in_order_.size() < 2 * options_.threads + 2; });
    if (failure_) std::rethrow_exception(failure_);
    if (finishing_) throw Error("internal", "submit after finish");
    raw_bytes_ += raw.size();
    jobs_.push_back(state);
    in_order_.push_back(state);
    tickets_.push_back(state);
    work_.notify_one();
    return ChunkTicket(std::move(state));
  }

  std::vector<Blob> finish() {
    {
      std::unique_lock lock(mutex_);
      room_.wait(lock, [this] { return failure_ || in_order_.empty(); });
      if (failure_) std::rethrow_exception(failure_);
    }
    stop(true);
    if (failure_) std::rethrow_exception(failure_);
    const auto named = name_blobs();
    // Two blobs of the same content are one file: later numbers point to the first.
    std::map<Sha256Digest, std::uint32_t> first;
    std::vector<std::uint32_t> number(named.size());
    std::vector<Blob> blobs;
    for (std::size_t i = 0; i < named.size(); ++i) {
      const auto [it, is_new] = first.emplace(named[i].digest, static_cast<std::uint32_t>(blobs.size()));
      if (is_new) blobs.push_back(named[i]);
      number[i] = it->second;
    }
    for (const auto& ticket : tickets_) {
      if (ticket->chunk.kind != Chunk::Kind::zstd || ticket->unchanged) continue;
      if (ticket->same == nullptr) {
        ticket->chunk.blob = number[ticket->chunk.blob];
      } else {  // an earlier one: it has its number already
        const std::uint64_t at = ticket->chunk.at;
        ticket->chunk = ticket->same->chunk;
        ticket->chunk.at = at;
      }
    }
    tickets_.clear();
    return blobs;
  }

  const ChunkWriterOptions options_;
  std::atomic<std::uint64_t> raw_bytes_{0};

 private:
  // keep: the blobs that are open are closed and get their names.
  void stop(bool keep = false) noexcept {
    {
      const std::lock_guard lock(mutex_);
      finishing_ = true;
    }
    work_.notify_all();
    order_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    if (keep) {
      try {
        close(region_blob_);
        close(shared_blob_);
      } catch (...) {
        fail(std::current_exception());
      }
    }
    // Nobody may wait for ever on what will never be encoded.
    for (const auto& ticket : in_order_) {
      const std::lock_guard lock(ticket->mutex);
      if (!ticket->encoded) {
        ticket->failure = std::make_exception_ptr(Error("internal", "the chunk writer was stopped"));
        ticket->encoded = true;
        ticket->changed.notify_all();
      }
    }
  }

  void fail(const std::exception_ptr& failure) {
    {
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = failure;
    }
    room_.notify_all();
    order_.notify_all();
  }

  void work() noexcept {
    std::optional<FrameEncoder> encoder;
    for (;;) {
      std::shared_ptr<ChunkTicketState> job;
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [this] { return finishing_ || !jobs_.empty(); });
        if (jobs_.empty()) return;
        job = std::move(jobs_.front());
        jobs_.pop_front();
        if (!spare_.empty()) {
          job->frame = std::move(spare_.back());
          spare_.pop_back();
        }
      }
      std::exception_ptr failure;
      try {
        if (!encoder) encoder.emplace(options_.zstd_level);
        encode(*job, *encoder);
      } catch (...) {
        failure = std::current_exception();
        fail(failure);
      }
      {
        const std::lock_guard lock(job->mutex);
        job->failure = failure;
        job->encoded = true;
        job->changed.notify_all();
      }
      // The writer sleeps on mutex_: taking it once makes sure that it sees `encoded` or is not asleep yet.
      { const std::lock_guard lock(mutex_); }
      order_.notify_one();
    }
  }

  // The digests of all blobs and of the chunks in them, by as many threads as encode. Only now, from what was written: an
  // application may be held while chunks are submitted, and does not wait for digests. What cannot be read back as it was
  // read from memory is found here, too.
  std::vector<Blob> name_blobs() {
    std::vector<Blob> named(closed_.size());
    std::vector<std::vector<ChunkTicketState*>> chunks(closed_.size());
    std::map<std::pair<std::uint64_t, std::uint64_t>, Sha256Digest> fills;
    for (const auto& ticket : tickets_) {
      if (ticket->unchanged || ticket->same != nullptr) continue;
      if (ticket->chunk.kind == Chunk::Kind::zstd) {
        chunks.at(ticket->chunk.blob).push_back(ticket.get());
      } else {
        const auto [it, is_new] = fills.try_emplace({ticket->chunk.fill_value, ticket->chunk.length});
        if (is_new) it->second = fill_digest(ticket->chunk);
        ticket->chunk.raw_digest = it->second;
      }
    }
    std::atomic<std::size_t> next{0};
    const auto work = [&]() noexcept {
      try {
        FrameDecoder decoder;
        std::vector<std::byte> raw;
        for (std::size_t i = next++; i < named.size(); i = next++) {
          auto chunk = chunks[i].begin();
          named[i] = closed_[i]->name([&](std::span<const std::byte> frame) { add_digest(**chunk++, frame, decoder, raw); });
        }
      } catch (...) {
        next = named.size();
        fail(std::current_exception());
      }
    };
    {
      const BlockSignals no_signals;
      std::vector<std::jthread> threads;
      for (unsigned i = 1; i < options_.threads; ++i) threads.emplace_back(work);
      work();
    }
    if (failure_) std::rethrow_exception(failure_);
    return named;
  }

  static Sha256Digest fill_digest(const Chunk& chunk) {
    std::vector<std::byte> raw(chunk.length);
    write_fill(raw, chunk.fill_value);
    return sha256(raw);
  }

  static void add_digest(ChunkTicketState& job, std::span<const std::byte> frame, FrameDecoder& decoder, std::vector<std::byte>& raw) {
    raw.resize(job.chunk.length);
    bool whole = true;
    try {
      decoder.decode(frame, job.chunk.width, raw);
    } catch (const Error&) {
      whole = false;
    }
    if (!whole || fingerprint_of(raw) != job.fingerprint) throw Error("host.io", "the disk does not hold what was written to it");
    job.chunk.raw_digest = sha256(raw);
  }

  void encode(ChunkTicketState& job, FrameEncoder& encoder) {
    job.fingerprint = fingerprint_of(job.raw);
    job.unchanged = job.unless == job.fingerprint;
    if (job.unchanged) return;
    if (const auto fill = find_fill(job.raw)) {
      job.chunk.kind = Chunk::Kind::fill;
      job.chunk.fill_value = *fill;
      return;
    }
    job.chunk.kind = Chunk::Kind::zstd;
    // Only chunks before this one are there by now. One that is not there yet is found when its turn comes.
    {
      const std::lock_guard lock(mutex_);
      if (const auto known = stored_.find(Content{job.fingerprint, job.chunk.length}); known != stored_.end()) job.same = known->second;
    }
    if (job.same != nullptr) return;
    job.chunk.width = encoder.encode(job.raw, job.frame);
  }

  void write() noexcept {
    for (;;) {
      std::shared_ptr<ChunkTicketState> head;
      {
        std::unique_lock lock(mutex_);
        order_.wait(lock, [this] {
          return failure_ || (in_order_.empty() ? finishing_ : is_encoded(*in_order_.front()) || finishing_);
        });
        if (failure_ || in_order_.empty() || !is_encoded(*in_order_.front())) return;
        head = in_order_.front();
      }
      try {
        if (!head->frame.empty() && is_first(*head)) write_frame(*head);
      } catch (...) {
        fail(std::current_exception());
        return;
      }
      {
        const std::lock_guard lock(mutex_);
        head->frame.clear();
        if (head->frame.capacity() > 0) spare_.push_back(std::move(head->frame));
        in_order_.pop_front();
      }
      room_.notify_all();
    }
  }

  static bool is_encoded(ChunkTicketState& ticket) {
    const std::lock_guard lock(ticket.mutex);
    return ticket.encoded && !ticket.failure;
  }

  // In the order of submission, so that it does not depend on the threads.
  bool is_first(ChunkTicketState& head) {
    const std::lock_guard lock(mutex_);
    const auto [known, is_new] = stored_.try_emplace(Content{head.fingerprint, head.chunk.length}, &head);
    if (!is_new) head.same = known->second;
    return is_new;
  }

  struct OpenBlob {
    std::uint32_t number;
    std::unique_ptr<BlobFile> file;
  };

  void write_frame(ChunkTicketState& head) {
    OpenBlob& blob = head.key == 0 ? shared_blob_ : region_blob_;
    const bool full = head.key == 0 ? blob.file && blob.file->raw_bytes() + head.raw.size() > options_.blob_bytes
                                    : written_key_ != head.key;
    if (full) close(blob);
    if (head.key != 0) written_key_ = head.key;
    if (!blob.file) {
      blob.file = std::make_unique<BlobFile>(directory_);
      const std::lock_guard lock(mutex_);
      blob.number = static_cast<std::uint32_t>(closed_.size());
      closed_.emplace_back();  // its place in the order of first use
    }
    head.chunk.blob = blob.number;
    head.chunk.offset = blob.file->append_frame(head.frame.bytes(), head.chunk.length);
    head.chunk.stored = head.frame.size();
  }

  void close(OpenBlob& blob) {
    if (!blob.file) return;
    blob.file->append_seek_table();
    blob.file->close();
    const std::lock_guard lock(mutex_);
    closed_[blob.number] = std::move(blob.file);
  }

  std::filesystem::path directory_;
  // Caller's side
  bool shared_ = true;
  BlobKey region_key_ = 1;
  BlobKey next_key_ = 1;
  // Between threads, under mutex_
  std::mutex mutex_;
  std::condition_variable work_;   // jobs_ has something, or finishing
  std::condition_variable order_;  // the head may be encoded, or finishing
  std::condition_variable room_;   // in_order_ became shorter
  std::deque<std::shared_ptr<ChunkTicketState>> jobs_;
  std::deque<std::shared_ptr<ChunkTicketState>> in_order_;
  std::exception_ptr failure_;
  bool finishing_ = false;
  std::vector<std::shared_ptr<ChunkTicketState>> tickets_;
  std::unordered_map<Content, const ChunkTicketState*, ContentHash> stored_;  // what there is a frame of
  std::vector<Frame> spare_;                 // memory for the next frames
  std::vector<std::unique_ptr<BlobFile>> closed_;
  // Writer thread's, then finish()'s
  OpenBlob shared_blob_{};
  OpenBlob region_blob_{};
  BlobKey written_key_ = 0;
  std::vector<std::thread> threads_;
};

ChunkWriter::ChunkWriter(std::filesystem::path blob_directory, ChunkWriterOptions options)
    : impl_(std::make_unique<Impl>(std::move(blob_directory), options)) {}
ChunkWriter::~ChunkWriter() = default;
const ChunkWriterOptions& ChunkWriter::options() const noexcept { return impl_->options_; }
void ChunkWriter::begin_region(std::uint64_t region_bytes) { impl_->begin_region(region_bytes); }
ChunkTicket ChunkWriter::submit(std::uint64_t at, std::span<const std::byte> raw, std::optional<Fingerprint> unless) {
  return impl_->submit(at, raw, unless);
}
std::vector<Blob> ChunkWriter::finish() { return impl_->finish(); }
std::uint64_t ChunkWriter::raw_bytes() const noexcept { return impl_->raw_bytes_; }

Blob ChunkWriter::write_blob(const std::filesystem::path& blob_directory, std::span<const std::byte> bytes) {
  BlobFile file(blob_directory);
  file.append(bytes);
  file.close();
  return file.name(sha256(bytes));
}

void ChunkWriter::sync_blobs(const std::filesystem::path& blob_directory) {
  for (const auto& entry : std::filesystem::directory_iterator(blob_directory)) {
    const UniqueFd fd = open_file(entry.path(), O_RDONLY);
    if (::fdatasync(fd.get()) != 0) throw system_error("cannot write " + printable(entry.path().native()), errno);
  }
  sync_directory(blob_directory);
}

}  // namespace kerncap
