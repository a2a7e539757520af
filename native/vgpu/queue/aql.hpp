// Command processor of an AQL queue. Packets are executed one after the other, in order, each to its end: the barrier
// bit is always honoured and memory fences have nothing to do (one coherent memory). See docs/virtual-gpu.md.
#pragma once

#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>

#include <string>

#include "vgpu/queue/queue.hpp"

namespace kerncap::vgpu {

// What the queue's inactive signal is set to when the command processor stops. Source: ROCr amd_aql_queue.cpp,
// AqlQueue::DynamicQueueEventsHandler.
enum class QueueError : std::uint32_t {
  scratch_wave64 = 0x1, invalid_dimension = 0x2, group_memory = 0x4, invalid_code = 0x8, bad_packet = 0x20,
  workgroup_too_large = 0x40, vgprs = 0x80, scratch_release = 0x200, scratch_wave32 = 0x400,
  aperture_violation = 0x20000000, illegal_instruction = 0x40000000, trap = 0x80000000,
};

inline constexpr std::uint64_t kPacketBytes = 64;

class AqlQueue final : public Queue {
 public:
  AqlQueue(std::uint32_t id, const GpuContext& gpu, const RingLayout& layout, std::atomic<std::uint64_t>* doorbell);

 private:
  using Slot = std::byte*;
  enum class Scratch { none, asked, asked_release };

  Step step() override;
  Slot slot_of(std::uint64_t id) const { return ring_ + (id % (layout_.ring_bytes / kPacketBytes)) * kPacketBytes; }
  // HSA_PACKET_TYPE_INVALID: the packet has not been submitted.
  std::uint16_t header_at(std::uint64_t id) const;
  Step dispatch(Slot slot);
  Step barrier(Slot slot, bool any);
  Step vendor(Slot slot);
  // `ticks`: what the packet takes in the cost model.
  Step finish(Slot slot, std::uint64_t completion_signal, std::uint64_t ticks);

  Step fail(QueueError error, std::string_view code, const std::string& text);
  Step fault(const Fault& fault, std::string_view who);
  // nullopt: enough scratch is there.
  std::optional<Step> need_scratch(std::uint32_t lane_bytes, bool wave32);
  bool scratch_release_pending();
  std::optional<Step> invalid_dispatch(const hsa_kernel_dispatch_packet_t& packet, bool& wave32);
  Step run_kernel(const hsa_kernel_dispatch_packet_t& packet, Slot slot, bool wave32);
  void ask(QueueError what);

  std::uint64_t queue_va_;
  amd_queue_t* queue_;
  std::uint64_t next_ = 0;       // packet id
  Scratch scratch_ = Scratch::none;
};

}  // namespace kerncap::vgpu
