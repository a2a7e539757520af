// PM4 inside an AQL queue: the vendor packet that points at an indirect buffer. The runtimes use it to invalidate
// instruction caches, which has nothing to do here. In: the 64-byte packet. Out: nothing, or what is not known.
#pragma once

#include <optional>
#include <string>

#include "vgpu/memory/page_table.hpp"

namespace kerncap::vgpu::pm4 {

// Looks through the commands of the indirect buffer; `unknown` names the first one that would have an effect.
std::optional<Fault> check_indirect(const PageTable& pages, const std::byte* packet, std::string& unknown);

}  // namespace kerncap::vgpu::pm4
