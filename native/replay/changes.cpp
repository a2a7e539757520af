#include "replay/changes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

constexpr std::size_t kMemoryBytes = 64u << 20;
constexpr std::uint64_t kMaxDumpIndexBytes = 512u << 20;
constexpr std::string_view kBadDump = "usage.bad-dump";

}  // namespace

std::uint64_t find_differences(std::span<const std::byte> a, std::span<const std::byte> b, std::uint64_t gap,
                               const std::function<void(std::uint64_t, std::uint64_t)>& found) {
  constexpr std::size_t kBlock = 4096;  // memcmp skips equal blocks at memory speed
  std::uint64_t count = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  // [begin, end) is the run that is open; empty: none
  for (std::size_t block = 0; block < a.size(); block += kBlock) {
    const std::size_t n = std::min(kBlock, a.size() - block);
    if (std::memcmp(a.data() + block, b.data() + block, n) == 0) continue;
    for (std::size_t i = block; i < block + n; ++i) {
      if (a[i] == b[i]) continue;
      ++count;
      if (end != 0 && i - end < gap + (gap == 0 ? 1 : 0)) {
        end = i + 1;
        continue;
      }
      if (end != 0) found(begin, end - begin);
      begin = i;
      end = i + 1;
    }
  }
  if (end != 0) found(begin, end - begin);
  return count;
}

void RangeList::add(std::uint32_t region, std::uint64_t offset, std::uint64_t length) {
  ranges_.push_back({region, offset, length});
  while (ranges_.size() >= max_count_) {
    join(gap_);
    if (ranges_.size() < max_count_ / 2) break;
    gap_ = gap_ == 0 ? 8 : gap_ * 4;
  }
}

void RangeList::join(std::uint64_t gap) {
  std::ranges::sort(ranges_, {}, [](const ByteRange& range) { return std::pair(range.region, range.offset); });
  std::vector<ByteRange> joined;
  for (const ByteRange& range : ranges_) {
    if (!joined.empty() && joined.back().region == range.region && range.offset <= joined.back().end() + gap) {
      joined.back().length = std::max(joined.back().end(), range.end()) - joined.back().offset;
    } else {
      joined.push_back(range);
    }
  }
  ranges_ = std::move(joined);
}

std::vector<ByteRange> RangeList::sorted() {
  join(gap_);
  return ranges_;
}

void ChangeLog::append(std::uint32_t region, std::uint64_t offset, std::span<const std::byte> bytes) {
  if (!entries_.empty() && entries_.back().range.region == region && entries_.back().range.end() == offset) {
    entries_.back().range.length += bytes.size();
  } else {
    entries_.push_back({{region, offset, bytes.size()}, content_bytes_});
  }
  if (!file_ && memory_.size() + bytes.size() > kMemoryBytes) spill();
  if (file_) {
    write_all(file_.get(), bytes, path_);
  } else {
    memory_.insert(memory_.end(), bytes.begin(), bytes.end());
  }
  content_bytes_ += bytes.size();
}

void ChangeLog::spill() {
  const std::filesystem::path directory = std::filesystem::temp_directory_path();
  std::string name = (directory / "kerncap-changes-XXXXXX").native();
  file_ = UniqueFd(::mkostemp(name.data(), O_CLOEXEC));
  if (!file_) throw system_error("cannot create a file in " + printable(directory.native()), errno);
  ::unlink(name.c_str());
  path_ = name;
  write_all(file_.get(), memory_, path_);
  memory_ = {};
}

void ChangeLog::clear() { *this = ChangeLog(); }

std::vector<ChangeLog::Entry>::const_iterator ChangeLog::first_entry(std::uint32_t region, std::uint64_t at) const noexcept {
  return std::ranges::partition_point(entries_, [&](const Entry& entry) {
    return std::pair(entry.range.region, entry.range.end()) <= std::pair(region, at);
  });
}

bool ChangeLog::touches(std::uint32_t region, std::uint64_t at, std::uint64_t length) const noexcept {
  const auto it = first_entry(region, at);
  return it != entries_.end() && it->range.region == region && it->range.offset < at + length;
}

