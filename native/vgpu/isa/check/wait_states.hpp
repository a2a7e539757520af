// Missing wait states on gfx90a and gfx942: software must put s_nop or other instructions between certain pairs.
// In: each instruction before it runs. Out: the pairs that are too close. gfx1100 interlocks all of these itself.
//
// A wait state is one instruction issued in between, s_nop N counts N+1. Only entries that the manual and the compilers agree
// on are here; docs/checks.md lists them. Nothing is known across calls: compilers do not look there either.
// Source: "Manually Inserted Wait States (NOPs)" and the MFMA dependency tables of the MI200 and MI300 ISA manuals; LLVM
// GCNHazardRecognizer.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "vgpu/isa/check/described.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::check {

class WaitStates {
 public:
  struct Hit {
    std::uint64_t writer_pc = 0;
    const char* rule = "";
    unsigned needed = 0, found = 0;
  };
  WaitStates() { forget(); }
  // Reports what `d` comes too early for, then takes it into account.
  void step(const Wave& w, const Described& d, std::vector<Hit>& hits);

 private:
  struct Mark {
    std::int64_t end = -1000;   // wait states counted when the instruction had issued
    std::uint64_t pc = 0;
  };
  struct Vector {
    Mark valu, trans, part, dot, matrix, wide_store;
    const Row* dot_row = nullptr;
    std::uint8_t matrix_valu = 0, matrix_memory = 0, matrix_write = 0;  // wait states that the last MFMA asks for
  };
  void forget();
  void need(const Mark& mark, unsigned states, const char* rule, std::vector<Hit>& hits) const;
  void scalar_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const;
  void vector_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const;
  void record(const Wave& w, const Described& d);

  std::int64_t now_ = 0;
  std::array<Mark, kScalarRegs> scalar_valu_;  // scalar registers that a VALU instruction wrote
  Mark m0_salu_;
  std::array<Mark, 64> setreg_;
  std::vector<Vector> vectors_;
};

}  // namespace kerncap::vgpu::isa::check
