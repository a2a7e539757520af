#include "vgpu/isa/check/access.hpp"

#include <algorithm>
#include <bit>

#include "vgpu/isa/memory/formats.hpp"
#include "vgpu/isa/memory/lanes.hpp"

namespace kerncap::vgpu::isa::check {
namespace {

template <class F>
void each_lane(std::uint64_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

const std::uint32_t* vector(const Wave& w, const Operand& o) { return const_cast<Wave&>(w).vreg(o.index); }

struct Builder {
  const Wave& w;
  const Described& d;
  std::vector<Access>& out;

  void put(Space space, unsigned lane, std::uint64_t address, std::uint32_t bytes, std::uint16_t data) const {
    out.push_back({space, d.op, static_cast<std::uint8_t>(lane), static_cast<std::uint16_t>(bytes), data, address});
  }
  void put(Space space, unsigned lane, std::uint64_t address) const {
    put(space, lane, address, d.bytes, d.inst->src[1].index);
  }
};

void scalar(const Builder& b) {
  const Inst& i = *b.d.inst;
  std::uint64_t offset = static_cast<std::uint64_t>(std::int64_t{i.offset});
  if (i.src[3].kind != OperandKind::none) offset += read_scalar32(b.w, i.src[3]);
  const std::uint32_t align = std::min(4u, b.d.bytes);
  if (i.row->src0 != Type::b128) {
    b.put(Space::global, 0, (read_scalar64(b.w, i.src[2]) + offset) & ~std::uint64_t{align - 1});
    return;
  }
  const std::uint32_t* v = &b.w.s[i.src[2].index];
  const std::uint32_t stride = v[1] >> 16 & 0x3fff;
  const std::uint64_t records = std::uint64_t{v[2]} * (stride ? stride : 1);
  offset &= ~std::uint64_t{align - 1};
  const std::uint64_t valid = offset >= records ? 0 : std::min<std::uint64_t>(b.d.bytes, (records - offset) / align * align);
  const std::uint64_t base = v[0] | std::uint64_t{v[1] & 0xffff} << 32;
  if (valid) b.put(Space::global, 0, base + offset, static_cast<std::uint32_t>(valid), 0);
}

void lds(const Builder& b) {
  const Inst& i = *b.d.inst;
  if (b.d.counts_lanes) {
    if (const std::uint64_t mask = b.w.exec())
      b.put(Space::lds, static_cast<unsigned>(std::countr_zero(mask)), (b.w.s[kM0] >> 16) + static_cast<unsigned>(i.offset));
    return;
  }
  if (b.d.by_lane) {
    const std::uint32_t base = (b.w.s[kM0] & 0xffff) + static_cast<std::uint32_t>(i.offset);
    return each_lane(b.w.exec(), [&](unsigned l) { b.put(Space::lds, l, base + 4 * l); });
  }
  const std::uint32_t* address = vector(b.w, i.src[0]);
  if (!(i.row->flags & kTwoAddress)) {
    const auto offset = static_cast<std::uint32_t>(i.offset);
    each_lane(b.w.exec(), [&](unsigned l) { b.put(Space::lds, l, address[l] + offset); });
    return;
  }
  const bool stride64 = std::string_view(i.row->name).find("st64") != std::string_view::npos;
  const std::uint32_t unit = b.d.bytes * (stride64 ? 64 : 1);
  each_lane(b.w.exec(), [&](unsigned l) {
    b.put(Space::lds, l, address[l] + i.offset0 * unit);
    b.put(Space::lds, l, address[l] + i.offset1 * unit, b.d.bytes, i.src[3].index);
  });
}

void global(const Builder& b) {
  const Inst& i = *b.d.inst;
  const auto offset = static_cast<std::uint64_t>(std::int64_t{i.offset});
  const std::uint32_t* low = vector(b.w, i.src[0]);
  const bool saddr = i.src[2].kind != OperandKind::none;
  const std::uint64_t base = saddr ? read_scalar64(b.w, i.src[2]) : 0;
  each_lane(b.w.exec(), [&](unsigned l) {
    const std::uint64_t va = offset + (saddr ? base + low[l] : low[l] | std::uint64_t{low[kLanes + l]} << 32);
    const auto high = static_cast<std::uint32_t>(va >> 32);
    Space space = Space::global;
    if (i.format == Format::flat && high == b.w.dispatch->shared_aperture_hi) space = Space::lds;
    if (i.format == Format::flat && high == b.w.dispatch->private_aperture_hi) space = Space::scratch;
    b.put(space, l, space == Space::global ? va : va & 0xffffffff);
  });
}

void scratch(const Builder& b) {
  const Inst& i = *b.d.inst;
  std::int64_t base = i.offset;
  if (i.src[2].kind != OperandKind::none) base += static_cast<std::int32_t>(read_scalar32(b.w, i.src[2]));
  const std::uint32_t* vaddr = i.src[0].kind != OperandKind::none ? vector(b.w, i.src[0]) : nullptr;
  each_lane(b.w.exec(), [&](unsigned l) {
    b.put(Space::scratch, l, static_cast<std::uint32_t>(base + (vaddr ? static_cast<std::int32_t>(vaddr[l]) : 0)));
  });
}

// Source: "Buffer resource descriptor" and "Range checking" of the MI200, MI300 and RDNA3 ISA manuals.
void buffer(const Builder& b) {
  const Inst& i = *b.d.inst;
  const bool gfx9 = family(b.w.target) == Family::gfx9;
  const std::uint32_t* v = &b.w.s[i.src[2].index];
  const std::uint64_t base = v[0] | std::uint64_t{v[1] & 0xffff} << 32;
  const std::uint32_t stride = v[1] >> 16 & 0x3fff, records = v[2];
  const bool swizzle = gfx9 ? v[1] >> 31 : (v[1] >> 30 & 3) != 0;
  const bool add_tid = v[3] >> 23 & 1;
  const unsigned select = gfx9 ? 0 : v[3] >> 28 & 3;
  const std::uint32_t soffset = read_scalar32(b.w, i.src[3]);
  const std::uint32_t* index_v = i.idxen ? vector(b.w, i.src[0]) : nullptr;
  const std::uint32_t* offset_v = i.offen ? vector(b.w, i.src[0]) + (i.idxen ? kLanes : 0) : nullptr;
  const std::uint32_t bytes = b.d.typed ? memory::data_format(b.w, i).bytes() : b.d.bytes;
  if (bytes == 0) return;  // no format that is known: the handler stops
  const bool structured = gfx9 ? stride != 0 && (i.idxen || add_tid || swizzle) : select < 2 && stride != 0;
  each_lane(b.w.exec(), [&](unsigned l) {
    const std::uint64_t offset = static_cast<std::uint32_t>(i.offset) + std::uint64_t{offset_v ? offset_v[l] : 0};
    if (gfx9 && base == kPrivateResourceBase)
      return b.put(Space::scratch, l, static_cast<std::uint32_t>(offset) + soffset / b.w.size, bytes, i.src[1].index);
    const std::uint64_t index = std::uint64_t{index_v ? index_v[l] : 0} + (add_tid ? l : 0);
    std::uint64_t valid = bytes;
    if (structured) {
      if (index >= records || (!gfx9 && select == 0 && offset + bytes > stride)) return;
    } else if (gfx9 || select != 2) {
      const std::uint64_t room = !gfx9 ? records : records > soffset ? records - soffset : 0;
      const std::uint64_t position = offset + index * stride;
      valid = position >= room ? 0 : std::min<std::uint64_t>(valid, room - position);
      if (valid < bytes) valid = b.d.op == MemoryOp::atomic || bytes < 4 ? 0 : valid / 4 * 4;
      if (!valid) return;
    } else if (records == 0) {
      return;
    }
    std::uint64_t at = index * stride + offset;
    if (swizzle) {
      const std::uint64_t group = 8u << (v[3] >> 21 & 3);
      at = (index / group * stride + offset / 4 * 4) * group + index % group * 4 + offset % 4;
    }
    b.put(Space::global, l, base + soffset + at, static_cast<std::uint32_t>(valid), i.src[1].index);
  });
}

}  // namespace

void accesses(const Wave& w, const Described& d, std::vector<Access>& out) {
  out.clear();
  if (d.op == MemoryOp::none) return;
  const Builder b{w, d, out};
  switch (d.inst->format) {
    case Format::smem: scalar(b); break;
    case Format::ds: lds(b); break;
    case Format::flat: case Format::global: global(b); break;
    case Format::scratch: scratch(b); break;
    case Format::mubuf: case Format::mtbuf: buffer(b); break;
    default: break;
  }
  if (!d.to_lds) return;
  // LDS side of a direct load: m0 + offset + 4 * lane, a dword each, or 16 * lane for more.
  const std::size_t loads = out.size();
  const std::uint32_t base = lds_load_base(w) + static_cast<std::uint32_t>(d.inst->offset);
  const std::uint32_t bytes = d.bytes > 4 ? d.bytes : 4, apart = bytes > 4 ? 16 : 4;
  for (std::size_t k = 0; k < loads; ++k)
    out.push_back({Space::lds, MemoryOp::store, out[k].lane, static_cast<std::uint16_t>(bytes), 0, std::uint64_t{base} + apart * out[k].lane});
}

}  // namespace kerncap::vgpu::isa::check
