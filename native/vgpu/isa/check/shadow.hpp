// Shadow memory of the race check: the last few accesses to every word of four bytes.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/isa/check/clock.hpp"

namespace kerncap::vgpu::isa::check {

struct Slot {
  std::uint64_t time : 44 = 0;      // 0: empty
  std::uint64_t mask : 4 = 0;       // bytes of the word
  std::uint64_t write : 1 = 0;
  std::uint64_t rmw : 1 = 0;        // an atomic instruction
  std::uint64_t bypass : 1 = 0;     // cache bits set: may be an atomic or volatile load or store
  std::uint64_t unchanged : 1 = 0;  // the store wrote what was there
  std::uint64_t lane : 6 = 0;
  Thread thread = 0;
  std::uint32_t inst = 0;           // Code::pc_of
};
static_assert(sizeof(Slot) == 16);

struct Word {
  static constexpr unsigned kSlots = 4;
  Slot slots[kSlots];
};

class Shadow {
 public:
  static constexpr std::uint64_t kPageBytes = 4096, kPageWords = kPageBytes / 4;
  struct Page {
    Word words[kPageWords];
    std::bitset<kPageWords> synchronises;  // met by atomic instructions or loads that bypass the cache
  };
  // Null when the limit on memory is reached.
  Page* page(std::uint64_t number) {
    if (number == recent_number_) return recent_;
    auto found = pages_.find(number);
    if (found == pages_.end()) {
      if (pages_.size() >= kMaxPages) return nullptr;
      found = pages_.emplace(number, std::make_unique<Page>()).first;
    }
    recent_number_ = number;
    recent_ = found->second.get();
    return recent_;
  }

 private:
  static constexpr std::size_t kMaxPages = 16384;  // 64 MiB of the application's memory, about 1 GiB here
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::uint64_t recent_number_ = ~std::uint64_t{0};
  Page* recent_ = nullptr;
};

}  // namespace kerncap::vgpu::isa::check
