#include "vgpu/queue/aql.hpp"

#include <hsa/hsa_ext_amd.h>

#include <cstring>

#include "vgpu/queue/limits.hpp"
#include "vgpu/queue/pm4.hpp"
#include "vgpu/queue/signal.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

constexpr std::uint64_t kCompletionSignalOffset = 56;  // the same in every AQL packet
constexpr std::uint8_t kVendorPm4Ib = 1;               // Source: ROCr amd_aql_pm4_ib
static_assert(sizeof(hsa_kernel_dispatch_packet_t) == kPacketBytes);
static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == kCompletionSignalOffset);
static_assert(sizeof(hsa_amd_barrier_value_packet_t) == kPacketBytes);
static_assert(offsetof(amd_queue_t, write_dispatch_id) == 56 && offsetof(amd_queue_t, read_dispatch_id) == 128);

// Kernel descriptor fields. Source: LLVM AMDGPUUsage, "Code Object V3 Kernel Descriptor"; amd_kernel_code_t, which
// the runtime's own blit kernels use, agrees in these bytes.
constexpr std::uint64_t kDescriptorBytes = 64, kDescriptorPropertiesOffset = 56;
constexpr std::uint16_t kEnableWave32 = 1u << 10;

constexpr std::uint32_t kMaxWorkgroup = 1024;
constexpr std::uint32_t kUseScratchOnce = AMD_QUEUE_PROPERTIES_USE_SCRATCH_ONCE;

std::atomic<std::uint16_t>* header_of(std::byte* slot) { return reinterpret_cast<std::atomic<std::uint16_t>*>(slot); }

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// MSG_INTERRUPT of a wave: hostcall (printf) and signals that a kernel stores itself.
class EventInterrupt final : public isa::Interrupt {
 public:
  explicit EventInterrupt(Events& events) : events_(events) {}
  void raise(std::uint32_t event_id) noexcept override { events_.set(event_id); }

 private:
  Events& events_;
};

std::uint64_t waves_of(const hsa_kernel_dispatch_packet_t& p, bool wave32) {
  const auto groups = [](std::uint64_t grid, std::uint64_t size) { return (grid + size - 1) / size; };
  const std::uint64_t items = std::uint64_t{p.workgroup_size_x} * p.workgroup_size_y * p.workgroup_size_z;
  return groups(p.grid_size_x, p.workgroup_size_x) * groups(p.grid_size_y, p.workgroup_size_y) *
         groups(p.grid_size_z, p.workgroup_size_z) * groups(items, wave32 ? 32 : 64);
}

bool holds(hsa_signal_condition32_t condition, std::int64_t value, std::int64_t reference) {
  switch (condition) {
    case HSA_SIGNAL_CONDITION_EQ: return value == reference;
    case HSA_SIGNAL_CONDITION_NE: return value != reference;
    case HSA_SIGNAL_CONDITION_LT: return value < reference;
    case HSA_SIGNAL_CONDITION_GTE: return value >= reference;
    default: return false;
  }
}

}  // namespace

AqlQueue::AqlQueue(std::uint32_t id, const GpuContext& gpu, const RingLayout& layout,
                   std::atomic<std::uint64_t>* doorbell)
    : Queue(id, gpu, layout, doorbell),
      queue_va_(layout.write_pointer_va - offsetof(amd_queue_t, write_dispatch_id)),
      queue_(gpu.pages.object<amd_queue_t>(queue_va_)),
      next_(read_pointer_->load()) {
  if (queue_ == nullptr) throw std::invalid_argument("amd_queue_t is not mapped to the GPU");
}

std::uint16_t AqlQueue::header_at(std::uint64_t id) const {
  if (id >= write_pointer_->load(std::memory_order_acquire)) return HSA_PACKET_TYPE_INVALID;
  return header_of(slot_of(id))->load(std::memory_order_acquire);
}

