#include "vgpu/isa/memory/address.hpp"

#include <algorithm>
#include <cstdio>

namespace kerncap::vgpu::isa {

std::byte* AddressCache::find_slow(std::uint64_t va, std::uint64_t bytes, bool write, std::uint8_t& guess) {
  std::uint8_t slot = 0;
  while (slot < kEntries && !(va >= entries_[slot].va && va < entries_[slot].end)) ++slot;
  if (slot == kEntries) {
    const Memory::Mapping found = memory_.find(va);
    if (!found) return nullptr;
    slot = replaced_;
    replaced_ = static_cast<std::uint8_t>((replaced_ + 1) % kEntries);
    entries_[slot] = found;
  }
  guess = slot;
  return inside(entries_[slot], va, bytes, write);
}

std::uint64_t AddressCache::first_bad(std::uint64_t va, std::uint64_t bytes, bool write) {
  // Counted, not compared with an end: the range may run past the top of the address space.
  for (std::uint64_t done = 0; done < bytes;) {
    if (!find(va + done, 1, write)) return va + done;
    done += std::min(bytes - done, entries_[last_].end - (va + done));
  }
  return va + bytes;
}

std::uint64_t AddressCache::readable(std::uint64_t va, std::uint64_t bytes) {
  refresh();
  return first_bad(va, bytes, false) - va;
}

std::uint64_t AddressCache::fetchable(std::uint64_t va, std::uint64_t bytes) {
  refresh();
  std::uint64_t done = 0;
  while (done < bytes && find(va + done, 1, false) && entries_[last_].executable)
    done += std::min(bytes - done, entries_[last_].end - (va + done));
  return done;
}

bool AddressCache::read(std::uint64_t va, void* to, std::uint64_t bytes) {
  refresh();
  if (const std::byte* host = find(va, bytes, false)) {
    guest_copy(to, host, bytes);
    return true;
  }
  auto* out = static_cast<std::byte*>(to);
  while (bytes != 0) {
    if (!find(va, 1, false)) return false;
    const std::uint64_t part = std::min(bytes, entries_[last_].end - va);
    guest_copy(out, entries_[last_].host + (va - entries_[last_].va), part);
    va += part;
    out += part;
    bytes -= part;
  }
  return true;
}

bool AddressCache::write(std::uint64_t va, const void* from, std::uint64_t bytes) {
  refresh();
  if (std::byte* host = find(va, bytes, true)) {
    guest_copy(host, from, bytes);
    return true;
  }
  if (first_bad(va, bytes, true) != va + bytes) return false;
  const auto* in = static_cast<const std::byte*>(from);
  while (bytes != 0) {
    find(va, 1, true);
    const std::uint64_t part = std::min(bytes, entries_[last_].end - va);
    guest_copy(entries_[last_].host + (va - entries_[last_].va), in, part);
    va += part;
    in += part;
    bytes -= part;
  }
  return true;
}

void page_fault(Wave& wave, std::uint64_t va, bool write) {
  wave.fault_va = va;
  wave.fault_write = write;
  char text[96];
  std::snprintf(text, sizeof text, "%s address 0x%llx, which is not mapped%s", write ? "store to" : "load from",
                static_cast<unsigned long long>(va), write ? " for writing" : "");
  wave.stop(Outcome::Kind::page_fault, text);
}

void fetch_fault(Wave& wave, std::uint64_t va) {
  wave.fault_va = va;
  wave.fault_fetch = true;
  char text[96];
  std::snprintf(text, sizeof text, "instruction fetch from address 0x%llx, which is not mapped for execution",
                static_cast<unsigned long long>(va));
  wave.stop(Outcome::Kind::page_fault, text);
}

}  // namespace kerncap::vgpu::isa
