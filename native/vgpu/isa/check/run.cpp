// The run loop of the checked mode.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

#include "vgpu/isa/check/access.hpp"
#include "vgpu/isa/check/check.hpp"
#include "vgpu/isa/check/described.hpp"
#include "vgpu/isa/check/findings.hpp"
#include "vgpu/isa/check/memory_check.hpp"
#include "vgpu/isa/check/race.hpp"
#include "vgpu/isa/check/uninitialised.hpp"
#include "vgpu/isa/check/wait_states.hpp"
#include "vgpu/isa/check/waits.hpp"
#include "vgpu/isa/launch/group.hpp"
#include "vgpu/isa/launch/kernel.hpp"
#include "vgpu/isa/launch/step.hpp"
#include "vgpu/isa/memory/global_sync.hpp"
#include "vgpu/isa/print/printer.hpp"
#include "vgpu/isa/valu/overflow.hpp"

namespace kerncap::vgpu::isa::check {
namespace {

constexpr std::uint64_t kWaveQuantum = 5'000;
// A workgroup that needs more turns than this, or has stored nothing for a few, may wait for one that has not started: the
// next is let in.
constexpr unsigned kTurnsBeforeNext = 256, kQuietTurns = 3;

struct WaveChecks {
  Waits waits;
  WaitStates wait_states;
  UnwrittenRegisters unwritten;
};

struct Resident : GroupInFlight {
  std::vector<WaveChecks> checks;
  MemoryGroup memory;
  RaceGroup race;
  unsigned turns = 0, quiet_turns = 0;
  bool stored = false;  // in this turn
};

class CheckedRun {
 public:
  CheckedRun(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace, const std::atomic<bool>& cancel,
             const Checks& checks, const Known& known, Report& report)
      : target_(target), dispatch_(dispatch), trace_(trace), cancel_(cancel), checks_(checks), cache_(memory),
        memory_(memory), known_(known), findings_(report) {}

  Outcome go() {
    cache_.refresh();
    if (!read_kernel(target_, dispatch_, cache_, kernel_, outcome_)) return outcome_;
    grid_ = Grid(dispatch_.packet);
    code_ = std::make_unique<Code>(target_, kernel_.wave_size, cache_);
    memory_check_ = std::make_unique<MemoryCheck>(*code_, findings_, memory_, known_.regions, dispatch_.packet.group_segment_size);
    if (checks_.memory && known_.written) uninitialised_.emplace(*code_, findings_, *known_.written);
    race_ = std::make_unique<Race>(*code_, findings_, grid_.groups());
    run_all(grid_.workgroups());
    if (uninitialised_) uninitialised_->end();
    outcome_.work = work_;
    return outcome_;
  }

 private:
  bool stopped() const { return outcome_.kind != Outcome::Kind::completed; }

  void run_all(std::uint64_t total) {
    std::vector<std::unique_ptr<Resident>> resident, spare;
    std::uint64_t next = 0;
    bool let_in = true;
    while (next < total || !resident.empty()) {
      if (next < total && (resident.empty() || (let_in && resident.size() < kMaxResident))) {
        if (spare.empty()) spare.push_back(std::make_unique<Resident>());
        resident.push_back(std::move(spare.back()));
        spare.pop_back();
        start(*resident.back(), next++);
      }
      let_in = true;
      for (std::size_t r = 0; r < resident.size();) {
        const bool finished = turn(*resident[r]);
        if (stopped()) return;
        if (finished) {
          spare.push_back(std::move(resident[r]));
          resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(r));
        } else {
          let_in = let_in && (resident[r]->turns >= kTurnsBeforeNext || resident[r]->quiet_turns >= kQuietTurns);
          ++r;
        }
      }
    }
  }

  void start(Resident& r, std::uint64_t number) {
    r.start({target_, dispatch_, kernel_, trace_, cache_}, grid_.place(number));
    const auto count = static_cast<unsigned>(r.waves.size());
    r.checks.assign(count, WaveChecks{});
    r.turns = r.quiet_turns = 0;
    memory_check_->start(r.memory, kernel_.lds_bytes);
    race_->start(r.race, number, count);
  }

