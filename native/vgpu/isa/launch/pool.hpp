// Host threads that help the queues' own threads with the workgroups of large dispatches.
// In: a job that wants helpers. Out: calls of Helper::help() on threads of the pool. One pool a process: no thread exists
// until a job asks, there are never more than one job has asked for, and none ever ends. Every job has its own thread besides, so that a kernel that never ends can hold
// every thread of the pool and other queues still go on. Called by execute.cpp.
#pragma once

#include <condition_variable>
#include <mutex>
#include <vector>

namespace kerncap::vgpu::isa {

class Helper {
 public:
  // Does a share of the job until nothing is left to take. Called on several threads at once.
  virtual void help() noexcept = 0;

 protected:
  ~Helper() = default;
};

class WorkerPool {
 public:
  static WorkerPool& instance();  // never destroyed: a process may exit while kernels run

  // Lets up to `wanted` threads call job.help(), as soon as they have time. Returns at once. Once a job at most.
  void invite(Helper& job, unsigned wanted);
  // Withdraws what is left of an invitation and waits for those that followed it.
  void dismiss(Helper& job);

 private:
  struct Invitation {
    Helper* job;
    unsigned wanted;  // threads that may still join
    unsigned active;  // threads inside help()
  };
  void run(unsigned number) noexcept;
  // With mutex_ held:
  void grow(unsigned size);
  std::vector<Invitation>::iterator find(const Helper& job);
  Invitation* neediest();

  std::mutex mutex_;
  std::condition_variable invited_, left_;
  std::vector<Invitation> invitations_;
  unsigned threads_ = 0;
};

}  // namespace kerncap::vgpu::isa
