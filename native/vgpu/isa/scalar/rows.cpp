#include <vector>

#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/scalar/tables.hpp"

namespace kerncap::vgpu::isa {

std::span<const Row> scalar_rows() {
  // Never destroyed: kernels may run while a process exits.
  static const auto& all = *new std::vector<Row>([] {
    std::vector<Row> rows;
    for (const auto table : {scalar::sop1_rows(), scalar::sop2_rows(), scalar::float_rows(), scalar::control_rows(), scalar::smem_rows()})
      rows.insert(rows.end(), table.begin(), table.end());
    return rows;
  }());
  return all;
}

}  // namespace kerncap::vgpu::isa
