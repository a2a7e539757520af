// Typed buffer loads and stores: MUBUF *_format_* with the resource's format, MTBUF with the instruction's.
// Source: "Buffer Data" and "Buffer resource descriptor" of the MI300 and RDNA3 ISA manuals; LLVM's names of the formats.
#include "vgpu/isa/memory/formats.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <string>

#include "vgpu/isa/memory/guest.hpp"
#include "vgpu/isa/memory/lanes.hpp"
#include "vgpu/isa/memory/tables.hpp"

namespace kerncap::vgpu::isa::memory {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Layout {
  std::uint8_t components, bits[4];
};
// By gfx9's data format. Names list the highest component first: 10_11_11 has 11 bits of X at the bottom.
constexpr Layout kLayouts[16] = {
    {0, {}}, {1, {8}}, {1, {16}}, {2, {8, 8}}, {1, {32}}, {2, {16, 16}}, {3, {11, 11, 10}}, {3, {10, 11, 11}},
    {4, {2, 10, 10, 10}}, {4, {10, 10, 10, 2}}, {4, {8, 8, 8, 8}}, {2, {32, 32}}, {4, {16, 16, 16, 16}},
    {3, {32, 32, 32}}, {4, {32, 32, 32, 32}}, {0, {}},
};
constexpr unsigned k11_11_10 = 7, k10_11_11 = 6;
// gfx11 numbers layouts and meanings together: runs of meanings, layout by layout. Source: LLVM, UfmtGFX11.
struct Run {
  std::uint8_t layout, count;
  Number numbers[7];
};
using enum Number;
constexpr Run kRuns[] = {
    {1, 6, {unorm, snorm, uscaled, sscaled, uint, sint}}, {2, 7, {unorm, snorm, uscaled, sscaled, uint, sint, real}},
    {3, 6, {unorm, snorm, uscaled, sscaled, uint, sint}}, {4, 3, {uint, sint, real}},
    {5, 7, {unorm, snorm, uscaled, sscaled, uint, sint, real}}, {k10_11_11, 1, {real}}, {k11_11_10, 1, {real}},
    {8, 4, {unorm, snorm, uint, sint}}, {9, 6, {unorm, snorm, uscaled, sscaled, uint, sint}},
    {10, 6, {unorm, snorm, uscaled, sscaled, uint, sint}}, {11, 3, {uint, sint, real}},
    {12, 7, {unorm, snorm, uscaled, sscaled, uint, sint, real}}, {13, 3, {uint, sint, real}}, {14, 3, {uint, sint, real}},
};

DataFormat format_of(unsigned layout, Number number) {
  const Layout& l = kLayouts[layout];
  DataFormat f{l.components, {l.bits[0], l.bits[1], l.bits[2], l.bits[3]}, number};
  const bool packed = layout == k10_11_11 || layout == k11_11_10;
  // Floats have 10, 11, 16 or 32 bits; normalised and scaled numbers 16 at most.
  const bool fits = number == real ? packed || f.bits[0] >= 16 : !packed && (f.bits[0] < 32 || number == uint || number == sint);
  return fits ? f : DataFormat{};
}

// The value of a component as its register holds it: an integer, or a double that every float here fits.
struct Value {
  bool integer;
  u32 whole;
  double number;
};

double small_float(u32 bits, unsigned mantissa) {  // 5 bits of exponent, no sign
  const u32 m = bits & ((1u << mantissa) - 1), e = bits >> mantissa;
  if (e == 31) return m ? std::nan("") : HUGE_VAL;
  const int scale = -14 - static_cast<int>(mantissa);
  return e ? std::ldexp(m + (1u << mantissa), static_cast<int>(e) - 1 + scale) : std::ldexp(m, scale);
}
double as_real(u32 raw, unsigned bits) {
  if (bits == 32) return std::bit_cast<float>(raw);
  if (bits == 16) return static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(raw)));
  return small_float(raw, bits - 5);
}
Value decode(u32 raw, unsigned bits, Number number) {
  const auto wide = static_cast<std::int32_t>(raw << (32 - bits)) >> (32 - bits);
  const double range = static_cast<double>((u64{1} << (bits - (number == snorm ? 1 : 0))) - 1);
  switch (number) {
    case unorm: return {false, 0, raw / range};
    case snorm: return {false, 0, std::max(wide / range, -1.0)};
    case uscaled: return {false, 0, static_cast<double>(raw)};
    case sscaled: return {false, 0, static_cast<double>(wide)};
    case uint: return {true, raw, 0};
    case sint: return {true, static_cast<u32>(wide), 0};
    case real: return {false, raw, as_real(raw, bits)};
  }
  return {};
}