Queue::Step AqlQueue::step() {
  const std::uint16_t header = header_at(next_);
  const unsigned type = header & 0xff;
  if (type == HSA_PACKET_TYPE_INVALID) return Step::idle;
  const Slot slot = slot_of(next_);
  if (scratch_release_pending()) return Step::waiting;
  time_.begin();
  switch (type) {
    case HSA_PACKET_TYPE_KERNEL_DISPATCH: return dispatch(slot);
    case HSA_PACKET_TYPE_BARRIER_AND: return barrier(slot, false);
    case HSA_PACKET_TYPE_BARRIER_OR: return barrier(slot, true);
    case HSA_PACKET_TYPE_VENDOR_SPECIFIC: return vendor(slot);
    default:
      return fail(QueueError::bad_packet, "vgpu.unknown-packet",
                  "AQL packet of type " + std::to_string(type) + " (header " + std::to_string(header) + ")");
  }
}

Queue::Step AqlQueue::finish(Slot slot, std::uint64_t completion_signal, std::uint64_t ticks) {
  time_.spend(ticks);
  const std::uint64_t start = time_.start(), end = time_.end();
  // Looked at before anybody can know that this packet is done: a packet that follows from that is not back to back.
  if ((header_at(next_ + 1) & 0xff) == HSA_PACKET_TYPE_INVALID) time_.idle();
  // The slot belongs to the application again as soon as the read index has passed it.
  header_of(slot)->store(HSA_PACKET_TYPE_INVALID, std::memory_order_release);
  ++next_;
  read_pointer_->store(next_, std::memory_order_release);
  if (const auto bad = signal_complete(gpu_, completion_signal, start, end))
    return fault(*bad, "completion signal");
  return Step::progressed;
}

Queue::Step AqlQueue::barrier(Slot slot, bool any) {
  const auto packet = load<hsa_barrier_and_packet_t>(slot);
  bool all_zero = true, one_zero = false, one_given = false;
  for (const hsa_signal_t& dependency : packet.dep_signal) {
    if (dependency.handle == 0) continue;
    const auto value = signal_value(gpu_.pages, dependency.handle);
    if (!value) return fault({dependency.handle, false}, "barrier packet");
    one_given = true;
    if (*value == 0) time_.after(signal_end(gpu_.pages, dependency.handle));
    all_zero = all_zero && *value == 0;
    one_zero = one_zero || *value == 0;
  }
  if (any ? one_given && !one_zero : !all_zero) return Step::waiting;
  report::log(2, "queue %u packet %llu: barrier-%s", id_, static_cast<unsigned long long>(next_), any ? "or" : "and");
  return finish(slot, packet.completion_signal.handle, kBarrierTicks);
}

Queue::Step AqlQueue::vendor(Slot slot) {
  const auto format = load<std::uint8_t>(slot + 2);
  const auto completion = load<std::uint64_t>(slot + kCompletionSignalOffset);
  if (format == HSA_AMD_PACKET_TYPE_BARRIER_VALUE) {
    const auto packet = load<hsa_amd_barrier_value_packet_t>(slot);
    if (packet.signal.handle != 0) {
      const auto value = signal_value(gpu_.pages, packet.signal.handle);
      if (!value) return fault({packet.signal.handle, false}, "barrier-value packet");
      if (!holds(packet.cond, *value & packet.mask, packet.value)) return Step::waiting;
      time_.after(signal_end(gpu_.pages, packet.signal.handle));
    }
    return finish(slot, completion, kBarrierTicks);
  }
  if (format == kVendorPm4Ib) {
    std::string unknown;
    if (const auto bad = pm4::check_indirect(gpu_.pages, slot, unknown)) return fault(*bad, "PM4 indirect buffer");
    if (!unknown.empty()) return fail(QueueError::bad_packet, "vgpu.unknown-packet", unknown);
    return finish(slot, completion, kBarrierTicks);
  }
  return fail(QueueError::bad_packet, "vgpu.unknown-packet", "vendor packet of format " + std::to_string(format));
}

