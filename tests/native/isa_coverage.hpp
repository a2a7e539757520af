// Which instruction rows the tests have executed, on which target.
// In: every instruction that a test's machine runs. Out: where KERNCAP_ISA_COVERAGE names a file, every row that has a handler
// as JSON, tested or not.
#pragma once

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa::test {

// To be called by whatever executes a single instruction and looks at its result.
void exercised(Target target, const Row& row);

}  // namespace kerncap::vgpu::isa::test
