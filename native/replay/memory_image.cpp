#include "replay/memory_image.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "bundle/chunk_codec.hpp"
#include "replay/initial_state.hpp"
#include "replay/ordered_pipeline.hpp"

namespace kerncap::replay {
namespace {

// More workers than decoding needs: most of the time a worker waits for its copy.
constexpr unsigned kWorkers = 4;
constexpr std::size_t kSlots = 6;
// Three buffers a slot: together at most 192 MiB, whatever chunk size a bundle has.
constexpr std::size_t kLargeChunkBytes = 8u << 20;
// Changed bytes are kept as runs; runs this close to each other are one.
constexpr std::uint64_t kRecordGap = 64;
constexpr std::uint64_t kNoiseGap = 4;
constexpr std::size_t kMismatchBytes = 4;
constexpr std::uint64_t kWordBytes = 8;
constexpr std::uint64_t kWordGap = 64;
constexpr std::uint64_t kRangeCostBytes = 64;  // of a limited dump: a listing of ranges takes room too

}  // namespace

struct MemoryImage::Task {
  std::uint32_t region = 0;
  const Chunk* pre = nullptr;
  const Chunk* post = nullptr;  // nothing: unchanged by the captured dispatch
  bool known = false;           // the device holds the initial state of the last restore()
  bool captured = false;        // and that is the captured one
  bool relocated = false;       // with addresses of code in it
  std::optional<Fingerprint> fingerprint;  // of the captured state, once it was restored
};

struct MemoryImage::Slot {
  Slot(const Device& device, std::size_t size) : staging(device, device.host_pool, size), copier(device), initial(size), other(size) {}
  PinnedBuffer staging;
  Copier copier;
  std::vector<std::byte> initial;
  std::vector<std::byte> other;
  bool relocated = false;  // restore() translated something
  std::optional<Fingerprint> fingerprint;  // restore() read the captured state
  // What examine() found
  std::uint64_t changed_bytes = 0;
  std::uint64_t compared_bytes = 0;
  std::uint64_t mismatch_bytes = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> changed;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> noise;
  std::vector<Mismatch> mismatches;
  std::span<const std::byte> expected;                           // in `initial` or `other`, where there is an expectation
  std::vector<std::pair<std::uint64_t, std::uint64_t>> words;  // mismatches, widened
};

MemoryImage::MemoryImage(const Device& device, const Index& index, const ChunkReader& reader)
    : device_(device), index_(index), reader_(reader), region_va_(index.regions.size()) {
  std::size_t largest = 0;
  for (std::uint32_t r = 0; r < index.regions.size(); ++r) {
    const Region& region = index.regions[r];
    if (region.kind != RegionKind::variable) region_va_[r] = region.va;
    auto post = region.post.begin();
    for (const Chunk& chunk : region.pre) {
      Task task;
      task.region = r;
      task.pre = &chunk;
      if (post != region.post.end() && post->at == chunk.at) task.post = &*post++;
      tasks_.push_back(task);
      largest = std::max<std::size_t>(largest, chunk.length);
    }
  }
  const std::size_t slots = std::min<std::size_t>({kSlots, largest > kLargeChunkBytes ? 1u : kSlots, std::max<std::size_t>(tasks_.size(), 1)});
  slots_.reserve(slots);
  for (std::size_t i = 0; i < slots; ++i) slots_.emplace_back(device, std::max<std::size_t>(largest, 1));
}

MemoryImage::~MemoryImage() = default;

void MemoryImage::place_variables(std::span<const std::optional<std::uint64_t>> device_va) {
  for (Task& task : tasks_) {
    if (index_.regions[task.region].kind != RegionKind::variable) continue;
    region_va_[task.region] = device_va[task.region];
    task.known = false;
  }
}

void MemoryImage::forget_overlaid() {
  for (Task& task : tasks_) {
    for (const Overlay& overlay : overlays_) task.known &= !overlay_touches(task, overlay);
  }
}

void MemoryImage::set_overlays(std::vector<Overlay> overlays) {
  forget_overlaid();
  overlays_ = std::move(overlays);
  forget_overlaid();
}

void MemoryImage::set_relocation(const Relocation& relocation) {
  if (relocation == relocation_) return;
  for (Task& task : tasks_) task.known &= !task.relocated;
  relocation_ = relocation;
}

bool MemoryImage::overlay_touches(const Task& task, const Overlay& overlay) const noexcept {
  if (overlay.bytes.empty() || index_.regions[task.region].kind == RegionKind::variable) return false;
  const std::uint64_t begin = index_.regions[task.region].va + task.pre->at;
  return overlay.va < begin + task.pre->length && begin < overlay.va + overlay.bytes.size();
}

void MemoryImage::apply_overlay(const Task& task, std::span<std::byte> bytes) const noexcept {
  const std::uint64_t begin = index_.regions[task.region].va + task.pre->at;
  for (const Overlay& overlay : overlays_) {
    if (!overlay_touches(task, overlay)) continue;
    const std::uint64_t from = std::max(begin, overlay.va);
    const std::uint64_t to = std::min(begin + bytes.size(), overlay.va + overlay.bytes.size());
    std::memcpy(bytes.data() + (from - begin), overlay.bytes.data() + (from - overlay.va), to - from);
  }
}

// The captured state and nothing on it.
bool MemoryImage::is_plain(const Task& task, const InitialState& initial) const noexcept {
  const auto touched = [&](const Overlay& overlay) { return overlay_touches(task, overlay); };
  return is_captured_state(task, initial) && std::ranges::none_of(overlays_, touched);
}

bool MemoryImage::is_captured_state(const Task& task, const InitialState& initial) const noexcept {
  return !touches(initial, task.region, task.pre->at, task.pre->length);
}

std::uint64_t MemoryImage::captured_va(const Task& task) const noexcept { return index_.regions[task.region].va + task.pre->at; }

void MemoryImage::load_initial(const Task& task, const InitialState& initial, std::span<std::byte> out) const {
  reader_.read(*task.pre, out);
  apply_initial(initial, task.region, index_.regions[task.region].va, task.pre->at, out);
  apply_overlay(task, out);
}

void MemoryImage::restore(const InitialState& initial) {
  const bool repeated = last_initial_ == initial;
  if (!repeated) last_initial_ = initial;
  std::vector<Task*> wanted;
  for (Task& task : tasks_) {
    if (!region_va_[task.region]) continue;
    // A chunk in a state of its own is kept only for the same run; one in the captured state for any that starts from it.
    const bool right = task.known && (repeated || (task.captured && is_captured_state(task, initial)));
    if (!right) wanted.push_back(&task);
  }
  const auto produce = [&](std::size_t i, Slot& slot) {
    const Task& task = *wanted[i];
    const auto bytes = slot.staging.bytes().first(task.pre->length);
    load_initial(task, initial, bytes);
    slot.fingerprint = task.fingerprint;
    if (!slot.fingerprint && is_plain(task, initial)) slot.fingerprint = fingerprint_of(bytes);
    slot.relocated = relocation_.to_device(captured_va(task), bytes) != 0;
    slot.copier.to_device(*region_va_[task.region] + task.pre->at, bytes);
  };
  const auto consume = [&](std::size_t i, Slot& slot) {
    wanted[i]->known = true;
    wanted[i]->relocated = slot.relocated;
    wanted[i]->fingerprint = slot.fingerprint;
    wanted[i]->captured = is_captured_state(*wanted[i], initial);
  };
  run_ordered<Slot>(wanted.size(), kWorkers, slots_, produce, consume);
}

std::span<const std::byte> MemoryImage::load_expected(const Task& task, const ScanRequest& request, Slot& slot) const {
  const std::size_t n = task.pre->length;
  const auto initial = std::span<const std::byte>(slot.initial).first(n);
  const auto out = std::span(slot.other).first(n);
  if (request.expect == Expectation::Kind::dump) {
    if (!request.expected_changes->touches(task.region, task.pre->at, n)) return initial;
    std::ranges::copy(initial, out.begin());
    request.expected_changes->apply(task.region, task.pre->at, out);
    return out;
  }
  if (task.post == nullptr && is_captured_state(task, request.initial)) return initial;
  reader_.read(task.post != nullptr ? *task.post : *task.pre, out);
  apply_overlay(task, out);
  return out;
}

// What the device has is what it got, and nothing else was expected or seen before: told without decoding the chunk, which takes
// most of the time of a replay whose memory stays on the device.
bool MemoryImage::is_untouched(const Task& task, const ScanRequest& request, std::span<const std::byte> actual) const {
  const auto changed_in = [&](const ChangeLog* log) { return log != nullptr && log->touches(task.region, task.pre->at, actual.size()); };
  if (!task.fingerprint || !is_plain(task, request.initial)) return false;
  if (request.expect == Expectation::Kind::post && task.post != nullptr) return false;
  if (request.expect == Expectation::Kind::dump && changed_in(request.expected_changes)) return false;
  return !changed_in(request.reference_changes) && fingerprint_of(actual) == *task.fingerprint;
}

// Compares one chunk; `slot.staging` holds what the device has.
void MemoryImage::examine(const Task& task, const ScanRequest& request, Slot& slot) const {
  const std::size_t n = task.pre->length;
  const std::span<const std::byte> actual = slot.staging.bytes().first(n);
  slot.changed.clear();
  slot.noise.clear();
  slot.mismatches.clear();
  slot.words.clear();
  slot.mismatch_bytes = 0;
  slot.compared_bytes = 0;
  if (is_untouched(task, request, actual)) {
    slot.changed_bytes = 0;
    if (request.expect != Expectation::Kind::none) slot.compared_bytes = n;
    return;
  }
  load_initial(task, request.initial, std::span(slot.initial).first(n));
  slot.changed_bytes = find_differences(actual, std::span(slot.initial).first(n), kRecordGap,
                                        [&](std::uint64_t at, std::uint64_t length) { slot.changed.emplace_back(at, length); });
  if (request.reference_changes != nullptr) {
    const auto reference = std::span(slot.other).first(n);
    std::ranges::copy(std::span(slot.initial).first(n), reference.begin());
    request.reference_changes->apply(task.region, task.pre->at, reference);
    find_differences(actual, reference, kNoiseGap, [&](std::uint64_t at, std::uint64_t length) { slot.noise.emplace_back(at, length); });
  }
  if (request.expect != Expectation::Kind::none) {
    slot.expected = load_expected(task, request, slot);
    slot.compared_bytes = n;
    compare(task, request, actual, slot);
  }
}

void MemoryImage::compare(const Task& task, const ScanRequest& request, std::span<const std::byte> actual, Slot& slot) const {
  const std::span<const std::byte> expected = slot.expected;
  const auto note = [&](std::uint64_t at, std::uint64_t length) {
    if (request.expected_words != nullptr) {
      const std::uint64_t begin = at / kWordBytes * kWordBytes;
      const std::uint64_t end = std::min<std::uint64_t>((at + length + kWordBytes - 1) / kWordBytes * kWordBytes, expected.size());
      // Neighbours are joined: fewer ranges, for a few bytes more.
      if (!slot.words.empty() && slot.words.back().first + slot.words.back().second + kWordGap >= begin) {
        slot.words.back().second = end - slot.words.back().first;
      } else {
        slot.words.emplace_back(begin, end - begin);
      }
    }
    // Shown in whole words, each once.
    for (std::uint64_t word = at / kMismatchBytes * kMismatchBytes; word < at + length; word += kMismatchBytes) {
      if (slot.mismatches.size() >= request.max_mismatches) return;
      const std::size_t size = std::min<std::size_t>(kMismatchBytes, expected.size() - word);
      const auto e = expected.subspan(word, size);
      const auto a = actual.subspan(word, size);
      if (!slot.mismatches.empty() && slot.mismatches.back().offset == task.pre->at + word) continue;
      slot.mismatches.push_back({task.region, task.pre->at + word, {e.begin(), e.end()}, {a.begin(), a.end()}});
    }
  };
  const bool expected_is_initial = expected.data() == slot.initial.data();
  if (expected_is_initial && slot.changed_bytes == 0) return;
  slot.mismatch_bytes = find_differences(actual, expected, 0, note);
}

ScanResult MemoryImage::scan(const ScanRequest& request) {
  std::vector<Task*> wanted;
  for (Task& task : tasks_) {
    if (region_va_[task.region]) wanted.push_back(&task);
  }
  ScanResult result;
  std::uint64_t words_bytes = 0;
  const auto produce = [&](std::size_t i, Slot& slot) {
    const Task& task = *wanted[i];
    slot.copier.from_device(slot.staging.bytes().first(task.pre->length), *region_va_[task.region] + task.pre->at);
    relocation_.to_captured(captured_va(task), slot.staging.bytes().first(task.pre->length));
    examine(task, request, slot);
  };
  const auto consume = [&](std::size_t i, Slot& slot) {
    Task& task = *wanted[i];
    task.known = slot.changed_bytes == 0;
    result.changed_bytes += slot.changed_bytes;
    result.bytes_compared += slot.compared_bytes;
    result.mismatch_bytes += slot.mismatch_bytes;
    for (Mismatch& mismatch : slot.mismatches) {
      if (result.mismatches.size() < request.max_mismatches) result.mismatches.push_back(std::move(mismatch));
    }
    for (const auto& [at, length] : slot.words) {
      const std::uint64_t cost = std::max(length, kRangeCostBytes);
      if (request.max_words_bytes != 0 && words_bytes + cost > request.max_words_bytes) result.words_complete = false;
      if (!result.words_complete) break;
      words_bytes += cost;
      request.expected_words->append(task.region, task.pre->at + at, slot.expected.subspan(at, length));
      request.actual_words->append(task.region, task.pre->at + at, slot.staging.bytes().subspan(at, length));
    }
    if (request.record != nullptr) {
      for (const auto& [at, length] : slot.changed) {
        request.record->append(task.region, task.pre->at + at, slot.staging.bytes().subspan(at, length));
      }
    }
    for (const auto& [at, length] : slot.noise) {
      result.iterations_agree = false;
      if (request.noise != nullptr) request.noise->add(task.region, task.pre->at + at, length);
    }
  };
  run_ordered<Slot>(wanted.size(), kWorkers, slots_, produce, consume);
  return result;
}

}  // namespace kerncap::replay
