// Handler templates of the scalar ALU. A function takes its operands and SCC and returns the result.
#pragma once

#include <cstdint>
#include <type_traits>

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::scalar {

template <class T>
T read(const Wave& w, const Operand& o) {
  if constexpr (sizeof(T) == 8) return static_cast<T>(read_scalar64(w, o));
  else return static_cast<T>(read_scalar32(w, o));
}
template <class T>
void write(Wave& w, const Operand& o, T value) {
  if constexpr (sizeof(T) == 8) write_scalar64(w, o, static_cast<std::uint64_t>(value));
  else write_scalar32(w, o, static_cast<std::uint32_t>(value));
}

// D(A, bool& scc)
template <class D, class A, auto F>
void op1(Wave& w, const Inst& i) {
  bool scc = w.scc;
  const D result = F(read<A>(w, i.src[0]), scc);
  write<D>(w, i.dst, result);
  w.scc = scc;
}
// D(A, B, bool& scc)
template <class D, class A, class B, auto F>
void op2(Wave& w, const Inst& i) {
  bool scc = w.scc;
  const D result = F(read<A>(w, i.src[0]), read<B>(w, i.src[1]), scc);
  write<D>(w, i.dst, result);
  w.scc = scc;
}
// bool(A, B) into SCC
template <class A, class B, auto F>
void compare(Wave& w, const Inst& i) {
  w.scc = F(read<A>(w, i.src[0]), read<B>(w, i.src[1]));
}

}  // namespace kerncap::vgpu::isa::scalar
