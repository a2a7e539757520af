#include <vector>

#include "vgpu/isa/memory/tables.hpp"
#include "vgpu/isa/rows.hpp"

namespace kerncap::vgpu::isa {

std::span<const Row> memory_rows() {
  // Never destroyed: kernels may run while a process exits.
  static const auto& all = *new std::vector<Row>([] {
    std::vector<Row> rows;
    for (const auto table : {memory::load_store_rows(), memory::format_rows(), memory::atomic_rows(), memory::ds_atomic_rows(), memory::ds_rows()})
      rows.insert(rows.end(), table.begin(), table.end());
    return rows;
  }());
  return all;
}

}  // namespace kerncap::vgpu::isa
