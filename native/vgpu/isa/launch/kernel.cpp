#include "vgpu/isa/launch/kernel.hpp"

#include <algorithm>
#include <cstring>

#include "vgpu/isa/valu/overflow.hpp"

namespace kerncap::vgpu::isa {
namespace {

// amdhsa kernel descriptor; the runtimes' own amd_kernel_code_t objects agree with it in these 64 bytes.
struct Descriptor {
  std::uint32_t group_segment_fixed_size, private_segment_fixed_size, kernarg_size;
  std::uint8_t reserved0[4];
  std::int64_t entry_byte_offset;
  std::uint8_t reserved1[20];
  std::uint32_t rsrc3, rsrc1, rsrc2;
  std::uint16_t properties, kernarg_preload;
  std::uint8_t reserved2[4];
};
static_assert(sizeof(Descriptor) == 64);

// kernel_code_properties bits.
enum : unsigned {
  kPrivateSegmentBuffer = 1 << 0, kDispatchPtr = 1 << 1, kQueuePtr = 1 << 2, kKernargPtr = 1 << 3, kDispatchId = 1 << 4,
  kFlatScratchInit = 1 << 5, kPrivateSegmentSize = 1 << 6, kWave32 = 1 << 10,
};

constexpr std::uint32_t bits(std::uint32_t value, unsigned high, unsigned low) {
  return (value >> low) & ((1u << (high - low + 1)) - 1);
}

constexpr unsigned kMaxWorkgroup = 1024;
constexpr std::uint64_t kMaxScratchLane = 8u << 20;

bool refuse(Outcome& outcome, std::string why) {
  outcome.kind = Outcome::Kind::bad_dispatch;
  outcome.text = std::move(why);
  return false;
}

// gfx12 hands the workgroup ids y and z over in 16 bits each.
bool too_many_groups(std::uint32_t grid, std::uint16_t size) {
  return size != 0 && (std::uint64_t{grid} + size - 1) / size > 0xffff;
}

// Source: LLVM AMDGPUUsage, "Preloaded Kernel Arguments": with firmware that preloads, the kernel starts 256 bytes behind its
// entry, where code for other firmware loads the same SGPRs.
bool read_preload(Target target, const Dispatch& dispatch, AddressCache& memory, std::uint32_t spec, Kernel& k, Outcome& outcome) {
  const unsigned length = bits(spec, 6, 0), offset = bits(spec, 15, 7);
  if (family(target) != Family::gfx9 || length == 0) return true;
  k.entry_va += 256;
  k.preload.resize(length);
  const auto va = reinterpret_cast<std::uintptr_t>(dispatch.packet.kernarg_address) + offset * 4u;
  if (memory.read(va, k.preload.data(), length * 4u)) return true;
  outcome.kind = Outcome::Kind::page_fault;
  outcome.fault_va = va;
  outcome.text = "kernel arguments to preload are not mapped";
  return false;
}

}  // namespace

bool read_kernel(Target target, const Dispatch& dispatch, AddressCache& memory, Kernel& k, Outcome& outcome) {
  const hsa_kernel_dispatch_packet_t& packet = dispatch.packet;
  Descriptor d{};
  if (!memory.read(packet.kernel_object, &d, sizeof d)) {
    outcome.kind = Outcome::Kind::page_fault;
    outcome.fault_va = packet.kernel_object;
    outcome.text = "the kernel object is not mapped";
    return false;
  }
  k.entry_va = packet.kernel_object + static_cast<std::uint64_t>(d.entry_byte_offset);
  k.rsrc1 = d.rsrc1;
  k.rsrc2 = d.rsrc2;
  k.rsrc3 = d.rsrc3;
  k.properties = d.properties;
  const bool gfx9 = family(target) == Family::gfx9;
  k.wave_size = !gfx9 && (d.properties & kWave32) ? 32 : 64;
  if (family(target) == Family::gfx12 && (too_many_groups(packet.grid_size_y, packet.workgroup_size_y) ||
                                          too_many_groups(packet.grid_size_z, packet.workgroup_size_z)))
    return refuse(outcome, "more than 65535 workgroups in y or z");
  const unsigned granules = bits(d.rsrc1, 5, 0) + 1;
  if (gfx9) {
    // One file: VGPRs up to ACCUM_OFFSET, AccVGPRs behind.
    const unsigned total = granules * 8, accum_offset = (bits(d.rsrc3, 5, 0) + 1) * 4;
    k.vgprs = std::min({total, accum_offset, 256u});
    k.agprs = total > accum_offset ? std::min(total - accum_offset, 256u) : 0;
  } else {
    k.vgprs = std::min(256u, granules * (k.wave_size == 32 ? 8 : 4));
  }
  k.user_sgprs = bits(d.rsrc2, 5, 1);
  // The packet's sizes count, the descriptor's are for the runtime: the command processor hands out no more than it is asked for.
  const std::uint64_t lds_bytes = packet.group_segment_size, private_bytes = packet.private_segment_size;
  if (private_bytes > kMaxScratchLane) return refuse(outcome, "private segment of " + std::to_string(private_bytes) + " bytes a workitem");
  k.scratch_lane_bytes = static_cast<std::uint32_t>((private_bytes + 15) & ~std::uint64_t{15});
  const std::uint64_t items = std::uint64_t{packet.workgroup_size_x} * packet.workgroup_size_y * packet.workgroup_size_z;
  if (items == 0 || items > kMaxWorkgroup) return refuse(outcome, "workgroup of " + std::to_string(items) + " workitems");
  k.workgroup_size = static_cast<unsigned>(items);
  if (packet.grid_size_x == 0 || packet.grid_size_y == 0 || packet.grid_size_z == 0) return refuse(outcome, "empty grid");
  if (lds_bytes > lds_limit(target)) return refuse(outcome, "LDS of " + std::to_string(lds_bytes) + " bytes");
  const std::uint32_t granule = lds_granule(target);
  k.lds_bytes = static_cast<std::uint32_t>((lds_bytes + granule - 1) / granule * granule);
  return read_preload(target, dispatch, memory, d.kernarg_preload, k, outcome);
}

namespace {

// User SGPRs in their fixed order.
void user_sgprs(Wave& w, const Kernel& k) {
  const Dispatch& d = *w.dispatch;
  unsigned next = 0;
  const auto put = [&](std::uint64_t value) {
    w.s[next++] = static_cast<std::uint32_t>(value);
    w.s[next++] = static_cast<std::uint32_t>(value >> 32);
  };
  if (k.properties & kPrivateSegmentBuffer) {
    // A resource that MUBUF handlers recognise by its base (swizzled by lane, no limit).
    put(kPrivateResourceBase | std::uint64_t{1} << 63);
    put(0xffffffffull | std::uint64_t{1u << 23 | 3u << 21} << 32);
  }
  if (k.properties & kDispatchPtr) put(d.packet_va);
  if (k.properties & kQueuePtr) put(d.queue_va);
  if (k.properties & kKernargPtr) put(reinterpret_cast<std::uintptr_t>(d.packet.kernarg_address));
  if (k.properties & kDispatchId) put(d.dispatch_id);
  if (k.properties & kFlatScratchInit) put(kPrivateResourceBase);
  if (k.properties & kPrivateSegmentSize) w.s[next++] = k.scratch_lane_bytes;
  for (std::size_t i = 0; i < k.preload.size() && next < k.user_sgprs; ++i) w.s[next++] = k.preload[i];
}

// Workgroup ids, in trap temporaries, and the wave's number. Source: LLVM AMDGPUUsage, "Initial Kernel Execution State",
// architected SGPRs of GFX12; SIISelLowering, wave id in TTMP8[29:25].
void group_ids_gfx12(Wave& w) {
  const std::uint32_t* id = w.group->id;
  w.s[kTtmp0 + 9] = id[0];
  w.s[kTtmp0 + 7] = (id[1] & 0xffff) | id[2] << 16;
  w.s[kTtmp0 + 8] = (w.index_in_group & 0x1f) << 25;
}
void group_ids(Wave& w, const Kernel& k, unsigned next, unsigned waves) {
  for (unsigned i = 0; i < 3; ++i)
    if (bits(k.rsrc2, 7 + i, 7 + i)) w.s[next++] = w.group->id[i];
  if (bits(k.rsrc2, 10, 10)) w.s[next++] = waves | (w.index_in_group == 0 ? 1u << 31 : 0);
  // The wave's scratch offset is 0: private memory belongs to the wave, not to a shared backing.
  if (bits(k.rsrc2, 0, 0) && !architected_flat_scratch(w.target)) w.s[next++] = 0;
}

// Packed ids (all targets): ten bits each in v0.
void item_ids(std::uint32_t* v0, const std::uint32_t items[3], unsigned first, unsigned lanes) {
  if (items[1] == 1 && items[2] == 1) {
    for (unsigned lane = 0; lane < lanes; ++lane) v0[lane] = first + lane;
    return;
  }
  unsigned x = first % items[0], y = first / items[0] % items[1], z = first / (items[0] * items[1]);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    v0[lane] = x | y << 10 | z << 20;
    if (++x < items[0]) continue;
    x = 0;
    if (++y < items[1]) continue;
    y = 0;
    ++z;
  }
}

}  // namespace

