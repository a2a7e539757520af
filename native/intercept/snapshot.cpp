#include "intercept/snapshot.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "base/error.hpp"
#include "bundle/used_blobs.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::size_t copies_in_flight = 2;  // what a buffer leaves is taken over before all others have been in use
constexpr std::size_t many_regions = 4096;
constexpr int settle_rounds = 8;
constexpr auto settle_limit = std::chrono::seconds(5);  // after which no further round begins

ChunkWriterOptions writer_options(const Control& control) {
  ChunkWriterOptions options;
  options.zstd_level = control.zstd_level;
  options.threads = control.threads;
  return options;
}

Region describe(const Allocation& allocation, std::uint32_t agent) {
  Region region;
  region.va = allocation.va;
  region.size = allocation.size;
  region.kind = allocation.kind;
  region.segment = allocation.segment;
  region.flags = allocation.flags;
  if (!allocation.symbol.empty()) region.symbol = allocation.symbol;
  region.agent = agent;
  region.step = allocation.step;
  return region;
}

std::vector<Chunk> changed_chunks(const std::vector<std::pair<std::uint64_t, ChunkTicket>>& read) {
  std::vector<Chunk> changed;
  for (const auto& [at, ticket] : read) {
    if (!ticket.unchanged()) changed.push_back(ticket.chunk());
  }
  return changed;
}

}  // namespace

Snapshot::Snapshot(const std::filesystem::path& directory, const Control& control, const Topology& topology, hsa_agent_t agent,
                   std::vector<Allocation> regions, std::function<void()> poll, HeldState* held)
    : topology_(topology),
      agent_(agent),
      poll_(std::move(poll)),
      staging_(topology, ChunkWriterOptions{}.chunk_bytes, control.threads * 2 + copies_in_flight),
      held_(held),
      blobs_(directory / "blobs/sha256"),
      options_(writer_options(control)) {
  for (auto& region : regions) {
    if (region.size == 0) continue;  // nothing of it can be read, written or compared
    const bool kernarg = region.segment == Segment::kernarg;
    Entry& entry = entries_.emplace_back();
    entry.region = std::move(region);
    entry.kernarg = kernarg;
  }
  find_aliases();
  std::uint64_t all_bytes = 0;
  for (const Entry& entry : entries_) all_bytes += entry.original == nullptr ? entry.region.size : 0;
  // Each region in a blob of its own would be more blobs than a bundle may have.
  if (entries_.size() > many_regions) options_.shared_region_bytes = options_.chunk_bytes;
  cutter_ = Cutter(CutRule::for_bytes(all_bytes));
  if (held_ == nullptr) return;
  std::vector<HeldState::Extent> extents;
  for (const Entry& entry : entries_) extents.push_back({entry.region.va, entry.original == nullptr ? entry.region.size : 0});
  held_->begin(extents);
}

// Its threads are not needed before something is stored.
ChunkWriter& Snapshot::writer() {
  if (!writer_) writer_.emplace(blobs_, options_);
  return *writer_;
}

// All mappings of a physical allocation start at its first byte: the widest holds the others.
void Snapshot::find_aliases() {
  std::map<std::uint64_t, Entry*> widest;
  for (Entry& entry : entries_) {
    if (entry.region.physical == 0) continue;
    Entry*& known = widest[entry.region.physical];
    if (known == nullptr || known->region.size < entry.region.size) known = &entry;
  }
  for (Entry& entry : entries_) {
    if (entry.region.physical == 0) continue;
    if (Entry* const known = widest[entry.region.physical]; known != &entry) entry.original = known;
  }
}

hsa_agent_t Snapshot::reader_for(const Allocation& region) const {
  const auto& gpus = topology_.gpus();
  const bool owned = std::any_of(gpus.begin(), gpus.end(), [&](hsa_agent_t gpu) { return gpu.handle == region.owner.handle; });
  return owned ? region.owner : agent_;
}

