#include "vgpu/isa/check/written.hpp"

#include <algorithm>

namespace kerncap::vgpu::isa::check {
namespace {

std::uint64_t number(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at); }

}  // namespace

void WrittenBytes::add(const std::byte* host, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  ranges_[(number(host) + size + kPageBytes - 1) / kPageBytes * kPageBytes] = number(host);
}

void WrittenBytes::remove(const std::byte* host) {
  const std::lock_guard lock(mutex_);
  const auto range = ranges_.upper_bound(number(host));
  if (range == ranges_.end() || range->second != number(host)) return;
  std::erase_if(pages_, [&](const auto& page) {
    const std::uint64_t va = page.first * kPageBytes;
    const bool gone = va >= range->second && va < range->first;
    if (gone && page.second) --partly_;
    return gone;
  });
  ranges_.erase(range);
}

bool WrittenBytes::holds(std::uint64_t at) const {
  const auto range = ranges_.upper_bound(at);
  return range != ranges_.end() && range->second <= at;
}

void WrittenBytes::write_in_page(std::uint64_t at, std::uint64_t size, bool known) {
  if (!holds(at)) return;
  const std::uint64_t first = at % kPageBytes;
  const auto found = pages_.find(at / kPageBytes);
  if (found == pages_.end() ? !known : !found->second && known) return;  // as it is
  const bool whole = size == kPageBytes;
  if (found != pages_.end() && whole) {
    if (found->second) --partly_;
    known ? found->second.reset() : void(pages_.erase(found));
    return;
  }
  std::unique_ptr<Page>& page = pages_[at / kPageBytes];
  if (whole) return;
  if (!page) {
    limited_ = limited_ || partly_ == kMaxPages;
    if (partly_ == kMaxPages) return;
    page = std::make_unique<Page>();
    if (!known) page->set();  // all of it was written
    ++partly_;
  }
  for (std::uint64_t k = first; k < first + size; ++k) page->set(k, known);
  if (known && page->all()) {
    page.reset();
    --partly_;
  }
}

void WrittenBytes::write(const std::byte* at, std::uint64_t size, bool known) {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t va = number(at), end = va + size; va < end;) {
    const std::uint64_t n = std::min(end - va, kPageBytes - va % kPageBytes);
    write_in_page(va, n, known);
    va += n;
  }
}

void WrittenBytes::copy_in_page(std::uint64_t to, std::uint64_t from, std::uint64_t size) {
  const auto source = pages_.find(from / kPageBytes);
  if (!holds(from) || (source != pages_.end() && !source->second)) return write_in_page(to, size, true);
  if (source == pages_.end()) return write_in_page(to, size, false);
  const Page bits = *source->second;  // the destination may be the same page
  for (std::uint64_t k = 0; k < size; ++k) write_in_page(to + k, 1, bits[from % kPageBytes + k]);
}

void WrittenBytes::copy(const std::byte* to, const std::byte* from, std::uint64_t size) {
  const std::lock_guard lock(mutex_);
  const bool backwards = to > from;  // as memmove does it
  for (std::uint64_t done = 0; done < size;) {
    const std::uint64_t left = size - done;
    const auto room = [&](const std::byte* p) {
      return backwards ? (number(p) + left - 1) % kPageBytes + 1 : kPageBytes - (number(p) + done) % kPageBytes;
    };
    const std::uint64_t n = std::min({left, room(to), room(from)}), at = backwards ? left - n : done;
    copy_in_page(number(to) + at, number(from) + at, n);
    done += n;
  }
}

std::uint64_t WrittenBytes::unwritten(const std::byte* at, unsigned size) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t bits = 0;
  for (unsigned k = 0; k < size;) {
    const std::uint64_t va = number(at) + k, n = std::min<std::uint64_t>(size - k, kPageBytes - va % kPageBytes);
    if (holds(va)) {
      const auto page = pages_.find(va / kPageBytes);
      for (std::uint64_t b = 0; b < n; ++b)
        if (page == pages_.end() || (page->second && !(*page->second)[va % kPageBytes + b])) bits |= std::uint64_t{1} << (k + b);
    }
    k += static_cast<unsigned>(n);
  }
  return bits;
}

bool WrittenBytes::limited() const {
  const std::lock_guard lock(mutex_);
  return limited_;
}

}  // namespace kerncap::vgpu::isa::check