void initialise_wave(Wave& w, const Kernel& k, const std::uint32_t items[3]) {
  std::fill(std::begin(w.s), std::end(w.s), 0u);
  user_sgprs(w, k);
  const unsigned total = items[0] * items[1] * items[2];
  const bool gfx12 = family(w.target) == Family::gfx12;
  if (gfx12) group_ids_gfx12(w);
  else group_ids(w, k, k.user_sgprs, (total + k.wave_size - 1) / k.wave_size);
  if (family(w.target) == Family::gfx9 && architected_flat_scratch(w.target)) {
    w.s[kFlatScratchLo] = static_cast<std::uint32_t>(kPrivateResourceBase);
    w.s[kFlatScratchHi] = static_cast<std::uint32_t>(kPrivateResourceBase >> 32);
  }
  w.mode.round32 = static_cast<std::uint8_t>(bits(k.rsrc1, 13, 12));
  w.mode.round64_16 = static_cast<std::uint8_t>(bits(k.rsrc1, 15, 14));
  w.mode.denorm32 = static_cast<std::uint8_t>(bits(k.rsrc1, 17, 16));
  w.mode.denorm64_16 = static_cast<std::uint8_t>(bits(k.rsrc1, 19, 18));
  // gfx12 has neither switch: a clamp turns NaN into zero, and no instruction depends on an IEEE mode.
  w.mode.dx10_clamp = gfx12 || bits(k.rsrc1, 21, 21);
  w.mode.ieee = !gfx12 && bits(k.rsrc1, 23, 23);
  w.mode.other = bits(k.rsrc1, 26, 26) ? kFp16Overflow : 0;

  const unsigned first = w.index_in_group * k.wave_size, lanes = std::min(k.wave_size, total - first);
  item_ids(w.v, items, first, lanes);
  w.set_exec(lanes == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << lanes) - 1);
  w.pc = k.entry_va;
  w.scc = w.stored = false;
  w.gpr_index_on = false;
  w.barrier_round = 0;
  w.sync_round.reset();
  w.state = Wave::State::running;
}

}  // namespace kerncap::vgpu::isa
