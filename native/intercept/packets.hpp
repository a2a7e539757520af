// AQL packets: walking a batch, and the packets that the tool puts around its target. Pure; no HSA call is made here.
// In: what the runtime hands to a packet callback. Out: the same packets in the same order through the writer, with the target
// replaced. Called by queues.cpp. Source: HSA Platform System Architecture 1.2, 2.9; hsa.h, hsa_amd_queue_intercept_register.
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace kerncap::intercept {

struct alignas(64) Packet {
  std::uint16_t header;
  std::uint8_t body[62];
};
static_assert(sizeof(Packet) == 64);
static_assert(sizeof(hsa_kernel_dispatch_packet_t) == sizeof(Packet));
static_assert(sizeof(hsa_barrier_and_packet_t) == sizeof(Packet));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, kernel_object) == 32);
static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == 56);
static_assert(offsetof(hsa_barrier_and_packet_t, completion_signal) == 56);

inline unsigned type_of(const Packet& packet) { return (packet.header >> HSA_PACKET_HEADER_TYPE) & 0xff; }
inline bool is_dispatch(const Packet& packet) { return type_of(packet) == HSA_PACKET_TYPE_KERNEL_DISPATCH; }
inline bool is_barrier_value(const Packet& packet) {
  return type_of(packet) == HSA_PACKET_TYPE_VENDOR_SPECIFIC && packet.body[0] == HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
}

// Where a barrier packet names the signals that it waits for: five, of a barrier-value packet one.
inline constexpr std::size_t first_dependency_at = 8;
inline constexpr std::size_t barrier_dependencies = 5;
static_assert(offsetof(hsa_barrier_and_packet_t, dep_signal) == first_dependency_at);
static_assert(offsetof(hsa_barrier_or_packet_t, dep_signal) == first_dependency_at);
static_assert(offsetof(hsa_amd_barrier_value_packet_t, signal) == first_dependency_at);

inline hsa_kernel_dispatch_packet_t as_dispatch(const Packet& packet) {
  hsa_kernel_dispatch_packet_t dispatch;
  std::memcpy(&dispatch, &packet, sizeof dispatch);
  return dispatch;
}

using Dim3 = std::array<std::uint32_t, 3>;  // workitems

inline Dim3 grid_of(const hsa_kernel_dispatch_packet_t& dispatch) {
  return {dispatch.grid_size_x, dispatch.grid_size_y, dispatch.grid_size_z};
}
inline Dim3 workgroup_of(const hsa_kernel_dispatch_packet_t& dispatch) {
  return {dispatch.workgroup_size_x, dispatch.workgroup_size_y, dispatch.workgroup_size_z};
}

inline void set_completion(Packet& dispatch, hsa_signal_t completion) {
  std::memcpy(reinterpret_cast<std::byte*>(&dispatch) + offsetof(hsa_kernel_dispatch_packet_t, completion_signal), &completion,
              sizeof completion);
}

// Ordered after everything before it, holding back everything behind it, visible to all agents and the host.
constexpr std::uint16_t ordered_header(hsa_packet_type_t type) {
  return static_cast<std::uint16_t>((type << HSA_PACKET_HEADER_TYPE) | (1 << HSA_PACKET_HEADER_BARRIER) |
                                    (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE) |
                                    (HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE));
}

// A barrier-AND packet: waits for `dependency` to become 0 (none when its handle is 0), then decrements `completion`.
inline Packet barrier(hsa_signal_t dependency, hsa_signal_t completion) {
  hsa_barrier_and_packet_t packet{};
  packet.header = ordered_header(HSA_PACKET_TYPE_BARRIER_AND);
  packet.dep_signal[0] = dependency;
  packet.completion_signal = completion;
  Packet bytes;
  std::memcpy(&bytes, &packet, sizeof bytes);
  return bytes;
}

// The target with a completion signal of the tool's and nothing overtaking it.
inline Packet fenced_target(const Packet& original, hsa_signal_t completion) {
  auto dispatch = as_dispatch(original);
  dispatch.header = ordered_header(HSA_PACKET_TYPE_KERNEL_DISPATCH);
  dispatch.completion_signal = completion;
  Packet bytes;
  std::memcpy(&bytes, &dispatch, sizeof bytes);
  return bytes;
}

// Hands the batch on in order. `take` sees every kernel dispatch and answers true for one that it has written itself (what came
// before it has been written by then); everything else reaches `write` untouched, in as few calls as possible.
template <class Write, class Take>
void walk_batch(std::span<const Packet> batch, Write write, Take take) {
  std::size_t pending = 0;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (!is_dispatch(batch[i])) continue;
    const auto flush = [&] {
      if (i > pending) write(batch.subspan(pending, i - pending));
      pending = i;
    };
    if (take(batch[i], flush)) pending = i + 1;
  }
  if (pending < batch.size()) write(batch.subspan(pending));
}

}  // namespace kerncap::intercept
