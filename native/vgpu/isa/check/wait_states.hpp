// Missing wait states on gfx9 targets: software must put s_nop or other instructions between certain pairs.
// In: each instruction before it runs. Out: the pairs that are too close. gfx1100 and gfx1201 interlock all of these themselves.
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
  // What of a matrix instruction others have to wait for.
  struct Matrix {
    std::uint8_t passes = 0;
    bool dgemm = false, xdl = false;  // on doubles; by the unit that starts apart from the VALU's
    Span result;
  };
  struct Vector {
    Mark valu, trans, part, dot, matrix, wide_store, summand;
    const Row* dot_row = nullptr;
    Matrix writer;           // of `matrix`
    std::uint8_t free_after = 0;  // states after `summand`, when a matrix instruction has read it as its accumulator
  };
  static Matrix matrix_of(const Wave& w, const Inst& i);
  // Until its result may be read, by a VALU instruction (or as a factor of another matrix) or by memory, and overwritten.
  static unsigned read_states(const Matrix& by, bool memory);
  static unsigned write_states(const Matrix& by);
  void forget();
  void need(const Mark& mark, unsigned states, const char* rule, std::vector<Hit>& hits) const;
  void scalar_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const;
  void vector_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const;
  void matrix_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const;
  void write_rules(const Wave& w, const Described& d, std::vector<Hit>& hits) const;
  void record(const Wave& w, const Described& d);
  void record_result(const Wave& w, const Described& d, Vector& v, const Mark& mark) const;

  std::int64_t now_ = 0;
  std::array<Mark, kScalarRegs> scalar_valu_;  // scalar registers that a VALU instruction wrote
  Mark m0_salu_, dgemm_;
  std::array<Mark, 64> setreg_;
  std::vector<Vector> vectors_;
};

}  // namespace kerncap::vgpu::isa::check
