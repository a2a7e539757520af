// Scalar sources that are neither a register nor a constant.
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa {

// Aperture registers are 64 bits wide and their low half reads as zero.
std::uint64_t read_special(const Wave& wave, const Operand& operand) {
  if (operand.kind != OperandKind::special) return 0;
  const std::uint64_t shared = std::uint64_t{wave.dispatch->shared_aperture_hi} << 32;
  const std::uint64_t private_ = std::uint64_t{wave.dispatch->private_aperture_hi} << 32;
  switch (static_cast<Special>(operand.index)) {
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

}  // namespace kerncap::vgpu::isa
