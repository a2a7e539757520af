// The bytes of device memory that an instruction touched, as its handler tells the store trace, against those that
// isa/check/access.cpp describes: two accounts of the same thing, which must not drift apart.
#pragma once

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "vgpu/isa/check/access.hpp"
#include "vgpu/isa/executor.hpp"

namespace kerncap::vgpu::isa::test {

using Pieces = std::vector<std::pair<std::uint64_t, std::uint64_t>>;  // begin, end

class AccessTrace final : public Trace {
 public:
  void load(std::uint64_t va, std::uint32_t bytes) noexcept override { loads.emplace_back(va, va + bytes); }
  void store(std::uint64_t va, std::uint32_t bytes) noexcept override { stores.emplace_back(va, va + bytes); }
  void clear() {
    loads.clear();
    stores.clear();
  }
  Pieces loads, stores;
};

inline Pieces merged(Pieces pieces) {
  std::sort(pieces.begin(), pieces.end());
  Pieces out;
  for (const auto& piece : pieces) {
    if (!out.empty() && piece.first <= out.back().second) out.back().second = std::max(out.back().second, piece.second);
    else out.push_back(piece);
  }
  return out;
}

// Empty when both accounts agree.
inline std::string difference(const AccessTrace& trace, const std::vector<check::Access>& described) {
  Pieces loads, stores;
  for (const check::Access& a : described) {
    if (a.space != check::Space::global) continue;
    if (a.op != check::MemoryOp::store) loads.emplace_back(a.address, a.address + a.bytes);
    if (a.op != check::MemoryOp::load) stores.emplace_back(a.address, a.address + a.bytes);
  }
  std::ostringstream out;
  const auto compare = [&out](const char* what, const Pieces& traced, const Pieces& expected) {
    if (traced == expected) return;
    const auto list = [&out](const Pieces& pieces) {
      for (const auto& [begin, end] : pieces) out << " [" << std::hex << begin << ", " << end << ")";
    };
    out << what << ": traced";
    list(traced);
    out << ", described";
    list(expected);
    out << "; ";
  };
  compare("loads", merged(trace.loads), merged(loads));
  compare("stores", merged(trace.stores), merged(stores));
  return out.str();
}

}  // namespace kerncap::vgpu::isa::test
