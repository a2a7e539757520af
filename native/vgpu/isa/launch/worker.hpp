// One host thread's part of a dispatch: it takes workgroups one by one and runs their waves.
// In: a Run. Out: nothing but what the kernel stores, and Run::stop(). Called on the queue's thread and on pool threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "vgpu/isa/launch/code.hpp"
#include "vgpu/isa/launch/group.hpp"
#include "vgpu/isa/launch/run.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

class Worker {
 public:
  // `threads`: how many may work on this dispatch; more than one: this worker invites the others when it is worth it.
  Worker(Run& run, unsigned threads);
  // Until every workgroup is taken and this worker's have ended, or the run is stopped.
  void work() noexcept;

 private:
  struct Resident : GroupInFlight {
    std::vector<bool> spins;  // by wave: it waits for memory to change
    unsigned turns = 0;
    bool waits = false;       // every wave that has not ended spins or is at a barrier
  };
  void run_all();
  void start(Resident& r, std::uint64_t number);
  // Gives each wave that can run a quantum; true when all have ended.
  bool turn(Resident& r);
  // Runs the wave once around its loop, if it is in a short one. True: it came back with the registers that it had, so
  // that only a store can end the loop. Used for the order of turns alone: a wrong answer costs time.
  bool comes_around(Wave& w);
  Outcome describe(const Wave& w);

  Run& run_;
  const unsigned threads_;
  AddressCache memory_;
  CodeCache& code_;
  Work work_;
  std::uint64_t invite_at_;  // instructions
  std::vector<std::unique_ptr<Resident>> resident_, spare_;
  std::vector<std::uint32_t> before_;  // registers of a wave that may spin
};

}  // namespace kerncap::vgpu::isa
