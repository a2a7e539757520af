// Runs a dispatch: workgroups, waves, barriers, and what stops them.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <vector>

#include "vgpu/isa/executor.hpp"
#include "vgpu/isa/launch/code.hpp"
#include "vgpu/isa/launch/kernel.hpp"
#include "vgpu/isa/launch/step.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/print/printer.hpp"

namespace kerncap::vgpu::isa {
namespace {

// Wave instructions before another wave gets its turn: waves of a group may spin on each other through memory.
constexpr std::uint64_t kWaveQuantum = 20'000;
// A workgroup that needs more turns than this may wait for one that has not started: the next is let in.
constexpr unsigned kTurnsBeforeNext = 64;
constexpr std::size_t kMaxResident = 512;

// A workgroup in flight with the storage of its waves.
struct Resident {
  Workgroup group;
  std::vector<Wave> waves;
  std::vector<std::uint32_t> registers;
  std::vector<std::byte> scratch;
  unsigned turns = 0;
};

class Run {
 public:
  Run(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace, const std::atomic<bool>& cancel)
      : target_(target), dispatch_(dispatch), trace_(trace), cancel_(cancel), memory_(memory) {}

  Outcome go() {
    Outcome outcome;
    if (!read_kernel(target_, dispatch_, memory_, kernel_, outcome)) return outcome;
    thread_local CodeCache code;
    code_ = &code;
    code.begin(target_, kernel_.wave_size, memory_);
    const hsa_kernel_dispatch_packet_t& p = dispatch_.packet;
    const std::uint32_t grid[3] = {p.grid_size_x, p.grid_size_y, p.grid_size_z};
    const std::uint32_t size[3] = {p.workgroup_size_x, p.workgroup_size_y, p.workgroup_size_z};
    for (unsigned i = 0; i < 3; ++i) {
      grid_[i] = grid[i];
      size_[i] = size[i];
      groups_[i] = (grid[i] + size[i] - 1) / size[i];
    }
    total_ = std::uint64_t{groups_[0]} * groups_[1] * groups_[2];
    run_all(outcome);
    outcome.instructions = instructions_;
    return outcome;
  }

 private:
  void run_all(Outcome& outcome) {
    std::vector<std::unique_ptr<Resident>> resident;
    std::vector<std::unique_ptr<Resident>> spare;
    std::uint64_t next = 0;
    bool let_in = true;
    while (next < total_ || !resident.empty()) {
      if (next < total_ && (resident.empty() || (let_in && resident.size() < kMaxResident))) {
        if (spare.empty()) spare.push_back(std::make_unique<Resident>());
        resident.push_back(std::move(spare.back()));
        spare.pop_back();
        start(*resident.back(), next++);
      }
      let_in = true;
      for (std::size_t r = 0; r < resident.size();) {
        const bool finished = turn(*resident[r], outcome);
        if (outcome.kind != Outcome::Kind::completed) return;
        if (finished) {
          spare.push_back(std::move(resident[r]));
          resident.erase(resident.begin() + static_cast<std::ptrdiff_t>(r));
        } else {
          let_in = let_in && resident[r]->turns >= kTurnsBeforeNext;
          ++r;
        }
      }
    }
  }

  void start(Resident& r, std::uint64_t number) {
    std::uint32_t items[3];
    r.group.id[0] = static_cast<std::uint32_t>(number % groups_[0]);
    r.group.id[1] = static_cast<std::uint32_t>(number / groups_[0] % groups_[1]);
    r.group.id[2] = static_cast<std::uint32_t>(number / groups_[0] / groups_[1]);
    for (unsigned i = 0; i < 3; ++i) items[i] = std::min(size_[i], grid_[i] - r.group.id[i] * size_[i]);
    const unsigned total = items[0] * items[1] * items[2];
    const unsigned count = (total + kernel_.wave_size - 1) / kernel_.wave_size;
    const std::size_t per_wave = std::size_t{kernel_.vgprs + kernel_.agprs} * kLanes;
    r.group.lds.assign(kernel_.lds_bytes, 0);
    r.registers.assign(per_wave * count, 0);
    r.scratch.assign(std::size_t{kernel_.scratch_lane_bytes} * kernel_.wave_size * count, std::byte{0});
    r.waves.resize(count);
    r.turns = 0;
    for (unsigned i = 0; i < count; ++i) {
      Wave& w = r.waves[i];
      w.v = r.registers.data() + per_wave * i;
      w.a = w.v + std::size_t{kernel_.vgprs} * kLanes;
      w.vgprs = kernel_.vgprs;
      w.agprs = kernel_.agprs;
      w.target = target_;
      w.size = kernel_.wave_size;
      w.group = &r.group;
      w.index_in_group = i;
      w.dispatch = &dispatch_;
      w.trace = trace_;
      w.memory = &memory_;
      w.scratch = r.scratch.data() + std::size_t{kernel_.scratch_lane_bytes} * kernel_.wave_size * i;
      w.scratch_lane_bytes = kernel_.scratch_lane_bytes;
      initialise_wave(w, kernel_, items);
    }
  }

  // Gives each wave that can run a quantum; true when all have ended.
  bool turn(Resident& r, Outcome& outcome) {
    ++r.turns;
    unsigned ended = 0, waiting = 0;
    for (Wave& w : r.waves) {
      if (w.state == Wave::State::running) {
        instructions_ += run_wave(w, *code_, kWaveQuantum);
        if (w.state == Wave::State::stopped) {
          describe(w, outcome);
          return true;
        }
        if (cancel_.load(std::memory_order_relaxed)) {
          outcome.kind = Outcome::Kind::cancelled;
          outcome.text = "cancelled";
          return true;
        }
      }
      ended += w.state == Wave::State::ended;
      waiting += w.state == Wave::State::at_barrier;
    }
    // Waves that have ended do not take part in barriers.
    if (waiting != 0 && waiting + ended == r.waves.size())
      for (Wave& w : r.waves)
        if (w.state == Wave::State::at_barrier) w.state = Wave::State::running;
    return ended == r.waves.size();
  }

  void describe(const Wave& w, Outcome& outcome) const {
    outcome.kind = w.stop_kind;
    outcome.fault_va = w.fault_va;
    outcome.fault_write = w.fault_write;
    char where[64];
    std::snprintf(where, sizeof where, " at pc 0x%llx words", static_cast<unsigned long long>(w.pc));
    Decoded decoded;
    std::string text(name(target_));
    std::uint32_t words[4] = {};
    const std::uint64_t bytes = memory_.readable(w.pc, sizeof words);
    memory_.read(w.pc, words, bytes);
    decoded = decode(target_, w.size, std::span(words).first(bytes / 4), w.pc);
    text += ": " + print(decoded, target_, w.size) + where;
    for (unsigned i = 0; i < std::max<unsigned>(1, decoded.inst.size_bytes / 4u) && i < 4; ++i) {
      char word[16];
      std::snprintf(word, sizeof word, " %08x", words[i]);
      text += word;
    }
    outcome.text = text + ": " + w.stop_text;
  }

  Target target_;
  const Dispatch& dispatch_;
  Trace* trace_;
  const std::atomic<bool>& cancel_;
  mutable AddressCache memory_;
  Kernel kernel_;
  CodeCache* code_ = nullptr;
  std::uint32_t grid_[3] = {}, size_[3] = {}, groups_[3] = {};
  std::uint64_t total_ = 0, instructions_ = 0;
};

}  // namespace

Outcome execute(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace,
                const std::atomic<bool>& cancel) {
  return Run(target, dispatch, memory, trace, cancel).go();
}

}  // namespace kerncap::vgpu::isa
