// Does code for one ISA run on an agent of another? Pure. In: two ISA names, "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-".
// Called by check_target (device.hpp).
#pragma once

#include <string>

namespace kerncap::replay {

// The same processor, and each feature that the code names as the agent has it; a feature that it does not name means "any".
// Source: LLVM AMDGPUUsage.rst, "Target Features".
bool isa_matches(const std::string& agent_isa, const std::string& code_isa);

}  // namespace kerncap::replay
