// Loads and stores of every segment: FLAT, GLOBAL, SCRATCH, MUBUF and their DS counterparts.
#include <algorithm>
#include <atomic>
#include <cstring>

#include "vgpu/isa/memory/guest.hpp"
#include "vgpu/isa/memory/lanes.hpp"
#include "vgpu/isa/memory/tables.hpp"

namespace kerncap::vgpu::isa::memory {
namespace {

// The dwords of one lane: by eight bytes, so that an aligned 64-bit element stays whole.
template <unsigned n>
void read_lane(std::uint32_t* out, const std::byte* at) {
  for (unsigned k = 0; k + 1 < n; k += 2) {
    const auto two = guest_load<std::uint64_t>(at + k * 4);
    out[k * kLanes] = static_cast<std::uint32_t>(two);
    out[(k + 1) * kLanes] = static_cast<std::uint32_t>(two >> 32);
  }
  if constexpr (n % 2 == 1) out[(n - 1) * kLanes] = guest_load<std::uint32_t>(at + (n - 1) * 4);
}
template <unsigned n>
void write_lane(std::byte* at, const std::uint32_t* in) {
  for (unsigned k = 0; k + 1 < n; k += 2)
    guest_store(at + k * 4, in[k * kLanes] | std::uint64_t{in[(k + 1) * kLanes]} << 32);
  if constexpr (n % 2 == 1) guest_store(at + (n - 1) * 4, in[(n - 1) * kLanes]);
}

// Elements of n dwords side by side, to and from a register a dword.
template <unsigned n>
void read_rows(std::uint32_t* out, const std::byte* at, unsigned lanes) {
  if constexpr (n == 1) return guest_copy(out, at, lanes * 4);
#if KERNCAP_GUEST_VECTORS
  const auto from = [&](unsigned vector) { return _mm_loadu_ps(reinterpret_cast<const float*>(at + 16 * vector)); };
  const auto to = [&](unsigned k, unsigned lane, __m128 v) { _mm_storeu_ps(reinterpret_cast<float*>(out + k * kLanes + lane), v); };
  if constexpr (n == 2) {
    for (unsigned l = 0; l < lanes; l += 4) {
      const __m128 a = from(l / 2), b = from(l / 2 + 1);
      to(0, l, _mm_shuffle_ps(a, b, 0x88));
      to(1, l, _mm_shuffle_ps(a, b, 0xdd));
    }
    return;
  }
  if constexpr (n == 4) {
    for (unsigned l = 0; l < lanes; l += 4) {
      __m128 a = from(l), b = from(l + 1), c = from(l + 2), d = from(l + 3);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      to(0, l, a), to(1, l, b), to(2, l, c), to(3, l, d);
    }
    return;
  }
#endif
  for (unsigned l = 0; l < lanes; ++l) read_lane<n>(out + l, at + l * n * 4);
}
template <unsigned n>
void write_rows(std::byte* at, const std::uint32_t* in, unsigned lanes) {
  if constexpr (n == 1) return guest_copy(at, in, lanes * 4);
#if KERNCAP_GUEST_VECTORS
  const auto from = [&](unsigned k, unsigned lane) { return _mm_loadu_ps(reinterpret_cast<const float*>(in + k * kLanes + lane)); };
  const auto to = [&](unsigned vector, __m128 v) { _mm_storeu_ps(reinterpret_cast<float*>(at + 16 * vector), v); };
  if constexpr (n == 2) {
    for (unsigned l = 0; l < lanes; l += 4) {
      const __m128 a = from(0, l), b = from(1, l);
      to(l / 2, _mm_unpacklo_ps(a, b));
      to(l / 2 + 1, _mm_unpackhi_ps(a, b));
    }
    return;
  }
  if constexpr (n == 4) {
    for (unsigned l = 0; l < lanes; l += 4) {
      __m128 a = from(0, l), b = from(1, l), c = from(2, l), d = from(3, l);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      to(l, a), to(l + 1, b), to(l + 2, c), to(l + 3, d);
    }
    return;
  }
#endif
  for (unsigned l = 0; l < lanes; ++l) write_lane<n>(at + l * n * 4, in + l);
}

// Elements of n dwords anywhere in LDS, which no other thread uses. A destination may be the address register: four lanes'
// addresses are read before their elements are written.
template <unsigned n>
void gather_lds(std::uint32_t* out, const std::byte* lds, const std::uint32_t* address, unsigned lanes) {
#if KERNCAP_GUEST_VECTORS
  const auto to = [&](unsigned k, unsigned lane, __m128 v) { _mm_storeu_ps(reinterpret_cast<float*>(out + k * kLanes + lane), v); };
  if constexpr (n == 2) {
    const auto from = [&](unsigned l) { return _mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(lds + address[l]))); };
    for (unsigned l = 0; l < lanes; l += 4) {
      const __m128 a = _mm_unpacklo_ps(from(l), from(l + 1)), b = _mm_unpacklo_ps(from(l + 2), from(l + 3));
      to(0, l, _mm_movelh_ps(a, b));
      to(1, l, _mm_movehl_ps(b, a));
    }
    return;
  }
  if constexpr (n == 3 || n == 4) {
    const auto from = [&](unsigned l) {
      const std::byte* const at = lds + address[l];
      if constexpr (n == 4) return _mm_loadu_ps(reinterpret_cast<const float*>(at));
      const __m128i low = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(at));
      return _mm_castsi128_ps(_mm_unpacklo_epi64(low, _mm_cvtsi32_si128(guest_load<int>(at + 8))));
    };
    for (unsigned l = 0; l < lanes; l += 4) {
      __m128 a = from(l), b = from(l + 1), c = from(l + 2), d = from(l + 3);
      _MM_TRANSPOSE4_PS(a, b, c, d);
      to(0, l, a), to(1, l, b), to(2, l, c);
      if constexpr (n == 4) to(3, l, d);
    }
    return;
  }
