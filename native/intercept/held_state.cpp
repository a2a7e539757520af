#include "intercept/held_state.hpp"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "base/error.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t piece_bytes = 64 << 10;  // compared, and written, at a time

UniqueFd nameless_file(const std::filesystem::path& directory) {
  std::string name = (directory / ".held-XXXXXX").native();
  UniqueFd file(::mkostemp(name.data(), O_CLOEXEC));
  if (!file) throw system_error("cannot create a file in " + directory.native(), errno);
  ::unlink(name.c_str());
  return file;
}

}  // namespace

HeldState::HeldState(const std::filesystem::path& directory, std::optional<std::uint64_t> budget) : file_(nameless_file(directory)) {
  struct statvfs room {};
  if (::fstatvfs(file_.get(), &room) != 0) throw system_error("fstatvfs", errno);
  budget_ = budget.value_or(room.f_bavail * room.f_frsize / 2);
}

void HeldState::give_up(const Place& place) noexcept {
  // Where the file system cannot do that, the room is given back at the end.
  static_cast<void>(::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place.offset),
                                static_cast<off_t>(place.size)));
}

void HeldState::place(std::uint64_t va, std::uint64_t size) {
  if (size == 0) return regions_.push_back(nullptr);
  Place& place = places_[va];
  if (place.size != size) {
    if (place.size > 0) give_up(place);
    place = Place{size, end_};
    end_ += (size + page - 1) / page * page;
    if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) throw system_error("ftruncate", errno);
  }
  regions_.push_back(&place);
}

void HeldState::begin(const std::vector<Extent>& regions) {
  std::uint64_t sum = 0;
  for (const Extent& region : regions) sum += region.size;
  if (sum > budget_) {
    throw Error("capture.budget", "the memory before a dispatch that may meet the condition has " + std::to_string(sum) +
                                      " bytes, and at most " + std::to_string(budget_) + " may be held",
                "--budget " + std::to_string(sum) + "  # bytes, where they are free; or -o DIR on another disk");
  }
  std::set<std::uint64_t> stay;
  for (const Extent& region : regions)
    if (region.size > 0) stay.insert(region.va);
  std::erase_if(places_, [&](const auto& entry) {
    if (stay.contains(entry.first)) return false;
    give_up(entry.second);
    return true;
  });
  regions_.clear();
  for (const Extent& region : regions) place(region.va, region.size);
}

bool HeldState::store(std::size_t region, std::uint64_t at, std::span<const std::byte> bytes) {
  bool differs = false;
  std::array<std::byte, piece_bytes> there;
  for (std::size_t done = 0; done < bytes.size(); done += piece_bytes) {
    const auto piece = bytes.subspan(done, std::min(piece_bytes, bytes.size() - done));
    read(region, at + done, std::span(there).first(piece.size()));  // a hole reads as zeros
    if (std::memcmp(there.data(), piece.data(), piece.size()) == 0) continue;
    write(place_of(region, at + done, piece.size()), piece);
    differs = true;
  }
  return differs;
}

// Where the bytes are in the file.
std::uint64_t HeldState::place_of(std::size_t region, std::uint64_t at, std::size_t size) const {
  const Place& place = *regions_.at(region);
  if (at + size > place.size) throw Error("internal", "held state: outside of its region");
  return place.offset + at;
}

void HeldState::write(std::uint64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pwrite(file_.get(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw system_error("cannot hold the memory before a dispatch", count < 0 ? errno : EIO);
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void HeldState::read(std::size_t region, std::uint64_t at, std::span<std::byte> bytes) const {
  const bool whole = read_at(file_.get(), place_of(region, at, bytes.size()), bytes, "the memory before a dispatch");
  if (!whole) throw Error("internal", "held state: the file ends early");
}

}  // namespace kerncap::intercept
