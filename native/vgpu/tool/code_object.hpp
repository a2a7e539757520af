// The functions of an AMDGPU code object, read defensively: the file may be a stranger's.
// In: the bytes of an ELF file. Out: target, wave size and the words of each function. Called by kerncap-isa.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "vgpu/isa/decode/decoder.hpp"
#include "vgpu/isa/target.hpp"

namespace kerncap::vgpu::tool {

struct Function {
  std::string name;
  bool kernel = false;
  std::uint64_t va = 0;
  std::vector<std::uint32_t> words;
};

struct CodeObject {
  std::string target_name;  // gfx942, or "mach 0x.." when the number means nothing here
  isa::Target target = isa::Target::gfx942;
  bool known_target = false;
  unsigned wave_size = 64;
  std::vector<Function> functions;
};

// Throws std::runtime_error with what is wrong.
CodeObject read_code_object(const std::string& bytes);

// Each instruction with its offset in bytes, decoded or not.
void each_instruction(const Function& function, const CodeObject& object,
                      const std::function<void(const isa::Decoded&, std::size_t offset)>& visit);

}  // namespace kerncap::vgpu::tool
