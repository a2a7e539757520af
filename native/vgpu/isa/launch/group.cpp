#include "vgpu/isa/launch/group.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace kerncap::vgpu::isa {

Grid::Grid(const hsa_kernel_dispatch_packet_t& p)
    : grid_{p.grid_size_x, p.grid_size_y, p.grid_size_z}, size_{p.workgroup_size_x, p.workgroup_size_y, p.workgroup_size_z} {
  // In 64 bits: a grid may end less than a workgroup below 2^32.
  for (unsigned i = 0; i < 3; ++i) groups_[i] = static_cast<std::uint32_t>((std::uint64_t{grid_[i]} + size_[i] - 1) / size_[i]);
}

std::uint64_t Grid::workgroups() const {
  const std::uint64_t plane = std::uint64_t{groups_[0]} * groups_[1];
  std::uint64_t all = 0;
  return __builtin_mul_overflow(plane, groups_[2], &all) ? std::numeric_limits<std::uint64_t>::max() : all;
}

Grid::Place Grid::place(std::uint64_t number) const {
  Place at{};
  at.id[0] = static_cast<std::uint32_t>(number % groups_[0]);
  at.id[1] = static_cast<std::uint32_t>(number / groups_[0] % groups_[1]);
  at.id[2] = static_cast<std::uint32_t>(number / groups_[0] / groups_[1]);
  for (unsigned i = 0; i < 3; ++i) at.items[i] = std::min(size_[i], grid_[i] - at.id[i] * size_[i]);
  return at;
}

void GroupInFlight::start(const Launch& launch, const Grid::Place& place) {
  const Kernel& kernel = launch.kernel;
  std::copy(std::begin(place.id), std::end(place.id), std::begin(group.id));
  const unsigned total = place.items[0] * place.items[1] * place.items[2];
  const unsigned count = (total + kernel.wave_size - 1) / kernel.wave_size;
  const std::size_t per_wave = std::size_t{kernel.vgprs + kernel.agprs} * kLanes;
  group.lds.assign(kernel.lds_bytes, 0);
  registers.assign(per_wave * count, 0);
  scratch.assign(std::size_t{kernel.scratch_lane_bytes} * kernel.wave_size * count, std::byte{0});
  waves.resize(count);
  group.barrier = {};
  group.barrier.members = count;
  for (unsigned i = 0; i < count; ++i) {
    Wave& w = waves[i];
    w.v = registers.data() + per_wave * i;
    w.a = w.v + std::size_t{kernel.vgprs} * kLanes;
    w.vgprs = kernel.vgprs;
    w.agprs = kernel.agprs;
    w.target = launch.target;
    w.size = kernel.wave_size;
    w.group = &group;
    w.index_in_group = i;
    w.dispatch = &launch.dispatch;
    w.trace = launch.trace;
    w.memory = &launch.memory;
    w.scratch = scratch.data() + std::size_t{kernel.scratch_lane_bytes} * kernel.wave_size * i;
    w.scratch_lane_bytes = kernel.scratch_lane_bytes;
    initialise_wave(w, kernel, place.items);
  }
}

void GroupInFlight::leave_barrier() {
  for (Wave& w : waves)
    if (w.state == Wave::State::at_barrier) w.state = Wave::State::running;
}

void GroupInFlight::leave_split_barrier() {
  if (group.barrier.round == 0) return;  // as on every target but gfx12
  for (Wave& w : waves)
    if (w.state == Wave::State::at_barrier && w.barrier_round != group.barrier.round) w.state = Wave::State::running;
}

}  // namespace kerncap::vgpu::isa
