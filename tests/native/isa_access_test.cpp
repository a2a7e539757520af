// Kernels of the tests once more (KERNCAP_TEST_ACCESSES=1), an instruction at a time: the store trace against what the checks
// say that the instruction touches. Single rows: memory_machine.hpp does the same with each.
#include <gtest/gtest.h>

#include <cstdlib>

#include "access_trace.hpp"
#include "isa_harness.hpp"
#include "vgpu/isa/launch/group.hpp"
#include "vgpu/isa/launch/kernel.hpp"
#include "vgpu/isa/launch/step.hpp"
#include "vgpu/isa/valu/overflow.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

std::uint64_t g_compared = 0, g_atomics = 0, g_scalar = 0;

// Compares while it runs a dispatch, one workgroup after the other.
class ComparingRun {
 public:
  ComparingRun(const test::Launch& launch, const Dispatch& dispatch, const HostMemory& memory)
      : target_(launch.target), dispatch_(dispatch), cache_(memory) {}
  Outcome go() {
    cache_.refresh();
    if (!read_kernel(target_, dispatch_, cache_, kernel_, outcome_)) return outcome_;
    const Grid grid(dispatch_.packet);
    check::Code code(target_, kernel_.wave_size, cache_);
    for (std::uint64_t n = 0; n < grid.workgroups() && outcome_.kind == Outcome::Kind::completed; ++n) {
      group_.start({target_, dispatch_, kernel_, &trace_, cache_}, grid.place(n));
      run_group(code);
    }
    return outcome_;
  }

 private:
  void run_group(check::Code& code) {
    for (bool running = true; running;) {
      running = false;
      for (Wave& w : group_.waves) {
        while (w.state == Wave::State::running || w.state == Wave::State::asleep) {
          if (!step(code, w)) return;
        }
        running = running || w.state == Wave::State::at_barrier;
      }
      if (running) group_.leave_barrier();
    }
  }
  bool step(check::Code& code, Wave& w) {
    const check::Described* d = code.at(w.pc);
    if (d->decoded.status != Decoded::Status::ok) return stop(Outcome::Kind::illegal, d->decoded.reason);
    w.state = Wave::State::running;
    check::accesses(w, *d, described_);
    trace_.clear();
    w.next_pc = w.pc + d->inst->size_bytes;
    if (saturates_halves(w) && d->valu) execute_saturating(w, *d->inst);
    else d->inst->handler(w, *d->inst);
    if (w.state == Wave::State::stopped) return stop(w.stop_kind, w.stop_text);
    const std::string text = difference(trace_, described_);
    if (!text.empty()) return stop(Outcome::Kind::bad_dispatch, code.text(w.pc) + ": " + text);
    g_compared += d->op != check::MemoryOp::none;
    g_atomics += d->op == check::MemoryOp::atomic && !trace_.stores.empty();
    g_scalar += d->inst->format == Format::smem && !trace_.loads.empty();
    ++outcome_.work.instructions;
    w.pc = w.next_pc;
    return true;
  }
  bool stop(Outcome::Kind kind, const std::string& text) {
    outcome_.kind = kind;
    outcome_.text = text;
    return false;
  }

  Target target_;
  const Dispatch& dispatch_;
  AddressCache cache_;
  Kernel kernel_;
  Outcome outcome_;
  GroupInFlight group_;
  AccessTrace trace_;
  std::vector<check::Access> described_;
};

Outcome compare(const test::Launch& launch, const Dispatch& dispatch, const HostMemory& memory) {
  return ComparingRun(launch, dispatch, memory).go();
}

// The comparison met what it is there for.
class Counts : public ::testing::Environment {
  void TearDown() override {
    EXPECT_GT(g_compared, 10'000u);
    EXPECT_GT(g_atomics, 100u);
    EXPECT_GT(g_scalar, 1'000u);
  }
};

[[maybe_unused]] const bool g_installed = [] {
  if (std::getenv("KERNCAP_TEST_ACCESSES") == nullptr) return false;
  instead_of_execute = compare;
  ::testing::AddGlobalTestEnvironment(new Counts);
  return true;
}();

TEST(AccessTrace, ADifferenceIsFound) {
  AccessTrace trace;
  trace.load(100, 4);
  trace.load(104, 4);
  trace.store(104, 4);
  using check::MemoryOp;
  using check::Space;
  const std::vector<check::Access> same = {{Space::global, MemoryOp::load, 0, 4, 0, 100},
                                           {Space::global, MemoryOp::atomic, 1, 4, 0, 104},
                                           {Space::lds, MemoryOp::store, 0, 4, 0, 0}};
  EXPECT_EQ(difference(trace, same), "");
  EXPECT_NE(difference(trace, {same[0]}), "");
  EXPECT_NE(difference(trace, {same[1]}), "");
  std::vector<check::Access> longer = same;
  longer[1].bytes = 5;
  EXPECT_NE(difference(trace, longer), "");
  trace.store(200, 1);
  EXPECT_NE(difference(trace, same), "");
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
