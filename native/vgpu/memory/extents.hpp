// Free space of the backing file: first fit with coalescing. In: sizes. Out: offsets. Used by Backing under its lock.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace kerncap::vgpu {

class Extents {
 public:
  Extents(std::uint64_t begin, std::uint64_t end) { free_.emplace(begin, end); }
  std::optional<std::uint64_t> take(std::uint64_t size, std::uint64_t alignment);
  void give_back(std::uint64_t offset, std::uint64_t size);
  std::size_t pieces() const { return free_.size(); }

 private:
  std::map<std::uint64_t, std::uint64_t> free_;  // begin -> end
};

}  // namespace kerncap::vgpu
