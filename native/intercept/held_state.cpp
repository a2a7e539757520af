#include "intercept/held_state.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <set>
#include <string>

#include "base/error.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::uint64_t page = 4096;

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

HeldState::~HeldState() {
  for (const auto& [va, place] : places_) give_up(place);
}

void HeldState::give_up(const Place& place) noexcept {
  if (place.mapped != nullptr) ::munmap(const_cast<std::byte*>(place.mapped), place.size);
  // Where the file system cannot do that, the room is given back at the end.
  static_cast<void>(::fallocate(file_.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(place.offset),
                                static_cast<off_t>(place.size)));
}

void HeldState::place(std::uint64_t va, std::uint64_t size) {
  if (size == 0) return regions_.push_back(nullptr);
  Place& place = places_[va];
  if (place.size != size) {
    if (place.size > 0) give_up(place);
    place = Place{size, end_, nullptr};
    end_ += (size + page - 1) / page * page;
    if (::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) throw system_error("ftruncate", errno);
    void* mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), static_cast<off_t>(place.offset));
    if (mapped == MAP_FAILED) throw system_error("mmap", errno);
    place.mapped = static_cast<const std::byte*>(mapped);
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
  const Place& place = *regions_.at(region);
  if (at + bytes.size() > place.size) throw Error("internal", "held state: outside of its region");
  // A hole reads as zeros.
  if (std::memcmp(place.mapped + at, bytes.data(), bytes.size()) == 0) return false;
  for (std::size_t done = 0; done < bytes.size();) {
    const auto count = ::pwrite(file_.get(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(place.offset + at + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) throw system_error("cannot hold the memory before a dispatch", count < 0 ? errno : EIO);
    done += static_cast<std::size_t>(count);
  }
  return true;
}

std::span<const std::byte> HeldState::bytes(std::size_t region, std::uint64_t at, std::size_t size) const {
  const Place& place = *regions_.at(region);
  if (at + size > place.size) throw Error("internal", "held state: outside of its region");
  return {place.mapped + at, size};
}

}  // namespace kerncap::intercept
