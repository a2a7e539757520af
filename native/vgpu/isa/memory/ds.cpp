// DS instructions that are neither plain loads and stores nor atomics: two addresses, permutes, swizzle, append.
#include <algorithm>
#include <bit>
#include <cstring>

#include "vgpu/isa/memory/atomic_ops.hpp"
#include "vgpu/isa/memory/global_sync.hpp"
#include "vgpu/isa/memory/lanes.hpp"
#include "vgpu/isa/memory/tables.hpp"

namespace kerncap::vgpu::isa::memory {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Both reads happen before the destination, which may be the address register, is written.
template <unsigned n>
void read2_lane(u32* out, const std::byte* first, const std::byte* second) {
  u32 data[2 * n];
  std::memcpy(data, first, n * 4);
  std::memcpy(data + n, second, n * 4);
  for (unsigned k = 0; k < 2 * n; ++k) out[k * kLanes] = data[k];
}
template <unsigned n, unsigned stride>
void read2(Wave& w, const Inst& i) {
  const u32* const address = w.vreg(i.src[0].index);
  u32* const out = w.vreg(i.dst.index);
  const u32 offset0 = i.offset0 * stride * n * 4u, offset1 = i.offset1 * stride * n * 4u;
  if (const LdsBase lds = lds_base(w, address, 0, std::max(offset0, offset1) + n * 4); lds.base) {
    const std::byte *const first = lds.base + offset0, *const second = lds.base + offset1;
    if (!lds.uniform)
      return for_each_lane(lds.mask, [&](unsigned l) { read2_lane<n>(out + l, first + address[l], second + address[l]); });
    read2_lane<n>(out, first + address[0], second + address[0]);
    for (unsigned k = 0; k < 2 * n; ++k) std::fill_n(out + k * kLanes + 1, w.size - 1, out[k * kLanes]);
    return;
  }
  Lanes first, second;
  if (!resolve_lds_at(w, i, offset0, n * 4, Access::load, first) || !resolve_lds_at(w, i, offset1, n * 4, Access::load, second))
    return;
  for_each_lane(first.mask, [&](unsigned l) { read2_lane<n>(out + l, first.ptr[l], second.ptr[l]); });
}
template <unsigned n>
void write_lane(std::byte* at, const u32* in) {
  u32 data[n];
  for (unsigned k = 0; k < n; ++k) data[k] = in[k * kLanes];
  std::memcpy(at, data, sizeof data);
}
template <unsigned n, unsigned stride>
void write2(Wave& w, const Inst& i) {
  const u32* const address = w.vreg(i.src[0].index);
  const u32 offsets[2] = {i.offset0 * stride * n * 4u, i.offset1 * stride * n * 4u};
  const u32* const in[2] = {w.vreg(i.src[1].index), w.vreg(i.src[3].index)};
  const LdsBase lds = lds_base(w, address, 0, std::max(offsets[0], offsets[1]) + n * 4);
  for (unsigned half = 0; half < 2; ++half) {
    if (lds.base) {
      for_each_lane(lds.mask, [&](unsigned l) { write_lane<n>(lds.base + address[l] + offsets[half], in[half] + l); });
      continue;
    }
    Lanes lanes;
    if (!resolve_lds_at(w, i, offsets[half], n * 4, Access::store, lanes)) return;
    for_each_lane(lanes.mask, [&](unsigned l) { write_lane<n>(lanes.ptr[l], in[half] + l); });
  }
}

// Exchanges at two addresses. Both happen before the destination, which may be the address register, is written.
template <class T, unsigned stride>
void exchange2(Wave& w, const Inst& i) {
  T before[2][kLanes];
  Lanes lanes;
  for (unsigned part = 0; part < 2; ++part) {
    const u32 offset = (part ? i.offset1 : i.offset0) * stride * u32{sizeof(T)};
    if (!resolve_lds_at(w, i, offset, sizeof(T), Access::atomic, lanes)) return;
    const u32* data = w.vreg(i.src[part ? 3 : 1].index);
    for_each_lane(lanes.mask, [&](unsigned l) { before[part][l] = update<T, f_swap>(lanes.ptr[l], gather<T>(data, l)); });
  }
  u32* out = w.vreg(i.dst.index);
  for_each_lane(lanes.mask, [&](unsigned l) {
    for (unsigned part = 0; part < 2; ++part) scatter<T>(out + part * (sizeof(T) / 4) * kLanes, l, before[part][l]);
  });
}

// The dwords of an aligned pair: each is returned, and replaced by data[30:0] where data[31] is set.
void conditional_exchange(Wave& w, const Inst& i) {
  Lanes lanes;
  if (!resolve(w, i, 8, Access::atomic, lanes)) return;
  const u32* data = w.vreg(i.src[1].index);
  u32* out = w.vreg(i.dst.index);
  for_each_lane(lanes.mask, [&](unsigned l) {
    for (unsigned k = 0; k < 2; ++k) {
      u32& cell = reinterpret_cast<u32*>(lanes.ptr[l])[k];
      const u32 old = cell, value = data[k * kLanes + l];
      if (value >> 31) cell = value & 0x7fffffff;
      out[k * kLanes + l] = old;
    }
  });
}

// Dword of lane l at m0[15:0] + offset + 4 * l.
template <bool store>
void addtid(Wave& w, const Inst& i) {
  const u64 base = u64{w.s[kM0] & 0xffff} + static_cast<u32>(i.offset);
  std::vector<std::uint8_t>& lds = w.group->lds;
  u32* const registers = w.vreg(store ? i.src[1].index : i.dst.index);
  for_each_lane(w.exec(), [&](unsigned l) {
    const u64 at = base + 4 * l;
    const bool inside = at + 4 <= lds.size();
    if (store && inside) std::memcpy(lds.data() + at, registers + l, 4);
    if (!store) registers[l] = 0;
    if (!store && inside) std::memcpy(registers + l, lds.data() + at, 4);
  });
}

// Lane numbers of permutes are byte addresses; the offset is added first.
template <bool fetch_inactive>
void bpermute(Wave& w, const Inst& i) {
  const u32* address = w.vreg(i.src[0].index);
  const u32* data = w.vreg(i.src[1].index);
  u32* out = w.vreg(i.dst.index);
  const u64 exec = w.exec();
  u32 result[kLanes];
  for_each_lane(exec, [&](unsigned l) {
    const unsigned from = (address[l] + static_cast<u32>(i.offset)) / 4 % w.size;
    result[l] = fetch_inactive || (exec >> from & 1) ? data[from] : 0;  // a lane that is off gives zero
  });
  for_each_lane(exec, [&](unsigned l) { out[l] = result[l]; });
}
void permute(Wave& w, const Inst& i) {
  const u32* address = w.vreg(i.src[0].index);
  const u32* data = w.vreg(i.src[1].index);
  u32* out = w.vreg(i.dst.index);
  u32 result[kLanes] = {};
  const u64 exec = w.exec();
  for_each_lane(exec, [&](unsigned l) { result[(address[l] + static_cast<u32>(i.offset)) / 4 % w.size] = data[l]; });
  for_each_lane(exec, [&](unsigned l) { out[l] = result[l]; });
}

// Source lane of ds_swizzle_b32. Source: "DS_SWIZZLE_B32" of the MI300 and RDNA3 ISA manuals.
unsigned swizzle_source(unsigned lane, u32 offset) {
  const unsigned group = lane & ~31u, in_group = lane & 31;
  if (offset >= 0xc000) {  // rotation
    const u32 mask = offset & 0x1f, amount = offset >> 5 & 0x1f;
    const bool left = !(offset >> 10 & 1);
    const unsigned moved = (left ? in_group + amount : in_group + 32 - amount) & 31;
    return group | (in_group & mask) | (moved & ~mask & 31);
  }
  if (offset & 0x8000) return (lane & ~3u) | (offset >> ((lane & 3) * 2) & 3);
  const u32 and_mask = offset & 0x1f, or_mask = offset >> 5 & 0x1f, xor_mask = offset >> 10 & 0x1f;
  return group | (((in_group & and_mask) | or_mask) ^ xor_mask);
}
void swizzle(Wave& w, const Inst& i) {
  const u32* data = w.vreg(i.src[0].index);
  u32* out = w.vreg(i.dst.index);
  const u64 exec = w.exec();
  const u32 offset = static_cast<u32>(i.offset);
  if (offset >= 0xe000) return w.stop(Outcome::Kind::unimplemented, "FFT swizzle");
  u32 result[kLanes];
  for_each_lane(exec, [&](unsigned l) {
    const unsigned from = swizzle_source(l, offset);
    result[l] = exec >> from & 1 ? data[from] : 0;
  });
  for_each_lane(exec, [&](unsigned l) { out[l] = result[l]; });
}

// ds_append and ds_consume count active lanes at m0[31:16] + offset; every lane gets the value before.
template <bool append>
void count(Wave& w, const Inst& i) {
  const u64 exec = w.exec();
  if (!exec) return;
  const u32 address = (w.s[kM0] >> 16) + static_cast<u32>(i.offset);
  std::vector<std::uint8_t>& lds = w.group->lds;
  u32 old = 0;
  if (std::uint64_t{address} + 4 <= lds.size()) {
    std::memcpy(&old, lds.data() + address, 4);
    const u32 lanes = static_cast<u32>(std::popcount(exec));
    const u32 updated = append ? old + lanes : old - lanes;
    std::memcpy(lds.data() + address, &updated, 4);
  }
  u32* out = w.vreg(i.dst.index);
  for_each_lane(exec, [&](unsigned l) { out[l] = old; });
}
void nothing(Wave&, const Inst&) {}

// Global wave sync: which resource, and the first active lane's data.
struct SyncOperands {
  GlobalSync* sync = nullptr;
  unsigned resource = 0;
  u32 data = 0;
};
SyncOperands sync_operands(Wave& w, const Inst& i) {
  const u64 exec = w.exec();
  if (!w.dispatch->sync) w.stop(Outcome::Kind::illegal, "the queue has no global wave sync");
  else if (!exec) w.stop(Outcome::Kind::unimplemented, "global wave sync without an active lane");
  if (w.state == Wave::State::stopped) return {};
  const unsigned resource = GlobalSync::resource_of(w.s[kM0], static_cast<u32>(i.offset));
  return {w.dispatch->sync, resource, w.vreg(i.src[0].index)[std::countr_zero(exec)]};
}
void sync_init(Wave& w, const Inst& i) {
  const SyncOperands o = sync_operands(w, i);
  if (o.sync) o.sync->init(o.resource, o.data);
}
// A wave that waits comes to the instruction again: other waves and workgroups get their turns meanwhile.
void sync_barrier(Wave& w, const Inst& i) {
  const SyncOperands o = sync_operands(w, i);
  if (!o.sync || o.sync->arrive(o.resource, o.data, w.sync_round)) return;
  w.next_pc = w.pc;
  w.state = Wave::State::asleep;
}

// Transposed loads: 16 lanes read rows of 64 or 96 bits, of which a matrix of kBits-wide elements with 16 columns is made; lane c
// of the 16 gets column c. Source: "CDNA4 ISA", MFMA Transpose Load from LDS; which lane reads what is as Triton's and
// rocRoller's use of it has it. EXEC must be full and addresses aligned.
template <unsigned kBits>
void read_transposed(Wave& w, const Inst& i) {
  constexpr unsigned dwords_each = kBits == 6 ? 3 : 2, rows_each = dwords_each * 32 / kBits, lanes_a_row = 16 / rows_each;
  const u64 exec = w.exec();
  if (!exec) return;
  if (exec != ~u64{0}) return w.stop(Outcome::Kind::unimplemented, "a transposed load with lanes that are off");
  Lanes lanes;
  if (!resolve(w, i, dwords_each * 4, Access::load, lanes)) return;
  u32 in[kLanes][dwords_each], out[kLanes][dwords_each] = {};
  const u32* const address = w.vreg(i.src[0].index);
  for (unsigned l = 0; l < kLanes; ++l) {
    const u32 at = address[l] + static_cast<u32>(i.offset);
    if (at % (kBits == 6 ? 16 : 8) != 0) {
      w.fault_va = at;
      return w.stop(Outcome::Kind::aperture_violation, "misaligned transposed load");
    }
    std::memcpy(in[l], lanes.ptr[l], sizeof in[l]);
  }
  const auto put = [](u32* to, unsigned e, u32 value) {
    const unsigned bit = e * kBits;
    to[bit / 32] |= value << bit % 32;
    if (bit % 32 + kBits > 32) to[bit / 32 + 1] |= value >> (32 - bit % 32);
  };
  const auto get = [](const u32* from, unsigned e) {
    const unsigned bit = e * kBits;
    u32 value = from[bit / 32] >> bit % 32;
    if (bit % 32 + kBits > 32) value |= from[bit / 32 + 1] << (32 - bit % 32);
    return value & ((1u << kBits) - 1);
  };
  for (unsigned l = 0; l < kLanes; ++l) {
    const unsigned first = l & ~15u, column = l & 15;
    for (unsigned row = 0; row < rows_each; ++row)
      put(out[l], row, get(in[first + row * lanes_a_row + column / rows_each], column % rows_each));
  }
  u32* const to = w.vreg(i.dst.index);
  for (unsigned l = 0; l < kLanes; ++l)
    for (unsigned k = 0; k < dwords_each; ++k) to[k * kLanes + l] = out[l][k];
}

#define DS(NAME, NAME11, OP9, OP11, DST, ADDR, A, B, FLAGS, ...) \
  Row { NAME, NAME11, Format::ds, OP9, OP11, kAllTargets, Type::DST, Type::ADDR, Type::A, Type::B, __VA_ARGS__, FLAGS }
constexpr std::uint16_t no = kNoOpcode;

const Row rows[] = {
    DS("ds_read2_b32", "ds_load_2addr_b32", 0x37, 0x37, b64, b32, none, none, kTwoAddress, read2<1, 1>),
    DS("ds_read2st64_b32", "ds_load_2addr_stride64_b32", 0x38, 0x38, b64, b32, none, none, kTwoAddress, read2<1, 64>),
    DS("ds_read2_b64", "ds_load_2addr_b64", 0x77, 0x77, b128, b32, none, none, kTwoAddress, read2<2, 1>),
    DS("ds_read2st64_b64", "ds_load_2addr_stride64_b64", 0x78, 0x78, b128, b32, none, none, kTwoAddress, read2<2, 64>),
    DS("ds_write2_b32", "ds_store_2addr_b32", 0x0e, 0x0e, none, b32, b32, b32, kTwoAddress, write2<1, 1>),
    DS("ds_write2st64_b32", "ds_store_2addr_stride64_b32", 0x0f, 0x0f, none, b32, b32, b32, kTwoAddress, write2<1, 64>),
    DS("ds_write2_b64", "ds_store_2addr_b64", 0x4e, 0x4e, none, b32, b64, b64, kTwoAddress, write2<2, 1>),
    DS("ds_write2st64_b64", "ds_store_2addr_stride64_b64", 0x4f, 0x4f, none, b32, b64, b64, kTwoAddress, write2<2, 64>),
    DS("ds_wrxchg2_rtn_b32", "ds_storexchg_2addr_rtn_b32", 0x2e, 0x2e, b64, b32, b32, b32, kTwoAddress | kReturns, (exchange2<u32, 1>)),
    DS("ds_wrxchg2st64_rtn_b32", "ds_storexchg_2addr_stride64_rtn_b32", 0x2f, 0x2f, b64, b32, b32, b32, kTwoAddress | kReturns, (exchange2<u32, 64>)),
    DS("ds_wrxchg2_rtn_b64", "ds_storexchg_2addr_rtn_b64", 0x6e, 0x6e, b128, b32, b64, b64, kTwoAddress | kReturns, (exchange2<u64, 1>)),
    DS("ds_wrxchg2st64_rtn_b64", "ds_storexchg_2addr_stride64_rtn_b64", 0x6f, 0x6f, b128, b32, b64, b64, kTwoAddress | kReturns, (exchange2<u64, 64>)),
    DS("ds_swizzle_b32", nullptr, 0x3d, 0x35, b32, b32, none, none, kNone, swizzle),
    DS("ds_permute_b32", nullptr, 0x3e, 0xb2, b32, b32, b32, none, kNone, permute),
    DS("ds_bpermute_b32", nullptr, 0x3f, 0xb3, b32, b32, b32, none, kNone, bpermute<false>),
    Row{"ds_bpermute_fi_b32", nullptr, Format::ds, no, 0xcd, kGfx12, Type::b32, Type::b32, Type::b32, Type::none, bpermute<true>},
    Row{"ds_bvh_stack_push4_pop1_rtn_b32", nullptr, Format::ds, no, 0xe0, kGfx12, Type::b32, Type::b32, Type::b32, Type::b128, nullptr},
    Row{"ds_bvh_stack_push8_pop1_rtn_b32", nullptr, Format::ds, no, 0xe1, kGfx12, Type::b32, Type::b32, Type::b32, Type::b256, nullptr},
    Row{"ds_bvh_stack_push8_pop2_rtn_b64", nullptr, Format::ds, no, 0xe2, kGfx12, Type::b64, Type::b32, Type::b32, Type::b256, nullptr},
    DS("ds_consume", nullptr, 0xbd, 0x3d, b32, none, none, none, kNone, count<false>),
    DS("ds_append", nullptr, 0xbe, 0x3e, b32, none, none, none, kNone, count<true>),
    DS("ds_nop", nullptr, 0x14, 0x14, none, none, none, none, kNone, nothing),
    DS("ds_read_addtid_b32", "ds_load_addtid_b32", 0xb6, 0xb1, b32, none, none, none, kNone, addtid<false>),
    DS("ds_write_addtid_b32", "ds_store_addtid_b32", 0x1d, 0xb0, none, none, b32, none, kNone, addtid<true>),
    Row{"ds_read_b64_tr_b4", nullptr, Format::ds, 0xe0, no, kGfx950, Type::b64, Type::b32, Type::none, Type::none, read_transposed<4>},
    Row{"ds_read_b96_tr_b6", nullptr, Format::ds, 0xe1, no, kGfx950, Type::b96, Type::b32, Type::none, Type::none, read_transposed<6>},
    Row{"ds_read_b64_tr_b8", nullptr, Format::ds, 0xe2, no, kGfx950, Type::b64, Type::b32, Type::none, Type::none, read_transposed<8>},
    Row{"ds_read_b64_tr_b16", nullptr, Format::ds, 0xe3, no, kGfx950, Type::b64, Type::b32, Type::none, Type::none, read_transposed<16>},
    DS("ds_condxchg32_rtn_b64", nullptr, 0x7e, 0x7e, b64, b32, b64, none, kReturns, conditional_exchange),
    // Global wave sync: what HIP's cooperative launches use is here, semaphores are known by name only. The data register stands
    // in the field of the address. Source: LLVM, DSInstructions.td, has_gws_data0.
    DS("ds_gws_sema_release_all", nullptr, 0x98, 0x18, none, none, none, none, kNone, nullptr),
    DS("ds_gws_init", nullptr, 0x99, 0x19, none, b32, none, none, kNone, sync_init),
    DS("ds_gws_sema_v", nullptr, 0x9a, 0x1a, none, none, none, none, kNone, nullptr),
    DS("ds_gws_sema_br", nullptr, 0x9b, 0x1b, none, b32, none, none, kNone, nullptr),
    DS("ds_gws_sema_p", nullptr, 0x9c, 0x1c, none, none, none, none, kNone, nullptr),
    DS("ds_gws_barrier", nullptr, 0x9d, 0x1d, none, b32, none, none, kNone, sync_barrier),
    DS("ds_bvh_stack_rtn_b32", nullptr, no, 0xad, b32, b32, b32, b128, kNone, nullptr),
};

}  // namespace

std::span<const Row> ds_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::memory