void Snapshot::complete(Pending pending, Reading reading) {
  Entry& entry = *pending.entry;
  std::string failure;
  const auto bytes = pending.buffer->finish(failure);
  if (!failure.empty() && !entry.failed) {
    entry.failed = true;
    unreadable_.push_back({entry.region.va, entry.region.size, failure});
  }
  if (entry.failed) return;
  if (holding_) {
    entry.moved = held_->store(static_cast<std::size_t>(&entry - entries_.data()), pending.at, bytes) || entry.moved;
    return;
  }
  submit(entry, *pending.buffer, pending.at, bytes, reading);
}

// The chunks that end in these bytes, the next ones of the region; what is left waits for those behind it.
void Snapshot::submit(Entry& entry, StagingBuffer& buffer, std::uint64_t at, std::span<const std::byte> bytes, Reading reading) {
  if (!entry.begun) {
    writer().begin_region(entry.region.size);
    entry.begun = true;
    entry.next = 0;
    cutter_.begin();
    left_ = {};
  }
  const bool last = at + bytes.size() == entry.region.size;
  at -= left_.size();
  left_ = buffer.join(left_, bytes);
  while (!left_.empty()) {
    const std::size_t length = chunk_length(entry, left_, last, reading);
    if (length == 0) break;
    buffer.holds(submit_chunk(entry, at, left_.first(length), reading));
    ++entry.next;
    at += length;
    left_ = left_.subspan(length);
  }
}

// 0: more bytes are needed. The first state is cut by its content, every other one where the first was.
std::size_t Snapshot::chunk_length(const Entry& entry, std::span<const std::byte> bytes, bool last, Reading reading) {
  if (reading == Reading::Pre) return cutter_.next(bytes, last);
  const std::uint64_t length = entry.pre.at(entry.next).length();
  return length <= bytes.size() ? static_cast<std::size_t>(length) : 0;
}

ChunkTicket Snapshot::submit_chunk(Entry& entry, std::uint64_t at, std::span<const std::byte> raw, Reading reading) {
  ChunkTicket ticket;
  switch (reading) {
    case Reading::Pre:
      ticket = entry.pre.emplace_back(writer().submit(at, raw));
      break;
    case Reading::Between:
      ticket = writer().submit(at, raw, entry.before(entry.next).fingerprint());
      entry.post.emplace_back(at, ticket);
      break;
    case Reading::Post:
      ticket = writer().submit(at, raw, entry.pre[entry.next].fingerprint());
      entry.post.emplace_back(at, ticket);
      break;
    case Reading::Again:
      ticket = writer().submit(at, raw, entry.current(entry.next).fingerprint());
      entry.again.push_back(ticket);
      break;
  }
  return ticket;
}

void Snapshot::read_region(Entry& entry, Reading reading) {
  entry.begun = false;
  for (std::uint64_t at = 0; at < entry.region.size && !entry.failed; at += staging_.buffer_bytes()) {
    poll_();
    if (pending_.size() == copies_in_flight) {
      complete(pending_.front(), reading);
      pending_.pop_front();
      if (entry.failed) return;
    }
    StagingBuffer& buffer = staging_.next();
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(staging_.buffer_bytes(), entry.region.size - at));
    buffer.start(entry.region, at, size, reader_for(entry.region), topology_.first_cpu());
    pending_.push_back({&entry, &buffer, at, size});
  }
}

void Snapshot::complete_all(Reading reading) {
  while (!pending_.empty()) {
    complete(pending_.front(), reading);
    pending_.pop_front();
  }
}

std::vector<Snapshot::Entry*> Snapshot::stored(bool post, bool device) {
  std::vector<Entry*> list;
  for (Entry& entry : entries_) {
    const bool there = !entry.failed && entry.original == nullptr && (entry.region.segment == Segment::device) == device;
    if (there && !(post && entry.kernarg)) list.push_back(&entry);
  }
  return list;
}

void Snapshot::pass(Reading reading) {
  const bool post = reading != Reading::Pre;
  for (const bool device : {!post, post}) {
    for (Entry* entry : stored(post, device)) read_region(*entry, reading);
    complete_all(reading);
    if (!device) settle();
  }
}

