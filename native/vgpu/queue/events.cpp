#include "vgpu/queue/events.hpp"

#include <algorithm>
#include <vector>

namespace kerncap::vgpu {

std::uint32_t Events::create(std::uint32_t type, bool auto_reset) {
  const std::lock_guard lock(mutex_);
  auto event = std::make_shared<Event>();
  event->type = type;
  event->auto_reset = auto_reset;
  if (type != KFD_IOC_EVENT_SIGNAL) {
    events_.emplace(next_other_, std::move(event));
    return next_other_++;
  }
  // Round robin, so that a late raise of a destroyed event seldom meets its successor.
  for (std::uint32_t tried = 0; tried < kSignalLimit; ++tried) {
    const std::uint32_t id = next_signal_;
    next_signal_ = id == kSignalLimit ? 1 : id + 1;
    if (events_.emplace(id, event).second) return id;
  }
  return 0;
}

bool Events::destroy(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end()) return false;
  it->second->destroyed = true;
  events_.erase(it);
  changed_.notify_all();
  return true;
}

void Events::raise(Event& event) {
  event.signaled = !event.auto_reset || event.waiters == 0;
  ++event.age;
  ++raises_;
  changed_.notify_all();
}

bool Events::set(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end()) return false;
  raise(*it->second);
  return true;
}

bool Events::reset(std::uint32_t id) {
  const std::lock_guard lock(mutex_);
  const auto it = events_.find(id);
  if (it == events_.end()) return false;
  it->second->signaled = false;
  return true;
}

void Events::rest_if_repeated(std::unique_lock<std::mutex>& lock, std::span<const Waiter> waiters) {
  static thread_local Question last;
  Question now{.ages = {}, .raises = raises_};
  const auto unseen = [](const Waiter& w) { return w.event->age != w.age; };
  if (std::ranges::none_of(waiters, &Waiter::activated) && std::ranges::any_of(waiters, unseen))
    for (const Waiter& w : waiters) now.ages.emplace_back(w.event.get(), w.age);
  if (!now.ages.empty() && now == last) changed_.wait_for(lock, kRepeatWait);
  last = std::move(now);
}

std::uint32_t Events::wait(std::span<kfd_event_data> events, bool all, std::uint32_t timeout_ms) {
  constexpr std::uint32_t forever = 0xffffffff;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms == forever ? 0 : timeout_ms);
  std::unique_lock lock(mutex_);
  std::vector<Waiter> waiters;
  for (const kfd_event_data& data : events) {
    const auto it = events_.find(data.event_id);
    if (it == events_.end()) return KFD_IOC_WAIT_RESULT_FAIL;
    Waiter waiter{.event = it->second, .activated = it->second->signaled, .age = it->second->age};
    if (it->second->type == KFD_IOC_EVENT_SIGNAL && data.signal_event_data.last_event_age != 0) {
      waiter.by_age = true;
      waiter.age = data.signal_event_data.last_event_age;
    }
    waiters.push_back(std::move(waiter));
  }
  for (Waiter& waiter : waiters) {
    if (waiter.activated && waiter.event->auto_reset) waiter.event->signaled = false;
    ++waiter.event->waiters;
  }
  if (timeout_ms > 0) rest_if_repeated(lock, waiters);
  std::uint32_t result = KFD_IOC_WAIT_RESULT_TIMEOUT;
  for (bool timed_out = false;;) {
    const auto ready = std::ranges::count_if(waiters, [](const Waiter& w) { return w.ready(); });
    if (all ? ready == static_cast<std::ptrdiff_t>(waiters.size()) : ready > 0) {
      result = KFD_IOC_WAIT_RESULT_COMPLETE;
      break;
    }
    if (std::ranges::any_of(waiters, [](const Waiter& w) { return w.event->destroyed; })) {
      result = KFD_IOC_WAIT_RESULT_FAIL;
      break;
    }
    if (timed_out) break;
    if (timeout_ms == forever)
      changed_.wait(lock);
    else
      timed_out = changed_.wait_until(lock, deadline) == std::cv_status::timeout;
  }
  for (std::size_t i = 0; i < waiters.size(); ++i) {
    const Waiter& waiter = waiters[i];
    --waiter.event->waiters;
    if (result != KFD_IOC_WAIT_RESULT_COMPLETE || !waiter.ready()) continue;
    if (waiter.by_age) events[i].signal_event_data.last_event_age = waiter.event->age;
    if (waiter.event->type == KFD_IOC_EVENT_MEMORY) events[i].memory_exception_data = waiter.event->memory;
    if (waiter.event->type == KFD_IOC_EVENT_HW_EXCEPTION) events[i].hw_exception_data = waiter.event->hardware;
  }
  return result;
}

void Events::raise_memory_fault(std::uint32_t gpu_id, std::uint64_t va, Denied why) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, event] : events_) {
    if (event->type != KFD_IOC_EVENT_MEMORY) continue;
    event->memory = {};
    auto& failure = event->memory.failure;
    (why == Denied::read_only ? failure.ReadOnly : why == Denied::no_execute ? failure.NoExecute : failure.NotPresent) = 1;
    event->memory.va = va & ~std::uint64_t{4095};
    event->memory.gpu_id = gpu_id;
    raise(*event);
  }
}

void Events::raise_gpu_hang(std::uint32_t gpu_id) {
  const std::lock_guard lock(mutex_);
  for (auto& [id, event] : events_) {
    if (event->type != KFD_IOC_EVENT_HW_EXCEPTION) continue;
    event->hardware = {.reset_type = KFD_HW_EXCEPTION_WHOLE_GPU_RESET, .reset_cause = KFD_HW_EXCEPTION_GPU_HANG,
                       .memory_lost = 1, .gpu_id = gpu_id};
    raise(*event);
  }
}

}  // namespace kerncap::vgpu
