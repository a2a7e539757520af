#include "intercept/sequence.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "bundle/index.hpp"
#include "intercept/dependents.hpp"
#include "intercept/hsa_api.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::size_t spare_signals = 64;  // of barrier packets with a completion signal, beyond one a dispatch
constexpr auto gather_limit = std::chrono::seconds(5);  // without another packet
constexpr auto poll_interval = std::chrono::milliseconds(1);

bool is_ordered(const Packet& packet) { return ((packet.header >> HSA_PACKET_HEADER_BARRIER) & 1) != 0; }

bool holds(const hsa_amd_barrier_value_packet_t& packet) {
  const auto value = hsa().core.hsa_signal_load_scacquire_fn(packet.signal) & packet.mask;
  switch (packet.cond) {
    case HSA_SIGNAL_CONDITION_EQ: return value == packet.value;
    case HSA_SIGNAL_CONDITION_NE: return value != packet.value;
    case HSA_SIGNAL_CONDITION_LT: return value < packet.value;
    case HSA_SIGNAL_CONDITION_GTE: return value >= packet.value;
    default: return false;
  }
}

bool is_done(hsa_signal_t signal) { return hsa().core.hsa_signal_load_scacquire_fn(signal) == 0; }

}  // namespace

Sequence::Sequence(const SequenceControl& wanted, std::uint64_t first, const LaunchFilter& launch, const KernelRegistry& kernels)
    : wanted_(wanted), first_(first), launch_(launch), kernels_(kernels) {
  if (wanted_.last_kernel) last_.emplace(wanted_.last_kernel, wanted_.last_match);
}

void Sequence::prepare() {
  // Dispatches of other kernels may lie between those that are counted.
  const std::size_t steps = wanted_.per_queue ? std::min(wanted_.count.value_or(limits::kSteps), limits::kSteps) : limits::kSteps;
  const std::size_t count = steps * (wanted_.each_state ? 3 : 2) + spare_signals;
  while (signals_.size() < count) signals_.push_back(std::make_unique<Signal>(1, Signal::Kind::Polled));
}

bool Sequence::gathering() const {
  const std::scoped_lock lock(mutex_);
  return state_ == State::Gathering;
}

const Signal& Sequence::next_signal() {
  if (signals_used_ == signals_.size()) throw Error("capture.sequence-broken", "too many packets belong to it");
  return *signals_[signals_used_++];
}

void Sequence::break_off(const std::string& why) {
  if (state_ != State::Gathering) return;
  state_ = State::Broken;
  why_broken_ = why;
}

void Sequence::copy_started() {
  {
    const std::scoped_lock lock(mutex_);
    break_off("a copy that the application starts waits for one of them");
  }
  changed_.notify_all();
}

Packet Sequence::begin(const Packet& packet, const KernelEntry& kernel, std::uint64_t queue_index) {
  const std::scoped_lock lock(mutex_);
  std::vector<Packet> out;
  matches_ = 1;
  add_dispatch(packet, kernel, queue_index, out);
  last_packet_ = Clock::now();
  return out.back();
}

void Sequence::add(std::span<const Packet> packets, std::span<const Packet> closing,
                   hsa_amd_queue_intercept_packet_writer writer) noexcept {
  std::vector<Packet> out;
  std::size_t taken = 0;
  {
    const std::scoped_lock lock(mutex_);
    try {
      while (taken < packets.size() && state_ == State::Gathering && add_one(packets[taken], out)) ++taken;
      if (state_ == State::Whole) out.insert(out.end(), closing.begin(), closing.end());
    } catch (const std::exception& error) {
      break_off(error.what());
    }
    last_packet_ = Clock::now();
  }
  changed_.notify_all();
  if (!out.empty()) writer(out.data(), out.size());
  if (taken < packets.size()) writer(packets.data() + taken, packets.size() - taken);
}

