// Addresses of code that captured memory holds: function pointers, tables of virtual functions, pointers to module variables.
// The application had its code object elsewhere than a replay has, so they are translated on their way to the device and back.
// In: where the code object was and is, or, for a variant, which symbols both have. Out: bytes with translated words. Pure.
// Called by memory_image.cpp for every chunk and by the runner.
//
// A word is an address of code when it lies at a multiple of 8 and its value within what the loader had given the code object: data
// has such a value by chance about once in 10^8 words of random bits for a code object of 1 MiB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kerncap::replay {

// One piece of the address space that lies elsewhere on the device.
struct Moved {
  std::uint64_t captured_va = 0;
  std::uint64_t device_va = 0;
  std::uint64_t size = 0;
  bool operator==(const Moved&) const = default;
};

// Functions and data objects of the captured code object that the variant has too, by name. The vas are load bases.
std::vector<Moved> moved_symbols(std::span<const std::byte> captured, std::uint64_t captured_va, std::span<const std::byte> variant,
                                 std::uint64_t variant_va);

class Relocation {
 public:
  Relocation() = default;
  // Pieces whose captured or device addresses overlap the piece before are left out.
  explicit Relocation(std::vector<Moved> pieces);

  bool operator==(const Relocation& other) const { return to_device_.pieces == other.to_device_.pieces; }

  // `bytes` begin at address `va` (captured or on the device: the same modulo 8). Returns how many words were translated.
  std::size_t to_device(std::uint64_t va, std::span<std::byte> bytes) const noexcept { return to_device_.apply(va, bytes); }
  std::size_t to_captured(std::uint64_t va, std::span<std::byte> bytes) const noexcept { return to_captured_.apply(va, bytes); }

 private:
  struct Direction {
    std::vector<Moved> pieces;  // sorted by the address that is translated, which is `captured_va` here for both directions
    std::uint64_t low = 0, size = 0;

    explicit Direction(std::vector<Moved> all = {});
    std::size_t apply(std::uint64_t va, std::span<std::byte> bytes) const noexcept;
    const Moved* find(std::uint64_t value) const noexcept;
  };
  Direction to_device_, to_captured_;
};

}  // namespace kerncap::replay