// The first round compares with what has just been read.
void Snapshot::settle() {
  std::vector<Entry*> host;
  for (Entry& entry : entries_) {
    const bool unwritten = entry.region.segment == Segment::device || entry.kernarg || entry.launches;
    if (!unwritten && !entry.failed && entry.original == nullptr) host.push_back(&entry);
  }
  const auto give_up = Clock::now() + settle_limit;
  bool moved = !host.empty();
  for (int round = 0; moved && round < settle_rounds && Clock::now() < give_up; ++round) {
    moved = false;
    for (Entry* entry : host) entry->wait();
    for (Entry* entry : host) {
      entry->moved = false;
      if (!entry->failed) read_region(*entry, Reading::Again);
    }
    complete_all(Reading::Again);
    for (Entry* entry : host) moved = entry->take_again() || moved;
  }
  for (Entry* entry : host) entry->unsettled = entry->unsettled || (moved && entry->moved);
}

ChunkTicket& Snapshot::Entry::current(std::size_t chunk) { return post.empty() ? pre[chunk] : post[chunk].second; }

const ChunkTicket& Snapshot::Entry::before(std::size_t chunk) const {
  return between.empty() || between.back().empty() ? pre[chunk] : between.back()[chunk].second;
}

void Snapshot::Entry::wait() {
  for (std::size_t chunk = 0; chunk < pre.size(); ++chunk) current(chunk).wait();
}

bool Snapshot::Entry::take_again() {
  for (std::size_t chunk = 0; chunk < again.size(); ++chunk) {
    again[chunk].wait();
    if (again[chunk].unchanged()) continue;
    current(chunk) = again[chunk];
    moved = true;
  }
  again.clear();
  return moved;
}

std::vector<std::string> Snapshot::unsettled() const {
  std::vector<std::string> reasons;
  for (const Entry& entry : entries_) {
    if (!entry.unsettled) continue;
    std::array<char, 24> va{};
    std::snprintf(va.data(), va.size(), "0x%llx", static_cast<unsigned long long>(entry.region.va));
    reasons.push_back("the application's threads kept writing to the host memory at " + std::string(va.data()) + " (" +
                      std::to_string(entry.region.size) + " bytes) while it was read");
  }
  return reasons;
}

void Snapshot::take_pre() {
  holding_ = held_ != nullptr;
  pass(Reading::Pre);
  holding_ = false;
}

void Snapshot::keep_pre() {
  for (const bool device : {true, false}) {
    for (Entry* entry : stored(false, device)) {
      entry->begun = false;
      const auto number = static_cast<std::size_t>(entry - entries_.data());
      for (std::uint64_t at = 0; at < entry->region.size; at += staging_.buffer_bytes()) {
        poll_();
        const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(staging_.buffer_bytes(), entry->region.size - at));
        StagingBuffer& buffer = staging_.next();
        const auto bytes = buffer.room(size);
        held_->read(number, at, bytes);
        submit(*entry, buffer, at, bytes, Reading::Pre);
      }
    }
  }
}

void Snapshot::take_post() {
  // The digests of the first pass are what the second one compares with.
  for (const Entry& entry : entries_) {
    if (entry.failed) continue;
    for (const auto& ticket : entry.pre) ticket.wait();
  }
  const auto begun = Clock::now();
  pass(Reading::Post);
  post_s_ = std::chrono::duration<double>(Clock::now() - begun).count();
}

void Snapshot::take_between() {
  for (const Entry& entry : entries_) {
    if (entry.failed) continue;
    for (std::size_t chunk = 0; chunk < entry.pre.size(); ++chunk) entry.before(chunk).wait();
  }
  pass(Reading::Between);
  ++states_between_;
  for (Entry& entry : entries_) entry.between.push_back(std::exchange(entry.post, {}));
}

void Snapshot::forget_between() { states_between_ = 0; }

const Snapshot::Entry* Snapshot::holding(std::uint64_t va) const {
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return va >= entry.region.va && va < entry.region.end(); });
  return found == entries_.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> Snapshot::region_end(std::uint64_t va) const {
  const Entry* entry = holding(va);
  if (entry == nullptr || entry->failed || entry->kernarg) return std::nullopt;
  return entry->region.end();
}

