#include "intercept/signals.hpp"

#include <hsa/amd_hsa_signal.h>

#include <algorithm>

#include "intercept/hsa_api.hpp"

namespace kerncap::intercept {
namespace {

static_assert(sizeof(amd_signal_t) == 64);
static_assert(offsetof(amd_signal_t, start_ts) == 32 && offsetof(amd_signal_t, end_ts) == 40);

// A signal's handle is the address of its ABI block. Source: amd_hsa_signal.h and ROCr, core::Signal::Convert.
amd_signal_t* block_of(hsa_signal_t signal) { return reinterpret_cast<amd_signal_t*>(signal.handle); }

std::uint64_t ticks_per_second() {
  static const std::uint64_t frequency = [] {
    std::uint64_t value = 0;
    check(hsa().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &value), "hsa_system_get_info");
    return value;
  }();
  return frequency;
}

}  // namespace

Signal::Signal(hsa_signal_value_t initial, Kind kind) {
  const std::uint64_t attributes = kind == Kind::Polled ? HSA_AMD_SIGNAL_AMD_GPU_ONLY : 0;
  if (attributes != 0 && hsa().amd.hsa_amd_signal_create_fn != nullptr) {
    check(hsa().amd.hsa_amd_signal_create_fn(initial, 0, nullptr, attributes, &signal_), "hsa_amd_signal_create");
  } else {
    check(hsa().core.hsa_signal_create_fn(initial, 0, nullptr, &signal_), "hsa_signal_create");
  }
}

Signal::~Signal() { hsa().core.hsa_signal_destroy_fn(signal_); }

hsa_signal_value_t Signal::value() const { return hsa().core.hsa_signal_load_scacquire_fn(signal_); }

void Signal::set(hsa_signal_value_t value) const { hsa().core.hsa_signal_store_screlease_fn(signal_, value); }

void Signal::reset(hsa_signal_value_t value) const {
  amd_signal_t* const block = block_of(signal_);
  block->start_ts = block->end_ts = 0;
  set(value);
}

std::uint64_t to_ticks(Clock::duration duration) {
  const auto seconds = std::chrono::duration<double>(duration).count();
  return static_cast<std::uint64_t>(seconds * static_cast<double>(ticks_per_second()));
}

std::optional<std::uint64_t> duration_ns(hsa_agent_t agent, const Signal& signal) { return duration_ns(agent, signal, signal); }

std::optional<std::uint64_t> duration_ns(hsa_agent_t agent, const Signal& first, const Signal& last) {
  const auto get = hsa().amd.hsa_amd_profiling_get_dispatch_time_fn;
  hsa_amd_profiling_dispatch_time_t begun{};
  hsa_amd_profiling_dispatch_time_t ended{};
  if (get(agent, first.handle(), &begun) != HSA_STATUS_SUCCESS || get(agent, last.handle(), &ended) != HSA_STATUS_SUCCESS) return std::nullopt;
  if (begun.start == 0 || ended.end <= begun.start) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<double>(ended.end - begun.start) * 1e9 / static_cast<double>(ticks_per_second()));
}

Waited wait_done(const Signal& signal, Clock::time_point deadline, const std::function<bool()>& stop, Clock::duration slice) {
  const auto slice_ticks = to_ticks(slice);
  for (;;) {
    const auto value = hsa().core.hsa_signal_wait_scacquire_fn(signal.handle(), HSA_SIGNAL_CONDITION_LT, 1, slice_ticks,
                                                               HSA_WAIT_STATE_BLOCKED);
    if (value < 1) return Waited::Done;
    if (stop()) return Waited::Stopped;
    if (Clock::now() >= deadline) return Waited::TimedOut;
  }
}

void complete_for_application(hsa_signal_t application, const Signal& own) {
  if (application.handle == 0) return;
  const amd_signal_t* from = block_of(own.handle());
  amd_signal_t* to = block_of(application);
  to->start_ts = from->start_ts;
  to->end_ts = from->end_ts;
  hsa().core.hsa_signal_subtract_screlease_fn(application, 1);
}

}  // namespace kerncap::intercept
