#include "vgpu/isa/launch/code.hpp"

#include <algorithm>
#include <cstring>

namespace kerncap::vgpu::isa {

void CodeCache::begin(Target target, unsigned wave_size, AddressCache& memory) {
  if (target != target_ || wave_size != wave_size_ || pages_.size() > 4096) pages_.clear();
  target_ = target;
  wave_size_ = wave_size;
  memory_ = &memory;
  ++epoch_;
  current_number_ = ~std::uint64_t{0};
  current_ = nullptr;
}

CodeCache::Page* CodeCache::page(std::uint64_t number) {
  std::unique_ptr<Page>& slot = pages_[number];
  if (!slot) slot = std::make_unique<Page>();
  if (slot->epoch == epoch_) return slot.get();
  decltype(Page::words) words{};
  const std::uint64_t va = number * kPageBytes;
  const std::uint64_t bytes = memory_->fetchable(va, sizeof words);
  memory_->read(va, words.data(), bytes);
  if (bytes != slot->bytes || words != slot->words) {
    slot->slots.fill(nullptr);
    slot->decoded.clear();
    slot->words = words;
    slot->bytes = bytes;
  }
  slot->epoch = epoch_;
  return slot.get();
}

const Inst* CodeCache::fetch_slow(std::uint64_t pc) {
  current_ = page(pc / kPageBytes);
  current_number_ = pc / kPageBytes;
  const std::uint64_t index = pc % kPageBytes / 4;
  if (const Inst* inst = current_->slots[index]) return inst;
  const std::uint64_t readable = current_->bytes / 4;
  const std::size_t count = index < readable ? std::min<std::size_t>(4, readable - index) : 0;
  Decoded decoded = decode(target_, wave_size_, std::span(current_->words).subspan(index, count), pc);
  if (decoded.status != Decoded::Status::ok) {
    error_ = std::move(decoded);
    return nullptr;
  }
  current_->decoded.push_back(std::make_unique<Decoded>(std::move(decoded)));
  current_->slots[index] = &current_->decoded.back()->inst;
  return current_->slots[index];
}

const Inst* CodeCache::link(const Inst& before, std::uint64_t pc) {
  const Inst* const inst = fetch(pc);
  if (before.pc / kPageBytes == pc / kPageBytes) before.next = inst;
  return inst;
}

}  // namespace kerncap::vgpu::isa