// False: the packet is not part of the sequence, which is broken by then.
bool Sequence::add_one(const Packet& packet, std::vector<Packet>& out) {
  if (!is_dispatch(packet)) return add_barrier(packet, out);
  const KernelEntry* const kernel = kernels_.find(as_dispatch(packet).kernel_object);
  if (kernel == nullptr) {
    break_off("a kernel among them was loaded where the tool could not see it");
    return false;
  }
  if (steps_.size() == limits::kSteps) {
    break_off("they are more than " + std::to_string(limits::kSteps));
    return false;
  }
  add_dispatch(packet, *kernel, steps_.back().queue_index + 1, out);
  if (is_last(packet, *kernel)) state_ = State::Whole;
  return true;
}

bool Sequence::is_last(const Packet& packet, const KernelEntry& kernel) {
  if (last_) return last_->matches(kernel.name, kernel.demangled);
  const auto dispatch = as_dispatch(packet);
  if (kernel.matched.load(std::memory_order_relaxed) && launch_.accepts(grid_of(dispatch), workgroup_of(dispatch))) ++matches_;
  return matches_ == wanted_.count;
}

void Sequence::add_dispatch(const Packet& packet, const KernelEntry& kernel, std::uint64_t queue_index, std::vector<Packet>& out) {
  SequenceStep step;
  step.packet = packet;
  step.kernel = &kernel;
  step.queue_index = queue_index;
  if (wanted_.each_state && !steps_.empty()) {
    step.gate = &next_signal();
    out.push_back(barrier(step.gate->handle(), hsa_signal_t{0}));
  }
  Packet own = packet;
  step.done = withhold(own, static_cast<std::uint32_t>(steps_.size()));
  step.barriers_before = std::exchange(barriers_, {});
  steps_.push_back(std::move(step));
  out.push_back(own);
}

// Dispatches always get a signal: for their time stamps.
const Signal* Sequence::withhold(Packet& packet, std::optional<std::uint32_t> step) {
  const hsa_signal_t application = completion_of(packet);
  if (application.handle == 0 && !step) return nullptr;
  const Signal& own = next_signal();
  const auto known = withheld_of_.find(application.handle);
  const bool shared = application.handle != 0 && known != withheld_of_.end();
  withheld_.push_back({application, &own, step, shared});
  if (shared) withheld_[known->second].shared = true;
  if (application.handle != 0) withheld_of_[application.handle] = withheld_.size() - 1;
  set_completion(packet, own.handle());
  return &own;
}

bool Sequence::add_barrier(const Packet& packet, std::vector<Packet>& out) {
  const auto type = type_of(packet);
  const bool value = is_barrier_value(packet);
  if (!value && type != HSA_PACKET_TYPE_BARRIER_AND && type != HSA_PACKET_TYPE_BARRIER_OR) {
    break_off("a packet of type " + std::to_string(type) + " between them is unknown to the tool");
    return false;
  }
  Packet own = packet;
  BarrierFacts facts;
  facts.type = value ? "value" : type == HSA_PACKET_TYPE_BARRIER_OR ? "or" : "and";
  facts.ordered = is_ordered(packet);
  Outside outside;
  outside.any = type == HSA_PACKET_TYPE_BARRIER_OR;
  outside.before = steps_.size();
  replace_dependencies(own, value ? 1 : barrier_dependencies, facts, outside);
  if (value && !outside.signals.empty()) std::memcpy(&outside.value.emplace(), &packet, sizeof packet);
  // One dependency of several that is there already is enough for a barrier-OR packet.
  if (outside.any && !outside.signals.empty()) facts.waits_for.clear();
  if (!outside.signals.empty()) outside_.push_back(std::move(outside));
  withhold(own, std::nullopt);
  barriers_.push_back(std::move(facts));
  out.push_back(own);
  return true;
}

