// How many processors this process may use. Out: the default of KERNCAP_VGPU's threads=N.
#pragma once

#include <string_view>

namespace kerncap::vgpu {

// The affinity mask, or less when the control group has a CPU quota; at least 1.
unsigned usable_cores() noexcept;

// Whole processors, rounded up, that the text of a cpu.max file ("200000 100000") allows; 0: no limit.
unsigned quota_cores(std::string_view cpu_max) noexcept;

}  // namespace kerncap::vgpu