  // Gives each wave that can run a quantum; true when all have ended.
  bool turn(Resident& r) {
    ++r.turns;
    r.stored = false;
    unsigned ended = 0, waiting = 0;
    r.leave_split_barrier();
    for (Wave& w : r.waves) {
      if (w.state == Wave::State::running) {
        run_wave(r, w);
        if (w.state == Wave::State::ended) {
          const std::uint64_t round = r.group.barrier.round;
          r.group.barrier.leave();
          if (checks_.race && r.group.barrier.round != round) race_->barrier(r.race);
        }
        if (w.state == Wave::State::asleep) w.state = Wave::State::running;
        if (w.state == Wave::State::stopped) {
          describe_stop(w);
          return true;
        }
        if (cancel_.load(std::memory_order_relaxed)) {
          outcome_.kind = Outcome::Kind::cancelled;
          outcome_.text = "cancelled";
          return true;
        }
      }
      ended += w.state == Wave::State::ended;
      waiting += w.state == Wave::State::at_barrier;
    }
    r.quiet_turns = r.stored ? 0 : r.quiet_turns + 1;
    if (waiting != 0 && waiting + ended == r.waves.size()) {
      if (checks_.race) race_->barrier(r.race);
      r.leave_barrier();
    }
    return ended == r.waves.size();
  }

  void run_wave(Resident& r, Wave& w) {
    for (std::uint64_t issued = 0; issued < kWaveQuantum && w.state == Wave::State::running; ++issued) {
      const Described* d = code_->at(w.pc);
      if (d->decoded.status != Decoded::Status::ok) return refuse(w, d->decoded);
      const Inst& inst = d->decoded.inst;
      if (inst.vgpr_end > w.vgprs || inst.agpr_end > w.agprs)
        return w.stop(Outcome::Kind::illegal, "vector register beyond the kernel's allocation");
      if (!w.gpr_index_on || !d->valu) {
        step(r, w, *d);
      } else {
        Inst shifted;
        if (!shift_indexed(w, inst, shifted)) return w.stop(Outcome::Kind::illegal, "indexed VGPR out of range");
        shifted_.id = d->id;
        shifted_.valu = true;
        shifted_.all_lanes = d->all_lanes;
        shifted_.inst = &shifted;
        describe_registers(shifted_, shifted, w.size);
        step(r, w, shifted_);
      }
      ++work_.instructions;
      work_.cycles += inst.charge & 0xffffffff;
      work_.bytes += inst.charge >> 32;
      if (w.state == Wave::State::stopped) return;  // pc stays at the instruction
      w.pc = w.next_pc;
    }
  }

  void step(Resident& r, Wave& w, const Described& d) {
    const Inst& inst = *d.inst;
    WaveChecks& checks = r.checks[w.index_in_group];
    if (checks_.hazards) hazards(w, checks, d);
    accesses(w, d, accesses_);
    if (checks_.memory && !accesses_.empty()) memory_check_->before(w, r.memory, d, accesses_);
    if (uninitialised_) uninitialised_->before(w, checks.unwritten, d, accesses_);
    race_->tick();
    if (checks_.race && d.op != MemoryOp::none) race_->before(w, accesses_);
    w.next_pc = w.pc + inst.size_bytes;
    const std::uint64_t round = r.group.barrier.round;
    const bool waits = w.sync_round.has_value();
    if (saturates_halves(w) && d.valu) execute_saturating(w, inst);
    else inst.handler(w, inst);
    if (w.state == Wave::State::stopped) return;
    if (uninitialised_) uninitialised_->after(checks.unwritten, d);
    // Of a split barrier, what waves do between their signal and the last one counts as before the barrier.
    if (checks_.race && r.group.barrier.round != round) race_->barrier(r.race);
    r.stored = r.stored || (d.op == MemoryOp::store && inst.format != Format::ds);
    checks.waits.count(w, d);
    checks.waits.issue(w, d, accesses_);
    if (!checks_.race) return;
    if (d.invalidates) race_->invalidate(r.race);
    if (d.meets_workgroups)
      race_->meet(r.race, w.index_in_group, GlobalSync::resource_of(w.s[kM0], static_cast<std::uint32_t>(inst.offset)), !waits,
                  w.next_pc != w.pc);
    if (d.op != MemoryOp::none) race_->after(w, r.race, d, accesses_);
    if ((inst.format == Format::sopp || inst.format == Format::sopk) && checks.waits.stores_complete())
      race_->release(r.race, w.index_in_group);
  }

