// Device addresses to host pointers, for one host thread.
// In: the Memory that the command processor owns. Out: pointers, found through a small cache that is dropped when the
// page table's generation changes. Used by memory/ and SMEM handlers and by the instruction fetch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

class AddressCache {
 public:
  explicit AddressCache(const Memory& memory) : memory_(memory) {}

  // To be called at the start of every memory instruction.
  void refresh() {
    const std::uint64_t now = memory_.generation().load(std::memory_order_acquire);
    if (now != generation_) {
      entries_ = {};
      generation_ = now;
    }
  }
  // Host pointer of [va, va+bytes) when one mapping holds all of it and may be written if `write`; else null.
  std::byte* find(std::uint64_t va, std::uint64_t bytes, bool write) {
    Memory::Mapping& last = entries_[0];
    if (va >= last.va && va < last.end) [[likely]] return inside(last, va, bytes, write);
    return find_slow(va, bytes, write);
  }
  // Copies that may cross mappings. False: some byte is not mapped (or not writable), and nothing was stored.
  bool read(std::uint64_t va, void* to, std::uint64_t bytes);
  bool write(std::uint64_t va, const void* from, std::uint64_t bytes);
  // How many bytes from va on are mapped, at most `bytes`.
  std::uint64_t readable(std::uint64_t va, std::uint64_t bytes);
  // First byte of [va, va+bytes) that is not mapped (or not writable).
  std::uint64_t first_bad(std::uint64_t va, std::uint64_t bytes, bool write);

 private:
  static std::byte* inside(const Memory::Mapping& m, std::uint64_t va, std::uint64_t bytes, bool write) {
    if (bytes > m.end - va || (write && !m.writable)) return nullptr;
    return m.host + (va - m.va);
  }
  std::byte* find_slow(std::uint64_t va, std::uint64_t bytes, bool write);

  const Memory& memory_;
  std::uint64_t generation_ = ~std::uint64_t{0};
  std::array<Memory::Mapping, 6> entries_ = {};  // most recently used first
};

// Stops the wave with a page fault.
void page_fault(Wave& wave, std::uint64_t va, bool write);

}  // namespace kerncap::vgpu::isa