// A component of a load as 32 or 16 bits. Floats of 32 bits become halves by truncation, everything else rounds to nearest even.
u32 to_register(const Value& v, const DataFormat& f, bool half) {
  if (v.integer) return half ? v.whole & 0xffff : v.whole;
  const bool same = f.number == real && f.bits[0] == (half ? 16 : 32);
  if (same) return v.whole;  // NaNs keep their payload
  if (!half) return std::bit_cast<u32>(static_cast<float>(v.number));
  auto h = static_cast<_Float16>(v.number);
  if (f.bits[0] == 32 && std::isfinite(v.number) && std::abs(static_cast<double>(h)) > std::abs(v.number))
    h = std::bit_cast<_Float16>(static_cast<std::uint16_t>(std::bit_cast<std::uint16_t>(h) - 1));
  return std::bit_cast<std::uint16_t>(h);
}

// The bits of component `bits` wide; false where the manuals do not say what is stored.
bool encode(u32 reg, bool half, unsigned bits, Number number, u32& raw) {
  const u32 all = bits == 32 ? ~0u : (1u << bits) - 1;
  if (number == uint || number == sint) {
    const u32 value = !half ? reg : number == sint ? static_cast<u32>(static_cast<std::int16_t>(reg & 0xffff)) : reg & 0xffff;
    const auto back = number == sint ? static_cast<u32>(static_cast<std::int32_t>(value << (32 - bits)) >> (32 - bits)) : value & all;
    raw = value & all;
    return back == value;
  }
  const double v = half ? static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(reg))) : as_real(reg, 32);
  if (number == unorm || number == snorm) {
    const double low = number == snorm ? -1.0 : 0.0, range = number == snorm ? (all >> 1) : all;
    raw = static_cast<u32>(static_cast<std::int64_t>(std::nearbyint(std::isnan(v) ? 0.0 : std::clamp(v, low, 1.0) * range))) & all;
    return true;
  }
  if (number != real || bits < 16) return false;  // scaled formats cannot be written; rounding of small floats is not stated
  if (bits == 32) raw = half ? std::bit_cast<u32>(static_cast<float>(v)) : reg;
  else raw = half ? reg & 0xffff : std::bit_cast<std::uint16_t>(static_cast<_Float16>(v));
  return true;
}

// Component c of an element in memory.
u32 component(const std::byte* element, const DataFormat& f, unsigned c) {
  unsigned at = 0;
  for (unsigned k = 0; k < c; ++k) at += f.bits[k];
  switch (f.bits[c]) {
    case 8: return guest_load<std::uint8_t>(element + at / 8);
    case 16: return guest_load<std::uint16_t>(element + at / 8);
    case 32: return guest_load<u32>(element + at / 8);
    default: return guest_load<u32>(element) >> at & ((1u << f.bits[c]) - 1);
  }
}

bool typed(const Inst& i) { return i.format == Format::mtbuf; }
// Where a loaded component comes from: 0 and 1 are constants, 4 to 7 the element's components. MTBUF takes them as they stand.
unsigned select(const Wave& w, const Inst& i, unsigned c) { return typed(i) ? 4 + c : w.s[i.src[2].index + 3] >> (3 * c) & 7; }

DataFormat known_format(Wave& w, const Inst& i) {
  const DataFormat f = data_format(w, i);
  if (f.components == 0) w.stop(Outcome::Kind::unimplemented, "data format of a typed buffer access");
  return f;
}

enum class Half { none, low, high };

template <unsigned n, Half kHalf>
void load(Wave& w, const Inst& i) {
  const DataFormat f = known_format(w, i);
  Lanes lanes;
  if (f.components == 0 || !resolve(w, i, f.bytes(), Access::load, lanes)) return;
  constexpr bool half = kHalf != Half::none;
  u32* const out = w.vreg(i.dst.index);
  const u64 outside = lanes.outside;
  for_each_lane(lanes.mask, [&](unsigned l) {
    u32 values[n];
    for (unsigned c = 0; c < n; ++c) {
      const unsigned from = select(w, i, c);
      const bool integer = f.number == uint || f.number == sint;
      if (from == 1) values[c] = integer ? 1 : half ? 0x3c00 : 0x3f800000;
      else if (from < 4 || from - 4 >= f.components || outside >> l & 1) values[c] = 0;
      else values[c] = to_register(decode(component(lanes.ptr[l], f, from - 4), f.bits[from - 4], f.number), f, half);
    }
    for (unsigned c = 0; c < n; ++c) {
      u32& reg = out[(half ? c / 2 : c) * kLanes + l];
      if constexpr (!half) reg = values[c];
      else if (kHalf == Half::high || c % 2 == 1) reg = (reg & 0xffff) | values[c] << 16;
      else reg = (reg & 0xffff0000) | values[c];
    }
  });
}