// A signal that is withheld would never be done while the queue waits for it. Barrier packets need not be waited for: no
// packet behind one is processed before it is done. Source: HSA Platform System Architecture 1.2, 2.9.8.
void Sequence::replace_dependencies(Packet& packet, std::size_t count, BarrierFacts& facts, Outside& outside) {
  auto* const dependencies = reinterpret_cast<std::byte*>(&packet) + first_dependency_at;
  for (std::size_t i = 0; i < count; ++i) {
    hsa_signal_t signal{};
    std::memcpy(&signal, dependencies + i * sizeof signal, sizeof signal);
    if (signal.handle == 0) continue;
    const auto known = withheld_of_.find(signal.handle);
    if (known == withheld_of_.end()) {
      outside.signals.push_back(signal);
      continue;
    }
    const Withheld& awaited = withheld_[known->second];
    if (awaited.shared) throw Error("capture.sequence-broken", "a barrier waits for a signal that several of them complete");
    // The packet's completion takes 1 of it: what is more, the host takes when it has done its part (HIP's host functions and
    // callbacks on a stream), which no signal of the tool would wait for.
    if (hsa().core.hsa_signal_load_scacquire_fn(signal) != 1) {
      throw Error("capture.sequence-broken", "the host does something between them that the next waits for (a host function, a callback)");
    }
    const hsa_signal_t own = awaited.own->handle();
    std::memcpy(dependencies + i * sizeof signal, &own, sizeof own);
    if (awaited.step) facts.waits_for.push_back(*awaited.step);
  }
}

void Sequence::await_whole(Clock::time_point deadline, const std::function<void()>& poll) {
  std::unique_lock lock(mutex_);
  while (state_ == State::Gathering) {
    const auto now = Clock::now();
    if (now >= last_packet_ + gather_limit || now >= deadline) {
      break_off("the application submitted no more for " + std::to_string(gather_limit.count()) +
                " s: it may wait for one of them before it submits the next");
    }
    changed_.wait_for(lock, std::chrono::milliseconds(50));
    poll();
  }
  if (state_ == State::Whole) return;
  throw Error("capture.sequence-broken",
              "the dispatches can not be captured as one sequence: " + std::to_string(steps_.size()) +
                  (steps_.size() == 1 ? " was there, " : " were there, ") + (last_ ? "none behind the first of '" + *wanted_.last_kernel + "', " : "") +
                  "and then: " + why_broken_,
              as_many_as_were_there());
}

// Asked for in the way in which the sequence was. The numbers of a queue's dispatches are not those of what a KERNEL matches.
std::string Sequence::as_many_as_were_there() const {
  const std::uint64_t count = wanted_.per_queue ? steps_.size() : matches_;
  if (last_ && steps_.size() > 1) {
    return "--range '" + steps_.front().kernel->demangled + ".." + steps_.back().kernel->demangled + "'  # what was there";
  }
  if (last_ || count == 1) return "kerncap extract KERNEL --dispatch " + std::to_string(first_) + "  # one dispatch";
  return "--dispatches " + std::to_string(first_) + ".." + std::to_string(first_ + count - 1) + "  # as many as were there";
}

void Sequence::require_closed() const {
  for (const Outside& outside : outside_) {
    const bool met = outside.value ? holds(*outside.value)
                     : outside.any ? std::any_of(outside.signals.begin(), outside.signals.end(), is_done)
                                   : std::all_of(outside.signals.begin(), outside.signals.end(), is_done);
    if (met) continue;
    throw Error("capture.sequence-broken",
                "dispatch " + std::to_string(outside.before) + " of the sequence waits for work outside of its queue that is not done before the first",
                "kerncap extract KERNEL  # that dispatch alone");
  }
}

std::uint32_t Sequence::first_unfinished() const {
  std::uint32_t step = 0;
  while (step + 1 < steps_.size() && steps_[step].done->value() < 1) ++step;
  return step;
}

std::optional<std::uint64_t> Sequence::duration_ns(hsa_agent_t agent) const {
  return intercept::duration_ns(agent, *steps_.front().done, *steps_.back().done);
}

void Sequence::open(std::size_t step) const {
  if (steps_[step].gate != nullptr) steps_[step].gate->set(0);
}

void Sequence::open_all() const {
  const std::scoped_lock lock(mutex_);
  for (std::size_t step = 0; step < steps_.size(); ++step) open(step);
}

bool Sequence::forward(const std::function<bool()>& stop) {
  for (const Withheld& one : withheld_) {
    while (one.own->value() >= 1) {
      if (stop()) return false;
      std::this_thread::sleep_for(poll_interval);
    }
    complete_for_application(one.application, *one.own);
  }
  return true;
}

void Sequence::drop_signals() {
  for (std::size_t i = 0; i < signals_.size(); ++i) {
    if (i >= signals_used_ || signals_[i]->value() < 1) signals_[i].reset();
  }
}

}  // namespace kerncap::intercept
