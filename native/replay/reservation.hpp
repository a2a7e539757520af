// Keeps the captured address ranges free: reserved first thing in main, given up piece by piece when device memory takes
// their place. In: the regions. Out: spans of whole pages, held. Called by main (before the HSA runtime starts) and DeviceMemory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bundle/index.hpp"

namespace kerncap::replay {

// Whole pages [begin, end) that hold one or more regions: what shares a page is mapped together.
struct Span {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::uint64_t original = 0;  // where the span begins whose first pages these are, mapped once more; 0: pages of its own
  std::uint64_t size() const noexcept { return end - begin; }
  bool operator==(const Span&) const = default;
};

// Regions that live at a fixed address (variables do not: the loader places them) merged to spans of whole pages; a
// kernarg range outside of all regions is not among them. Throws bundle.malformed when an alias is not of whole pages.
std::vector<Span> spans_of(std::span<const Region> regions, std::uint64_t page_bytes);

class Reservation {
 public:
  Reservation() = default;
  // Reserves every span or throws replay.address-taken naming the mapping in the way.
  explicit Reservation(std::span<const Span> spans);
  ~Reservation();
  Reservation(Reservation&& other) noexcept : held_(std::move(other.held_)) { other.held_.clear(); }
  Reservation& operator=(Reservation&& other) noexcept {
    std::swap(held_, other.held_);
    return *this;
  }

  // Keeps these addresses from everything else until the end, where they are free: nothing depends on it. Ranges that no code
  // object has are left alone, for they are a stranger's.
  void keep_empty(std::uint64_t begin, std::uint64_t size) noexcept;
  // Frees [begin, end), which must lie in a held span and not have been given up before.
  void give_up(std::uint64_t begin, std::uint64_t end) noexcept;

 private:
  std::vector<Span> held_;
};

// The mappings of this process that overlap [begin, end), as text for a message.
std::string conflicting_mappings(const Span& span);

// Replaces this process by a fresh one, whose mappings lie elsewhere; the last try switches address randomisation off.
// Returns when there was no further try left or it cannot be done.
void run_again(char** argv);

}  // namespace kerncap::replay
