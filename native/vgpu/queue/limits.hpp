// What a compute unit cannot hold. In: a kernel descriptor and the packet's workgroup. Out: why not. Called by the command
// processor before a wave is launched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "vgpu/kfd/model.hpp"

namespace kerncap::vgpu {

// nullopt: the waves of a workgroup of so many workitems fit into the vector registers of its SIMDs.
std::optional<std::string> too_many_vgprs(const Model& model, const std::byte* descriptor, std::uint64_t workitems, bool wave32);

}  // namespace kerncap::vgpu
