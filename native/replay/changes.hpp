// What a run changed: byte ranges and their new content, in memory while small, else in a file without a name. In: ranges in
// order. Out: the content again, over any initial bytes; dump directories (docs/interfaces.md).
// Called by the runner: for the reference of repeated iterations, for dumps of both kinds, for comparisons with a dump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "base/file.hpp"
#include "base/json.hpp"
#include "bundle/index.hpp"

namespace kerncap::replay {

struct ByteRange {
  std::uint32_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  std::uint64_t end() const noexcept { return offset + length; }
  bool operator==(const ByteRange&) const = default;
};

// Calls found(offset, length) for each run of bytes that differ; runs with fewer than `gap` equal bytes between them are given
// as one. Returns the number of bytes that differ. The spans have the same size.
std::uint64_t find_differences(std::span<const std::byte> a, std::span<const std::byte> b, std::uint64_t gap,
                               const std::function<void(std::uint64_t, std::uint64_t)>& found);

// A list of ranges that never grows beyond `max_count`: then ranges near each other are joined.
class RangeList {
 public:
  explicit RangeList(std::size_t max_count = 1u << 18) : max_count_(max_count) {}
  void add(std::uint32_t region, std::uint64_t offset, std::uint64_t length);  // in any order
  std::vector<ByteRange> sorted();

 private:
  void join(std::uint64_t gap);
  std::size_t max_count_;
  std::uint64_t gap_ = 0;
  std::vector<ByteRange> ranges_;
};

class ChangeLog {
 public:
  // In order of region and offset.
  void append(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> bytes);
  // Writes the changed bytes that fall in region bytes [at, at + bytes.size()) over `bytes`. Any thread.
  void apply(std::uint32_t region, std::uint64_t at, std::span<std::byte> bytes) const;
  bool touches(std::uint32_t region, std::uint64_t at, std::uint64_t length) const noexcept;
  void clear();

  Json ranges() const;  // [[region, offset, length, offset in the content], ...]
  void save_content(const std::filesystem::path& path) const;
  // `initial` says from which initial state the changes are; load() refuses a dump of another one.
  void save(const std::filesystem::path& directory, const Json& initial) const;
  static ChangeLog load(const std::filesystem::path& directory, const Index& index, const Json& initial);

 private:
  struct Entry {
    ByteRange range;
    std::uint64_t at = 0;  // in the content
  };
  std::vector<Entry>::const_iterator first_entry(std::uint32_t region, std::uint64_t at) const noexcept;
  void read_content(std::uint64_t at, std::span<std::byte> bytes) const;
  void spill();

  std::vector<Entry> entries_;
  std::vector<std::byte> memory_;
  UniqueFd file_;
  std::filesystem::path path_ = "changed bytes";
  std::uint64_t content_bytes_ = 0;
};

}  // namespace kerncap::replay
