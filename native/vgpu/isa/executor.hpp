// What the command processor asks of the interpreter: execute one AQL kernel dispatch.
// In: the packet, device memory (Memory), scratch, apertures. Out: an Outcome. Called by queue/, one call a dispatch,
// from several queue threads at once; what stays between calls are caches and the threads of launch/pool.
#pragma once

#include <hsa/hsa.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa {

// Device address space as the GPU sees it. Implemented by memory/; safe to call from any thread while mappings change.
class Memory {
 public:
  struct Mapping {
    std::uint64_t va = 0;       // first device address of the range
    std::uint64_t end = 0;      // one past the last; va == end: nothing is mapped there
    std::byte* host = nullptr;  // where `va` lives in this process (the interpreter's own mapping)
    bool writable = false;
    bool executable = true;
    explicit operator bool() const { return va != end; }
  };
  virtual ~Memory() = default;
  // The mapping that contains device_va, or an empty one.
  virtual Mapping find(std::uint64_t device_va) const noexcept = 0;
  // Changes whenever a mapping is removed or replaced: a cached Mapping is valid while this value stays the same.
  virtual const std::atomic<std::uint64_t>& generation() const noexcept = 0;
};

// Told of every global memory access when tracing is on (never for LDS or scratch).
class Trace {
 public:
  virtual ~Trace() = default;
  virtual void load(std::uint64_t device_va, std::uint32_t size_bytes) noexcept = 0;
  virtual void store(std::uint64_t device_va, std::uint32_t size_bytes) noexcept = 0;
};

// Told when a wave sends MSG_INTERRUPT (hostcall, device-side signals): the KFD event with this id is to be signalled.
class Interrupt {
 public:
  virtual ~Interrupt() = default;
  virtual void raise(std::uint32_t event_id) noexcept = 0;
};

class GlobalSync;  // memory/global_sync.hpp

struct Dispatch {
  hsa_kernel_dispatch_packet_t packet;  // a copy
  std::uint64_t packet_va = 0;          // where the packet stays until the kernel ends (dispatch pointer)
  std::uint64_t queue_va = 0;           // amd_queue_t (queue pointer)
  std::uint64_t dispatch_id = 0;
  // Scratch backing as the runtime provided it in amd_queue_t: device address, bytes in all, bytes a lane (wave64 terms).
  std::uint64_t scratch_va = 0;
  std::uint64_t scratch_bytes = 0;
  std::uint32_t scratch_resource[4] = {};  // amd_queue_t.scratch_resource_descriptor, for gfx90a
  std::uint64_t scratch_offset = 0;        // amd_queue_t.scratch_backing_memory_location relative use on gfx90a
  // Upper halves of flat addresses that mean LDS and scratch. Source: KFD process apertures.
  std::uint32_t shared_aperture_hi = 0;
  std::uint32_t private_aperture_hi = 0;
  Interrupt* interrupt = nullptr;
  GlobalSync* sync = nullptr;  // of a queue that was given it
};

// What a dispatch did, for the cost model of device timestamps (docs/virtual-gpu.md). Sums over all waves: the same
// whatever thread ran which workgroup.
struct Work {
  std::uint64_t instructions = 0;  // wave instructions issued
  std::uint64_t cycles = 0;        // of one SIMD
  std::uint64_t bytes = 0;         // to and from memory
  void add(const Work& other) {
    instructions += other.instructions;
    cycles += other.cycles;
    bytes += other.bytes;
  }
};

struct Outcome {
  enum class Kind : std::uint8_t {
    completed,
    page_fault,          // fault_va, fault_write, fault_fetch
    unimplemented,       // an instruction, field or modifier that the interpreter does not know; text names it
    illegal,             // an encoding that the target does not have, or a register out of range
    bad_dispatch,        // limits: LDS too large, workgroup size, ... ; text names it
    trapped,             // s_trap 2 (abort), text
    aperture_violation,  // misaligned or out-of-range LDS / aperture access
    cancelled,
  };
  Kind kind = Kind::completed;
  std::uint64_t fault_va = 0;
  bool fault_write = false;
  bool fault_fetch = false;  // of an instruction
  // For everything but completed: "gfx942: v_foo_b32 v1, v2 at pc 0x... words 7e0202ff 00000001: reason".
  std::string text;
  Work work;
};

// Runs every workgroup of the dispatch, on this thread and, when it is worth it, on up to threads - 1 more (one only with a
// trace, which depends on the order of accesses). When several workgroups stop, the Outcome is that of the first in time.
// `cancel` is polled now and then.
Outcome execute(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace,
                const std::atomic<bool>& cancel, unsigned threads);

}  // namespace kerncap::vgpu::isa
