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
  kSettles = 4,   // a NaN that the operation makes of numbers is the host's: the handler settles it
};

// Runs f over the lanes of the wave in blocks of a constant length. Registers overlap lane by lane only, which ivdep states.
template <class F>
inline void each_lane(const Wave& w, F f) {
  const std::size_t size = w.size;  // 32 or 64
  std::size_t base = 0;
  do {
#pragma GCC ivdep
    for (std::size_t l = 0; l < 32; ++l) f(base + l);
    base += 32;
  } while (base < size);
}

// The same value in every lane of the wave.
inline void spread(uint32_t* lanes, uint32_t value, const Wave& w) {
  each_lane(w, [=](std::size_t l) { lanes[l] = value; });
}

// The 32 bits of a source in each lane of the wave, nothing applied; register_offset for the others of a wide one.
inline const uint32_t* fetch_dword(Wave& w, const Operand& o, unsigned register_offset, LaneBuffer& store) {
  if (o.kind == OperandKind::vgpr) return w.vreg(o.index + register_offset);
  if (register_offset != 0) return fetch_raw(w, o, register_offset, store);
  spread(store.lane, scalar_lane(w, o), w);
  return store.lane;
}

// Nothing is to be done to the operands before or after the operation.
template <bool kFloat, unsigned Traits>
inline bool untouched(const Wave& w, const Inst& in) {
  return in.vet == Inst::Vet::plain && (!kFloat || (Traits & kBits) || w.mode.plain());
}

// A source of an untouched instruction.
template <class S>
inline Source fetch_plain(Wave& w, const Operand& o, Scratch& store) {
  Source s;
  if (o.kind == OperandKind::vgpr) {
    s.lo = w.vreg(o.index);
    if constexpr (S::wide) s.hi = w.vreg(o.index + 1u);
    return s;
  }
  s.lo = store.lo.lane;
  if constexpr (S::wide) {
    s.hi = store.hi.lane;
    const uint64_t value = o.kind == OperandKind::constant ? o.constant : read_scalar64(w, o);
    spread(store.lo.lane, static_cast<uint32_t>(value), w);
    spread(store.hi.lane, static_cast<uint32_t>(value >> 32), w);
  } else {
    spread(store.lo.lane, scalar_lane(w, o), w);
  }
  return s;
}
template <class S, unsigned Traits>
inline Source fetch(Wave& w, const Inst& in, unsigned i, Scratch& store) {
  if (untouched<S::fp, Traits>(w, in)) [[likely]] return fetch_plain<S>(w, in.src[i], store);
  return fetch_slow(w, in, i, S::type, store, (Traits & kBits) != 0);
}

template <class D>
inline uint8_t rounding_of(const Wave& w) {
  return D::type == Type::f64 || D::type == Type::f16 ? w.mode.round64_16 : w.mode.round32;
}

// dst[l] = value[l] in the lanes of the mask.
inline void merge(uint32_t* dst, const uint32_t* value, uint64_t mask, const Wave& w) {
  const std::size_t size = w.size;
  for (std::size_t base = 0; base < size; base += 32) {
    const auto bits = static_cast<uint32_t>(mask >> base);
#pragma GCC ivdep
    for (std::size_t l = 0; l < 32; ++l) dst[base + l] = bits & 1u << l ? value[base + l] : dst[base + l];
  }
}

// Writes the result of an untouched instruction that was computed beside its destination.
template <class D>
inline void put_plain(Wave& w, const Inst& in, uint64_t mask, const Dest& result) {
  uint32_t* const dst = w.vreg(in.dst.index);
  if constexpr (D::half) {
    const bool keeps = contains(kRdna, w.target) || (in.row->flags & kKeepsHalf);
    const uint32_t kept = keeps ? 0xffff0000u : 0u;
    each_lane(w, [=, value = result.lo](std::size_t l) { value[l] = (value[l] & 0xffffu) | (dst[l] & kept); });
  }
  merge(dst, result.lo, mask, w);
  if constexpr (D::wide) merge(w.vreg(in.dst.index + 1u), result.hi, mask, w);
}