void ChangeLog::read_content(std::uint64_t at, std::span<std::byte> bytes) const {
  if (!file_) {
    std::memcpy(bytes.data(), memory_.data() + at, bytes.size());
  } else if (!read_at(file_.get(), at, bytes, path_)) {
    throw Error(std::string(kBadDump), printable(path_.native()) + " ends early");
  }
}

void ChangeLog::apply(std::uint32_t region, std::uint64_t at, std::span<std::byte> bytes) const {
  const std::uint64_t end = at + bytes.size();
  for (auto it = first_entry(region, at); it != entries_.end() && it->range.region == region && it->range.offset < end; ++it) {
    const std::uint64_t from = std::max(it->range.offset, at);
    const std::uint64_t to = std::min(it->range.end(), end);
    read_content(it->at + (from - it->range.offset), bytes.subspan(from - at, to - from));
  }
}

void ChangeLog::save_content(const std::filesystem::path& path) const {
  std::error_code ignored;  // open_file says what is wrong
  std::filesystem::create_directories(path.parent_path(), ignored);
  const UniqueFd out = open_file(path, O_WRONLY | O_CREAT | O_TRUNC);
  std::vector<std::byte> buffer(std::min<std::uint64_t>(content_bytes_, 4u << 20));
  for (std::uint64_t at = 0; at < content_bytes_; at += buffer.size()) {
    const auto piece = std::span(buffer).first(std::min<std::uint64_t>(buffer.size(), content_bytes_ - at));
    read_content(at, piece);
    write_all(out.get(), piece, path);
  }
}

Json ChangeLog::ranges() const {
  Json ranges = Json::array();
  for (const Entry& entry : entries_) ranges.push_back({entry.range.region, entry.range.offset, entry.range.length, entry.at});
  return ranges;
}

void ChangeLog::save(const std::filesystem::path& directory, const Json& initial) const {
  save_content(directory / "changed.bin");
  write_json_atomic(directory / "changed.json", {{"schema", "kerncap.changed/1"}, {"initial", initial}, {"ranges", ranges()}});
}

ChangeLog ChangeLog::load(const std::filesystem::path& directory, const Index& index, const Json& initial) {
  const Json document = read_json_file(directory / "changed.json", kBadDump, kMaxDumpIndexBytes);
  require_schema(document, "kerncap.changed/1", kBadDump);
  const Fields fields(document, "changed.json", kBadDump);
  if (!fields.has("initial") || document["initial"] != initial) {
    fields.fail("initial", "the dump comes from another initial state than this run's");
  }
  ChangeLog log;
  log.path_ = directory / "changed.bin";
  log.file_ = open_regular(log.path_);
  log.content_bytes_ = file_size(log.file_.get(), log.path_);
  for (const Json& value : fields.array("ranges", 1u << 26)) {
    if (!value.is_array() || value.size() != 4) fields.fail("ranges", "an entry has not 4 numbers");
    for (const Json& number : value) {
      if (!number.is_number_unsigned()) fields.fail("ranges", "an entry has not 4 numbers");
    }
    const auto region = value[0].get<std::uint64_t>();
    Entry entry{{static_cast<std::uint32_t>(region), value[1].get<std::uint64_t>(), value[2].get<std::uint64_t>()}, value[3].get<std::uint64_t>()};
    const std::uint64_t size = region < index.regions.size() ? index.regions[region].size : 0;
    const bool inside = entry.range.offset <= size && entry.range.length <= size - entry.range.offset;
    const bool in_file = entry.at <= log.content_bytes_ && entry.range.length <= log.content_bytes_ - entry.at;
    const bool sorted = log.entries_.empty() || std::pair(log.entries_.back().range.region, log.entries_.back().range.end()) <=
                                                    std::pair(entry.range.region, entry.range.offset);
    if (!inside || !in_file || !sorted) fields.fail("ranges", "an entry lies outside of its region or file, or is not in order");
    log.entries_.push_back(entry);
  }
  return log;
}

}  // namespace kerncap::replay