#endif
  for (unsigned l = 0; l < lanes; ++l) read_lane<n>(out + l, lds + address[l]);
}

template <unsigned n>
void load_dwords(Wave& w, const Inst& i) {
  std::uint32_t* const out = w.vreg(i.dst.index);
  const Rows rows = resolve_rows(w, i, n * 4, false);
  if (rows.pattern == Pattern::unit_stride) return read_rows<n>(out, rows.host, w.size);
  if (rows.pattern == Pattern::uniform) {
    std::uint32_t one[n * kLanes];
    read_lane<n>(one, rows.host);
    for (unsigned k = 0; k < n; ++k) std::fill_n(out + k * kLanes, w.size, one[k * kLanes]);
    return;
  }
  if (i.format == Format::ds) {
    const std::uint32_t* const address = w.vreg(i.src[0].index);
    const LdsBase lds = lds_base(w, address, static_cast<std::uint32_t>(i.offset), n * 4);
    if (lds.all) return gather_lds<n>(out, lds.base, address, w.size);
    if (lds.base) return for_each_lane(lds.mask, [&](unsigned l) { read_lane<n>(out + l, lds.base + address[l]); });
  }
  Lanes lanes;
  if (!resolve(w, i, n * 4, Access::load, lanes)) return;
  for_each_lane(lanes.mask, [&](unsigned l) { read_lane<n>(out + l, lanes.ptr[l]); });
}

template <unsigned n>
void store_dwords(Wave& w, const Inst& i) {
  if (i.format != Format::ds) w.stored = true;
  const std::uint32_t* const in = w.vreg(i.src[1].index);
  const Rows rows = resolve_rows(w, i, n * 4, true);
  if (rows.pattern == Pattern::unit_stride) return write_rows<n>(rows.host, in, w.size);
  if (i.format == Format::ds) {
    const std::uint32_t* const address = w.vreg(i.src[0].index);
    const LdsBase lds = lds_base(w, address, static_cast<std::uint32_t>(i.offset), n * 4);
    if (lds.base) return for_each_lane(lds.mask, [&](unsigned l) { write_lane<n>(lds.base + address[l], in + l); });
  }
  Lanes lanes;
  if (!resolve(w, i, n * 4, Access::store, lanes)) return;
  for_each_lane(lanes.mask, [&](unsigned l) { write_lane<n>(lanes.ptr[l], in + l); });
  finish_store(w, lanes);
}

