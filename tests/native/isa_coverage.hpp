// Which instruction rows the tests have executed, on which target.
// In: every instruction that a test's machine runs. Out: after a whole run a failure for each row that has a handler and was
// never run (a row without a test does not land); where KERNCAP_ISA_COVERAGE names a file, every such row as JSON.
#pragma once

#include "vgpu/isa/inst.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::isa::test {

// To be called by whatever executes a single instruction and looks at its result.
void exercised(Target target, const Row& row);

}  // namespace kerncap::vgpu::isa::test
