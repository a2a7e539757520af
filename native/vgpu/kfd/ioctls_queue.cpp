// Queues: create, destroy, suspend.
#include <cerrno>
#include <stdexcept>

#include "vgpu/kfd/ioctls.hpp"
#include "vgpu/queue/aql.hpp"
#include "vgpu/queue/sdma.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu::ioctls {
namespace {

std::unique_ptr<Queue> make_queue(const Device::QueueSlot& slot, const kfd_ioctl_create_queue_args& args) {
  const RingLayout layout = {.ring_va = args.ring_base_address, .ring_bytes = args.ring_size,
                             .write_pointer_va = args.write_pointer_address,
                             .read_pointer_va = args.read_pointer_address};
  auto* doorbell = reinterpret_cast<std::atomic<std::uint64_t>*>(slot.gpu->doorbells->host()) + slot.doorbell;
  switch (args.queue_type) {
    case KFD_IOC_QUEUE_TYPE_COMPUTE_AQL: return std::make_unique<AqlQueue>(slot.id, slot.gpu->context, layout, doorbell);
    case KFD_IOC_QUEUE_TYPE_SDMA:
    case KFD_IOC_QUEUE_TYPE_SDMA_XGMI:
    case KFD_IOC_QUEUE_TYPE_SDMA_BY_ENG_ID:
      return std::make_unique<SdmaQueue>(slot.id, slot.gpu->context, layout, doorbell);
    default:
      report::stopped("vgpu.unknown-queue-type", "queue type " + std::to_string(args.queue_type));
      return nullptr;
  }
}

}  // namespace

int create_queue(Device& device, kfd_ioctl_create_queue_args& args) {
  Gpu* gpu = device.gpu_by_id(args.gpu_id);
  if (gpu == nullptr || args.ring_size == 0) return EINVAL;
  const auto slot = device.reserve_queue(gpu);
  if (!slot) return ENOMEM;
  try {
    auto queue = make_queue(*slot, args);
    if (!queue) {
      device.release_queue(*slot);
      return EINVAL;
    }
    device.start_queue(*slot, std::move(queue));
  } catch (...) {
    device.release_queue(*slot);
    throw;
  }
  args.queue_id = slot->id;
  args.doorbell_offset = gpu->doorbells->mmap_offset() + slot->doorbell * sizeof(std::uint64_t);
  report::log(1, "queue %u: type %u, ring %llx, %u bytes", slot->id, args.queue_type,
              static_cast<unsigned long long>(args.ring_base_address), args.ring_size);
  return 0;
}

int destroy_queue(Device& device, kfd_ioctl_destroy_queue_args& args) {
  report::log(1, "queue %u destroyed", args.queue_id);
  return device.remove_queue(args.queue_id) ? 0 : EINVAL;
}

int update_queue(Device& device, kfd_ioctl_update_queue_args& args) {
  // 0 percent of the machine: the runtime stops a queue after an error.
  return device.suspend_queue(args.queue_id, args.queue_percentage == 0) ? 0 : EINVAL;
}

int set_cu_mask(Device&, kfd_ioctl_set_cu_mask_args&) { return 0; }  // where workgroups run cannot be observed

int alloc_queue_gws(Device& device, kfd_ioctl_alloc_queue_gws_args& args) {
  args.first_gws = 0;
  return device.assign_sync(args.queue_id, args.num_gws != 0);
}

}  // namespace kerncap::vgpu::ioctls
