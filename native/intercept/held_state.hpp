// The pre-state of a dispatch that may turn out to be the target. In: the closure's bytes, dispatch by dispatch. Out: the bytes of
// the last one. Called by snapshot.cpp.
//
// A file without a name, as large as the closure: what did not change since the dispatch before is not written again, zeros take no
// room, and nothing of it is left when the process ends, however it does. It is never mapped: where the disk is full, or fails, a load
// from a mapping would end the application (SIGBUS).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/file.hpp"

namespace kerncap::intercept {

class HeldState {
 public:
  struct Extent {
    std::uint64_t va = 0;
    std::uint64_t size = 0;
  };
  // `budget`: how many bytes the closure may have at most; absent: half of what is free where the file is.
  HeldState(const std::filesystem::path& directory, std::optional<std::uint64_t> budget);
  HeldState(const HeldState&) = delete;
  HeldState& operator=(const HeldState&) = delete;

  // The regions of the next dispatch; one of size 0 has no bytes of its own. Throws Error("capture.budget") when they do not fit.
  void begin(const std::vector<Extent>& regions);
  // True when it is not what is there.
  bool store(std::size_t region, std::uint64_t at, std::span<const std::byte> bytes);
  void read(std::size_t region, std::uint64_t at, std::span<std::byte> bytes) const;

 private:
  struct Place {
    std::uint64_t size = 0;
    std::uint64_t offset = 0;
  };
  void place(std::uint64_t va, std::uint64_t size);
  void give_up(const Place& place) noexcept;
  std::uint64_t place_of(std::size_t region, std::uint64_t at, std::size_t size) const;
  void write(std::uint64_t offset, std::span<const std::byte> bytes) const;

  UniqueFd file_;
  std::uint64_t budget_ = 0;
  std::uint64_t end_ = 0;
  std::map<std::uint64_t, Place> places_;  // by address
  std::vector<Place*> regions_;
};

}  // namespace kerncap::intercept