enum class Part { whole, low, high };  // of the register: the d16 forms keep the other half

template <Part part>
std::uint32_t placed(std::uint32_t before, std::uint32_t wide) {
  if constexpr (part == Part::whole) return wide;
  else if constexpr (part == Part::low) return (before & 0xffff0000) | (wide & 0xffff);
  else return (before & 0xffff) | wide << 16;
}

template <class T, Part part>
void load_small(Wave& w, const Inst& i) {
  std::uint32_t* const out = w.vreg(i.dst.index);
  const auto widened = [](T value) { return static_cast<std::uint32_t>(std::int32_t{value}); };
  const Rows rows = resolve_rows(w, i, sizeof(T), false);
  if (rows.pattern != Pattern::other) {
    T row[kLanes];
    if (rows.pattern == Pattern::unit_stride) guest_copy(row, rows.host, w.size * sizeof(T));
    else std::fill_n(row, w.size, guest_load<T>(rows.host));
    for (unsigned l = 0; l < w.size; ++l) out[l] = placed<part>(out[l], widened(row[l]));
    return;
  }
  Lanes lanes;
  if (!resolve(w, i, sizeof(T), Access::load, lanes)) return;
  for_each_lane(lanes.mask, [&](unsigned l) { out[l] = placed<part>(out[l], widened(guest_load<T>(lanes.ptr[l]))); });
}

template <class T, Part part>
void store_small(Wave& w, const Inst& i) {
  if (i.format != Format::ds) w.stored = true;
  const std::uint32_t* const in = w.vreg(i.src[1].index);
  const Rows rows = resolve_rows(w, i, sizeof(T), true);
  if (rows.pattern == Pattern::unit_stride) {
    T row[kLanes];
    for (unsigned l = 0; l < w.size; ++l) row[l] = static_cast<T>(part == Part::high ? in[l] >> 16 : in[l]);
    return guest_copy(rows.host, row, w.size * sizeof(T));
  }
  Lanes lanes;
  if (!resolve(w, i, sizeof(T), Access::store, lanes)) return;
  for_each_lane(lanes.mask, [&](unsigned l) {
    guest_store(lanes.ptr[l], static_cast<T>(part == Part::high ? in[l] >> 16 : in[l]));
  });
  finish_store(w, lanes);
}

// global_load_lds_*, buffer_load_* lds: each lane's element goes to LDS at m0[15:0] + offset + 4 * lane. Source: "LDS DMA" of the MI300 manual.
template <class T>
void load_to_lds(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, sizeof(T), Access::load, lanes)) return;
  const std::uint32_t base = lds_load_base(w) + static_cast<std::uint32_t>(i.offset);
  std::vector<std::uint8_t>& lds = w.group->lds;
  for_each_lane(lanes.mask, [&](unsigned l) {
    const auto wide = static_cast<std::uint32_t>(std::int32_t{guest_load<T>(lanes.ptr[l])});
    const std::uint64_t at = std::uint64_t{base} + 4 * l;
    if (at + 4 <= lds.size()) std::memcpy(lds.data() + at, &wide, 4);
  });
}

// Of gfx950: three or four dwords a lane, 16 bytes apart in LDS, which is larger than 64 KiB. Source: "CDNA4 ISA", Memory Buffer Load
// to LDS.
template <unsigned n>
void load_wide_to_lds(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, n * 4, Access::load, lanes)) return;
  const std::uint32_t base = lds_load_base(w) + static_cast<std::uint32_t>(i.offset);
  std::vector<std::uint8_t>& lds = w.group->lds;
  for_each_lane(lanes.mask, [&](unsigned l) {
    const std::uint64_t at = std::uint64_t{base} + 16 * l;
    if (at + n * 4 <= lds.size()) guest_copy(lds.data() + at, lanes.ptr[l], n * 4);
  });
}

using u8 = std::uint8_t;
using i8 = std::int8_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;

// Cache operations order memory; nothing is cached.
void cache_operation(Wave&, const Inst&) { std::atomic_thread_fence(std::memory_order_seq_cst); }

