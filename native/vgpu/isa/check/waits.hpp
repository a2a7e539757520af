// Missing s_waitcnt: a register that a load has not filled yet is read or written.
// In: each instruction before it runs. Out: findings. Also tells the race check when a wave's stores have completed.
//
// Counters are modelled as the order in which they may come back: vector memory in order (gfx11: loads and stores apart),
// LDS in order, scalar memory in any order. An operation is outstanding until the waits prove that it is complete.
// Source: "Manually inserted wait states / s_waitcnt" of the MI200, MI300 and RDNA3 ISA manuals; LLVM SIInsertWaitcnts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vgpu/isa/check/access.hpp"
#include "vgpu/isa/check/described.hpp"
#include "vgpu/isa/check/findings.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::check {

class Waits {
 public:
  Waits() : vectors_(2 * 512) {}
  // What waits change and nothing else; for waves of which only the order of stores matters.
  void count(const Wave& w, const Described& d);
  // Reports registers of `d` that are outstanding. To be called before count().
  struct Hit {
    std::uint64_t load_pc = 0;
    bool write = false;
    Span span;                // one register
    const char* counter = "";  // vmcnt, lgkmcnt; loadcnt, dscnt, kmcnt on gfx12
  };
  void find(const Wave& w, const Described& d, std::vector<Hit>& hits) const;
  // The registers that `d` will fill are outstanding from now on. To be called after count().
  void issue(const Wave& w, const Described& d, const std::vector<Access>& lanes);

  // All stores so far are complete: a release can say so.
  bool stores_complete() const {
    return last_store_vm_ <= vm_.done && last_store_vs_ <= vs_.done;
  }

 private:
  struct Counter {
    std::uint64_t issued = 0, done = 0;
    void wait(std::uint64_t left) {
      if (issued > left && issued - left > done) done = issued - left;
    }
  };
  struct Pending {
    std::uint64_t pc = 0, lanes = 0;
    std::uint64_t vm = 0, lds = 0, scalar = 0;  // sequence numbers; 0: not this counter
  };
  bool outstanding(const Pending& p) const {
    return p.vm > vm_.done || p.lds > lds_.done || p.scalar > scalar_.done;
  }
  const char* counter_of(const Pending& p, Target target) const;
  void wait(const Wave& w, const Inst& i);

  Counter vm_, vs_, lds_, scalar_;
  std::uint64_t last_store_vm_ = 0, last_store_vs_ = 0;
  std::vector<Pending> vectors_;  // low and high half of each register
  std::array<Pending, kScalarRegs> scalars_ = {};
};

}  // namespace kerncap::vgpu::isa::check