std::optional<Queue::Step> AqlQueue::invalid_dispatch(const hsa_kernel_dispatch_packet_t& packet, bool& wave32) {
  const unsigned dimensions = packet.setup & 3;
  const std::uint64_t workgroup =
      std::uint64_t{packet.workgroup_size_x} * packet.workgroup_size_y * packet.workgroup_size_z;
  const bool empty_grid = packet.grid_size_x == 0 || packet.grid_size_y == 0 || packet.grid_size_z == 0;
  if (dimensions == 0 || workgroup == 0 || empty_grid)
    return fail(QueueError::invalid_dimension, "vgpu.bad-dispatch", "a dimension of the grid or workgroup is 0");
  if (workgroup > kMaxWorkgroup)
    return fail(QueueError::workgroup_too_large, "vgpu.bad-dispatch",
                "workgroup of " + std::to_string(workgroup) + " workitems, the limit is 1024");
  const std::uint32_t lds_limit = isa::lds_limit(gpu_.model.target);
  if (packet.group_segment_size > lds_limit)
    return fail(QueueError::group_memory, "vgpu.bad-dispatch",
                std::to_string(packet.group_segment_size) + " bytes of LDS, the limit is " + std::to_string(lds_limit));
  if (packet.kernel_object == 0 || packet.kernel_object % 64 != 0)
    return fail(QueueError::invalid_code, "vgpu.bad-dispatch", "kernel object is null or misaligned");
  std::byte descriptor[kDescriptorBytes];
  if (const auto bad = gpu_.pages.read(packet.kernel_object, descriptor, sizeof descriptor))
    return fault(*bad, "kernel descriptor");
  wave32 = (load<std::uint16_t>(descriptor + kDescriptorPropertiesOffset) & kEnableWave32) != 0;
  if (const auto why = too_many_vgprs(gpu_.model, descriptor, workgroup, wave32))
    return fail(QueueError::vgprs, "vgpu.bad-dispatch", *why);
  return std::nullopt;
}

void AqlQueue::ask(QueueError what) {
  signal_store(gpu_, queue_->queue_inactive_signal.handle, static_cast<std::int64_t>(what));
}

std::optional<Queue::Step> AqlQueue::need_scratch(std::uint32_t lane_bytes, bool wave32) {
  // The handshake of the command processor: stall the queue, ask through the inactive signal, go on when it is 0.
  const auto pending = signal_value(gpu_.pages, queue_->queue_inactive_signal.handle);
  bool answered = false;
  if (scratch_ == Scratch::asked) {
    if (pending.value_or(0) != 0) return Step::waiting;
    scratch_ = Scratch::none;
    answered = true;
  }
  const std::uint64_t have = std::uint64_t{queue_->scratch_wave64_lane_byte_size} * (wave32 ? 2 : 1);
  if (have >= lane_bytes) return std::nullopt;
  // To ask again would go on for ever: a size near 2^32 becomes a small one when the runtime rounds it up.
  if (answered)
    return fail(QueueError::bad_packet, "vgpu.no-scratch",
                "the runtime gives " + std::to_string(have) + " bytes of scratch a lane when asked for " + std::to_string(lane_bytes));
  if (!pending) return fail(QueueError::bad_packet, "vgpu.no-scratch", "the queue has no inactive signal to ask through");
  report::log(1, "queue %u asks for %u bytes of scratch a lane", id_, lane_bytes);
  scratch_ = Scratch::asked;
  ask(wave32 ? QueueError::scratch_wave32 : QueueError::scratch_wave64);
  return Step::waiting;
}

bool AqlQueue::scratch_release_pending() {
  if (scratch_ != Scratch::asked_release) return false;
  if (signal_value(gpu_.pages, queue_->queue_inactive_signal.handle).value_or(0) != 0) return true;
  scratch_ = Scratch::none;
  return false;
}

Queue::Step AqlQueue::dispatch(Slot slot) {
  const auto packet = load<hsa_kernel_dispatch_packet_t>(slot);
  bool wave32 = false;
  if (const auto step = invalid_dispatch(packet, wave32)) return *step;
  if (packet.private_segment_size != 0)
    if (const auto step = need_scratch(packet.private_segment_size, wave32)) return *step;
  return run_kernel(packet, slot, wave32);
}

