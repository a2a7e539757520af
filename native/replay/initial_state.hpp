// The initial state of a run: captured bytes, poisoned or perturbed. Pure. In: raw bytes of a chunk as captured. Out: the same
// bytes as the run starts from them; the result depends only on the request, never on chunk order or threads. Called while
// chunks are restored and compared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "replay/request.hpp"

namespace kerncap::replay {

// Does the state of region bytes [at, at + length) differ from the captured one?
bool touches(const InitialState& initial, std::uint32_t region, std::uint64_t at, std::uint64_t length) noexcept;

// `bytes` are those of `region`, which lies at `region_va`, from offset `at` on.
void apply_initial(const InitialState& initial, std::uint32_t region, std::uint64_t region_va, std::uint64_t at,
                   std::span<std::byte> bytes) noexcept;

// One element, changed as a function of (seed, address). Finite values stay finite, zeros become small values, infinities and
// NaNs stay; integers move by one, `bits16` flips a lowest bit, pairs exchange
// their values. Exposed for its test.
void perturb(ElementType type, std::uint64_t seed, std::uint64_t va, std::byte* element) noexcept;

}  // namespace kerncap::replay
