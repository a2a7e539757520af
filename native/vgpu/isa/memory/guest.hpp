// Plain loads and stores of guest memory. Other workers, other queues and the application access it at the same time, and
// the races are the guest's: what is promised here is what hardware promises, that aligned elements of up to 8 bytes are
// read and written whole, and never written twice. memcpy promises neither (it may move bytes, or overlapping tails).
// In: host pointers that resolve() has checked, of any alignment. Called by memory/ and AddressCache.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
#define KERNCAP_GUEST_VECTORS 1
#include <emmintrin.h>
#else
#define KERNCAP_GUEST_VECTORS 0
#endif

namespace kerncap::vgpu::isa {

// One relaxed atomic access: a single move on x86-64, whatever the alignment, and no data race in the host's terms.
template <class T>
inline T guest_load(const std::byte* at) {
  static_assert(sizeof(T) <= 8);
  return __atomic_load_n(reinterpret_cast<const T*>(at), __ATOMIC_RELAXED);
}
template <class T>
inline void guest_store(std::byte* at, T value) {
  static_assert(sizeof(T) <= 8);
  __atomic_store_n(reinterpret_cast<T*>(at), value, __ATOMIC_RELAXED);
}

// Copies whole dwords, lowest address first. Vector moves do: a processor moves a naturally aligned element inside a cache
// line at once, and an access that crosses lines is cut at the line, which falls between aligned elements.
inline void guest_copy(void* to, const void* from, std::size_t bytes) {
  auto* t = static_cast<std::byte*>(to);
  const auto* f = static_cast<const std::byte*>(from);
#if KERNCAP_GUEST_VECTORS
  for (; bytes >= 16; bytes -= 16, t += 16, f += 16)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(t), _mm_loadu_si128(reinterpret_cast<const __m128i*>(f)));
#endif
  for (; bytes >= 8; bytes -= 8, t += 8, f += 8) guest_store(t, guest_load<std::uint64_t>(f));
  for (; bytes >= 4; bytes -= 4, t += 4, f += 4) guest_store(t, guest_load<std::uint32_t>(f));
  for (; bytes != 0; --bytes, ++t, ++f) guest_store(t, guest_load<std::uint8_t>(f));
}

}  // namespace kerncap::vgpu::isa
