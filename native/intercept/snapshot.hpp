// The memory of the closure before and after the dispatch. In: regions. Out: chunks in blobs/ and the index of the capture.
// Called by capture_worker.cpp, once for each state.
#pragma once

#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bundle/chunk_writer.hpp"
#include "bundle/cutter.hpp"
#include "bundle/index.hpp"
#include "intercept/control.hpp"
#include "intercept/held_state.hpp"
#include "intercept/memory.hpp"
#include "intercept/staging.hpp"

namespace kerncap::intercept {

struct Unreadable {
  std::uint64_t va = 0;
  std::uint64_t size = 0;
  std::string reason;
};

class Snapshot {
 public:
  // `poll` is called for every chunk and throws to end the snapshot. With `held` the pre-state is only held there, until keep_pre().
  Snapshot(const std::filesystem::path& directory, const Control& control, const Topology& topology, hsa_agent_t agent,
           std::vector<Allocation> regions, std::function<void()> poll, HeldState* held = nullptr);

  // All bytes of every region: device memory first, host memory last, so that it is as fresh as can be. Host threads are not
  // stopped: host memory is read until two readings in a row agree, which is then what it was at one moment between them.
  // After some rounds that is given up: unsettled().
  void take_pre();
  // The pre-state that was held is part of the capture. Before take_post().
  void keep_pre();
  // The chunks that are not as before: host memory first. Kernarg segments are left out: host threads write the arguments of
  // later launches there while the dispatch runs, and kernels only read them.
  void take_post();
  // Between two dispatches of a sequence: the chunks that are not as in the state before.
  void take_between();
  // The dispatch after the last take_between() did not end: what is left has no states in between.
  void forget_between();
  // Closes the blobs. Regions that could not be read are not part of it.
  Index finish();

  // The end of the region that holds this address and has a post-state.
  std::optional<std::uint64_t> region_end(std::uint64_t va) const;
  // Pieces of this memory, all within one region, that are not as in the pre-state that is held: before, after, address.
  using Changed = std::function<void(std::span<const std::byte>, std::span<const std::byte>, std::uint64_t)>;
  void each_changed(std::uint64_t va, std::uint64_t size, const Changed& visit);

  // Bytes at a device address of a region in the closure (the kernarg segment), or nothing.
  std::optional<std::vector<std::byte>> read(std::uint64_t va, std::size_t size);
  // The regions of `vas` are used for kernarg segments: they have no post-state. In host memory it also counts as segment `kernarg`
  // (HIP 5.7.1 takes kernarg segments from a pool without that flag, HIP 6.4.3 from device memory where there is a large BAR).
  // But a region that one of the arguments points into is compared like any other, whatever else it is used for (HIP places
  // what a grid barrier counts in beside the arguments of a cooperative launch).
  void holds_kernarg(const std::vector<std::uint64_t>& vas, const std::vector<std::uint64_t>& arguments);

  // Launches of other queues have their arguments at these addresses: host threads write there all the time, and nothing else
  // is kept there, so that such regions need not settle.
  void holds_launches(const std::vector<std::uint64_t>& kernarg_vas);

  // Why host memory is not that of one moment; empty when it is.
  std::vector<std::string> unsettled() const;
  const std::vector<Unreadable>& unreadable() const { return unreadable_; }
  double post_s() const { return post_s_; }  // of the second state alone
  std::uint64_t raw_bytes() const { return writer_->raw_bytes(); }

 private:
  struct Entry {
    Allocation region;
    std::vector<ChunkTicket> pre;
    using Changed = std::vector<std::pair<std::uint64_t, ChunkTicket>>;
    Changed post;
    std::vector<Changed> between;  // of each dispatch of a sequence but the last
    bool kernarg = false;
    bool launches = false;
    bool failed = false;
    bool begun = false;
    bool moved = false;      // the last reading was not like the one before
    bool unsettled = false;  // in one of the states
    std::vector<ChunkTicket> again;
    std::size_t next = 0;  // chunk of the reading under way
    Entry* original = nullptr;  // whose memory this is another mapping of: it is read there

    ChunkTicket& current(std::size_t chunk);  // in the state that is being read
    const ChunkTicket& before(std::size_t chunk) const;  // in the state before it
    void wait();
    bool take_again();  // what has been read again takes the place of what was before, where it differs
  };
  struct Pending {
    Entry* entry;
    StagingBuffer* buffer;
    std::uint64_t at;
    std::size_t size;
  };
  void find_aliases();
  enum class Reading { Pre, Between, Post, Again };
  ChunkWriter& writer();
  std::vector<Entry*> stored(bool post, bool device);
  void pass(Reading reading);
  void settle();
  void read_region(Entry& entry, Reading reading);
  void complete(Pending pending, Reading reading);
  void submit(Entry& entry, StagingBuffer& buffer, std::uint64_t at, std::span<const std::byte> bytes, Reading reading);
  std::size_t chunk_length(const Entry& entry, std::span<const std::byte> bytes, bool last, Reading reading);
  ChunkTicket submit_chunk(Entry& entry, std::uint64_t at, std::span<const std::byte> raw, Reading reading);
  void complete_all(Reading reading);
  const Entry* holding(std::uint64_t va) const;
  std::vector<const Entry*> readable() const;
  hsa_agent_t reader_for(const Allocation& region) const;

  const Topology& topology_;
  hsa_agent_t agent_;
  std::function<void()> poll_;
  Staging staging_;
  HeldState* held_;
  bool holding_ = false;  // what is read now is only held
  std::optional<ChunkWriter> writer_;  // after staging_: its threads, which read the buffers, end first
  const std::filesystem::path blobs_;
  ChunkWriterOptions options_;
  std::vector<Entry> entries_;
  std::deque<Pending> pending_;
  Cutter cutter_;
  std::span<const std::byte> left_;  // in the buffer before: the beginning of a chunk
  std::vector<Unreadable> unreadable_;
  std::size_t states_between_ = 0;
  double post_s_ = 0;
};

}  // namespace kerncap::intercept
