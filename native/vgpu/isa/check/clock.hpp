// What a wave knows to have happened before: a sparse vector clock over waves and whole workgroups.
// Times are those of the dispatch's one instruction counter. When a clock grows too large it is rounded up to a point in time
// that covers everything before: races may then be missed, none is invented.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <unordered_map>

namespace kerncap::vgpu::isa::check {

// Workgroup number and wave in one word; the last wave number stands for all waves of the workgroup.
using Thread = std::uint32_t;
inline constexpr unsigned kWaveBits = 6;
inline constexpr Thread kWholeGroup = (1u << kWaveBits) - 1;
constexpr Thread thread_of(std::uint64_t group, unsigned wave) { return static_cast<Thread>(group << kWaveBits | wave); }
constexpr Thread group_of(Thread t) { return t >> kWaveBits; }
inline constexpr std::uint64_t kMaxGroups = 1u << (32 - kWaveBits);

class Clock {
 public:
  bool empty() const { return all_ == 0 && seen_.empty(); }
  bool covers(Thread t, std::uint64_t time) const {
    return time <= all_ || time <= at(t) || time <= at(t | kWholeGroup);
  }
  void see(Thread t, std::uint64_t time) {
    if (time <= all_) return;
    std::uint64_t& known = seen_[t];
    known = std::max(known, time);
    if (seen_.size() > kMaxEntries) round_up();
  }
  void join(const Clock& other) {
    all_ = std::max(all_, other.all_);
    for (const auto& [t, time] : other.seen_) see(t, time);
  }

 private:
  static constexpr std::size_t kMaxEntries = 1024;
  std::uint64_t at(Thread t) const {
    const auto found = seen_.find(t);
    return found == seen_.end() ? 0 : found->second;
  }
  void round_up() {
    for (const auto& [t, time] : seen_) all_ = std::max(all_, time);
    seen_.clear();
  }
  std::uint64_t all_ = 0;  // everything up to this time
  std::unordered_map<Thread, std::uint64_t> seen_;
};

}  // namespace kerncap::vgpu::isa::check
