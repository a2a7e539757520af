#include "replay/device_memory.hpp"

#include <algorithm>
#include <cstdio>
#include <string>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

// HSA runtime 6.1.2 refuses to reserve more than the host's RAM at once (16 GiB went, 31 GiB did not on a 23.5 GiB machine),
// and small pieces keep an allocation from failing for want of one large block.
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 30;

void* pointer(std::uint64_t va) noexcept { return reinterpret_cast<void*>(va); }

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

}  // namespace

DeviceMemory::DeviceMemory(const Device& device, std::span<const Span> spans, Reservation& reservation) {
  try {
    for (const bool aliases : {false, true}) {
      for (const Span& span : spans) {
        if ((span.original != 0) != aliases) continue;
        for (std::uint64_t at = 0; at < span.size(); at += kPieceBytes) {
          const Piece* const original = aliases ? piece_at(span.original + at) : nullptr;
          map_piece(device, span.begin + at, std::min(kPieceBytes, span.size() - at), reservation, original);
        }
      }
    }
  } catch (...) {
    release();
    throw;
  }
}

DeviceMemory::~DeviceMemory() { release(); }

const DeviceMemory::Piece* DeviceMemory::piece_at(std::uint64_t va) const {
  const auto it = std::ranges::find(pieces_, va, &Piece::va);
  if (it == pieces_.end()) throw Error("internal.exception", "no device memory at " + hex(va) + " to map once more");
  return &*it;
}

void DeviceMemory::map_piece(const Device& device, std::uint64_t va, std::uint64_t size, Reservation& reservation,
                             const Piece* original) {
  reservation.give_up(va, va + size);
  void* actual = nullptr;
  check(hsa_amd_vmem_address_reserve(&actual, size, va, 0), "reserving device addresses", "replay.address-taken");
  // The runtime reports success with another address when the wanted one is taken.
  if (actual != pointer(va)) {
    hsa_amd_vmem_address_free(actual, size);
    const std::string mappings = conflicting_mappings({va, va + size});
    throw Error("replay.address-taken", "the HSA runtime does not give the captured address " + hex(va) + " (" + std::to_string(size) + " bytes)" +
                                            (mappings.empty() ? "" : ", in use here by " + mappings),
                "kerncap replay BUNDLE  # again: addresses are chosen anew for each process");
  }
  pieces_.push_back({va, size, {}, false, false});
  Piece& piece = pieces_.back();
  if (original != nullptr) {
    piece.handle = original->handle;
  } else {
    check(hsa_amd_vmem_handle_create(device.device_pool, size, MEMORY_TYPE_NONE, 0, &piece.handle), "device memory",
          "host.device-memory");
    piece.created = true;
  }
  check(hsa_amd_vmem_map(actual, size, 0, piece.handle, 0), "mapping device memory", "host.device-memory");
  piece.mapped = true;
  const hsa_amd_memory_access_desc_t access{HSA_ACCESS_PERMISSION_RW, device.gpu};
  check(hsa_amd_vmem_set_access(actual, size, &access, 1), "access of the GPU to its memory");
}

void DeviceMemory::release() noexcept {
  for (auto piece = pieces_.rbegin(); piece != pieces_.rend(); ++piece) {
    if (piece->mapped) hsa_amd_vmem_unmap(pointer(piece->va), piece->size);
    if (piece->created) hsa_amd_vmem_handle_release(piece->handle);
    hsa_amd_vmem_address_free(pointer(piece->va), piece->size);
  }
  pieces_.clear();
}

}  // namespace kerncap::replay