  void hazards(Wave& w, WaveChecks& checks, const Described& d) {
    checks.waits.find(w, d, wait_hits_);
    for (const Waits::Hit& hit : wait_hits_)
      report(w, d, hit.write ? "overwritten-before-load" : "missing-wait", hit.load_pc, [&](Finding& f) {
        const bool accumulation = hit.span.vector && hit.span.first >= 256;
        const unsigned number = accumulation ? hit.span.first - 256u : hit.span.first;
        const std::string name = (hit.span.vector ? accumulation ? "a" : "v" : "s") + std::to_string(number);
        f.space = "register";
        f.message = name + (hit.write ? " is overwritten" : " is read") + " before " + hit.counter +
                    " says that the earlier instruction has filled it";
      });
    checks.wait_states.step(w, d, state_hits_);
    for (const WaitStates::Hit& hit : state_hits_)
      report(w, d, "missing-wait-states", hit.writer_pc, [&](Finding& f) {
        f.space = "register";
        f.message = std::string(hit.rule) + ": " + std::to_string(hit.needed) + " wait states needed, " +
                    std::to_string(hit.found) + " found";
      });
  }

  template <class Fill>
  void report(const Wave& w, const Described& d, const char* kind, std::uint64_t other_pc, Fill fill) {
    findings_.add("hazards", kind, d.inst->pc, other_pc, false, [&](Finding& f) {
      f.site.text = code_->text(d.inst->pc);
      std::copy(std::begin(w.group->id), std::end(w.group->id), f.site.workgroup);
      f.site.wave = w.index_in_group;
      f.other = f.site;
      f.other->pc = other_pc;
      f.other->text = code_->text(other_pc);
      fill(f);
    });
  }

  void describe_stop(const Wave& w) {
    outcome_.kind = w.stop_kind;
    outcome_.fault_va = w.fault_va;
    outcome_.fault_write = w.fault_write;
    outcome_.fault_fetch = w.fault_fetch;
    char where[64];
    std::snprintf(where, sizeof where, " at pc 0x%llx", static_cast<unsigned long long>(w.pc));
    outcome_.text = std::string(name(target_)) + ": " + code_->text(w.pc) + where + ": " + w.stop_text;
  }

  Target target_;
  const Dispatch& dispatch_;
  Trace* trace_;
  const std::atomic<bool>& cancel_;
  const Checks checks_;
  AddressCache cache_;
  const Memory& memory_;
  const Known& known_;
  Findings findings_;
  Kernel kernel_;
  Outcome outcome_;
  std::unique_ptr<Code> code_;
  std::unique_ptr<MemoryCheck> memory_check_;
  std::optional<Uninitialised> uninitialised_;
  std::unique_ptr<Race> race_;
  std::vector<Access> accesses_;
  std::vector<Waits::Hit> wait_hits_;
  std::vector<WaitStates::Hit> state_hits_;
  Described shifted_;
  Grid grid_;
  Work work_;
};

}  // namespace

Outcome execute_checked(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace,
                        const std::atomic<bool>& cancel, const Checks& checks, const Known& known, Report& report) {
  report.checks = checks;
  return CheckedRun(target, dispatch, memory, trace, cancel, checks, known, report).go();
}

}  // namespace kerncap::vgpu::isa::check
