// A wave and one segment of memory to try memory instructions on, built from table rows without the decoder.
// In: a row. Out: registers and memory. Used by the isa_*_rows tests of memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "access_trace.hpp"
#include "isa_coverage.hpp"
#include "isa_harness.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::test {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr unsigned kAddress = 2, kData = 8, kDst = 20, kStride = 32, kOffset = 8;
constexpr u64 kExec = 0xb6db6db6db6db6db;  // two of three lanes
constexpr u32 kOld = 0xdeadbeef;

// Memory of one segment, reached by each lane at lane * kStride + kOffset (private memory: at kOffset of its own).
class MemoryMachine {
 public:
  MemoryMachine(Target target, Format format) : format_(format), registers_(32 * kLanes, kOld), cache_(memory_) {
    wave.target = target;
    wave.size = family(target) != Family::gfx9 ? 32 : 64;
    wave.v = registers_.data();
    wave.vgprs = 32;
    wave.dispatch = &dispatch_;
    wave.group = &group_;
    wave.memory = &cache_;
    dispatch_.shared_aperture_hi = 0x10000;
    dispatch_.private_aperture_hi = 0x20000;
    bytes_.resize(kLanes * kStride);
    for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = static_cast<std::uint8_t>(i * 73 + 129);
    group_.lds = bytes_;
    memory_.add(bytes_.data(), bytes_.size());
    wave.scratch = reinterpret_cast<std::byte*>(bytes_.data());
    wave.scratch_lane_bytes = kStride;
    wave.set_exec(kExec);
    const auto base = reinterpret_cast<std::uintptr_t>(bytes_.data());
    for (unsigned l = 0; l < kLanes; ++l) {
      const u64 at = format == Format::flat || format == Format::global ? base + l * kStride : format == Format::scratch ? 0 : l * kStride;
      reg(kAddress, l) = static_cast<u32>(at);
      reg(kAddress + 1, l) = static_cast<u32>(at >> 32);
    }
    wave.s[4] = static_cast<u32>(base);
    wave.s[5] = static_cast<u32>(base >> 32);
    wave.s[6] = static_cast<u32>(bytes_.size());
    wave.s[7] = family(target) != Family::gfx9 ? 3u << 28 : 0;
  }
  bool on(unsigned lane) const { return wave.exec() >> lane & 1; }
  u32& reg(unsigned r, unsigned lane) { return wave.v[r * kLanes + lane]; }
  std::uint8_t* at(unsigned lane) {
    return (format_ == Format::ds ? group_.lds.data() : bytes_.data()) + lane * kStride + kOffset;
  }
  template <class T>
  T get(unsigned lane) {
    T value;
    std::memcpy(&value, at(lane), sizeof value);
    return value;
  }
  template <class T>
  void put(unsigned lane, T value) { std::memcpy(at(lane), &value, sizeof value); }

  // `change` may set fields before it runs.
  void run(const Row& row, bool returns = true, const std::function<void(Inst&)>& change = {}) {
    const auto operand = [](OperandKind kind, Type type, unsigned index) {
      Operand o;
      o.kind = kind;
      o.type = type;
      o.index = static_cast<std::uint16_t>(index);
      return o;
    };
    Inst inst;
    inst.row = &row;
    inst.format = row.format;
    inst.handler = row.handler;
    inst.offset = kOffset;
    inst.glc = returns;
    inst.src[0] = operand(OperandKind::vgpr, Type::b64, kAddress);
    if (row.src1 != Type::none) inst.src[1] = operand(OperandKind::vgpr, row.src1, kData);
    if (row.format == Format::ds && row.src2 != Type::none) inst.src[3] = operand(OperandKind::vgpr, row.src2, kData + 4);
    if (row.format == Format::mubuf || row.format == Format::mtbuf) {
      inst.offen = true;
      inst.src[2] = operand(OperandKind::sgpr, Type::b128, 4);
      inst.src[3] = operand(OperandKind::constant, Type::b32, 0);
    }
    if (row.dst != Type::none && (returns || !(row.flags & kReturns)))
      // A buffer atomic returns into its data registers.
      inst.dst = operand(OperandKind::vgpr, row.dst, row.format == Format::mubuf && (row.flags & kReturns) ? kData : kDst);
    if (change) change(inst);
    dst = inst.dst.index;
    compare_accesses(inst);
    row.handler(wave, inst);
    exercised(wave.target, row);
    if (!may_stop) {
      EXPECT_EQ(wave.state, Wave::State::running) << row.name << ": " << wave.stop_text;
    }
  }

