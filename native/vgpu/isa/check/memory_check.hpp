// Accesses that hardware lets pass or answers with a fault that names no lane: out of bounds, unmapped, misaligned atomics,
// and reads of LDS that nobody has written.
// In: each memory instruction before it runs. Out: findings.
#pragma once

#include <vector>

#include "vgpu/isa/check/access.hpp"
#include "vgpu/isa/check/findings.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::check {

struct MemoryGroup {
  std::vector<std::uint8_t> written;  // one a byte of LDS
};

class MemoryCheck {
 public:
  MemoryCheck(Code& code, Findings& findings, const Memory& memory, std::vector<Region> regions, std::uint32_t lds_bytes);
  void start(MemoryGroup& group, std::size_t lds_bytes) const { group.written.assign(lds_bytes, 0); }
  void before(const Wave& w, MemoryGroup& group, const Described& d, const std::vector<Access>& accesses);

 private:
  void lds(const Wave& w, MemoryGroup& group, const Described& d, const Access& a);
  void global(const Wave& w, const Described& d, const Access& a);
  void outside_region(const Wave& w, const Described& d, const Access& a);
  void report(const Wave& w, const Described& d, const Access& a, const char* kind, std::string message);

  Code& code_;
  Findings& findings_;
  const Memory& memory_;
  std::vector<Region> regions_;
  std::uint32_t lds_bytes_;  // as asked for: the hardware allocates in larger steps
};

}  // namespace kerncap::vgpu::isa::check
