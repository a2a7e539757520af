// Use of device memory that nobody has written.
// In: each instruction before and after it runs. Out: findings, when a loaded value is used.
//
// A load alone is no use: copies of structures move their padding, compilers load wider than they need. So registers carry,
// a bit a half and lane, that their value was never written; moves, selects and stores pass it on, any other instruction
// that reads all of the register uses it. What goes through LDS, private memory or other lanes counts as written.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "vgpu/isa/check/access.hpp"
#include "vgpu/isa/check/findings.hpp"
#include "vgpu/isa/check/written.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::check {

// Registers of a wave whose value nobody has written.
struct UnwrittenRegisters {
  struct Register {
    std::uint64_t lanes[2] = {};  // low half, high half
    std::uint64_t load_pc = 0;
    std::array<std::uint64_t, kLanes> address = {};  // where each lane's came from
  };
  static unsigned number(bool vector, unsigned index) { return vector ? kScalarRegs + index : index; }
  std::unordered_map<unsigned, Register> of;  // by number()
};

class Uninitialised {
 public:
  Uninitialised(Code& code, Findings& findings, WrittenBytes& written) : code_(code), findings_(findings), written_(written) {}
  void before(const Wave& w, UnwrittenRegisters& registers, const Described& d, const std::vector<Access>& accesses);
  void after(UnwrittenRegisters& registers, const Described& d);
  // Of the dispatch.
  void end();

 private:
  // What the instruction makes of a register: `halves` of it were never written.
  struct Incoming {
    unsigned number = 0, lane = 0;
    std::uint8_t halves = 0;
    std::uint64_t load_pc = 0, address = 0;
  };
  void uses(const Wave& w, UnwrittenRegisters& registers, const Described& d);
  void use(const Wave& w, UnwrittenRegisters& registers, const Described& d, const Span& span);
  void move(const Wave& w, const UnwrittenRegisters& registers, const Inst& i);
  void move_dword(const UnwrittenRegisters& registers, unsigned to, unsigned lane, const Operand& from, unsigned dword);
  void load(const Described& d, const Access& a, std::uint64_t unwritten);
  void store(const UnwrittenRegisters& registers, const Described& d, const Access& a, std::byte* at);
  void report(const Wave& w, const Described& d, std::uint64_t load_pc, std::uint64_t address, unsigned lane);

  Code& code_;
  Findings& findings_;
  WrittenBytes& written_;
  std::uint64_t lanes_ = 0;  // that the instruction writes
  std::vector<Incoming> incoming_;
};

}  // namespace kerncap::vgpu::isa::check
