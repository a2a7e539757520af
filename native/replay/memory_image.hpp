// The captured memory on the device: restored chunk by chunk from the bundle, read back and compared chunk by chunk, with a
// fixed number of buffers. In: the index, the chunks, where each region lies. Out: device memory in its initial state; what
// differs from it, from the expectation, from an earlier iteration. Called by the runner.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/json.hpp"
#include "bundle/chunk_reader.hpp"
#include "bundle/index.hpp"
#include "replay/changes.hpp"
#include "replay/device.hpp"
#include "replay/relocation.hpp"
#include "replay/request.hpp"

namespace kerncap::replay {

struct Mismatch {
  std::uint32_t region = 0;
  std::uint64_t offset = 0;
  std::vector<std::byte> expected;
  std::vector<std::byte> actual;
};

// Bytes of the closure that the replay itself sets (rebuilt hidden arguments): neither restored nor compared as captured.
struct Overlay {
  std::uint64_t va = 0;
  std::vector<std::byte> bytes;
};

struct ScanRequest {
  const InitialState& initial;
  Expectation::Kind expect = Expectation::Kind::none;
  const ChangeLog* expected_changes = nullptr;   // of Expectation::Kind::dump
  const ChangeLog* reference_changes = nullptr;  // of an earlier iteration: what differs from it is noise
  ChangeLog* record = nullptr;                   // gets what differs from the initial state
  RangeList* noise = nullptr;
  ChangeLog* expected_words = nullptr;  // both or none: get each mismatch, widened to whole words of 8 bytes
  ChangeLog* actual_words = nullptr;
  std::uint64_t max_words_bytes = 0;  // of these two: beyond it no more are added; 0: no limit
  std::uint32_t max_mismatches = 0;
};

struct ScanResult {
  std::uint64_t changed_bytes = 0;
  std::uint64_t bytes_compared = 0;
  std::uint64_t mismatch_bytes = 0;
  bool words_complete = true;
  bool iterations_agree = true;
  std::vector<Mismatch> mismatches;
};

class MemoryImage {
 public:
  MemoryImage(const Device& device, const Index& index, const ChunkReader& reader);
  ~MemoryImage();

  // Where the variables of the program that runs next lie; none: the variable keeps what the loader gave it and is not
  // compared. One entry a region; only those of variables count.
  void place_variables(std::span<const std::optional<std::uint64_t>> device_va);
  void set_overlays(std::vector<Overlay> overlays);
  // Addresses of code: what the device holds is translated, everything else here speaks of captured addresses.
  void set_relocation(const Relocation& relocation);

  // Brings everything into the initial state; only chunks that are not known to be in it are written.
  void restore(const InitialState& initial);
  // Reads everything back. Afterwards restore() with the same initial state writes only the chunks that had changed.
  ScanResult scan(const ScanRequest& request);

 private:
  struct Task;
  struct Slot;
  std::uint64_t captured_va(const Task& task) const noexcept;
  void load_initial(const Task& task, const InitialState& initial, std::span<std::byte> out) const;
  void apply_overlay(const Task& task, std::span<std::byte> bytes) const noexcept;
  bool overlay_touches(const Task& task, const Overlay& overlay) const noexcept;
  void forget_overlaid();
  bool is_captured_state(const Task& task, const InitialState& initial) const noexcept;
  bool is_plain(const Task& task, const InitialState& initial) const noexcept;
  bool is_untouched(const Task& task, const ScanRequest& request, std::span<const std::byte> actual) const;
  std::span<const std::byte> load_expected(const Task& task, const ScanRequest& request, Slot& slot) const;
  void examine(const Task& task, const ScanRequest& request, Slot& slot) const;
  void compare(const Task& task, const ScanRequest& request, std::span<const std::byte> actual, Slot& slot) const;

  const Device& device_;
  const Index& index_;
  const ChunkReader& reader_;
  std::vector<Task> tasks_;
  std::vector<Slot> slots_;
  std::vector<std::optional<std::uint64_t>> region_va_;
  std::vector<Overlay> overlays_;
  Relocation relocation_;
  std::optional<InitialState> last_initial_;
};

}  // namespace kerncap::replay
