// The page table of one virtual GPU: device address ranges and where they live in this process.
// In: maps and unmaps from ioctls and libdrm, at any time. Out: look-ups by value for the interpreter, SDMA and the
// command processors. A range keeps its Storage alive; a cached look-up is valid while generation() stays the same.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <vector>

#include "vgpu/isa/check/written.hpp"
#include "vgpu/isa/executor.hpp"
#include "vgpu/memory/backing.hpp"

namespace kerncap::vgpu {

// An access that no mapping allows.
struct Fault {
  std::uint64_t va = 0;
  bool write = false;
  bool fetch = false;  // of an instruction
};

class PageTable final : public isa::Memory {
 public:
  // With check=memory: copies and fills are told to it. Before the first of them.
  void tell(isa::check::WrittenBytes* written) { written_ = written; }
  // Where device memory lives; without it a copy is a plain one.
  void use(const Backing& backing) { backing_ = &backing; }
  // Replaces whatever was mapped in [va, va + size).
  void map(std::uint64_t va, std::uint64_t size, std::byte* host, bool writable, std::shared_ptr<Storage> keep,
           bool executable = false);
  void unmap(std::uint64_t va, std::uint64_t size);

  Mapping find(std::uint64_t device_va) const noexcept override;
  const std::atomic<std::uint64_t>& generation() const noexcept override { return generation_; }
  std::size_t ranges() const;

  // Host address of [va, va + size) when one mapping holds it all, else nullptr.
  std::byte* host(std::uint64_t va, std::uint64_t size, bool write) const noexcept;
  // For a command processor to write to.
  template <class T>
  T* object(std::uint64_t va) const noexcept {
    std::byte* const at = va % alignof(T) == 0 ? host(va, sizeof(T), true) : nullptr;
    if (at != nullptr && written_ != nullptr) written_->write(at, sizeof(T));
    return reinterpret_cast<T*>(at);
  }

  // Copies across mappings; stops at the first byte that faults.
  std::optional<Fault> read(std::uint64_t va, void* to, std::uint64_t size) const noexcept;
  std::optional<Fault> copy(std::uint64_t to_va, std::uint64_t from_va, std::uint64_t size) const noexcept;
  std::optional<Fault> fill32(std::uint64_t va, std::uint32_t value, std::uint64_t size) const noexcept;

 private:
  struct Range {
    std::uint64_t va, end;
    std::byte* host;
    bool writable, executable;
    std::shared_ptr<Storage> keep;
  };
  // Cuts [va, end) out of the table; what is cut goes to `removed`, so that memory is freed outside the lock.
  bool cut(std::uint64_t va, std::uint64_t end, std::vector<Range>& removed);

  mutable std::shared_mutex mutex_;
  std::vector<Range> table_;  // sorted, disjoint
  std::atomic<std::uint64_t> generation_{1};
  isa::check::WrittenBytes* written_ = nullptr;
  const Backing* backing_ = nullptr;
};

}  // namespace kerncap::vgpu
