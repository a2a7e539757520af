// Reads and writes of scalar operands, for every handler.
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {
namespace {

// Aperture registers are 64 bits wide and their low half reads as zero.
std::uint64_t read_special(const Wave& wave, Special special) {
  const std::uint64_t shared = std::uint64_t{wave.dispatch->shared_aperture_hi} << 32;
  const std::uint64_t private_ = std::uint64_t{wave.dispatch->private_aperture_hi} << 32;
  switch (special) {
    case Special::shared_base: return shared;
    case Special::shared_limit: return shared | 0xffffffff;
    case Special::private_base: return private_;
    case Special::private_limit: return private_ | 0xffffffff;
    case Special::vccz: return wave.mask(kVccLo) == 0;
    case Special::execz: return wave.exec() == 0;
    case Special::scc: return wave.scc;
    case Special::pops_exiting_wave_id: case Special::lds_direct: break;  // refused by the decoder
  }
  return 0;
}

}  // namespace

std::uint32_t read_scalar32(const Wave& wave, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::sgpr: return wave.s[operand.index];
    case OperandKind::constant: return static_cast<std::uint32_t>(operand.constant);
    case OperandKind::special: return static_cast<std::uint32_t>(read_special(wave, static_cast<Special>(operand.index)));
    default: return 0;
  }
}

std::uint64_t read_scalar64(const Wave& wave, const Operand& operand) {
  switch (operand.kind) {
    case OperandKind::sgpr:
      if (operand.index == kNull) return 0;
      return wave.s[operand.index] | std::uint64_t{wave.s[operand.index + 1]} << 32;
    case OperandKind::constant: return operand.constant;
    case OperandKind::special: return read_special(wave, static_cast<Special>(operand.index));
    default: return 0;
  }
}

void write_scalar32(Wave& wave, const Operand& operand, std::uint32_t value) {
  if (operand.index != kNull) wave.s[operand.index] = value;
}

void write_scalar64(Wave& wave, const Operand& operand, std::uint64_t value) {
  if (operand.index == kNull) return;
  wave.s[operand.index] = static_cast<std::uint32_t>(value);
  wave.s[operand.index + 1] = static_cast<std::uint32_t>(value >> 32);
}

}  // namespace kerncap::vgpu::isa
