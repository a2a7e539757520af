// How close a row comes to hardware: exact, or approximate within a bound.
// In: a table row. Out: its bound, or null for results that the ISA defines to the bit. Used by kerncap-isa, from whose
// output docs/isa-fidelity.md, the queries of code objects and the comparison of conformance results are made.
#pragma once

#include "vgpu/isa/inst.hpp"

namespace kerncap::vgpu::isa {

struct Bound {
  enum class Kind : std::uint8_t {
    ulp,         // |error| <= value units in the last place of the result's type
    absolute,    // |error| <= value
    accumulate,  // |error| <= value * 2^-24 * (|c| + sum of |a * b|): the order of the additions is not published
  };
  Kind kind;
  double value;
  const char* source;  // where the bound comes from
};

// The bound of a row with kApproximate; null for every other row.
const Bound* bound_of(const Row& row);

constexpr const char* name(Bound::Kind kind) {
  switch (kind) {
    case Bound::Kind::ulp: return "ulp";
    case Bound::Kind::absolute: return "absolute";
    case Bound::Kind::accumulate: return "accumulate";
  }
  return "?";
}

}  // namespace kerncap::vgpu::isa