// Where a result is computed: in the destination itself when every lane writes it and nothing else is to be done.
template <class D, unsigned Traits>
struct Target_ {
  Scratch store;
  Dest dest;
  bool plain, direct;
  Target_(Wave& w, const Inst& in, uint64_t mask)
      : plain(untouched<D::fp, Traits>(w, in)), direct(!D::half && plain && mask == all_lanes(w)) {
    dest = {store.lo.lane, D::wide ? store.hi.lane : nullptr};
    if (!direct) return;
    dest.lo = w.vreg(in.dst.index);
    if constexpr (D::wide) dest.hi = w.vreg(in.dst.index + 1u);
  }
  void finish(Wave& w, const Inst& in, uint64_t mask) {
    if (direct) return;
    if (plain) put_plain<D>(w, in, mask, dest);
    else commit(w, in, D::type, mask, dest, (Traits & kBits) != 0);
  }
};

template <class T, class... A>
inline T settle(T r, A... a);  // float_math.inl

inline bool any_nan(const float (&block)[32]) {
#if defined(__AVX2__)
  const auto either = [&](std::size_t l) { return _mm256_cmp_ps(_mm256_loadu_ps(block + l), _mm256_loadu_ps(block + l + 8), _CMP_UNORD_Q); };
  return _mm256_movemask_ps(_mm256_or_ps(either(0), either(16))) != 0;
#else
  uint32_t odd = 0;
  for (const float v : block) odd |= v != v ? 1u : 0u;
  return odd != 0;
#endif
}

// A block of results with the NaNs that the operation made of numbers settled: seldom needed.
template <auto f, class D, class... S, std::size_t... I>
[[gnu::noinline, gnu::cold]] void settle_block(const Dest& dest, const Source* src, std::size_t base, std::index_sequence<I...>) {
  for (std::size_t l = base; l < base + 32; ++l) D::put(dest, l, settle(f(S::get(src[I], l)...), S::get(src[I], l)...));
}

// D = f(S...) in every lane of the wave. A function of its own: handlers share it between their short and their long path.
template <auto f, unsigned Traits, class D, class... S, std::size_t... I>
[[gnu::noinline]] void compute(const Wave& w, const Dest& to, const Source* from, std::index_sequence<I...> indices) {
  // Pointer by pointer: they were just stored so.
  const Dest dest{to.lo, D::wide ? to.hi : nullptr};
  const Source src[] = {Source{from[I].lo, S::wide ? from[I].hi : nullptr}..., Source{}};
  if constexpr ((Traits & kSettles) == 0) {
    each_lane(w, [&](std::size_t l) { D::put(dest, l, f(S::get(src[I], l)...)); });
  } else {
    const std::size_t size = w.size;
    for (std::size_t base = 0; base < size; base += 32) {
      float block[32];
#pragma GCC ivdep
      for (std::size_t l = 0; l < 32; ++l) block[l] = f(S::get(src[I], base + l)...);
      if (any_nan(block)) [[unlikely]] {
        settle_block<f, D, S...>(to, from, base, indices);
        continue;
      }
#pragma GCC ivdep
      for (std::size_t l = 0; l < 32; ++l) D::put(dest, base + l, block[l]);
    }
  }
}

// Modifiers, or a mode in which operands or results are changed.
template <auto f, unsigned Traits, bool kFromDst, class D, class... S, std::size_t... I>
[[gnu::noinline, gnu::cold]] void lanewise_modified(Wave& w, const Inst& in, std::index_sequence<I...>) {
  if (!accepted(w, in)) return;
  const uint64_t mask = write_mask(w, in);
  if (mask == 0) return;
  const RoundingScope rounding((Traits & kRounds) != 0 ? rounding_of<D>(w) : uint8_t{0});
  constexpr unsigned last = sizeof...(S);
  constexpr bool bits = (Traits & kBits) != 0;
  Scratch store[last + 2];
  Source src[] = {fetch_slow(w, in, I, S::type, store[I], bits)..., Source{}};
  if constexpr (kFromDst) {
    // The destination obeys the denormal mode and its half select; no sign modifiers exist for it.
    Inst with_dst_source;
    with_dst_source.src[last] = in.dst;
    with_dst_source.op_sel = static_cast<uint8_t>((in.op_sel & 8) ? 1u << last : 0u);
    src[last] = fetch_slow(w, with_dst_source, last, D::type, store[last], bits);
  }
  const Dest dest{store[last + 1].lo.lane, store[last + 1].hi.lane};
  if constexpr (kFromDst) compute<f, Traits, D, S..., D>(w, dest, src, std::make_index_sequence<last + 1>{});
  else compute<f, Traits, D, S...>(w, dest, src, std::index_sequence<I...>{});
  commit(w, in, D::type, mask, dest, bits);
}

