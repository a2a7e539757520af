// An SDMA engine's queue: a ring of dwords whose pointers count bytes; the doorbell's value is the write pointer.
#pragma once

#include "vgpu/queue/queue.hpp"
#include "vgpu/queue/sdma_packets.hpp"

namespace kerncap::vgpu {

class SdmaQueue final : public Queue {
 public:
  SdmaQueue(std::uint32_t id, const GpuContext& gpu, const RingLayout& layout, std::atomic<std::uint64_t>* doorbell);

 private:
  Step step() override;
  // nullopt: done; waiting or halted otherwise.
  std::optional<Step> execute(const sdma::Command& command);
  std::optional<Fault> copy_rect(const sdma::CopyRect& rect) const;
  Step halt(const Fault& fault);

  std::uint64_t next_ = 0;  // bytes
};

}  // namespace kerncap::vgpu