  Wave wave;
  unsigned dst = 0;
  bool may_stop = false;  // the test looks at the wave's state itself

 private:
  // Runs it with a trace and takes that back: what the checks describe is what it touches.
  void compare_accesses(const Inst& inst) {
    // Global wave sync touches no memory, and an arrival cannot be taken back.
    if (wave.dispatch != nullptr && wave.dispatch->sync != nullptr) return;
    Decoded decoded;
    decoded.inst = inst;
    check::Described d = check::describe(std::move(decoded), wave.target, wave.size);
    d.inst = &d.decoded.inst;
    std::vector<check::Access> described;
    check::accesses(wave, d, described);
    const Wave wave_before = wave;
    const std::vector<u32> registers_before = registers_;
    const std::vector<std::uint8_t> bytes_before = bytes_, lds_before = group_.lds;
    AccessTrace trace;
    wave.trace = &trace;
    inst.handler(wave, inst);
    if (wave.state == Wave::State::running) {
      EXPECT_EQ(difference(trace, described), "") << inst.row->name;
      const auto base = reinterpret_cast<std::uintptr_t>(bytes_.data());
      changed_only(bytes_before, bytes_, described, check::Space::global, base, *inst.row);
      changed_only(lds_before, group_.lds, described, check::Space::lds, 0, *inst.row);
    }
    wave = wave_before;
    registers_ = registers_before;
    bytes_ = bytes_before;
    group_.lds = lds_before;
  }
  // Every byte that changed is one that a store was said to touch. Private memory has the same bytes as global.
  static void changed_only(const std::vector<std::uint8_t>& before, const std::vector<std::uint8_t>& after,
                           const std::vector<check::Access>& described, check::Space space, u64 base, const Row& row) {
    std::vector<bool> stored(before.size());
    for (const check::Access& a : described) {
      const bool scratch = a.space == check::Space::scratch && space == check::Space::global;
      if (a.op == check::MemoryOp::load || (a.space != space && !scratch)) continue;
      const u64 at = scratch ? a.lane * kStride + a.address : a.address - base;
      for (u64 k = at; k < at + a.bytes && k < stored.size(); ++k) stored[k] = true;
    }
    for (std::size_t k = 0; k < before.size(); ++k) {
      if (stored[k]) continue;
      ASSERT_EQ(before[k], after[k]) << row.name << " changes byte " << k << " of " << check::name(space);
    }
  }

  Format format_;
  std::vector<u32> registers_;
  std::vector<std::uint8_t> bytes_;
  HostMemory memory_;
  Dispatch dispatch_{};
  Workgroup group_;
  AddressCache cache_;
};

// The row's name without its segment: load_dword, atomic_add, read_b32.
inline std::string_view plain(std::string_view name) {
  for (const std::string_view prefix : {"flat_", "global_", "scratch_", "buffer_", "tbuffer_", "ds_"})
    if (name.starts_with(prefix)) return name.substr(prefix.size());
  return name;
}

template <class F>
void for_each_memory_row(F f) {
  for (const Target target : kTargetList)
    for (const Row& row : memory_rows())
      if (row.handler && opcode_of(row, target) != kNoOpcode) {
        SCOPED_TRACE(std::string(name(target)) + " " + row.name);
        f(target, row, plain(row.name));
      }
}

}  // namespace kerncap::vgpu::isa::test
