#include "vgpu/queue/queue.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

#include <chrono>
#include <cstdio>
#include <stdexcept>

#include "vgpu/queue/doorbells.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

using std::chrono::microseconds;

// After work a queue looks at its doorbell itself for about 2 ms before it parks: the next submission then does not pay
// for the watcher's wake-up on top of its own. First without sleeping, for submissions back to back.
constexpr unsigned kEagerLooks = 100, kLooksBeforePark = 150;
constexpr microseconds kLookInterval{30};
constexpr microseconds kFirstWait{5}, kLongestWait{500};

}  // namespace

Queue::Queue(std::uint32_t id, const GpuContext& gpu, const RingLayout& layout, std::atomic<std::uint64_t>* doorbell)
    : id_(id), gpu_(gpu), layout_(layout), time_(gpu.wall_time), doorbell_(doorbell) {
  ring_ = gpu.pages.host(layout.ring_va, layout.ring_bytes, false);
  read_pointer_ = gpu.pages.object<std::atomic<std::uint64_t>>(layout.read_pointer_va);
  write_pointer_ = gpu.pages.object<std::atomic<std::uint64_t>>(layout.write_pointer_va);
  if (ring_ == nullptr || read_pointer_ == nullptr || write_pointer_ == nullptr)
    throw std::invalid_argument("queue ring or pointers are not mapped to the GPU");
  doorbell_->store(kNotRung);
}

void Queue::start() {
  // The application's signal handlers must not run on device threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  thread_ = std::thread([this] { run(); });
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Queue::stop() {
  cancelled_.store(true);
  wake();
  if (thread_.joinable()) thread_.join();
}

void Queue::suspend(bool suspended) noexcept {
  suspended_.store(suspended);
  wake();
}

void Queue::wake() noexcept {
  const std::lock_guard lock(mutex_);
  wake_ = true;
  woken_.notify_one();
}

bool Queue::take_doorbell() noexcept {
  // Taken by exchange: of two rings between two looks, neither can be lost.
  const std::uint64_t value = doorbell_->exchange(kNotRung, std::memory_order_acquire);
  if (value == kNotRung) return false;
  last_rung_ = value;
  return true;
}

void Queue::park() {
  DoorbellWatcher& watcher = DoorbellWatcher::instance();
  watcher.watch(this);
  {
    std::unique_lock lock(mutex_);
    woken_.wait(lock, [this] { return wake_ || cancelled_.load(); });
    wake_ = false;
  }
  watcher.forget(this);
}

void Queue::run() {
  char name[16];
  std::snprintf(name, sizeof name, "vgpu-queue-%u", id_ % 1000);
  ::pthread_setname_np(::pthread_self(), name);
  ::prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  bool active = false, halted = false;
  unsigned looks = 0;
  auto wait = kFirstWait;
  while (!cancelled_.load()) {
    if (take_doorbell()) active = true;
    if (halted || suspended_.load() || (!active && ++looks > kLooksBeforePark)) {
      park();
      looks = 0;
      continue;
    }
    if (!active) {
      if (looks > kEagerLooks) std::this_thread::sleep_for(kLookInterval);
      continue;
    }
    switch (step()) {
      case Step::progressed:
        looks = 0;
        wait = kFirstWait;
        break;
      case Step::idle:
        time_.idle();
        active = false;
        looks = 0;
        break;
      case Step::waiting:
        time_.wait();
        std::this_thread::sleep_for(wait);
        wait = std::min(wait * 2, kLongestWait);
        break;
      case Step::halted:
        halted = true;
        break;
    }
  }
}

void Queue::page_fault(const Fault& fault, std::string_view who) noexcept {
  char text[160];
  std::snprintf(text, sizeof text, "%s address 0x%llx",
                fault.fetch ? "instruction fetch from unmapped or not executable"
                            : fault.write ? "store of unmapped or read-only" : "load of unmapped or read-only",
                static_cast<unsigned long long>(fault.va));
  report::stopped("vgpu.page-fault", std::string(isa::name(gpu_.model.target)) + ": " + text + ": " + std::string(who));
  const auto mapping = gpu_.pages.find(fault.va);
  using Denied = Events::Denied;
  gpu_.events.raise_memory_fault(gpu_.gpu_id, fault.va,
                                 !mapping ? Denied::not_present : fault.fetch ? Denied::no_execute
                                          : fault.write ? Denied::read_only : Denied::not_present);
}

}  // namespace kerncap::vgpu
