// Read-modify-write of one lane: what each atomic stores, and the host atomic that does it.
#pragma once

#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "vgpu/isa/memory/lanes.hpp"

namespace kerncap::vgpu::isa::memory {

// new value = F(old, data); returns the old value. Other queues and the host may use the same memory at the same time.
template <class T, auto F>
T update(std::byte* at, T data) {
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(at));
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, F(old, data), std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  return old;
}
template <class T>
T compare_exchange(std::byte* at, T expected, T desired) {
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(at));
  cell.compare_exchange_strong(expected, desired, std::memory_order_seq_cst);
  return expected;
}

// Compares as floats: zeros of both signs are equal, a NaN equals nothing.
template <class T>
T compare_exchange_float(std::byte* at, T expected, T desired) {
  using F = std::conditional_t<sizeof(T) == 8, double, float>;
  std::atomic_ref<T> cell(*reinterpret_cast<T*>(at));
  T old = cell.load(std::memory_order_relaxed);
  while (std::bit_cast<F>(old) == std::bit_cast<F>(expected) &&
         !cell.compare_exchange_weak(old, desired, std::memory_order_seq_cst, std::memory_order_relaxed)) {
  }
  return old;
}

// Functions of (old, data); signed and floating ones take the bits.
template <class T> using Signed = std::make_signed_t<T>;
template <class T> using Floating = std::conditional_t<sizeof(T) == 8, double, float>;

inline constexpr auto f_swap = [](auto, auto d) { return d; };
inline constexpr auto f_add = [](auto o, auto d) { return static_cast<decltype(o)>(o + d); };
inline constexpr auto f_sub = [](auto o, auto d) { return static_cast<decltype(o)>(o - d); };
inline constexpr auto f_rsub = [](auto o, auto d) { return static_cast<decltype(o)>(d - o); };
inline constexpr auto f_clamped_sub = [](auto o, auto d) { return o < d ? decltype(o){0} : static_cast<decltype(o)>(o - d); };
inline constexpr auto f_umin = [](auto o, auto d) { return o < d ? o : d; };
inline constexpr auto f_umax = [](auto o, auto d) { return o > d ? o : d; };
inline constexpr auto f_smin = [](auto o, auto d) {
  using S = Signed<decltype(o)>;
  return static_cast<S>(o) < static_cast<S>(d) ? o : d;
};
inline constexpr auto f_smax = [](auto o, auto d) {
  using S = Signed<decltype(o)>;
  return static_cast<S>(o) > static_cast<S>(d) ? o : d;
};
inline constexpr auto f_and = [](auto o, auto d) { return o & d; };
inline constexpr auto f_or = [](auto o, auto d) { return o | d; };
inline constexpr auto f_xor = [](auto o, auto d) { return o ^ d; };
inline constexpr auto f_inc = [](auto o, auto d) { return o >= d ? decltype(o){0} : static_cast<decltype(o)>(o + 1); };
inline constexpr auto f_dec = [](auto o, auto d) {
  return o == 0 || o > d ? d : static_cast<decltype(o)>(o - 1);
};
inline constexpr auto f_fadd = [](auto o, auto d) {
  using F = Floating<decltype(o)>;
  return std::bit_cast<decltype(o)>(std::bit_cast<F>(o) + std::bit_cast<F>(d));
};
inline constexpr auto f_fmin = [](auto o, auto d) {
  using F = Floating<decltype(o)>;
  return std::bit_cast<decltype(o)>(std::fmin(std::bit_cast<F>(o), std::bit_cast<F>(d)));
};
// minimumNumber and maximumNumber of gfx12. Source: "RDNA4 ISA", DS_MIN_NUM_F32: a NaN loses against a number, two NaNs make the
// data's a quiet one, -0 is less than +0.
template <bool max>
inline constexpr auto f_number = [](auto o, auto d) {
  using U = decltype(o);
  using F = Floating<U>;
  const F old = std::bit_cast<F>(o), data = std::bit_cast<F>(d);
  constexpr U quiet = sizeof(U) == 8 ? static_cast<U>(0x8000000000000ull) : U{0x400000};
  if (data != data) return old != old ? static_cast<U>(d | quiet) : o;
  if (old != old) return d;
  if (old == 0 && data == 0) return static_cast<U>(max ? o & d : o | d);
  return (max ? data > old : data < old) ? d : o;
};
inline constexpr auto f_cond_sub = [](auto o, auto d) { return o >= d ? static_cast<decltype(o)>(o - d) : o; };
inline constexpr auto f_fmax = [](auto o, auto d) {
  using F = Floating<decltype(o)>;
  return std::bit_cast<decltype(o)>(std::fmax(std::bit_cast<F>(o), std::bit_cast<F>(d)));
};

