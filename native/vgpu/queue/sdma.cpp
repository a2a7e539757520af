#include "vgpu/queue/sdma.hpp"

#include <cstring>

#include "vgpu/queue/signal.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};

constexpr std::uint64_t kDword = 4;

}  // namespace

SdmaQueue::SdmaQueue(std::uint32_t id, const GpuContext& gpu, const RingLayout& layout,
                     std::atomic<std::uint64_t>* doorbell)
    : Queue(id, gpu, layout, doorbell), next_(read_pointer_->load()) {}

Queue::Step SdmaQueue::step() {
  if (next_ >= doorbell_value()) return Step::idle;
  std::uint32_t words[sdma::kLongestPacket];
  for (std::size_t i = 0; i < sdma::kLongestPacket; ++i)
    std::memcpy(&words[i], ring_ + (next_ + i * kDword) % layout_.ring_bytes, kDword);
  const sdma::Packet packet = sdma::decode(words, isa::family(gpu_.model.target) == isa::Family::gfx12);
  time_.begin();
  if (const auto stop = execute(packet.command)) return *stop;
  time_.end();
  next_ += packet.dwords * kDword;
  read_pointer_->store(next_, std::memory_order_release);
  return Step::progressed;
}

std::optional<Queue::Step> SdmaQueue::execute(const sdma::Command& command) {
  using Result = std::optional<Step>;
  const auto checked = [this](const std::optional<Fault>& fault) -> Result {
    return fault ? Result(halt(*fault)) : std::nullopt;
  };
  return std::visit(
      Overloaded{
          [](const sdma::Nop&) -> Result { return std::nullopt; },
          [&](const sdma::CopyLinear& c) -> Result {
            report::log(2, "sdma %u copy %llx -> %llx, %llu bytes", id_, static_cast<unsigned long long>(c.from_va),
                        static_cast<unsigned long long>(c.to_va), static_cast<unsigned long long>(c.bytes));
            time_.spend(copy_ticks(c.bytes));
            return checked(gpu_.pages.copy(c.to_va, c.from_va, c.bytes));
          },
          [&](const sdma::CopyRect& c) -> Result {
            time_.spend(copy_ticks(std::uint64_t{c.width} * c.height * c.depth * c.element_bytes));
            return checked(copy_rect(c));
          },
          [&](const sdma::Fill& f) -> Result {
            time_.spend(copy_ticks(f.bytes));
            return checked(gpu_.pages.fill32(f.va, f.value, f.bytes));
          },
          [&](const sdma::Fence& f) -> Result {
            auto* word = gpu_.pages.object<std::atomic<std::uint32_t>>(f.va);
            if (word == nullptr) return halt({f.va, true});
            time_.idle();
            word->store(f.value, std::memory_order_release);
            return std::nullopt;
          },
          [&](const sdma::Trap& t) -> Result {
            gpu_.events.set(t.event_id);
            return std::nullopt;
          },
          [&](const sdma::PollMemory& p) -> Result {
            auto* word = gpu_.pages.object<std::atomic<std::uint32_t>>(p.va);
            if (word == nullptr) return halt({p.va, false});
            if (!p.holds(word->load(std::memory_order_acquire))) return Step::waiting;
            time_.after(gpu_ticks());  // whatever it waited for has happened by now
            return std::nullopt;
          },
          [&](const sdma::Atomic64Add& a) -> Result {
            auto* word = gpu_.pages.object<std::atomic<std::uint64_t>>(a.va);
            if (word == nullptr) return halt({a.va, true});
            time_.idle();
            word->fetch_add(a.operand);
            return std::nullopt;
          },
          [&](const sdma::Timestamp& t) -> Result {
            auto* word = gpu_.pages.object<std::atomic<std::uint64_t>>(t.va);
            if (word == nullptr) return halt({t.va, true});
            word->store(time_.now(), std::memory_order_release);
            return std::nullopt;
          },
          [&](const sdma::Unknown& u) -> Result {
            // Hardware hangs and is reset: the runtime learns of it through its hardware-exception event.
            report::stopped("vgpu.unknown-sdma-packet", std::string(isa::name(gpu_.model.target)) + ": " + u.name);
            gpu_.events.raise_gpu_hang(gpu_.gpu_id);
            return Step::halted;
          },
      },
      command);
}

std::optional<Fault> SdmaQueue::copy_rect(const sdma::CopyRect& rect) const {
  const auto row_va = [&rect](const sdma::CopyRect::Image& image, std::uint64_t y, std::uint64_t z) {
    return image.va + rect.element_bytes * (image.x + (image.y + y) * image.pitch + (image.z + z) * image.slice);
  };
  for (std::uint32_t z = 0; z < rect.depth; ++z)
    for (std::uint32_t y = 0; y < rect.height; ++y)
      if (const auto fault = gpu_.pages.copy(row_va(rect.to, y, z), row_va(rect.from, y, z),
                                             std::uint64_t{rect.width} * rect.element_bytes))
        return fault;
  return std::nullopt;
}

Queue::Step SdmaQueue::halt(const Fault& fault) {
  page_fault(fault, "SDMA");
  return Step::halted;
}

}  // namespace kerncap::vgpu
