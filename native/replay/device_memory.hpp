// Device memory at the captured addresses. In: spans and the reservation that holds them. Out: memory that the GPU reads and
// writes there; the CPU never does. Called by the runner, before any data moves.
//
// Everything of the closure, host segments included, is backed by memory of the GPU: the HSA runtimes refuse host pools for
// vmem handles, and give no other way to put host memory at a chosen address of the GPU (docs/replay.md).
#pragma once

#include <cstdint>
#include <deque>
#include <span>

#include "replay/device.hpp"
#include "replay/reservation.hpp"

namespace kerncap::replay {

class DeviceMemory {
 public:
  // Throws replay.address-taken when the runtime answers with another address, host.device-memory when it has no memory.
  DeviceMemory(const Device& device, std::span<const Span> spans, Reservation& reservation);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

 private:
  struct Piece {
    std::uint64_t va = 0;
    std::uint64_t size = 0;
    hsa_amd_vmem_alloc_handle_t handle{};
    bool created = false;  // and not another piece's
    bool mapped = false;
  };
  // `original`: the piece whose memory is mapped once more, or null.
  void map_piece(const Device& device, std::uint64_t va, std::uint64_t size, Reservation& reservation, const Piece* original);
  const Piece* piece_at(std::uint64_t va) const;
  void release() noexcept;
  std::deque<Piece> pieces_;  // pieces stay where they are
};

}  // namespace kerncap::replay