// Source: LLVM, FeatureMemoryAtomicFAddF32DenormalSupport: memory flushes the denormals of an f32 addition on gfx90a and gfx1100
// whatever the mode, and keeps them on gfx942, gfx950 and gfx1201; LDS obeys the mode.
inline std::uint32_t without_denormal(std::uint32_t v) { return v & 0x7f800000u ? v : v & 0x80000000u; }
inline constexpr auto f_fadd_flush = [](std::uint32_t o, std::uint32_t d) {
  return without_denormal(f_fadd(without_denormal(o), without_denormal(d)));
};

inline std::uint16_t add_half(std::uint16_t a, std::uint16_t b) {
  // The sum of two halves is exact in float: one rounding.
  const float sum = static_cast<float>(std::bit_cast<_Float16>(a)) + static_cast<float>(std::bit_cast<_Float16>(b));
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(sum));
}
inline std::uint16_t add_bfloat(std::uint16_t a, std::uint16_t b) {
  const float sum = std::bit_cast<float>(std::uint32_t{a} << 16) + std::bit_cast<float>(std::uint32_t{b} << 16);
  std::uint32_t bits = std::bit_cast<std::uint32_t>(sum);
  if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  bits += 0x7fff + (bits >> 16 & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}
template <auto add>
inline constexpr auto f_packed = [](std::uint32_t o, std::uint32_t d) -> std::uint32_t {
  const auto low = add(static_cast<std::uint16_t>(o), static_cast<std::uint16_t>(d));
  const auto high = add(static_cast<std::uint16_t>(o >> 16), static_cast<std::uint16_t>(d >> 16));
  return low | std::uint32_t{high} << 16;
};

template <class T>
T gather(const std::uint32_t* v, unsigned lane) {
  if constexpr (sizeof(T) == 8) return v[lane] | std::uint64_t{v[kLanes + lane]} << 32;
  else return v[lane];
}
template <class T>
void scatter(std::uint32_t* v, unsigned lane, T value) {
  v[lane] = static_cast<std::uint32_t>(value);
  if constexpr (sizeof(T) == 8) v[kLanes + lane] = static_cast<std::uint32_t>(value >> 32);
}

// The handler: lanes go one after the other in ascending order.
template <class T, auto F>
void atomic(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, sizeof(T), Access::atomic, lanes)) return;
  if (i.format != Format::ds) w.stored = true;
  const std::uint32_t* data = w.vreg(i.src[1].index);
  std::uint32_t* out = i.dst.kind == OperandKind::none ? nullptr : w.vreg(i.dst.index);
  for_each_lane(lanes.mask, [&](unsigned l) {
    const T old = update<T, F>(lanes.ptr[l], gather<T>(data, l));
    if (out) scatter<T>(out, l, old);
  });
}

// f32 additions.
inline void atomic_add_f32(Wave& w, const Inst& i) {
  const bool lds = i.format == Format::ds;
  const bool flushes = lds ? w.mode.denorm32 == 0 : !contains(kGfx940 | kGfx12, w.target);
  if (flushes) atomic<std::uint32_t, f_fadd_flush>(w, i);
  else atomic<std::uint32_t, f_fadd>(w, i);
}

}  // namespace kerncap::vgpu::isa::memory