// D = f(S...), or f(S..., D).
template <auto f, unsigned Traits, bool kFromDst, class D, class... S, std::size_t... I>
inline void lanewise_any(Wave& w, const Inst& in, std::index_sequence<I...> indices) {
  constexpr bool in_mode = D::fp || (S::fp || ...) || (Traits & kRounds) != 0;
  if (!untouched<in_mode, Traits>(w, in)) [[unlikely]] return lanewise_modified<f, Traits, kFromDst, D, S...>(w, in, indices);
  const uint64_t mask = w.exec();
  if (mask == 0) return;
  constexpr unsigned last = sizeof...(S);
  [[maybe_unused]] Scratch store[last + 1];
  Source src[] = {fetch_plain<S>(w, in.src[I], store[I])..., Source{}};
  const auto run = [&](const Dest& dest) {
    if constexpr (kFromDst) compute<f, Traits, D, S..., D>(w, dest, src, std::make_index_sequence<last + 1>{});
    else compute<f, Traits, D, S...>(w, dest, src, indices);
  };
  Dest dst{w.vreg(in.dst.index), nullptr};
  if constexpr (D::wide) dst.hi = w.vreg(in.dst.index + 1u);
  if constexpr (kFromDst) src[last] = {dst.lo, dst.hi};
  if (!D::half && mask == all_lanes(w)) return run(dst);
  const Dest beside{store[last].lo.lane, store[last].hi.lane};
  run(beside);
  put_plain<D>(w, in, mask, beside);
}

// A handler: D = f(S...).
template <auto f, unsigned Traits, class D, class... S>
void lanewise(Wave& w, const Inst& in) {
  lanewise_any<f, Traits, false, D, S...>(w, in, std::index_sequence_for<S...>{});
}
// The same with the old destination as the last argument (fmac, dot*c).
template <auto f, unsigned Traits, class D, class... S>
void accumulate(Wave& w, const Inst& in) {
  lanewise_any<f, Traits, true, D, S...>(w, in, std::index_sequence_for<S...>{});
}

// Truth of 32 lanes (all bits or none) to bits.
inline uint32_t block_mask(const uint32_t (&truth)[32]) {
  uint32_t bits = 0;
#if defined(__AVX2__)
  for (unsigned l = 0; l < 32; l += 8)
    bits |= static_cast<uint32_t>(_mm256_movemask_ps(_mm256_loadu_ps(reinterpret_cast<const float*>(truth + l)))) << l;
#elif defined(__SSE2__)
  for (unsigned l = 0; l < 32; l += 4)
    bits |= static_cast<uint32_t>(_mm_movemask_ps(_mm_loadu_ps(reinterpret_cast<const float*>(truth + l)))) << l;
#else
  for (unsigned l = 0; l < 32; ++l) bits |= truth[l] & 1u << l;
#endif
  return bits;
}
// Truth bytes (0 or 1) to a lane mask.
inline uint64_t pack_bits(const uint8_t* truth, unsigned lanes) {
  uint64_t bits = 0;
#if defined(__SSE2__)
  for (std::size_t l = 0; l < lanes; l += 16) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(truth + l));
    bits |= uint64_t{static_cast<uint32_t>(_mm_movemask_epi8(_mm_slli_epi16(sixteen, 7)))} << l;
  }
#else
  // One multiplication gathers eight bits.
  for (std::size_t l = 0; l < lanes; l += 8) {
    uint64_t eight;
    std::memcpy(&eight, truth + l, 8);
    bits |= (eight * 0x0102040810204080ull >> 56) << l;
  }
#endif
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
