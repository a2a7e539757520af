#include "intercept/launches.hpp"

#include <algorithm>

namespace kerncap::intercept {
namespace {

// An application that launches with ever new sizes must not make the list grow for ever.
constexpr std::size_t kMostLaunches = 4096;

}  // namespace

void LaunchLog::add(const KernelEntry& kernel, const Dim3& grid, const Dim3& workgroup, std::uint64_t index) {
  const std::scoped_lock lock(mutex_);
  const Key key{&kernel, grid, workgroup};
  auto found = launches_.find(key);
  if (found == launches_.end()) {
    if (launches_.size() == kMostLaunches) {
      whole_ = false;
      return;
    }
    found = launches_.emplace(key, Launch{&kernel, grid, workgroup, 0, index}).first;
  }
  ++found->second.dispatches;
}

void LaunchLog::clear() {
  const std::scoped_lock lock(mutex_);
  launches_.clear();
  whole_ = true;
}

std::vector<Launch> LaunchLog::list() const {
  std::vector<Launch> all;
  {
    const std::scoped_lock lock(mutex_);
    for (const auto& [key, launch] : launches_) all.push_back(launch);
  }
  std::sort(all.begin(), all.end(), [](const Launch& a, const Launch& b) { return a.first < b.first; });
  return all;
}

bool LaunchLog::whole() const {
  const std::scoped_lock lock(mutex_);
  return whole_;
}

}  // namespace kerncap::intercept