Queue::Step AqlQueue::run_kernel(const hsa_kernel_dispatch_packet_t& packet, Slot slot, bool wave32) {
  isa::Dispatch dispatch = {};
  dispatch.packet = packet;
  dispatch.packet_va = layout_.ring_va + static_cast<std::uint64_t>(slot - ring_);
  dispatch.queue_va = queue_va_;
  dispatch.dispatch_id = next_;
  dispatch.scratch_va = queue_->scratch_backing_memory_location;
  dispatch.scratch_bytes = queue_->scratch_backing_memory_byte_size;
  std::memcpy(dispatch.scratch_resource, queue_->scratch_resource_descriptor, sizeof dispatch.scratch_resource);
  dispatch.shared_aperture_hi = static_cast<std::uint32_t>(kLdsBase >> 32);
  dispatch.private_aperture_hi = static_cast<std::uint32_t>(kScratchBase >> 32);
  report::log(1, "queue %u packet %llu: kernel %llx grid %ux%ux%u workgroup %ux%ux%u lds %u scratch %u", id_,
              static_cast<unsigned long long>(next_), static_cast<unsigned long long>(packet.kernel_object),
              packet.grid_size_x, packet.grid_size_y, packet.grid_size_z, packet.workgroup_size_x,
              packet.workgroup_size_y, packet.workgroup_size_z, packet.group_segment_size, packet.private_segment_size);

  EventInterrupt interrupt(gpu_.events);
  dispatch.interrupt = &interrupt;
  dispatch.sync = global_sync();
  AccessRanges accesses;
  AccessRanges* const trace = gpu_.trace.enabled() ? &accesses : nullptr;
  const isa::Outcome outcome =
      gpu_.checks ? gpu_.checks->run(gpu_.model.target, dispatch, gpu_.pages, trace, cancelled())
                  : isa::execute(gpu_.model.target, dispatch, gpu_.pages, trace, cancelled(), gpu_.threads);
  using Kind = isa::Outcome::Kind;
  if (gpu_.trace.enabled() && outcome.kind != Kind::cancelled)
    gpu_.trace.append(packet.kernel_object, accesses, outcome.kind == Kind::completed ? std::string() : outcome.text);
  switch (outcome.kind) {
    case Kind::completed: {
      // Large scratch is lent for one dispatch: the runtime takes it back when told so.
      const bool once = packet.private_segment_size != 0 && (queue_->queue_properties & kUseScratchOnce) != 0;
      const std::uint64_t ticks = dispatch_ticks(gpu_.model, outcome.work, waves_of(packet, wave32));
      const Step step = finish(slot, packet.completion_signal.handle, ticks);
      if (once && step == Step::progressed) {
        scratch_ = Scratch::asked_release;
        ask(QueueError::scratch_release);
      }
      return step;
    }
    case Kind::cancelled: return Step::halted;
    case Kind::page_fault: return fault({outcome.fault_va, outcome.fault_write, outcome.fault_fetch}, outcome.text);
    case Kind::unimplemented:
      return fail(QueueError::illegal_instruction, "vgpu.unimplemented-instruction", outcome.text);
    case Kind::illegal: return fail(QueueError::illegal_instruction, "vgpu.illegal-instruction", outcome.text);
    case Kind::aperture_violation:
      return fail(QueueError::aperture_violation, "vgpu.aperture-violation", outcome.text);
    case Kind::trapped: return fail(QueueError::trap, "vgpu.trap", outcome.text);
    case Kind::bad_dispatch: return fail(QueueError::invalid_code, "vgpu.bad-dispatch", outcome.text);
  }
  return fail(QueueError::bad_packet, "vgpu.internal", "the interpreter returned an unknown outcome");
}

Queue::Step AqlQueue::fail(QueueError error, std::string_view code, const std::string& text) {
  report::stopped(code, text);
  ask(error);
  return Step::halted;
}

Queue::Step AqlQueue::fault(const Fault& at, std::string_view who) {
  page_fault(at, who);
  return Step::halted;
}

}  // namespace kerncap::vgpu
