// One function of a code object, instruction by instruction, and what its kernel takes of a compute unit.
// In: the bytes of an ELF file, a function's name. Out: the document kerncap.isa-listing/1 (docs/interfaces.md). Called by kerncap-isa.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kerncap::vgpu::tool {

// Throws std::runtime_error with what is wrong.
nlohmann::ordered_json listing_document(const std::string& bytes, const std::string& function);

}  // namespace kerncap::vgpu::tool