#define SEGMENTS(NAME9, NAME11, OP9, OP11, DST, DATA, FLAGS, ...) \
  Row { "flat_" NAME9, "flat_" NAME11, Format::flat, OP9, OP11, kAllTargets, Type::DST, Type::b64, Type::DATA, Type::none, __VA_ARGS__, FLAGS }, \
  Row { "global_" NAME9, "global_" NAME11, Format::global, OP9, OP11, kAllTargets, Type::DST, Type::b64, Type::DATA, Type::none, __VA_ARGS__, FLAGS }, \
  Row { "scratch_" NAME9, "scratch_" NAME11, Format::scratch, OP9, OP11, kAllTargets, Type::DST, Type::b32, Type::DATA, Type::none, __VA_ARGS__, FLAGS }, \
  Row { "buffer_" NAME9, "buffer_" NAME11, Format::mubuf, OP9, OP11, kAllTargets, Type::DST, Type::b32, Type::DATA, Type::none, __VA_ARGS__, FLAGS }
#define DS_LOAD(NAME9, NAME11, OP9, OP11, DST, FLAGS, ...) \
  Row { NAME9, NAME11, Format::ds, OP9, OP11, kAllTargets, Type::DST, Type::b32, Type::none, Type::none, __VA_ARGS__, FLAGS }
#define DS_STORE(NAME9, NAME11, OP9, OP11, DATA, ...) \
  Row { NAME9, NAME11, Format::ds, OP9, OP11, kAllTargets, Type::none, Type::b32, Type::DATA, Type::none, __VA_ARGS__ }
#define CACHE(NAME, OP9, OP11, TARGETS) \
  Row { NAME, nullptr, Format::mubuf, OP9, OP11, TARGETS, Type::none, Type::none, Type::none, Type::none, cache_operation }
#define CACHE12(NAME, OP) \
  Row { NAME, nullptr, Format::global, no, OP, kGfx12, Type::none, Type::none, Type::none, Type::none, cache_operation }
#define TO_LDS(NAME9, OP, ...) \
  Row { "global_load_lds_" NAME9, nullptr, Format::global, OP, no, kGfx9, Type::none, Type::b64, Type::none, Type::none, __VA_ARGS__ }, \
  Row { "scratch_load_lds_" NAME9, nullptr, Format::scratch, OP, no, kGfx940, Type::none, Type::b32, Type::none, Type::none, __VA_ARGS__ }
constexpr std::uint16_t no = kNoOpcode;

