// Which bytes of device memory somebody has written: kernels, copies, fills.
// In: memory that the CPU cannot reach, stores to it. Out: the bytes that nobody wrote. Filled by memory/ and by the memory
// check, from several threads; exists with check=memory alone.
//
// Keyed by host address: memory that several device addresses or GPUs map is one. All other memory counts as written.
// Kept are a bit a byte of pages that are written in part, and a node a page that is written as a whole.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace kerncap::vgpu::isa::check {

class WrittenBytes {
 public:
  // Fresh memory, page-aligned: nothing in it is written.
  void add(const std::byte* host, std::uint64_t size);
  // No longer looked at: freed, or the CPU can reach it now.
  void remove(const std::byte* host);
  // `known` false: what is stored there was itself never written.
  void write(const std::byte* at, std::uint64_t size, bool known = true);
  // A copy carries along what nobody wrote.
  void copy(const std::byte* to, const std::byte* from, std::uint64_t size);
  // Bit k: nobody wrote byte k of [at, at + size). size <= 64.
  std::uint64_t unwritten(const std::byte* at, unsigned size) const;
  // More pages written in part than are kept: the rest counts as written.
  bool limited() const;

 private:
  static constexpr std::uint64_t kPageBytes = 4096;
  static constexpr std::size_t kMaxPages = 65536;  // 32 MiB here
  using Page = std::bitset<kPageBytes>;            // written bytes
  bool holds(std::uint64_t at) const;
  void write_in_page(std::uint64_t at, std::uint64_t size, bool known);
  void copy_in_page(std::uint64_t to, std::uint64_t from, std::uint64_t size);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // end -> first
  // By number. Absent: nothing is written; null: all of it.
  std::unordered_map<std::uint64_t, std::unique_ptr<Page>> pages_;
  std::size_t partly_ = 0;
  bool limited_ = false;
};

}  // namespace kerncap::vgpu::isa::check
