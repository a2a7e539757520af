// What both sides of a runtime say when it leaves out the virtual GPU. In: KERNCAP_VGPU. Out: words for messages.
// Called by the tool library and kerncap-replay.
#pragma once

#include <string>

namespace kerncap {

// The runtimes that know the targets which not all do.
inline constexpr const char* kNewerRuntime = "a newer HSA runtime (gfx950: ROCm 6.4, gfx1201: ROCm 6.2; suite sid)";

// The first word of the configuration.
inline std::string virtual_target(const std::string& config) { return config.substr(0, config.find(',')); }

}  // namespace kerncap