template <unsigned n, Half kHalf>
void store(Wave& w, const Inst& i) {
  const DataFormat f = known_format(w, i);
  if (f.components == 0) return;
  for (unsigned c = 0; c < f.components; ++c)
    if (select(w, i, c) != 4 + c) return w.stop(Outcome::Kind::unimplemented, "component select of a typed buffer store");
  // Everything is converted before anything is stored. A format with more components than the instruction repeats the first.
  constexpr bool half = kHalf != Half::none;
  const u32* const in = w.vreg(i.src[1].index);
  u32 raw[4][kLanes] = {};
  bool stated = true;
  for_each_lane(w.exec(), [&](unsigned l) {
    for (unsigned c = 0; c < f.components; ++c) {
      const unsigned k = c < n ? c : 0;
      const u32 reg = half ? in[k / 2 * kLanes + l] >> (kHalf == Half::high || k % 2 == 1 ? 16 : 0) : in[k * kLanes + l];
      stated = encode(reg, half, f.bits[c], f.number, raw[c][l]) && stated;
    }
  });
  if (!stated) return w.stop(Outcome::Kind::unimplemented, "value that the data format of a typed buffer store does not hold");
  Lanes lanes;
  if (!resolve(w, i, f.bytes(), Access::store, lanes)) return;
  w.stored = true;
  for_each_lane(lanes.mask, [&](unsigned l) {
    unsigned at = 0;
    u32 packed = 0;
    for (unsigned c = 0; c < f.components; at += f.bits[c++]) {
      std::byte* const to = lanes.ptr[l] + at / 8;
      if (f.bits[c] == 8) guest_store(to, static_cast<std::uint8_t>(raw[c][l]));
      else if (f.bits[c] == 16) guest_store(to, static_cast<std::uint16_t>(raw[c][l]));
      else if (f.bits[c] == 32) guest_store(to, raw[c][l]);
      else packed |= raw[c][l] << at;
    }
    if (f.bits[0] % 8 != 0 || f.bits[1] % 8 != 0) guest_store(lanes.ptr[l], packed);
  });
  finish_store(w, lanes);
}

#define TYPED(PREFIX, FORMAT, NAME9, NAME11, OP, DST, DATA, FLAGS, ...) \
  Row { PREFIX NAME9, PREFIX NAME11, Format::FORMAT, OP, OP, kAllTargets, Type::DST, Type::b32, Type::DATA, Type::none, __VA_ARGS__, FLAGS }
#define BOTH(NAME9, NAME11, OP, DST, DATA, FLAGS, ...) \
  TYPED("buffer_", mubuf, NAME9, NAME11, OP, DST, DATA, FLAGS, __VA_ARGS__), \
  TYPED("tbuffer_", mtbuf, NAME9, NAME11, OP, DST, DATA, FLAGS, __VA_ARGS__)
#define LOAD(TAIL, OP, DST, DST16, N) \
  BOTH("load_format_" TAIL, "load_format_" TAIL, OP, DST, none, kApproximate, (load<N, Half::none>)), \
  BOTH("load_format_d16_" TAIL, "load_d16_format_" TAIL, OP + 8, DST16, none, kApproximate | kReadsDst, (load<N, Half::low>))
#define STORE(TAIL, OP, DATA, DATA16, N) \
  BOTH("store_format_" TAIL, "store_format_" TAIL, OP, none, DATA, kApproximate, (store<N, Half::none>)), \
  BOTH("store_format_d16_" TAIL, "store_d16_format_" TAIL, OP + 8, none, DATA16, kApproximate, (store<N, Half::low>))

const Row rows[] = {
    LOAD("x", 0, b32, b32, 1), LOAD("xy", 1, b64, b32, 2), LOAD("xyz", 2, b96, b64, 3), LOAD("xyzw", 3, b128, b64, 4),
    STORE("x", 4, b32, b32, 1), STORE("xy", 5, b64, b32, 2), STORE("xyz", 6, b96, b64, 3), STORE("xyzw", 7, b128, b64, 4),
    TYPED("buffer_", mubuf, "load_format_d16_hi_x", "load_d16_hi_format_x", 0x26, b32, none, kApproximate | kReadsDst, (load<1, Half::high>)),
    TYPED("buffer_", mubuf, "store_format_d16_hi_x", "store_d16_hi_format_x", 0x27, none, b32, kApproximate, (store<1, Half::high>)),
};

}  // namespace

DataFormat data_format(const Wave& w, const Inst& i) {
  const u32 word3 = typed(i) ? 0 : w.s[i.src[2].index + 3];
  if (family(w.target) == Family::gfx9) {
    const unsigned layout = typed(i) ? i.data_format & 15 : word3 >> 15 & 15, number = typed(i) ? i.data_format >> 4 : word3 >> 12 & 7;
    if (number == 6) return {};
    return format_of(layout, number == 7 ? real : static_cast<Number>(number));
  }
  unsigned at = typed(i) ? i.data_format : word3 >> 12 & 63;
  if (at == 0) return {};
  --at;
  for (const Run& run : kRuns) {
    if (at < run.count) return format_of(run.layout, run.numbers[at]);
    at -= run.count;
  }
  return {};
}

std::span<const Row> format_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::memory
