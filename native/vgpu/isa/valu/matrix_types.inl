// What the tables of matrix instructions share: element types, one step of a sum, register layouts. Included by each of them
// once a variant.
// Products accumulate one after the other in the order of k, each step fused; the hardware's order inside an instruction is
// not published, so floating-point forms are approximate. EXEC is ignored. Register layouts: "CDNA3 ISA", chapter Matrix
// Arithmetic Instructions; "RDNA3 ISA", WMMA.
#include "vgpu/isa/valu/small_floats.inl"

namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS {
namespace matrix_ops {

// Element types: how element e of a lane is read from its registers, and the type it accumulates in.
struct InF32 {
  using Acc = float;
  static constexpr unsigned per_register = 1;
  static float get(uint32_t r, unsigned) { return from_bits<float>(r); }
};
// f32 with a mantissa of ten bits.
struct InXf32 {
  using Acc = float;
  static constexpr unsigned per_register = 1;
  static float get(uint32_t r, unsigned) {
    if ((r & 0x7f800000u) == 0x7f800000u) return from_bits<float>(r);
    return from_bits<float>((r + 0x0fffu + (r >> 13 & 1u)) & ~0x1fffu);
  }
};
struct InF16 {
  using Acc = float;
  static constexpr unsigned per_register = 2;
  static float get(uint32_t r, unsigned e) { return half_to_float(r >> (16 * e) & 0xffffu); }
};
struct InBf16 {
  using Acc = float;
  static constexpr unsigned per_register = 2;
  static float get(uint32_t r, unsigned e) { return bf16_to_float(r >> (16 * e) & 0xffffu); }
};
struct InFp8 {
  using Acc = float;
  static constexpr unsigned per_register = 4;
  static float get(uint32_t r, unsigned e) { return from_fp8<4, 3, 8>(r >> (8 * e)); }
};
struct InBf8 {
  using Acc = float;
  static constexpr unsigned per_register = 4;
  static float get(uint32_t r, unsigned e) { return from_fp8<5, 2, 16>(r >> (8 * e)); }
};
// The 8-bit floats of gfx950.
template <small::Format F>
struct InOcp {
  using Acc = float;
  static constexpr unsigned per_register = 4;
  static float get(uint32_t r, unsigned e) { return small::value<F>(r >> (8 * e) & 0xffu); }
};
using InOcpFp8 = InOcp<small::kFp8>;
using InOcpBf8 = InOcp<small::kBf8>;
struct InI8 {
  using Acc = uint32_t;  // wraps
  static constexpr unsigned per_register = 4;
  static uint32_t get(uint32_t r, unsigned e) {
    return static_cast<uint32_t>(static_cast<int32_t>(static_cast<int8_t>(r >> (8 * e) & 0xffu)));
  }
};

inline float step(float a, float b, float c) { return fused(a, b, c); }
inline uint32_t step(uint32_t a, uint32_t b, uint32_t c) { return a * b + c; }
inline double step(double a, double b, double c) { return fused(a, b, c); }

// Register r of the accumulator operand; a constant stands for every element.
inline const uint32_t* accumulator(Wave& w, const Operand& o, unsigned r, LaneBuffer& store) {
  if (o.kind == OperandKind::vgpr) return w.vreg(o.index + r);
  return fetch_raw(w, o, 0, store);
}

// The row of D that register r of lane l holds (32x32 and 16x16 shapes have four consecutive rows a lane; 4x4 all four).
constexpr unsigned row_of(unsigned m, unsigned r, unsigned lane) {
  if (m == 32) return 8 * (r / 4) + 4 * (lane / 32) + r % 4;
  if (m == 16) return 4 * (lane / 16) + r % 4;
  return r % 4;
}

constexpr TargetSet k90a = bit(Target::gfx90a), k942 = bit(Target::gfx942);
constexpr Type of_registers(unsigned n) {
  switch (n) {
    case 1: return Type::b32;
    case 2: return Type::b64;
    case 4: return Type::b128;
    case 8: return Type::b256;
    case 16: return Type::b512;
    default: return Type::b1024;
  }
}
template <class A>
constexpr unsigned approximate() { return std::is_same_v<typename A::Acc, float> ? unsigned{kApproximate} : 0u; }

}  // namespace matrix_ops
}  // namespace kerncap::vgpu::isa::valu::KERNCAP_VALU_NS
