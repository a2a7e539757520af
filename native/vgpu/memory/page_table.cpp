#include "vgpu/memory/page_table.hpp"

#include <algorithm>

namespace kerncap::vgpu {

bool PageTable::cut(std::uint64_t va, std::uint64_t end, std::vector<Range>& removed) {
  auto first = std::lower_bound(table_.begin(), table_.end(), va, [](const Range& r, std::uint64_t a) { return r.end <= a; });
  auto last = first;
  while (last != table_.end() && last->va < end) ++last;
  if (first == last) return false;
  std::vector<Range> rest;
  if (first->va < va) {
    rest.push_back(*first);
    rest.back().end = va;
  }
  if (const Range& tail = *(last - 1); tail.end > end) {
    rest.push_back(tail);
    rest.back().host += end - tail.va;
    rest.back().va = end;
  }
  removed.insert(removed.end(), std::make_move_iterator(first), std::make_move_iterator(last));
  first = table_.erase(first, last);
  table_.insert(first, std::make_move_iterator(rest.begin()), std::make_move_iterator(rest.end()));
  return true;
}

void PageTable::map(std::uint64_t va, std::uint64_t size, std::byte* host, bool writable, std::shared_ptr<Storage> keep,
                    bool executable) {
  std::vector<Range> removed;
  const std::unique_lock lock(mutex_);
  const bool replaced = cut(va, va + size, removed);
  const auto at = std::lower_bound(table_.begin(), table_.end(), va, [](const Range& r, std::uint64_t a) { return r.va < a; });
  table_.insert(at, Range{va, va + size, host, writable, executable, std::move(keep)});
  if (replaced) generation_.fetch_add(1, std::memory_order_release);
}

void PageTable::unmap(std::uint64_t va, std::uint64_t size) {
  std::vector<Range> removed;  // outlives the lock
  const std::unique_lock lock(mutex_);
  if (cut(va, va + size, removed)) generation_.fetch_add(1, std::memory_order_release);
}

isa::Memory::Mapping PageTable::find(std::uint64_t device_va) const noexcept {
  const std::shared_lock lock(mutex_);
  const auto it = std::upper_bound(table_.begin(), table_.end(), device_va,
                                   [](std::uint64_t a, const Range& r) { return a < r.end; });
  if (it == table_.end() || device_va < it->va) return {};
  return {it->va, it->end, it->host, it->writable, it->executable};
}

std::size_t PageTable::ranges() const {
  const std::shared_lock lock(mutex_);
  return table_.size();
}

std::byte* PageTable::host(std::uint64_t va, std::uint64_t size, bool write) const noexcept {
  const Mapping m = find(va);
  if (!m || m.end - va < size || (write && !m.writable)) return nullptr;
  return m.host + (va - m.va);
}

std::optional<Fault> PageTable::read(std::uint64_t va, void* to, std::uint64_t size) const noexcept {
  auto* out = static_cast<std::byte*>(to);
  while (size != 0) {
    const Mapping m = find(va);
    if (!m) return Fault{va, false};
    const std::uint64_t n = std::min(size, m.end - va);
    std::memcpy(out, m.host + (va - m.va), n);
    va += n;
    out += n;
    size -= n;
  }
  return std::nullopt;
}

std::optional<Fault> PageTable::copy(std::uint64_t to_va, std::uint64_t from_va, std::uint64_t size) const noexcept {
  while (size != 0) {
    const Mapping from = find(from_va);
    if (!from) return Fault{from_va, false};
    const Mapping to = find(to_va);
    if (!to || !to.writable) return Fault{to_va, true};
    const std::uint64_t n = std::min({size, from.end - from_va, to.end - to_va});
    std::byte* const out = to.host + (to_va - to.va);
    const std::byte* const in = from.host + (from_va - from.va);
    if (backing_ != nullptr) {
      backing_->copy(out, in, n);
    } else {
      std::memmove(out, in, n);
    }
    if (written_ != nullptr) written_->copy(out, in, n);
    from_va += n;
    to_va += n;
    size -= n;
  }
  return std::nullopt;
}

std::optional<Fault> PageTable::fill32(std::uint64_t va, std::uint32_t value, std::uint64_t size) const noexcept {
  std::byte pattern[sizeof value];
  std::memcpy(pattern, &value, sizeof value);
  for (std::uint64_t done = 0; done < size;) {
    const Mapping m = find(va + done);
    if (!m || !m.writable) return Fault{va + done, true};
    const std::uint64_t n = std::min(size - done, m.end - (va + done));
    std::byte* out = m.host + (va + done - m.va);
    for (std::uint64_t i = 0; i < n; ++i) out[i] = pattern[(done + i) % sizeof value];
    if (written_ != nullptr) written_->write(out, n);
    done += n;
  }
  return std::nullopt;
}

}  // namespace kerncap::vgpu
