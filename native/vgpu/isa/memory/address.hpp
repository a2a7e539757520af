// Device addresses to host pointers, for one host thread.
// In: the Memory that the command processor owns. Out: pointers, found through a small cache that is dropped when the
// page table's generation changes. Used by memory/ and SMEM handlers and by the instruction fetch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/memory/guest.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

class AddressCache {
 public:
  explicit AddressCache(const Memory& memory) : memory_(memory), changes_(memory.generation()) {}

  // To be called at the start of every memory instruction.
  void refresh() {
    const std::uint64_t now = changes_.load(std::memory_order_acquire);
    if (now != generation_) {
      entries_ = {};
      generation_ = now;
    }
  }
  // Host pointer of [va, va+bytes) when one mapping holds all of it and may be written if `write`; else null.
  // `guess` (Inst::mapping): the entry to try first, an instruction's last one; set to the one that it was.
  std::byte* find(std::uint64_t va, std::uint64_t bytes, bool write, std::uint8_t& guess) {
    const Memory::Mapping& last = entries_[guess % kEntries];
    if (va >= last.va && va < last.end) [[likely]] return inside(last, va, bytes, write);
    return find_slow(va, bytes, write, guess);
  }
  std::byte* find(std::uint64_t va, std::uint64_t bytes, bool write) { return find(va, bytes, write, last_); }
  // A mapped element of constant size in one step; false: read() has to look closer.
  template <std::size_t bytes>
  bool read_whole(std::uint64_t va, void* to, std::uint8_t& guess) {
    refresh();
    const std::byte* const host = find(va, bytes, false, guess);
    if (host) guest_copy(to, host, bytes);
    return host != nullptr;
  }
  // Copies that may cross mappings. False: some byte is not mapped (or not writable), and nothing was stored.
  bool read(std::uint64_t va, void* to, std::uint64_t bytes);
  bool write(std::uint64_t va, const void* from, std::uint64_t bytes);
  // How many bytes from va on are mapped, at most `bytes`.
  std::uint64_t readable(std::uint64_t va, std::uint64_t bytes);
  // The same of memory that instructions may be fetched from.
  std::uint64_t fetchable(std::uint64_t va, std::uint64_t bytes);
  // First byte of [va, va+bytes) that is not mapped (or not writable).
  std::uint64_t first_bad(std::uint64_t va, std::uint64_t bytes, bool write);

 private:
  static std::byte* inside(const Memory::Mapping& m, std::uint64_t va, std::uint64_t bytes, bool write) {
    if (bytes > m.end - va || (write && !m.writable)) return nullptr;
    return m.host + (va - m.va);
  }
  std::byte* find_slow(std::uint64_t va, std::uint64_t bytes, bool write, std::uint8_t& guess);

  static constexpr std::size_t kEntries = 8;
  const Memory& memory_;
  const std::atomic<std::uint64_t>& changes_;
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::array<Memory::Mapping, kEntries> entries_ = {};
  std::uint8_t last_ = 0;      // where find() without a guess found its mapping
  std::uint8_t replaced_ = 0;  // the next to be given up
};

// Stops the wave with a page fault.
void page_fault(Wave& wave, std::uint64_t va, bool write);
void fetch_fault(Wave& wave, std::uint64_t va);

}  // namespace kerncap::vgpu::isa
