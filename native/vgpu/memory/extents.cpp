#include "vgpu/memory/extents.hpp"

#include <iterator>

namespace kerncap::vgpu {

std::optional<std::uint64_t> Extents::take(std::uint64_t size, std::uint64_t alignment) {
  for (auto it = free_.begin(); it != free_.end(); ++it) {
    const auto [begin, end] = *it;
    const std::uint64_t offset = (begin + alignment - 1) & ~(alignment - 1);
    if (offset < begin || offset > end || end - offset < size) continue;
    free_.erase(it);
    if (offset != begin) free_.emplace(begin, offset);
    if (offset + size != end) free_.emplace(offset + size, end);
    return offset;
  }
  return std::nullopt;
}

void Extents::give_back(std::uint64_t offset, std::uint64_t size) {
  auto it = free_.emplace(offset, offset + size).first;
  if (const auto next = std::next(it); next != free_.end() && next->first == it->second) {
    it->second = next->second;
    free_.erase(next);
  }
  if (it != free_.begin()) {
    const auto previous = std::prev(it);
    if (previous->second == it->first) {
      previous->second = it->second;
      free_.erase(it);
    }
  }
}

}  // namespace kerncap::vgpu
