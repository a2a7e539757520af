// A hardware queue: a ring in memory, a doorbell slot and one thread that plays the command processor for it.
// In: what CREATE_QUEUE says. Out: executed packets. AQL and SDMA queues derive from it; ioctls own the objects.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <thread>

#include "vgpu/isa/memory/global_sync.hpp"
#include "vgpu/kfd/model.hpp"
#include "vgpu/memory/page_table.hpp"
#include "vgpu/queue/events.hpp"
#include "vgpu/queue/queue_time.hpp"
#include "vgpu/trace/check_file.hpp"
#include "vgpu/trace/trace_file.hpp"

namespace kerncap::vgpu {

// The GPU that a queue belongs to, as far as a command processor is concerned. Outlives every queue.
struct GpuContext {
  const Model& model;
  std::uint32_t gpu_id;
  const PageTable& pages;
  Events& events;
  TraceFile& trace;
  unsigned threads = 1;  // host threads that one dispatch may use
  CheckFile* checks = nullptr;  // set: dispatches run in the checked mode
  bool wall_time = false;       // timestamps are not by the cost model
};

struct RingLayout {
  std::uint64_t ring_va = 0, ring_bytes = 0;
  std::uint64_t write_pointer_va = 0, read_pointer_va = 0;
};

// No ring yet: what a doorbell slot holds between two rings.
inline constexpr std::uint64_t kNotRung = ~std::uint64_t{0};

class Queue {
 public:
  Queue(std::uint32_t id, const GpuContext& gpu, const RingLayout& layout, std::atomic<std::uint64_t>* doorbell);
  virtual ~Queue() = default;  // after stop()
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  std::uint32_t id() const { return id_; }
  void start();
  // Cancels a running kernel and joins the thread.
  void stop();
  void suspend(bool suspended) noexcept;
  // Kernels of this queue may use it from now on; nullptr: they may not.
  void use(isa::GlobalSync* sync) noexcept { sync_.store(sync, std::memory_order_relaxed); }

  // Called by the doorbell watcher for a parked queue.
  bool rung() const noexcept { return doorbell_->load(std::memory_order_relaxed) != kNotRung; }
  void wake() noexcept;

 protected:
  enum class Step {
    progressed,  // a packet is done
    idle,        // nothing to do until the doorbell rings
    waiting,     // a packet waits for memory to change: poll
    halted,      // an error: nothing more is executed
  };
  virtual Step step() = 0;

  // The doorbell's last value; taken before step().
  std::uint64_t doorbell_value() const { return last_rung_; }
  const std::atomic<bool>& cancelled() const { return cancelled_; }
  isa::GlobalSync* global_sync() const noexcept { return sync_.load(std::memory_order_relaxed); }
  // Tells the application and stderr; the queue then halts and the packet's signal never completes.
  void page_fault(const Fault& fault, std::string_view who) noexcept;

  const std::uint32_t id_;
  const GpuContext& gpu_;
  const RingLayout layout_;
  std::byte* ring_ = nullptr;
  std::atomic<std::uint64_t>* read_pointer_ = nullptr;
  std::atomic<std::uint64_t>* write_pointer_ = nullptr;
  QueueTime time_;

 private:
  void run();
  void park();
  bool take_doorbell() noexcept;

  std::atomic<std::uint64_t>* doorbell_;
  std::uint64_t last_rung_ = kNotRung;
  std::atomic<bool> cancelled_{false}, suspended_{false};
  std::atomic<isa::GlobalSync*> sync_{nullptr};
  std::mutex mutex_;
  std::condition_variable woken_;
  bool wake_ = false;
  std::thread thread_;
};

}  // namespace kerncap::vgpu