void Snapshot::each_changed(std::uint64_t va, std::uint64_t size, const Changed& visit) {
  const Entry& entry = *holding(va);
  const Entry& original = entry.original == nullptr ? entry : *entry.original;  // both begin at the same byte
  const auto number = static_cast<std::size_t>(&original - entries_.data());
  const auto end = va - entry.region.va + size;
  std::vector<std::byte> held(static_cast<std::size_t>(std::min<std::uint64_t>(staging_.buffer_bytes(), size)));
  for (std::uint64_t at = va - entry.region.va; at < end; at += staging_.buffer_bytes()) {
    poll_();
    const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(staging_.buffer_bytes(), end - at));
    StagingBuffer& buffer = staging_.next();
    buffer.start(original.region, at, piece, reader_for(original.region), topology_.first_cpu());
    std::string failure;
    const auto after = buffer.finish(failure);
    if (!failure.empty()) throw Error("capture.copy", "memory could not be read after the dispatch: " + failure);
    const auto before = std::span(held).first(piece);
    held_->read(number, at, before);
    if (std::memcmp(before.data(), after.data(), piece) != 0) visit(before, after, entry.region.va + at);
  }
}

std::vector<const Snapshot::Entry*> Snapshot::readable() const {
  std::vector<const Entry*> list;
  for (const Entry& entry : entries_) {
    if (!entry.failed && (entry.original == nullptr || !entry.original->failed)) list.push_back(&entry);
  }
  return list;
}

Index Snapshot::finish() {
  Index index;
  index.blobs = writer().finish();
  const auto entries = readable();
  for (const Entry* entry : entries) {
    Region region = describe(entry->region, topology_.gpu_ordinal(entry->region.owner));
    for (const auto& ticket : entry->pre) region.pre.push_back(ticket.chunk());
    region.post = changed_chunks(entry->post);
    if (entry->original == nullptr) {
      for (std::size_t state = 0; state < states_between_; ++state) region.between.push_back(changed_chunks(entry->between[state]));
    }
    if (entry->original != nullptr) {
      const auto at = std::find(entries.begin(), entries.end(), entry->original);
      region.alias_of = static_cast<std::uint32_t>(at - entries.begin());
    }
    index.regions.push_back(std::move(region));
  }
  keep_used_blobs(index, blobs_);
  return index;
}

std::optional<std::vector<std::byte>> Snapshot::read(std::uint64_t va, std::size_t size) {
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return va >= entry.region.va && va + size <= entry.region.end();
  });
  if (found == entries_.end()) return read_host(va, size);
  if (size > staging_.buffer_bytes()) return std::nullopt;
  StagingBuffer& buffer = staging_.next();
  buffer.start(found->region, va - found->region.va, size, reader_for(found->region), topology_.first_cpu());
  std::string failure;
  const auto bytes = buffer.finish(failure);
  if (!failure.empty()) return std::nullopt;
  return std::vector<std::byte>(bytes.begin(), bytes.end());
}

void Snapshot::holds_launches(const std::vector<std::uint64_t>& kernarg_vas) {
  for (Entry& entry : entries_) {
    entry.launches = std::any_of(kernarg_vas.begin(), kernarg_vas.end(),
                                 [&](std::uint64_t va) { return va >= entry.region.va && va < entry.region.end(); });
  }
}

void Snapshot::holds_kernarg(const std::vector<std::uint64_t>& vas, const std::vector<std::uint64_t>& arguments) {
  for (Entry& entry : entries_) {
    Allocation& region = entry.region;
    const auto inside = [&](std::uint64_t at) { return at >= region.va && at < region.end(); };
    if (std::any_of(arguments.begin(), arguments.end(), inside)) {
      entry.kernarg = false;
      if (region.segment == Segment::kernarg) region.segment = Segment::host;
    } else if (std::any_of(vas.begin(), vas.end(), inside)) {
      entry.kernarg = true;
      region.flags.emplace_back("holds-kernarg");
      if (region.segment == Segment::host && region.kind == RegionKind::pool) region.segment = Segment::kernarg;
    }
  }
}

}  // namespace kerncap::intercept
