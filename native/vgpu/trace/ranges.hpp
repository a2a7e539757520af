// The store trace of one dispatch: which bytes it read, which it wrote, and which it read before it wrote them.
// In: loads and stores in the order the interpreter performs them, from the one thread that runs the dispatch.
// Out: sorted, merged byte ranges. Three bits a byte of every touched page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "vgpu/isa/executor.hpp"

namespace kerncap::vgpu {

using ByteRanges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // va, length

class AccessRanges final : public isa::Trace {
 public:
  void load(std::uint64_t device_va, std::uint32_t size_bytes) noexcept override;
  void store(std::uint64_t device_va, std::uint32_t size_bytes) noexcept override;

  ByteRanges read() const { return ranges(&Page::read); }
  ByteRanges written() const { return ranges(&Page::written); }
  // Loaded bytes that the dispatch had not stored yet; bytes that it never stores are included.
  ByteRanges read_first() const { return ranges(&Page::read_first); }

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  struct Page {
    std::uint64_t read[kPageBytes / 64] = {};
    std::uint64_t written[kPageBytes / 64] = {};
    std::uint64_t read_first[kPageBytes / 64] = {};
  };
  Page& page(std::uint64_t number);
  ByteRanges ranges(std::uint64_t (Page::*bits)[kPageBytes / 64]) const;

  std::map<std::uint64_t, std::unique_ptr<Page>> pages_;
  // The pages touched last, by number: a wave's lanes often go to a few pages in turn.
  static constexpr std::size_t kRecent = 64;
  struct Recent {
    std::uint64_t number = 0;
    Page* page = nullptr;
  };
  Recent recent_[kRecent];
};

}  // namespace kerncap::vgpu
