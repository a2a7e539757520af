#include "vgpu/isa/memory/lanes.hpp"

#include <algorithm>
#include <cstring>
#include <string>

#include "vgpu/isa/memory/address.hpp"

namespace kerncap::vgpu::isa {
namespace {

// Reads out of range get zeros from here; stores out of range end in `sink`.
alignas(16) const std::byte zeros[16] = {};
thread_local std::byte sink[kLanes][16];

std::byte* discard(unsigned lane, Access access) {
  // Nothing writes through the pointer of a load.
  if (access == Access::load) return const_cast<std::byte*>(zeros);
  std::memset(sink[lane], 0, sizeof sink[lane]);
  return sink[lane];
}

const std::uint32_t* vgpr(const Wave& w, const Operand& o) { return const_cast<Wave&>(w).vreg(o.index); }

void aperture_violation(Wave& w, std::uint64_t va, const char* what) {
  w.fault_va = va;
  w.stop(Outcome::Kind::aperture_violation, what);
}

// A lane of global memory that one mapping does not hold: a copy, or a fault.
std::byte* global_slow(Wave& w, Lanes& lanes, unsigned lane, std::uint64_t va, std::uint32_t bytes, Access access) {
  const bool write = access != Access::load;
  const std::uint64_t bad = w.memory->first_bad(va, bytes, write);
  if (bad != va + bytes) {
    page_fault(w, bad, write);
    return nullptr;
  }
  if (access == Access::atomic) {
    aperture_violation(w, va, "misaligned atomic");
    return nullptr;
  }
  Lanes::Copy copy{lane, va, bytes, {}};
  w.memory->read(va, copy.bytes, bytes);
  lanes.copies.push_back(copy);
  return nullptr;
}

// Copies live in a vector that grows: pointers into it are set when it has its final size.
void point_at_copies(Lanes& lanes) {
  for (Lanes::Copy& copy : lanes.copies) lanes.ptr[copy.lane] = copy.bytes;
}

bool aligned(Wave& w, std::uint64_t va, std::uint32_t bytes, Access access) {
  if (access != Access::atomic || va % bytes == 0) return true;
  aperture_violation(w, va, "misaligned atomic");
  return false;
}

void trace_lane(Wave& w, std::uint64_t va, std::uint32_t bytes, Access access) {
  if (access != Access::store) w.trace->load(va, bytes);
  if (access != Access::load) w.trace->store(va, bytes);
}

// Global memory at va[lane].
bool resolve_global(Wave& w, const std::uint64_t* va, std::uint32_t bytes, Access access, Lanes& lanes) {
  const bool write = access != Access::load;
  std::uint64_t low = ~std::uint64_t{0}, high = 0, misaligned = 0;
  for_each_lane(lanes.mask, [&](unsigned l) {
    low = std::min(low, va[l]);
    high = std::max(high, va[l]);
    misaligned |= va[l];
  });
  w.memory->refresh();
  if (access == Access::atomic && misaligned % bytes != 0) {
    aperture_violation(w, low, "misaligned atomic");
    return false;
  }
  if (std::byte* host = w.memory->find(low, high - low + bytes, write)) [[likely]] {
    for_each_lane(lanes.mask, [&](unsigned l) { lanes.ptr[l] = host + (va[l] - low); });
    const std::uint64_t full = w.size == 32 ? 0xffffffff : ~std::uint64_t{0};
    if (lanes.mask == full && high - low == std::uint64_t{bytes} * (w.size - 1)) {
      bool stride = true;
      for (unsigned l = 0; l < w.size; ++l) stride &= va[l] == low + std::uint64_t{bytes} * l;
      lanes.unit_stride = stride;
    }
  } else {
    for (std::uint64_t m = lanes.mask; m != 0; m &= m - 1) {
      const auto l = static_cast<unsigned>(std::countr_zero(m));
      lanes.ptr[l] = w.memory->find(va[l], bytes, write);
      if (!lanes.ptr[l]) lanes.ptr[l] = global_slow(w, lanes, l, va[l], bytes, access);
      if (w.state == Wave::State::stopped) return false;
    }
    point_at_copies(lanes);
  }
  if (w.trace) for_each_lane(lanes.mask, [&](unsigned l) { trace_lane(w, va[l], bytes, access); });
  return true;
}

std::byte* lds_pointer(Wave& w, std::uint32_t address, std::uint32_t bytes, unsigned lane, Access access) {
  std::vector<std::uint8_t>& lds = w.group->lds;
  if (address > lds.size() || bytes > lds.size() - address) return discard(lane, access);
  return reinterpret_cast<std::byte*>(lds.data() + address);
}

std::byte* scratch_pointer(Wave& w, std::uint64_t offset, std::uint32_t bytes, unsigned lane) {
  if (offset > w.scratch_lane_bytes || bytes > w.scratch_lane_bytes - offset) {
    aperture_violation(w, offset, "access outside the private segment");
    return nullptr;
  }
  return w.scratch + std::uint64_t{lane} * w.scratch_lane_bytes + offset;
}

void global_addresses(const Wave& w, const Inst& i, std::uint64_t mask, std::uint64_t* va) {
  const auto offset = static_cast<std::uint64_t>(std::int64_t{i.offset});
  if (i.src[2].kind != OperandKind::none) {
    // saddr + zero-extended 32-bit vaddr
    const std::uint64_t base = read_scalar64(w, i.src[2]) + offset;
    const std::uint32_t* low = vgpr(w, i.src[0]);
    for_each_lane(mask, [&](unsigned l) { va[l] = base + low[l]; });
    return;
  }
  const std::uint32_t* low = vgpr(w, i.src[0]);
  const std::uint32_t* high = low + kLanes;
  for_each_lane(mask, [&](unsigned l) { va[l] = (low[l] | std::uint64_t{high[l]} << 32) + offset; });
}

bool resolve_flat(Wave& w, const Inst& i, std::uint32_t bytes, Access access, Lanes& lanes) {
  std::uint64_t va[kLanes];
  global_addresses(w, i, lanes.mask, va);
  std::uint64_t shared = 0, private_ = 0;
  for_each_lane(lanes.mask, [&](unsigned l) {
    const auto high = static_cast<std::uint32_t>(va[l] >> 32);
    if (high == w.dispatch->shared_aperture_hi) shared |= std::uint64_t{1} << l;
    else if (high == w.dispatch->private_aperture_hi) private_ |= std::uint64_t{1} << l;
  });
  if (!(shared | private_)) return resolve_global(w, va, bytes, access, lanes);
  for (std::uint64_t m = shared | private_; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const auto address = static_cast<std::uint32_t>(va[l]);
    if (!aligned(w, address, bytes, access)) return false;
    lanes.ptr[l] = shared >> l & 1 ? lds_pointer(w, address, bytes, l, access) : scratch_pointer(w, address, bytes, l);
    if (!lanes.ptr[l]) return false;
  }
  const std::uint64_t all = lanes.mask;
  lanes.mask &= ~(shared | private_);
  const bool good = !lanes.mask || resolve_global(w, va, bytes, access, lanes);
  lanes.mask = all;
  return good;
}

bool resolve_scratch(Wave& w, const Inst& i, std::uint32_t bytes, Access access, Lanes& lanes) {
  std::int64_t base = i.offset;
  if (i.src[2].kind != OperandKind::none) base += static_cast<std::int32_t>(read_scalar32(w, i.src[2]));
  const std::uint32_t* vaddr = i.src[0].kind != OperandKind::none ? vgpr(w, i.src[0]) : nullptr;
  for (std::uint64_t m = lanes.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const auto offset = static_cast<std::uint32_t>(base + (vaddr ? static_cast<std::int32_t>(vaddr[l]) : 0));
    lanes.ptr[l] = scratch_pointer(w, offset, bytes, l);
    if (!lanes.ptr[l] || !aligned(w, offset, bytes, access)) return false;
  }
  return true;
}

// The buffer resource. Source: "Buffer resource descriptor" of the MI300 and RDNA3 ISA manuals.
struct Resource {
  std::uint64_t base;
  std::uint32_t stride, records, index_stride, oob_select;
  bool swizzle, add_tid;
  Resource(const std::uint32_t* v, bool gfx9)
      : base(v[0] | std::uint64_t{v[1] & 0xffff} << 32), stride(v[1] >> 16 & 0x3fff), records(v[2]),
        index_stride(8u << (v[3] >> 21 & 3)), oob_select(gfx9 ? 0 : v[3] >> 28 & 3), swizzle(v[1] >> 31),
        add_tid(v[3] >> 23 & 1) {
    if (!gfx9) swizzle = v[1] >> 30 & 3;
  }
};

// Offset of an element of a swizzled buffer (elements of four bytes).
std::uint64_t swizzled(const Resource& r, std::uint64_t index, std::uint64_t offset) {
  const std::uint64_t index_msb = index / r.index_stride, index_lsb = index % r.index_stride;
  return (index_msb * r.stride + offset / 4 * 4) * r.index_stride + index_lsb * 4 + offset % 4;
}

bool resolve_buffer(Wave& w, const Inst& i, std::uint32_t bytes, Access access, Lanes& lanes) {
  const bool gfx9 = family(w.target) == Family::gfx9;
  const Resource r(&w.s[i.src[2].index], gfx9);
  const std::uint32_t soffset = read_scalar32(w, i.src[3]);
  const std::uint32_t* index_v = i.idxen ? vgpr(w, i.src[0]) : nullptr;
  const std::uint32_t* offset_v = i.offen ? vgpr(w, i.src[0]) + (i.idxen ? kLanes : 0) : nullptr;
  // The private segment of gfx90a: the launch puts a resource with this base into s[0:3]. soffset counts bytes of the
  // whole wave, the rest bytes of a lane.
  const bool private_segment = r.base == kPrivateResourceBase && gfx9;
  const bool structured = gfx9 ? r.stride != 0 && (i.idxen || r.add_tid || r.swizzle) : r.oob_select < 2 && r.stride != 0;
  std::uint64_t va[kLanes], inside = 0, outside = 0;
  for (std::uint64_t m = lanes.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const std::uint64_t bit = std::uint64_t{1} << l;
    const std::uint64_t offset = static_cast<std::uint32_t>(i.offset) + std::uint64_t{offset_v ? offset_v[l] : 0};
    if (private_segment) {
      const auto lane_offset = static_cast<std::uint32_t>(offset) + soffset / w.size;
      lanes.ptr[l] = scratch_pointer(w, lane_offset, bytes, l);
      if (!lanes.ptr[l] || !aligned(w, lane_offset, bytes, access)) return false;
      continue;
    }
    const std::uint64_t index = std::uint64_t{index_v ? index_v[l] : 0} + (r.add_tid ? l : 0);
    bool out = false;
    std::uint64_t valid = bytes;
    if (structured) {
      out = index >= r.records || (!gfx9 && r.oob_select == 0 && offset + bytes > r.stride);
    } else if (gfx9 || r.oob_select != 2) {
      // Raw: dwords are checked one by one, atomics all or nothing.
      const std::uint64_t room = r.records > soffset && gfx9 ? r.records - soffset : gfx9 ? 0 : r.records;
      const std::uint64_t position = offset + (structured ? 0 : index * r.stride);
      valid = position >= room ? 0 : std::min<std::uint64_t>(bytes, room - position);
      if (valid < bytes && (access == Access::atomic || bytes < 4)) valid = 0;
      valid = valid < bytes ? valid / 4 * 4 : valid;
      out = valid == 0;
    } else {
      out = r.records == 0;
    }
    va[l] = r.base + soffset + (r.swizzle ? swizzled(r, index, offset) : index * r.stride + offset);
    if (out) {
      outside |= bit;
      lanes.outside |= bit;
      lanes.ptr[l] = discard(l, access);
    } else if (valid < bytes) {
      outside |= bit;
      Lanes::Copy copy{l, va[l], static_cast<std::uint32_t>(valid), {}};
      if (!w.memory->read(va[l], copy.bytes, valid)) {
        page_fault(w, va[l], access != Access::load);
        return false;
      }
      if (w.trace) trace_lane(w, va[l], static_cast<std::uint32_t>(valid), access);
      lanes.copies.push_back(copy);
    } else {
      inside |= bit;
    }
  }
  if (private_segment) return true;
  const std::uint64_t all = lanes.mask;
  lanes.mask = inside;
  const bool good = !inside || resolve_global(w, va, bytes, access, lanes);
  lanes.mask = all;
  if (outside) lanes.unit_stride = false;
  point_at_copies(lanes);
  return good;
}

}  // namespace

bool resolve(Wave& w, const Inst& i, std::uint32_t bytes, Access access, Lanes& lanes) {
  lanes.mask = w.exec();
  if (!lanes.mask) return false;
  switch (i.format) {
    case Format::global: {
      std::uint64_t va[kLanes];
      global_addresses(w, i, lanes.mask, va);
      return resolve_global(w, va, bytes, access, lanes);
    }
    case Format::flat: return resolve_flat(w, i, bytes, access, lanes);
    case Format::scratch: return resolve_scratch(w, i, bytes, access, lanes);
    case Format::mubuf: case Format::mtbuf: return resolve_buffer(w, i, bytes, access, lanes);
    case Format::ds: return resolve_lds_at(w, i, static_cast<std::uint32_t>(i.offset), bytes, access, lanes);
    default: break;
  }
  w.stop(Outcome::Kind::unimplemented, "memory format");
  return false;
}

Rows resolve_rows(Wave& w, const Inst& i, std::uint32_t bytes, bool write) {
  const std::uint64_t full = w.size == 32 ? 0xffffffff : ~std::uint64_t{0};
  const bool ds = i.format == Format::ds;
  if (w.exec() != full || w.trace || !(ds || i.format == Format::global)) return {};
  // The second lane says which pattern it can be. In 32 bits: a carry out of them ends here.
  const std::uint32_t* const low = vgpr(w, i.src[0]);
  const std::uint32_t first = low[0], step = low[1] - first;
  if (step != bytes && step != 0) return {};
  const unsigned size = w.size;
  // Neighbours are compared: plain x86-64 has no multiplication of vectors.
  std::uint32_t differ = 0;
  for (unsigned l = 0; l + 1 < size; ++l) differ |= (low[l + 1] - low[l]) ^ step;
  if (differ) return {};
  const Pattern pattern = step == 0 ? Pattern::uniform : Pattern::unit_stride;
  const std::uint32_t reach = step * (size - 1) + bytes;
  if (ds) {
    std::vector<std::uint8_t>& lds = w.group->lds;
    const std::uint64_t address = std::uint64_t{first} + static_cast<std::uint32_t>(i.offset);
    if (address + reach > lds.size()) return {};
    return {pattern, reinterpret_cast<std::byte*>(lds.data() + address)};
  }
  if (std::uint64_t{first} + reach > 0x1'0000'0000) return {};
  std::uint64_t va = static_cast<std::uint64_t>(std::int64_t{i.offset}) + first;
  if (i.src[2].kind != OperandKind::none) {
    va += read_scalar64(w, i.src[2]);
  } else {
    const std::uint32_t* const high = low + kLanes;
    for (unsigned l = 0; l < size; ++l) differ |= high[l] ^ high[0];
    if (differ) return {};
    va += std::uint64_t{high[0]} << 32;
  }
  w.memory->refresh();
  std::byte* const host = w.memory->find(va, reach, write, i.mapping);
  return host ? Rows{pattern, host} : Rows{};
}

bool resolve_lds_at(Wave& w, const Inst& i, std::uint32_t offset, std::uint32_t bytes, Access access, Lanes& lanes) {
  lanes.mask = w.exec();
  if (!lanes.mask) return false;
  const std::uint32_t* address = vgpr(w, i.src[0]);
  for (std::uint64_t m = lanes.mask; m != 0; m &= m - 1) {
    const auto l = static_cast<unsigned>(std::countr_zero(m));
    const std::uint32_t a = address[l] + offset;
    if (!aligned(w, a, bytes, access)) return false;
    lanes.ptr[l] = lds_pointer(w, a, bytes, l, access);
  }
  return true;
}

void finish_store(Wave& w, Lanes& lanes) {
  for (const Lanes::Copy& copy : lanes.copies) w.memory->write(copy.va, copy.bytes, copy.valid_bytes);
}

}  // namespace kerncap::vgpu::isa
