// SMEM: scalar loads and stores, clocks and scalar cache operations.
#include <atomic>
#include <cstring>

#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/scalar/tables.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::scalar {
namespace {

std::uint64_t offset_of(const Wave& w, const Inst& i) {
  std::uint64_t offset = static_cast<std::uint64_t>(std::int64_t{i.offset});
  if (i.src[3].kind != OperandKind::none) offset += read_scalar32(w, i.src[3]);
  return offset;
}

// Addresses are dword-aligned: the low two bits are ignored.
template <unsigned n>
void load(Wave& w, const Inst& i) {
  const std::uint64_t va = (read_scalar64(w, i.src[2]) + offset_of(w, i)) & ~std::uint64_t{3};
  std::uint32_t data[n];
  if (!w.memory->read_whole<sizeof data>(va, data, i.mapping) && !w.memory->read(va, data, sizeof data)) return page_fault(w, va, false);
  if (w.trace) w.trace->load(va, sizeof data);
  if (i.dst.index == kNull) return;
  std::memcpy(&w.s[i.dst.index], data, sizeof data);
}
template <unsigned n>
void store(Wave& w, const Inst& i) {
  const std::uint64_t va = (read_scalar64(w, i.src[2]) + offset_of(w, i)) & ~std::uint64_t{3};
  if (!w.memory->write(va, &w.s[i.src[1].index], n * 4)) return page_fault(w, va, true);
  w.stored = true;
  if (w.trace) w.trace->store(va, n * 4);
}

struct Buffer {
  std::uint64_t base, bytes;
  explicit Buffer(const std::uint32_t* v) : base(v[0] | std::uint64_t{v[1] & 0xffff} << 32) {
    const std::uint32_t stride = v[1] >> 16 & 0x3fff;
    bytes = std::uint64_t{v[2]} * (stride ? stride : 1);
  }
};

// s_buffer_load: V# in four SGPRs, dwords past num_records read as zero.
template <unsigned n>
void buffer_load(Wave& w, const Inst& i) {
  const Buffer buffer(&w.s[i.src[2].index]);
  const std::uint64_t offset = offset_of(w, i) & ~std::uint64_t{3};
  std::uint32_t data[n] = {};
  for (unsigned k = 0; k < n; ++k) {
    if (offset + k * 4 + 4 > buffer.bytes) break;
    const std::uint64_t va = buffer.base + offset + k * 4;
    if (!w.memory->read(va, &data[k], 4)) return page_fault(w, va, false);
    if (w.trace) w.trace->load(va, 4);
  }
  if (i.dst.index != kNull) std::memcpy(&w.s[i.dst.index], data, sizeof data);
}

// Elements of 8 and 16 bits fill a register.
template <class T>
void load_small(Wave& w, const Inst& i) {
  const std::uint64_t va = (read_scalar64(w, i.src[2]) + offset_of(w, i)) & ~std::uint64_t{sizeof(T) - 1};
  T data;
  if (!w.memory->read(va, &data, sizeof data)) return page_fault(w, va, false);
  if (w.trace) w.trace->load(va, sizeof data);
  write_scalar32(w, i.dst, static_cast<std::uint32_t>(std::int32_t{data}));
}
template <class T>
void buffer_load_small(Wave& w, const Inst& i) {
  const Buffer buffer(&w.s[i.src[2].index]);
  const std::uint64_t offset = offset_of(w, i) & ~std::uint64_t{sizeof(T) - 1}, va = buffer.base + offset;
  T data = 0;
  if (offset + sizeof data <= buffer.bytes) {
    if (!w.memory->read(va, &data, sizeof data)) return page_fault(w, va, false);
    if (w.trace) w.trace->load(va, sizeof data);
  }
  write_scalar32(w, i.dst, static_cast<std::uint32_t>(std::int32_t{data}));
}
void nothing(Wave&, const Inst&) {}

void real_time(Wave& w, const Inst& i) { write_scalar64(w, i.dst, realtime_ticks()); }
void fence(Wave&, const Inst&) { std::atomic_thread_fence(std::memory_order_seq_cst); }

#define LOAD(NAME9, NAME11, OP, DST, N) \
  Row { "s_load_" NAME9, "s_load_" NAME11, Format::smem, OP, OP, kAllTargets, Type::DST, Type::b64, Type::none, Type::none, load<N> }, \
  Row { "s_buffer_load_" NAME9, "s_buffer_load_" NAME11, Format::smem, OP + 8, OP + 8, kAllTargets, Type::DST, Type::b128, Type::none, Type::none, buffer_load<N> }
#define STORE(NAME, OP, SRC, N) \
  Row { NAME, nullptr, Format::smem, OP, kNoOpcode, kGfx9, Type::none, Type::b64, Type::SRC, Type::none, store<N> }
#define OTHER(NAME, OP9, OP11, DST, ...) \
  Row { NAME, nullptr, Format::smem, OP9, OP11, kAllTargets, Type::DST, Type::none, Type::none, Type::none, __VA_ARGS__ }
// Of gfx12 alone.
#define LOAD12(NAME, OP, DST, ...) \
  Row { "s_load_" NAME, nullptr, Format::smem, no, OP, kGfx12, Type::DST, Type::b64, Type::none, Type::none, __VA_ARGS__ }
#define BUFFER12(NAME, OP, DST, ...) \
  Row { "s_buffer_load_" NAME, nullptr, Format::smem, no, OP, kGfx12, Type::DST, Type::b128, Type::none, Type::none, __VA_ARGS__ }
// Prefetches: nothing is cached, and an address that is not mapped is no fault.
#define PREFETCH(NAME, OP, BASE) \
  Row { NAME, nullptr, Format::smem, no, OP, kGfx12, Type::none, Type::BASE, Type::simm, Type::none, nothing }
constexpr std::uint16_t no = kNoOpcode;

const Row rows[] = {
    LOAD("dword", "b32", 0x00, b32, 1),
    LOAD("dwordx2", "b64", 0x01, b64, 2),
    LOAD("dwordx4", "b128", 0x02, b128, 4),
    LOAD("dwordx8", "b256", 0x03, b256, 8),
    LOAD("dwordx16", "b512", 0x04, b512, 16),
    STORE("s_store_dword", 0x10, b32, 1),
    STORE("s_store_dwordx2", 0x11, b64, 2),
    STORE("s_store_dwordx4", 0x12, b128, 4),
    OTHER("s_dcache_inv", 0x20, 0x21, none, fence),
    OTHER("s_dcache_wb", 0x21, no, none, fence),
    OTHER("s_dcache_inv_vol", 0x22, no, none, fence),
    OTHER("s_dcache_wb_vol", 0x23, no, none, fence),
    OTHER("s_gl1_inv", no, 0x20, none, fence),
    LOAD12("b96", 0x05, b96, load<3>),
    LOAD12("i8", 0x08, b32, load_small<std::int8_t>),
    LOAD12("u8", 0x09, b32, load_small<std::uint8_t>),
    LOAD12("i16", 0x0a, b32, load_small<std::int16_t>),
    LOAD12("u16", 0x0b, b32, load_small<std::uint16_t>),
    BUFFER12("b96", 0x15, b96, buffer_load<3>),
    BUFFER12("i8", 0x18, b32, buffer_load_small<std::int8_t>),
    BUFFER12("u8", 0x19, b32, buffer_load_small<std::uint8_t>),
    BUFFER12("i16", 0x1a, b32, buffer_load_small<std::int16_t>),
    BUFFER12("u16", 0x1b, b32, buffer_load_small<std::uint16_t>),
    PREFETCH("s_prefetch_inst", 0x24, b64),
    PREFETCH("s_prefetch_inst_pc_rel", 0x25, none),
    PREFETCH("s_prefetch_data", 0x26, b64),
    PREFETCH("s_buffer_prefetch_data", 0x27, b128),
    PREFETCH("s_prefetch_data_pc_rel", 0x28, none),
    // Both clocks of a virtual GPU tick alike.
    OTHER("s_memtime", 0x24, no, b64, real_time),
    OTHER("s_memrealtime", 0x25, no, b64, real_time),
};

}  // namespace

std::span<const Row> smem_rows() { return rows; }

}  // namespace kerncap::vgpu::isa::scalar
