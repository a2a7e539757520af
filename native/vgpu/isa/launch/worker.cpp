#include "vgpu/isa/launch/worker.hpp"

#include <algorithm>
#include <cstdio>
#include <limits>
#include <new>
#include <thread>

#include "vgpu/isa/launch/step.hpp"
#include "vgpu/isa/print/printer.hpp"

namespace kerncap::vgpu::isa {
namespace {

// A wave known to spin is only looked at, and its loop is not longer than this.
constexpr std::uint64_t kSpinQuantum = 200, kSpinLoop = 200;
// A workgroup that needs more turns than this may wait for one that has not started, in a way that comes_around() does not
// see (it counts, or reads a clock): the next is let in.
constexpr unsigned kTurnsBeforeNext = 64;
// Wave instructions after which a dispatch is worth the wake-up of other threads (some 50 µs; a wake-up costs 5 to 10).
constexpr std::uint64_t kInviteAfter = 2'000;
constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

void awake(Wave& w) {
  if (w.state == Wave::State::asleep) w.state = Wave::State::running;
}

CodeCache& code_of_this_thread() {
  thread_local CodeCache code;
  return code;
}

}  // namespace

Worker::Worker(Run& run, unsigned threads)
    : run_(run), threads_(threads), memory_(run.memory()), code_(code_of_this_thread()),
      invite_at_(threads > 1 && run.any_left() ? kInviteAfter : kNever) {}

void Worker::work() noexcept {
  try {
    code_.begin(run_.target(), run_.kernel().wave_size, memory_);
    run_all();
  } catch (const std::bad_alloc&) {
    Outcome outcome;
    outcome.kind = Outcome::Kind::bad_dispatch;
    outcome.text = "no host memory for the registers of another workgroup";
    run_.stop(std::move(outcome));
  }
  run_.count(work_);
}

void Worker::run_all() {
  bool let_in = true, all_wait = false;
  while (!run_.stopped()) {
    if (resident_.empty() || (let_in && resident_.size() < kMaxResident)) {
      if (const auto number = run_.take()) {
        if (spare_.empty()) spare_.push_back(std::make_unique<Resident>());
        start(*spare_.back(), *number);
        resident_.push_back(std::move(spare_.back()));
        spare_.pop_back();
      } else if (resident_.empty()) {
        return;
      } else if (all_wait) {
        std::this_thread::yield();  // to whoever is to make the store
      }
    }
    let_in = all_wait = true;
    for (std::size_t r = 0; r < resident_.size();) {
      const bool finished = turn(*resident_[r]);
      if (run_.stopped()) return;
      if (finished) {
        spare_.push_back(std::move(resident_[r]));
        resident_.erase(resident_.begin() + static_cast<std::ptrdiff_t>(r));
      } else {
        let_in = let_in && (resident_[r]->waits || resident_[r]->turns >= kTurnsBeforeNext);
        all_wait = all_wait && resident_[r]->waits;
        ++r;
      }
    }
  }
}

void Worker::start(Resident& r, std::uint64_t number) {
  r.start({run_.target(), run_.dispatch(), run_.kernel(), run_.trace(), memory_}, run_.grid().place(number));
  r.spins.assign(r.waves.size(), false);
  r.turns = 0;
  r.waits = false;
}

bool Worker::turn(Resident& r) {
  ++r.turns;
  unsigned ended = 0, waiting = 0, spinning = 0;
  r.leave_split_barrier();
  for (Wave& w : r.waves) {
    if (w.state == Wave::State::running) {
      std::vector<bool>::reference spins = r.spins[w.index_in_group];
      const std::uint64_t quantum = spins ? kSpinQuantum : kWaveQuantum;
      const Work done = run_wave(w, code_, std::min(quantum, invite_at_ - work_.instructions));
      work_.add(done);
      const bool turn_over = done.instructions == quantum || w.state == Wave::State::asleep;
      awake(w);
      spins = w.state == Wave::State::running && turn_over && comes_around(w);
      spinning += spins;
      if (w.state == Wave::State::ended) r.group.barrier.leave();
      if (w.state == Wave::State::stopped) run_.stop(describe(w));
      if (run_.stopped()) return false;
      if (work_.instructions >= invite_at_) {
        run_.invite_helpers(threads_);
        invite_at_ = kNever;
      }
    }
    ended += w.state == Wave::State::ended;
    waiting += w.state == Wave::State::at_barrier;
  }
  r.waits = spinning != 0 && spinning + ended + waiting == r.waves.size();
  // Waves that have ended do not take part in barriers.
  if (waiting != 0 && waiting + ended == r.waves.size()) r.leave_barrier();
  return ended == r.waves.size();
}

bool Worker::comes_around(Wave& w) {
  const std::size_t vectors = std::size_t{w.vgprs + w.agprs} * kLanes;
  before_.assign(w.v, w.v + vectors);
  before_.insert(before_.end(), std::begin(w.s), std::end(w.s));
  const std::uint64_t pc = w.pc;
  const bool scc = w.scc;
  for (std::uint64_t n = 0; n < kSpinLoop; ++n) {
    work_.add(run_wave(w, code_, 1));
    awake(w);
    if (w.state != Wave::State::running) return false;
    if (w.pc == pc)
      return w.scc == scc && std::equal(w.v, w.v + vectors, before_.begin()) &&
             std::equal(std::begin(w.s), std::end(w.s), before_.begin() + static_cast<std::ptrdiff_t>(vectors));
  }
  return false;
}

Outcome Worker::describe(const Wave& w) {
  Outcome outcome;
  outcome.kind = w.stop_kind;
  outcome.fault_va = w.fault_va;
  outcome.fault_write = w.fault_write;
  outcome.fault_fetch = w.fault_fetch;
  char where[64];
  std::snprintf(where, sizeof where, " at pc 0x%llx words", static_cast<unsigned long long>(w.pc));
  std::uint32_t words[4] = {};
  const std::uint64_t bytes = memory_.readable(w.pc, sizeof words);
  memory_.read(w.pc, words, bytes);
  const Decoded decoded = decode(w.target, w.size, std::span(words).first(bytes / 4), w.pc);
  std::string text(name(w.target));
  text += ": " + print(decoded, w.target, w.size) + where;
  for (unsigned i = 0; i < std::max<unsigned>(1, decoded.inst.size_bytes / 4u) && i < 4; ++i) {
    char word[16];
    std::snprintf(word, sizeof word, " %08x", words[i]);
    text += word;
  }
  outcome.text = text + ": " + w.stop_text;
  return outcome;
}

}  // namespace kerncap::vgpu::isa
