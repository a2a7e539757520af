// The three stages of a lane-wise handler as templates: fetch, compute in a plain loop, commit. Included once a variant.

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {

using std::uint16_t;
using std::uint32_t;
using std::uint64_t;
using std::uint8_t;
using std::int16_t;
using std::int32_t;
using std::int64_t;
using std::int8_t;

// Operand tags: how a lane's bits become a value and back.
template <Type T, class V>
struct Word {
  using Value = V;
  static constexpr Type type = T;
  static constexpr bool wide = false, half = false, fp = is_float(T);
  static V get(const Source& s, std::size_t l) { return std::bit_cast<V>(s.lo[l]); }
  static void put(const Dest& d, std::size_t l, V v) { d.lo[l] = std::bit_cast<uint32_t>(v); }
};
template <Type T, class V>
struct Pair {
  using Value = V;
  static constexpr Type type = T;
  static constexpr bool wide = true, half = false, fp = is_float(T);
  static V get(const Source& s, std::size_t l) { return std::bit_cast<V>(uint64_t{s.hi[l]} << 32 | s.lo[l]); }
  static void put(const Dest& d, std::size_t l, V v) {
    const auto bits = std::bit_cast<uint64_t>(v);
    d.lo[l] = static_cast<uint32_t>(bits);
    d.hi[l] = static_cast<uint32_t>(bits >> 32);
  }
};
template <Type T, class V>
struct Short {
  using Value = V;  // int32_t or uint32_t, extended from the low half
  static constexpr Type type = T;
  static constexpr bool wide = false, half = true, fp = is_float(T);
  static V get(const Source& s, std::size_t l) {
    if constexpr (std::is_signed_v<V>) return static_cast<int16_t>(s.lo[l] & 0xffffu);
    else return s.lo[l] & 0xffffu;
  }
  static void put(const Dest& d, std::size_t l, V v) { d.lo[l] = static_cast<uint32_t>(v) & 0xffffu; }
};
inline float half_to_float(uint32_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(static_cast<uint16_t>(bits)));
}
inline uint32_t float_to_half(float v) { return std::bit_cast<uint16_t>(static_cast<_Float16>(v)); }
struct F16 {
  using Value = float;
  static constexpr Type type = Type::f16;
  static constexpr bool wide = false, half = true, fp = true;
  static float get(const Source& s, std::size_t l) { return half_to_float(s.lo[l]); }
  static void put(const Dest& d, std::size_t l, float v) { d.lo[l] = float_to_half(v); }
};
using F32 = Word<Type::f32, float>;
using U32 = Word<Type::u32, uint32_t>;
using I32 = Word<Type::i32, int32_t>;
using B32 = Word<Type::b32, uint32_t>;
using F64 = Pair<Type::f64, double>;
using U64 = Pair<Type::u64, uint64_t>;
using I64 = Pair<Type::i64, int64_t>;
using B64 = Pair<Type::b64, uint64_t>;
using U16 = Short<Type::u16, uint32_t>;
using I16 = Short<Type::i16, int32_t>;
using B16 = Short<Type::b16, uint32_t>;
using H16 = Short<Type::f16, uint32_t>;  // the bits of a half float

// Behaviour of an operation beside its function.
enum Trait : unsigned {
  kDefault = 0,
  kBits = 1,      // float operands are only looked at: denormals stay whatever the mode says
  kRounds = 2,    // the result depends on the wave's rounding mode
};

template <class S, unsigned Traits>
inline Source fetch(Wave& w, const Inst& in, unsigned i, Scratch& store) {
  const Operand& o = in.src[i];
  if (in.vet == Inst::Vet::plain && o.kind == OperandKind::vgpr && (!S::fp || (Traits & kBits) || w.mode.plain())) {
    Source s;
    s.lo = w.vreg(o.index);
    if constexpr (S::wide) s.hi = w.vreg(o.index + 1u);
    return s;
  }
  return fetch_slow(w, in, i, S::type, store, (Traits & kBits) != 0);
}

template <class D>
inline uint8_t rounding_of(const Wave& w) {
  return D::type == Type::f64 || D::type == Type::f16 ? w.mode.round64_16 : w.mode.round32;
}

// Where a result is computed: in the destination itself when every lane writes it and nothing else is to be done.
template <class D, unsigned Traits>
struct Target_ {
  Scratch store;
  Dest dest;
  bool direct = false;
  Target_(Wave& w, const Inst& in, uint64_t mask) {
    if constexpr (!D::half)
      direct = mask == all_lanes(w) && in.vet == Inst::Vet::plain && (!D::fp || (Traits & kBits) || w.mode.plain());
    if (direct) {
      dest.lo = w.vreg(in.dst.index);
      if constexpr (D::wide) dest.hi = w.vreg(in.dst.index + 1u);
    } else {
      dest = {store.lo.lane, D::wide ? store.hi.lane : nullptr};
    }
  }
  void finish(Wave& w, const Inst& in, uint64_t mask) {
    if (!direct) commit(w, in, D::type, mask, dest, (Traits & kBits) != 0);
  }
};

