// Decoded instructions of a dispatch, by address.
// In: code in device memory. Out: Inst pointers that stay valid for the dispatch. One object a host thread: it is kept from
// dispatch to dispatch, and a page is decoded again only when its bytes are not the same any more.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "vgpu/isa/decode/decoder.hpp"
#include "vgpu/isa/memory/address.hpp"

namespace kerncap::vgpu::isa {

class CodeCache {
 public:
  static constexpr std::uint64_t kPageBytes = 4096;

  // Starts a dispatch: pages are compared with memory when they are next used.
  void begin(Target target, unsigned wave_size, AddressCache& memory);
  // The instruction at pc, or null: error() says why.
  const Inst* fetch(std::uint64_t pc) {
    if (pc / kPageBytes == current_number_) [[likely]]
      if (const Inst* inst = current_->slots[pc % kPageBytes / 4]) return inst;
    return fetch_slow(pc);
  }
  // The instruction at pc, which follows `before`. Links stay inside a page, whose instructions live and die together.
  const Inst* after(const Inst& before, std::uint64_t pc) { return before.next ? before.next : link(before, pc); }
  const Decoded& error() const { return error_; }

 private:
  struct Page {
    std::uint64_t epoch = 0;
    std::uint64_t bytes = 0;                                   // executable, at most a page and a long instruction
    std::array<std::uint32_t, kPageBytes / 4 + 4> words = {};  // as they were decoded
    std::array<const Inst*, kPageBytes / 4> slots = {};
    std::vector<std::unique_ptr<Decoded>> decoded;
  };
  const Inst* fetch_slow(std::uint64_t pc);
  const Inst* link(const Inst& before, std::uint64_t pc);
  Page* page(std::uint64_t number);

  Target target_ = Target::gfx942;
  unsigned wave_size_ = 64;
  AddressCache* memory_ = nullptr;
  std::uint64_t epoch_ = 0;
  std::uint64_t current_number_ = ~std::uint64_t{0};
  Page* current_ = nullptr;
  Decoded error_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
};

}  // namespace kerncap::vgpu::isa
