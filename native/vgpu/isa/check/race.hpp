// Data races inside a workgroup and across workgroups.
// In: each memory instruction after it ran, waits, barriers. Out: findings. Two accesses to the same byte by different waves,
// one of them a store, not both atomic, race unless one happened before the other: by a barrier, or by a release (waits that
// complete the stores before) and an atomic or cache-bypassing access that observes what was stored after it.
// The unit that runs in order is the wave: lanes of a wave only race within one store instruction.
#pragma once

#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "vgpu/isa/check/access.hpp"
#include "vgpu/isa/check/clock.hpp"
#include "vgpu/isa/check/described.hpp"
#include "vgpu/isa/check/findings.hpp"
#include "vgpu/isa/check/shadow.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::check {

using SharedClock = std::shared_ptr<const Clock>;

// What a wave's release makes known.
struct Released {
  std::uint64_t own = 0, barrier = 0;  // its own accesses up to `own`, its workgroup's up to `barrier`
  SharedClock clock;                   // what it knew itself
  bool operator==(const Released&) const = default;
};

struct RaceWave {
  Thread thread = 0;
  SharedClock clock;
  Released released;
};

struct RaceGroup {
  std::uint64_t number = 0, barrier = 0;
  std::vector<RaceWave> waves;
  Shadow lds;
  std::unordered_map<std::uint64_t, Clock> lds_atomics;
  // Lines that plain loads have brought into the cache since it was last invalidated, and when.
  std::unordered_map<std::uint64_t, std::uint64_t> cached;
};

class Race {
 public:
  Race(Code& code, Findings& findings, const std::uint32_t groups[3]) : code_(code), findings_(findings) {
    for (unsigned i = 0; i < 3; ++i) groups_[i] = groups[i];
  }
  void start(RaceGroup& group, std::uint64_t number, unsigned waves);
  void tick() { ++now_; }
  // All stores of the wave are complete.
  void release(RaceGroup& group, unsigned wave);
  void barrier(RaceGroup& group);
  // At a barrier across workgroups: the wave comes to it, or goes on behind it, or is the last one and does both.
  void meet(RaceGroup& group, unsigned wave, unsigned resource, bool comes, bool goes_on);
  // A wave invalidates the vector cache of its compute unit.
  void invalidate(RaceGroup& group) const { group.cached.clear(); }
  // Before the instruction: remembers what a store will overwrite.
  void before(const Wave& w, const std::vector<Access>& accesses);
  void after(Wave& w, RaceGroup& group, const Described& d, const std::vector<Access>& accesses);

 private:
  struct Snapshot {
    std::uint64_t time = 0;
    Released released;
  };
  void lanes_of_one_store(const Wave& w, RaceGroup& group, const Described& d, const std::vector<Access>& accesses);
  void touch(RaceGroup& group, const RaceWave& me, const Access& a, Slot access, Shadow::Page& page, std::uint64_t word,
             const Wave& w);
  bool ordered(const RaceGroup& group, const RaceWave& me, const Slot& earlier) const;
  void stale(RaceGroup& group, const RaceWave& me, const Access& a, const Slot& load);
  struct Meeting {
    Clock arriving, open;  // what those that have come to it had released; of the last round, what all had
  };
  static void publish(Clock& cell, const RaceWave& me);
  static void learn(RaceWave& me, const Clock& cell);
  void synchronise(RaceGroup& group, RaceWave& me, const Described& d, const Access& a);
  void acquire(RaceWave& me, const Released& released, Thread from);
  const Released* released_before(Thread thread, std::uint64_t time) const;
  void report(const RaceGroup& group, const Wave& w, const Access& a, const Slot& earlier, const Slot& later, bool benign);
  Site site_of(const Slot& slot);
  void fill_id(std::uint64_t number, std::uint32_t id[3]) const;

  Code& code_;
  Findings& findings_;
  std::uint32_t groups_[3] = {};
  std::uint64_t now_ = 1;
  Shadow global_;
  std::unordered_map<std::uint64_t, Clock> atomics_;
  std::unordered_map<unsigned, Meeting> meetings_;
  std::unordered_map<Thread, std::deque<Snapshot>> log_;
  std::vector<std::uint8_t> old_;  // 16 bytes an access
};

}  // namespace kerncap::vgpu::isa::check
