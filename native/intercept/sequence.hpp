// Consecutive dispatches of one queue, captured as one. In: the packets that the application puts behind the first dispatch while
// that is held. Out: the same packets with completion signals of the tool's, up to the last dispatch that is meant; which
// dispatches and barriers they are; or why they cannot be captured together. Called by capture.cpp (packets) and
// capture_worker.cpp (waits). docs/capture.md, "Sequences".
#pragma once

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <hsa/hsa_api_trace.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "intercept/control.hpp"
#include "intercept/kernels.hpp"
#include "intercept/packets.hpp"
#include "intercept/signals.hpp"

namespace kerncap::intercept {

// A barrier packet between two dispatches; `waits_for`: dispatches of the sequence, by number.
struct BarrierFacts {
  std::string type;  // and, or, value
  bool ordered = false;
  std::vector<std::uint32_t> waits_for;
};

struct SequenceStep {
  Packet packet{};  // as the application submitted it
  const KernelEntry* kernel = nullptr;
  std::uint64_t queue_index = 0;
  std::vector<BarrierFacts> barriers_before;
  const Signal* done = nullptr;
  const Signal* gate = nullptr;  // what it waits for when every state is captured; none for the first
};

class Sequence {
 public:
  // `first`: the number of the first dispatch, as it was asked for.
  Sequence(const SequenceControl& wanted, std::uint64_t first, const LaunchFilter& launch, const KernelRegistry& kernels);
  // The signals, which must not be created under a queue's lock.
  void prepare();

  // Under the lock of the queue; none of these waits. begin(): the first dispatch, as it is to be written.
  Packet begin(const Packet& packet, const KernelEntry& kernel, std::uint64_t queue_index);
  // Writes packets that come behind it. `closing` goes behind the last dispatch that is meant.
  void add(std::span<const Packet> packets, std::span<const Packet> closing, hsa_amd_queue_intercept_packet_writer writer) noexcept;
  // The application starts a copy that waits for one of the dispatches.
  void copy_started();
  bool gathering() const;

  // Of the worker. Until the last dispatch is there. Throws Error("capture.sequence-broken").
  void await_whole(Clock::time_point deadline, const std::function<void()>& poll);
  // After other queues and copies have come to rest: nothing between the dispatches waits for anything else.
  void require_closed() const;
  const std::vector<SequenceStep>& steps() const { return steps_; }
  std::uint32_t first_unfinished() const;
  std::optional<std::uint64_t> duration_ns(hsa_agent_t agent) const;
  void open(std::size_t step) const;
  void open_all() const;
  // Completes the application's own signals, in order. False: `stop` said so before all of them were done.
  bool forward(const std::function<bool()>& stop);
  // Gives back the signals that no packet needs any more.
  void drop_signals();

 private:
  enum class State { Gathering, Whole, Broken };
  // A packet whose completion signal is the tool's.
  struct Withheld {
    hsa_signal_t application{};
    const Signal* own = nullptr;
    std::optional<std::uint32_t> step;
    bool shared = false;  // several packets complete the application's signal
  };
  // A condition that must hold already.
  struct Outside {
    std::vector<hsa_signal_t> signals;
    bool any = false;
    std::optional<hsa_amd_barrier_value_packet_t> value;
    std::size_t before = 0;  // this dispatch
  };
  bool add_one(const Packet& packet, std::vector<Packet>& out);
  void add_dispatch(const Packet& packet, const KernelEntry& kernel, std::uint64_t queue_index, std::vector<Packet>& out);
  bool add_barrier(const Packet& packet, std::vector<Packet>& out);
  void replace_dependencies(Packet& packet, std::size_t count, BarrierFacts& facts, Outside& outside);
  const Signal* withhold(Packet& packet, std::optional<std::uint32_t> step);
  const Signal& next_signal();
  bool is_last(const Packet& packet, const KernelEntry& kernel);
  void break_off(const std::string& why);
  std::string as_many_as_were_there() const;

  const SequenceControl wanted_;
  const std::uint64_t first_;
  const LaunchFilter launch_;
  const KernelRegistry& kernels_;
  std::optional<KernelSelector> last_;
  std::vector<std::unique_ptr<Signal>> signals_;
  std::size_t signals_used_ = 0;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  State state_ = State::Gathering;
  std::string why_broken_;
  Clock::time_point last_packet_{};
  std::uint64_t matches_ = 0;
  std::vector<SequenceStep> steps_;
  std::vector<BarrierFacts> barriers_;  // since the last dispatch
  std::vector<Withheld> withheld_;
  std::map<std::uint64_t, std::size_t> withheld_of_;  // by the application's signal
  std::vector<Outside> outside_;
};

}  // namespace kerncap::intercept