const Row rows[] = {
    SEGMENTS("load_ubyte", "load_u8", 0x10, 0x10, b32, none, kNone, load_small<u8, Part::whole>),
    SEGMENTS("load_sbyte", "load_i8", 0x11, 0x11, b32, none, kNone, load_small<i8, Part::whole>),
    SEGMENTS("load_ushort", "load_u16", 0x12, 0x12, b32, none, kNone, load_small<u16, Part::whole>),
    SEGMENTS("load_sshort", "load_i16", 0x13, 0x13, b32, none, kNone, load_small<i16, Part::whole>),
    SEGMENTS("load_dword", "load_b32", 0x14, 0x14, b32, none, kNone, load_dwords<1>),
    SEGMENTS("load_dwordx2", "load_b64", 0x15, 0x15, b64, none, kNone, load_dwords<2>),
    SEGMENTS("load_dwordx3", "load_b96", 0x16, 0x16, b96, none, kNone, load_dwords<3>),
    SEGMENTS("load_dwordx4", "load_b128", 0x17, 0x17, b128, none, kNone, load_dwords<4>),
    SEGMENTS("load_ubyte_d16", "load_d16_u8", 0x20, 0x1e, b32, none, kReadsDst, load_small<u8, Part::low>),
    SEGMENTS("load_ubyte_d16_hi", "load_d16_hi_u8", 0x21, 0x21, b32, none, kReadsDst, load_small<u8, Part::high>),
    SEGMENTS("load_sbyte_d16", "load_d16_i8", 0x22, 0x1f, b32, none, kReadsDst, load_small<i8, Part::low>),
    SEGMENTS("load_sbyte_d16_hi", "load_d16_hi_i8", 0x23, 0x22, b32, none, kReadsDst, load_small<i8, Part::high>),
    SEGMENTS("load_short_d16", "load_d16_b16", 0x24, 0x20, b32, none, kReadsDst, load_small<u16, Part::low>),
    SEGMENTS("load_short_d16_hi", "load_d16_hi_b16", 0x25, 0x23, b32, none, kReadsDst, load_small<u16, Part::high>),
    SEGMENTS("store_byte", "store_b8", 0x18, 0x18, none, b32, kNone, store_small<u8, Part::low>),
    SEGMENTS("store_byte_d16_hi", "store_d16_hi_b8", 0x19, 0x24, none, b32, kNone, store_small<u8, Part::high>),
    SEGMENTS("store_short", "store_b16", 0x1a, 0x19, none, b32, kNone, store_small<u16, Part::low>),
    SEGMENTS("store_short_d16_hi", "store_d16_hi_b16", 0x1b, 0x25, none, b32, kNone, store_small<u16, Part::high>),
    SEGMENTS("store_dword", "store_b32", 0x1c, 0x1a, none, b32, kNone, store_dwords<1>),
    SEGMENTS("store_dwordx2", "store_b64", 0x1d, 0x1b, none, b64, kNone, store_dwords<2>),
    SEGMENTS("store_dwordx3", "store_b96", 0x1e, 0x1c, none, b96, kNone, store_dwords<3>),
    SEGMENTS("store_dwordx4", "store_b128", 0x1f, 0x1d, none, b128, kNone, store_dwords<4>),

    DS_LOAD("ds_read_i8", "ds_load_i8", 0x39, 0x39, b32, kNone, load_small<i8, Part::whole>),
    DS_LOAD("ds_read_u8", "ds_load_u8", 0x3a, 0x3a, b32, kNone, load_small<u8, Part::whole>),
    DS_LOAD("ds_read_i16", "ds_load_i16", 0x3b, 0x3b, b32, kNone, load_small<i16, Part::whole>),
    DS_LOAD("ds_read_u16", "ds_load_u16", 0x3c, 0x3c, b32, kNone, load_small<u16, Part::whole>),
    DS_LOAD("ds_read_b32", "ds_load_b32", 0x36, 0x36, b32, kNone, load_dwords<1>),
    DS_LOAD("ds_read_b64", "ds_load_b64", 0x76, 0x76, b64, kNone, load_dwords<2>),
    DS_LOAD("ds_read_b96", "ds_load_b96", 0xfe, 0xfe, b96, kNone, load_dwords<3>),
    DS_LOAD("ds_read_b128", "ds_load_b128", 0xff, 0xff, b128, kNone, load_dwords<4>),
    DS_LOAD("ds_read_u8_d16", "ds_load_u8_d16", 0x56, 0xa2, b32, kReadsDst, load_small<u8, Part::low>),
    DS_LOAD("ds_read_u8_d16_hi", "ds_load_u8_d16_hi", 0x57, 0xa3, b32, kReadsDst, load_small<u8, Part::high>),
    DS_LOAD("ds_read_i8_d16", "ds_load_i8_d16", 0x58, 0xa4, b32, kReadsDst, load_small<i8, Part::low>),
    DS_LOAD("ds_read_i8_d16_hi", "ds_load_i8_d16_hi", 0x59, 0xa5, b32, kReadsDst, load_small<i8, Part::high>),
    DS_LOAD("ds_read_u16_d16", "ds_load_u16_d16", 0x5a, 0xa6, b32, kReadsDst, load_small<u16, Part::low>),
    DS_LOAD("ds_read_u16_d16_hi", "ds_load_u16_d16_hi", 0x5b, 0xa7, b32, kReadsDst, load_small<u16, Part::high>),
    DS_STORE("ds_write_b8", "ds_store_b8", 0x1e, 0x1e, b32, store_small<u8, Part::low>),
    DS_STORE("ds_write_b16", "ds_store_b16", 0x1f, 0x1f, b32, store_small<u16, Part::low>),
    DS_STORE("ds_write_b8_d16_hi", "ds_store_b8_d16_hi", 0x54, 0xa0, b32, store_small<u8, Part::high>),
    DS_STORE("ds_write_b16_d16_hi", "ds_store_b16_d16_hi", 0x55, 0xa1, b32, store_small<u16, Part::high>),
    DS_STORE("ds_write_b32", "ds_store_b32", 0x0d, 0x0d, b32, store_dwords<1>),
    DS_STORE("ds_write_b64", "ds_store_b64", 0x4d, 0x4d, b64, store_dwords<2>),
    DS_STORE("ds_write_b96", "ds_store_b96", 0xde, 0xde, b96, store_dwords<3>),
    DS_STORE("ds_write_b128", "ds_store_b128", 0xdf, 0xdf, b128, store_dwords<4>),

    TO_LDS("ubyte", 0x26, load_to_lds<u8>),
    TO_LDS("sbyte", 0x27, load_to_lds<i8>),
    TO_LDS("ushort", 0x28, load_to_lds<u16>),
    TO_LDS("sshort", 0x29, load_to_lds<i16>),
    TO_LDS("dword", 0x2a, load_to_lds<std::int32_t>),

    Row{"global_load_lds_dwordx4", nullptr, Format::global, 0x7d, no, kGfx950, Type::none, Type::b64, Type::none, Type::none, load_wide_to_lds<4>},
    Row{"global_load_lds_dwordx3", nullptr, Format::global, 0x7e, no, kGfx950, Type::none, Type::b64, Type::none, Type::none, load_wide_to_lds<3>},

    CACHE("buffer_wbl2", 0x28, no, kGfx9),
    CACHE("buffer_invl2", 0x29, no, bit(Target::gfx90a)),
    CACHE("buffer_inv", 0x29, no, kGfx940),
    CACHE("buffer_wbinvl1", 0x3e, no, bit(Target::gfx90a)),
    CACHE("buffer_wbinvl1_vol", 0x3f, no, bit(Target::gfx90a)),
    CACHE12("global_inv", 0x2b),
    CACHE12("global_wb", 0x2c),
    CACHE12("global_wbinv", 0x4f),
    // What registers a lane has of a transposed load, and blocks of registers that M0 chooses: known by name only.
    Row{"global_load_tr_b128", nullptr, Format::global, no, 0x57, kGfx12, Type::b128, Type::b64, Type::none, Type::none, nullptr},
    Row{"global_load_tr_b64", nullptr, Format::global, no, 0x58, kGfx12, Type::b64, Type::b64, Type::none, Type::none, nullptr},
    Row{"global_load_block", nullptr, Format::global, no, 0x53, kGfx12, Type::b1024, Type::b64, Type::none, Type::none, nullptr},
    Row{"global_store_block", nullptr, Format::global, no, 0x54, kGfx12, Type::none, Type::b64, Type::b1024, Type::none, nullptr},
    Row{"scratch_load_block", nullptr, Format::scratch, no, 0x53, kGfx12, Type::b1024, Type::b32, Type::none, Type::none, nullptr},
    Row{"scratch_store_block", nullptr, Format::scratch, no, 0x54, kGfx12, Type::none, Type::b32, Type::b1024, Type::none, nullptr},
    CACHE("buffer_gl0_inv", no, 0x2b, kGfx11),
    CACHE("buffer_gl1_inv", no, 0x2c, kGfx11),
};

}  // namespace

std::span<const Row> load_store_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::memory

namespace kerncap::vgpu::isa {

Handler buffer_to_lds(const Row& row, Target target) {
  if (target == Target::gfx950 && row.op9 == 0x16) return memory::load_wide_to_lds<3>;
  if (target == Target::gfx950 && row.op9 == 0x17) return memory::load_wide_to_lds<4>;
  switch (row.op9) {
    case 0x10: return memory::load_to_lds<std::uint8_t>;
    case 0x11: return memory::load_to_lds<std::int8_t>;
    case 0x12: return memory::load_to_lds<std::uint16_t>;
    case 0x13: return memory::load_to_lds<std::int16_t>;
    case 0x14: return memory::load_to_lds<std::int32_t>;
    default: return nullptr;
  }
}

}  // namespace kerncap::vgpu::isa
