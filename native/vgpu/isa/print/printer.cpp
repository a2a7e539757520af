#include "vgpu/isa/print/printer.hpp"
namespace kerncap::vgpu::isa {
std::string print(const Decoded& decoded, Target, unsigned) { return decoded.inst.row ? decoded.inst.row->name : "?"; }
}
