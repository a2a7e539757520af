#include "vgpu/isa/launch/pool.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <system_error>
#include <thread>

namespace kerncap::vgpu::isa {
WorkerPool& WorkerPool::instance() {
  // A child of fork has none of the parent's threads, and may have its lock in any state: it starts afresh.
  struct Owned {
    pid_t owner;
    WorkerPool pool;
  };
  static std::atomic<Owned*> current{nullptr};
  Owned* owned = current.load(std::memory_order_acquire);
  while (owned == nullptr || owned->owner != ::getpid()) {
    auto* fresh = new Owned{.owner = ::getpid(), .pool = {}};
    if (current.compare_exchange_strong(owned, fresh, std::memory_order_acq_rel, std::memory_order_acquire)) return fresh->pool;
    delete fresh;
  }
  return owned->pool;
}

void WorkerPool::invite(Helper& job, unsigned wanted) {
  if (wanted == 0) return;
  {
    const std::lock_guard lock(mutex_);
    invitations_.push_back({&job, wanted, 0});
    grow(wanted);
  }
  for (unsigned i = 0; i < wanted; ++i) invited_.notify_one();
}

void WorkerPool::dismiss(Helper& job) {
  std::unique_lock lock(mutex_);
  if (find(job) == invitations_.end()) return;
  find(job)->wanted = 0;
  left_.wait(lock, [&] { return find(job)->active == 0; });
  invitations_.erase(find(job));
}

void WorkerPool::grow(unsigned size) {
  if (threads_ >= size) return;
  // The application's signal handlers must not run on device threads.
  sigset_t all, before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, &before);
  try {
    for (; threads_ < size; ++threads_) std::thread([this, number = threads_] { run(number); }).detach();
  } catch (const std::system_error&) {
    // No thread to be had: the job goes on with those that there are, its own at least.
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

std::vector<WorkerPool::Invitation>::iterator WorkerPool::find(const Helper& job) {
  return std::find_if(invitations_.begin(), invitations_.end(), [&](const Invitation& i) { return i.job == &job; });
}

WorkerPool::Invitation* WorkerPool::neediest() {
  Invitation* best = nullptr;
  for (Invitation& i : invitations_)
    if (i.wanted != 0 && (best == nullptr || i.active < best->active)) best = &i;
  return best;
}

void WorkerPool::run(unsigned number) noexcept {
  char name[16];
  std::snprintf(name, sizeof name, "vgpu-worker-%u", number % 1000);
  ::pthread_setname_np(::pthread_self(), name);
  std::unique_lock lock(mutex_);
  for (;;) {
    invited_.wait(lock, [this] { return neediest() != nullptr; });
    Invitation* const invitation = neediest();
    Helper& job = *invitation->job;
    --invitation->wanted;
    ++invitation->active;
    lock.unlock();
    job.help();
    lock.lock();
    // The list may have moved meanwhile; the job stays in it until this thread has left.
    const auto mine = find(job);
    mine->wanted = 0;  // nothing was left to take
    if (--mine->active == 0) left_.notify_all();
  }
}

}  // namespace kerncap::vgpu::isa
