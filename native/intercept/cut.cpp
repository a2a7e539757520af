#include "intercept/cut.hpp"

#include <algorithm>
#include <thread>

#include "intercept/hsa_api.hpp"
#include "intercept/packets.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::uint64_t barriers_per_queue = 2;
constexpr auto look_again = std::chrono::milliseconds(1);

bool never() { return false; }

// Takes two slots of the application's ring, as any of its producers would. False when the ring stays full.
bool reserve(hsa_queue_t* queue, std::uint64_t& first, Clock::time_point deadline) {
  const auto& core = hsa().core;
  for (;;) {
    const auto write = core.hsa_queue_load_write_index_relaxed_fn(queue);
    const auto read = core.hsa_queue_load_read_index_scacquire_fn(queue);
    if (write + barriers_per_queue - read <= queue->size) {
      if (core.hsa_queue_cas_write_index_screlease_fn(queue, write, write + barriers_per_queue) == write) {
        first = write;
        return true;
      }
      continue;
    }
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void publish(hsa_queue_t* queue, std::uint64_t index, const Packet& packet) {
  auto* slot = static_cast<Packet*>(queue->base_address) + (index & (queue->size - 1));
  std::memcpy(slot->body, packet.body, sizeof slot->body);
  __atomic_store_n(&slot->header, packet.header, __ATOMIC_RELEASE);
}

std::string name_of(const QueueState& state) { return "queue " + std::to_string(state.number); }

}  // namespace

void Cut::begin(QueueRegistry& queues, const QueueState& target, const std::atomic<unsigned>& starting, const Topology& topology,
                Clock::duration limit) {
  reasons.clear();
  await_starting_calls(starting, limit);
  hold(queues, target, limit);
  drain_copies(topology, limit);
}

void Cut::hold(QueueRegistry& queues, const QueueState& target, Clock::duration limit) {
  const auto deadline = Clock::now() + limit;
  drop_signals();
  Round& round = rounds_.emplace_back();
  round.gate = std::make_unique<Signal>(1);
  std::vector<const QueueState*> waiting;
  for (QueueState* state : queues.alive()) {
    if (state == &target || state->failed()) continue;
    if (state->type != HSA_QUEUE_TYPE_MULTI) {
      // Only its one producer may write into it.
      if (state->dispatches.load() > 0) reasons.push_back(name_of(*state) + " has a single producer and could not be held");
      continue;
    }
    auto drained = std::make_unique<Signal>(1);
    auto passed = std::make_unique<Signal>(1, Signal::Kind::Polled);
    std::uint64_t first = 0;
    if (!reserve(state->queue, first, deadline)) {
      reasons.push_back(name_of(*state) + " was full and could not be held");
      continue;
    }
    publish(state->queue, first, barrier(hsa_signal_t{0}, drained->handle()));
    publish(state->queue, first + 1, barrier(round.gate->handle(), passed->handle()));
    hsa().core.hsa_signal_store_screlease_fn(state->queue->doorbell_signal, static_cast<hsa_signal_value_t>(first + 1));
    waiting.push_back(state);
    round.drained.push_back(std::move(drained));
    round.passed.push_back(std::move(passed));
  }
  await_rest(waiting, round, deadline);
}

void Cut::await_rest(const std::vector<const QueueState*>& waiting, const Round& round, Clock::time_point deadline) {
  // A queue that waits for the target is at rest once everything before that is done. One that seemed so may only have been waiting
  // for a queue that was not at rest yet: then there is another look, once all have been.
  const auto drained = [&](std::size_t i) { return round.drained[i]->value() < 1; };
  for (bool moved = true; moved;) {
    bool all_drained = true;
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      const auto at_rest = [&] { return waiting[i]->at_rest(); };
      if (!at_rest() && wait_done(*round.drained[i], deadline, at_rest) == Waited::TimedOut) {
        reasons.push_back(name_of(*waiting[i]) + " did not come to rest in time");
      }
      all_drained = all_drained && drained(i);
    }
    if (all_drained || Clock::now() >= deadline) return;
    std::this_thread::sleep_for(look_again);
    moved = false;
    for (std::size_t i = 0; i < waiting.size(); ++i) moved = moved || !(drained(i) || waiting[i]->at_rest());
  }
}

void Cut::await_starting_calls(const std::atomic<unsigned>& starting, Clock::duration limit) {
  const auto deadline = Clock::now() + limit;
  while (starting.load() > 0) {
    if (Clock::now() >= deadline) return reasons.push_back("a copy or a queue that the application was starting did not get under way in time");
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Cut::drain_copies(const Topology& topology, Clock::duration limit) {
  const auto deadline = Clock::now() + limit;
  const auto& amd = hsa().amd;
  constexpr std::size_t size = 4096;
  void* host = nullptr;
  check(amd.hsa_amd_memory_pool_allocate_fn(topology.staging_pool(), size, 0, &host), "hsa_amd_memory_pool_allocate");
  for (const auto gpu : topology.gpus()) {
    void* device = nullptr;
    if (amd.hsa_amd_memory_pool_allocate_fn(topology.device_pool(gpu), size, 0, &device) != HSA_STATUS_SUCCESS) {
      reasons.push_back("GPU " + std::to_string(topology.gpu_ordinal(gpu)) + " has no memory left to wait for its copies with");
      continue;
    }
    amd.hsa_amd_agents_allow_access_fn(1, &gpu, nullptr, host);
    auto up = std::make_unique<Signal>(1);
    auto down = std::make_unique<Signal>(1);
    const auto started_up =
        amd.hsa_amd_memory_async_copy_fn(device, gpu, host, topology.first_cpu(), size, 0, nullptr, up->handle());
    const auto started_down =
        amd.hsa_amd_memory_async_copy_fn(host, topology.first_cpu(), device, gpu, size, 0, nullptr, down->handle());
    const bool up_done = started_up == HSA_STATUS_SUCCESS && wait_done(*up, deadline, never) == Waited::Done;
    const bool down_done = started_down == HSA_STATUS_SUCCESS && wait_done(*down, deadline, never) == Waited::Done;
    if (!up_done || !down_done) {
      // Buffers and signals stay: the copies may still run.
      static_cast<void>(up.release());
      static_cast<void>(down.release());
      reasons.push_back("copies of GPU " + std::to_string(topology.gpu_ordinal(gpu)) + " did not come to rest in time");
      return;
    }
    amd.hsa_amd_memory_pool_free_fn(device);
  }
  amd.hsa_amd_memory_pool_free_fn(host);
}

void Cut::release() noexcept {
  if (!rounds_.empty()) rounds_.back().gate->set(0);
}

void Cut::drop_signals() noexcept {
  const auto done = [](const std::unique_ptr<Signal>& signal) { return signal->value() < 1; };
  std::erase_if(rounds_, [&](const Round& round) { return std::all_of(round.passed.begin(), round.passed.end(), done); });
}

}  // namespace kerncap::intercept