// Runs f over the lanes of the wave in blocks of a constant length. Registers overlap lane by lane only, which ivdep states.
template <class F>
inline void each_lane(const Wave& w, F f) {
  for (std::size_t base = 0; base < w.size; base += 32) {
#pragma GCC ivdep
    for (std::size_t l = 0; l < 32; ++l) f(base + l);
  }
}

// A handler: D = f(S...).
template <auto f, unsigned Traits, class D, class... S>
void lanewise(Wave& w, const Inst& in) {
  if constexpr ((Traits & kRounds) != 0) {
    if (rounding_of<D>(w) != 0) [[unlikely]] {
      const RoundingScope rounding(rounding_of<D>(w));
      return lanewise<f, Traits & ~unsigned{kRounds}, D, S...>(w, in);
    }
  }
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] Scratch store[sizeof...(S) + 1];
    const Source src[] = {fetch<S, Traits>(w, in, I, store[I])..., Source{}};
    Target_<D, Traits> out(w, in, mask);
    const Dest dest = out.dest;
    each_lane(w, [&](std::size_t l) { D::put(dest, l, f(S::get(src[I], l)...)); });
    out.finish(w, in, mask);
  }(std::index_sequence_for<S...>{});
}

// The same with the old destination as the last argument (fmac, dot*c).
template <auto f, unsigned Traits, class D, class... S>
void accumulate(Wave& w, const Inst& in) {
  if constexpr ((Traits & kRounds) != 0) {
    if (rounding_of<D>(w) != 0) [[unlikely]] {
      const RoundingScope rounding(rounding_of<D>(w));
      return accumulate<f, Traits & ~unsigned{kRounds}, D, S...>(w, in);
    }
  }
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    Scratch store[sizeof...(S) + 1];
    Inst with_dst_source;
    const Source src[] = {fetch<S, Traits>(w, in, I, store[I])..., [&]() -> Source {
                            constexpr unsigned last = sizeof...(S);
                            if (in.vet == Inst::Vet::plain && (!D::fp || w.mode.plain())) {
                              Source s{w.vreg(in.dst.index), nullptr};
                              if constexpr (D::wide) s.hi = w.vreg(in.dst.index + 1u);
                              return s;
                            }
                            // The destination obeys the denormal mode and its half select; no sign modifiers exist for it.
                            with_dst_source.src[last] = in.dst;
                            with_dst_source.op_sel = static_cast<uint8_t>((in.op_sel & 8) ? 1u << last : 0u);
                            return fetch_slow(w, with_dst_source, last, D::type, store[last], (Traits & kBits) != 0);
                          }()};
    Target_<D, Traits> out(w, in, mask);
    const Dest dest = out.dest;
    each_lane(w, [&](std::size_t l) { D::put(dest, l, f(S::get(src[I], l)..., D::get(src[sizeof...(S)], l))); });
    out.finish(w, in, mask);
  }(std::index_sequence_for<S...>{});
}

// 64 truth bytes to a lane mask: one multiplication gathers eight bits.
inline uint64_t pack_bits(const uint8_t* truth, unsigned lanes) {
  uint64_t bits = 0;
  for (std::size_t l = 0; l < lanes; l += 8) {
    uint64_t eight;
    std::memcpy(&eight, truth + l, 8);
    bits |= (eight * 0x0102040810204080ull >> 56) << l;
  }
  return bits;
}

template <class... S>
struct SourceTypes {
  static constexpr Type at(unsigned i) {
    constexpr Type all[] = {S::type..., Type::none, Type::none, Type::none};
    return all[i];
  }
};

struct Names {
  const char* name;
  const char* name11 = nullptr;
};

// A row of a lane-wise operation; the operand types come from the tags.
template <auto f, unsigned Traits, class D, class... S>
constexpr Row row(Names n, Format format, uint16_t op9, uint16_t op11, TargetSet targets = kAllTargets, unsigned flags = 0) {
  using T = SourceTypes<S...>;
  return {n.name, n.name11, format, op9, op11, targets, D::type, T::at(0), T::at(1), T::at(2),
          &lanewise<f, Traits, D, S...>, static_cast<decltype(Row::flags)>(flags | (D::fp ? unsigned{kFloatMods} : 0u))};
}
template <auto f, unsigned Traits, class D, class... S>
constexpr Row row_acc(Names n, Format format, uint16_t op9, uint16_t op11, TargetSet targets = kAllTargets,
                      unsigned flags = 0) {
  using T = SourceTypes<S...>;
  return {n.name, n.name11, format, op9, op11, targets, D::type, T::at(0), T::at(1), T::at(2),
          &accumulate<f, Traits, D, S...>, static_cast<decltype(Row::flags)>(flags | kReadsDst | (D::fp ? unsigned{kFloatMods} : 0u))};
}
// A row with a handler of its own.
constexpr Row row_own(Names n, Format format, uint16_t op9, uint16_t op11, TargetSet targets, Type d, Type s0, Type s1, Type s2,
                      Handler handler, unsigned flags = 0) {
  return {n.name, n.name11, format, op9, op11, targets, d, s0, s1, s2, handler, static_cast<decltype(Row::flags)>(flags)};
}

inline constexpr uint16_t kNo = kNoOpcode;

}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
