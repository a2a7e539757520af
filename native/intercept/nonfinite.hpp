// Numbers that became NaN or infinite. In: what a kernel's pointer arguments point to, memory before and after a dispatch.
// Out: which memory holds floats of which type, and how many of them are new. Pure; called by conditions.cpp and armed.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "intercept/argument_types.hpp"

namespace kerncap::intercept {

// Floats that an argument points to.
struct FloatSpan {
  std::string label;  // of the argument
  NumberType type = NumberType::F32;
  std::uint64_t va = 0;
  std::uint64_t size = 0;
};

// The arguments through which a kernel may store floats: not those to `const`, nor to integers. Pointers of unknown type are taken
// for `otherwise`, or left out.
std::vector<Argument> float_pointers(const std::vector<Argument>& arguments, std::optional<NumberType> otherwise);

// What they point to in one dispatch: each up to the next argument's data or the end of the region. `region_end`: of the region that
// holds an address, or nothing. Where two arguments say different things of the same place, nothing is said of it.
std::vector<FloatSpan> float_spans(const std::vector<Argument>& floats, const std::vector<Argument>& all, std::span<const std::byte> kernarg,
                                   const std::function<std::optional<std::uint64_t>(std::uint64_t)>& region_end);

struct NonFinite {
  std::uint64_t count = 0;
  std::uint64_t first_va = 0;
};
struct NewNonFinite {
  NonFinite nan, inf;
  // Adds those of `after`, which lies at `va`, that are not the same kind in `before`.
  void add(NumberType type, std::span<const std::byte> before, std::span<const std::byte> after, std::uint64_t va);
};

}  // namespace kerncap::intercept
