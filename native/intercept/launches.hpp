// With which launch geometry the kernels that are meant were dispatched. In: matching dispatches, from packet callbacks.
// Out: a count for each geometry and the first dispatch that had it, for the lists that Python shows.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>
#include <vector>

#include "intercept/kernels.hpp"
#include "intercept/selection.hpp"

namespace kerncap::intercept {

struct Launch {
  const KernelEntry* kernel = nullptr;
  Dim3 grid{}, workgroup{};
  std::uint64_t dispatches = 0;
  std::uint64_t first = 0;  // counted over all dispatches that match by name
};

class LaunchLog {
 public:
  // `index`: of the dispatch among all that match by name.
  void add(const KernelEntry& kernel, const Dim3& grid, const Dim3& workgroup, std::uint64_t index);
  void clear();
  // In order of the first dispatch of each.
  std::vector<Launch> list() const;
  // Geometries beyond the limit were not written down.
  bool whole() const;

 private:
  using Key = std::tuple<const KernelEntry*, Dim3, Dim3>;
  mutable std::mutex mutex_;
  std::map<Key, Launch> launches_;
  bool whole_ = true;
};

}  // namespace kerncap::intercept
