// A small wave whose every allocation is exact, so that AddressSanitizer sees a handler that leaves its registers, LDS,
// private or device memory. In: any words. Out: whatever they do, bounded. Used by isa_fuzz_test and the libFuzzer target.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "isa_harness.hpp"
#include "vgpu/isa/launch/code.hpp"
#include "vgpu/isa/launch/step.hpp"
#include "vgpu/isa/memory/address.hpp"
#include "vgpu/isa/print/printer.hpp"
#include "vgpu/isa/rows.hpp"
#include "vgpu/isa/wave.hpp"

namespace kerncap::vgpu::isa::test {

// Registers that the operands of a decoded instruction name lie inside the files; empty when they do.
inline std::string out_of_range(const Inst& inst, unsigned wave_size) {
  std::vector<const Operand*> operands{&inst.dst, &inst.sdst};
  for (const Operand& o : inst.src) operands.push_back(&o);
  if (inst.dual) {
    operands.push_back(&inst.dual->dst);
    for (const Operand& o : inst.dual->src) operands.push_back(&o);
  }
  for (const Operand* o : operands) {
    const unsigned end = o->index + std::max(1u, dwords(o->type, wave_size));
    const bool null = o->index == kNull && o != &inst.src[2];
    if (o->kind == OperandKind::sgpr && !null && end > kScalarRegs) return "scalar register " + std::to_string(o->index);
    if (o->kind != OperandKind::vgpr) continue;
    const unsigned limit = o->index < 256 ? inst.vgpr_end : inst.agpr_end + 256u;
    if (end > (o->index < 256 ? 256u : 512u) || end > limit) return "vector register " + std::to_string(o->index);
  }
  return {};
}

class Sandbox {
 public:
  static constexpr unsigned kVgprs = 24, kAgprs = 20;
  static constexpr std::uint32_t kScratchBytes = 48;

  explicit Sandbox(Target target, unsigned wave_size, std::uint64_t seed)
      : random(seed), target_(target), agprs_(family(target) == Family::gfx9 ? kAgprs : 0),
        v_(std::make_unique<std::uint32_t[]>(kVgprs * kLanes)), a_(std::make_unique<std::uint32_t[]>(agprs_ * kLanes)),
        scratch_(std::make_unique<std::byte[]>(kScratchBytes * wave_size)), data_(std::make_unique<std::byte[]>(kDataBytes)),
        constant_(std::make_unique<std::byte[]>(kConstantBytes)), page_(std::make_unique<CodePage>()), wave_(std::make_unique<Wave>()),
        cache_(memory_) {
    memory_.add(data_.get(), kDataBytes);
    memory_.add(constant_.get(), kConstantBytes, false);
    memory_.add(page_->words.data(), sizeof page_->words, false);
    dispatch_.shared_aperture_hi = 0x10000;
    dispatch_.private_aperture_hi = 0x20000;
    group_.lds.resize(kLdsBytes);
    group_.lds.shrink_to_fit();
    wave_->size = wave_size;
  }

  // Registers and memory of any content; addresses of what is mapped are likely.
  void scramble() {
    group_.lds.assign(kLdsBytes, 0x5a);
    Wave& w = *wave_;
    const unsigned size = w.size;
    w = Wave{};
    w.size = size;
    w.target = target_;
    w.v = v_.get();
    w.a = agprs_ ? a_.get() : nullptr;
    w.vgprs = kVgprs;
    w.agprs = agprs_;
    w.group = &group_;
    w.dispatch = &dispatch_;
    w.memory = &cache_;
    w.scratch = scratch_.get();
    w.scratch_lane_bytes = kScratchBytes;
    for (unsigned r = 0; r < kScalarRegs; r += 2) put(w.s[r], w.s[r + 1], value());
    for (unsigned r = 0; r < kVgprs; r += 2) fill_pair(v_.get() + r * kLanes);
    for (unsigned r = 0; r < agprs_; r += 2) fill_pair(a_.get() + r * kLanes);
    w.s[kNull] = 0;
    w.s[kM0] = random() % 4 ? static_cast<std::uint32_t>(random() % 40) - 8 : static_cast<std::uint32_t>(random());
    if (random() % 4) w.set_exec(~std::uint64_t{0});
    w.scc = random() & 1;
    if (random() % 4 == 0) {
      w.mode.round32 = random() & 3;
      w.mode.round64_16 = random() & 3;
      w.mode.denorm32 = random() & 3;
      w.mode.denorm64_16 = random() & 3;
    }
    w.gpr_index_on = family(target_) == Family::gfx9 && random() % 8 == 0;
  }

  // A page of code, each of whose words is to be tried as the start of an instruction.
  void load(std::span<const std::uint32_t> words) {
    page_->words.fill(0);
    std::copy_n(words.begin(), std::min(words.size(), page_->words.size()), page_->words.begin());
    code_.begin(target_, wave_->size, cache_);
  }
  // Runs the one instruction at word `at`. Returns what is wrong afterwards, or nothing.
  std::string step(std::size_t at) {
    Wave& w = *wave_;
    w.pc = reinterpret_cast<std::uintptr_t>(page_->words.data() + at);
    w.state = Wave::State::running;
    ++tried;
    const std::uint64_t issued = run_wave(w, code_, 1).instructions;
    executed += issued && w.state != Wave::State::stopped;
    const bool intact = w.v == v_.get() && w.a == (agprs_ ? a_.get() : nullptr) && w.vgprs == kVgprs && w.agprs == agprs_ &&
                        w.target == target_ && w.group == &group_ && w.dispatch == &dispatch_ && w.memory == &cache_ &&
                        w.scratch == scratch_.get() && group_.lds.size() == kLdsBytes;
    if (!intact) return "the wave's own fields changed";
    if (w.state == Wave::State::stopped && w.stop_text.empty()) return "stopped without a reason";
    return {};
  }
  std::string text(std::size_t at) const {
    const std::size_t count = std::min<std::size_t>(4, page_->words.size() - at);
    return print(decode(target_, wave_->size, std::span(page_->words).subspan(at, count), 0), target_, wave_->size);
  }

  std::mt19937_64 random;
  std::uint64_t tried = 0, executed = 0;

 private:
  static constexpr std::size_t kDataBytes = 2048, kConstantBytes = 256, kLdsBytes = 512;
  struct alignas(4096) CodePage {
    std::array<std::uint32_t, 1024> words = {};
  };

  std::uint64_t value() {
    const std::uint64_t bits = random();
    switch (bits >> 60) {
      case 0: case 1: case 2: case 3: case 4:
        return reinterpret_cast<std::uintptr_t>(data_.get()) + bits % (kDataBytes + 64) - 32;
      case 5: return reinterpret_cast<std::uintptr_t>(constant_.get()) + bits % (kConstantBytes + 32) - 16;
      case 6: return std::uint64_t{0x10000} << 32 | bits % 600;                    // LDS aperture
      case 7: return std::uint64_t{0x20000} << 32 | bits % 64;                     // private aperture
      case 8: return ~std::uint64_t{0} - bits % 24;                                // the end of the address space
      case 9: return bits % 64;
      case 10: return (bits % 128) << 32 | (random() % 512);
      case 11: return kPrivateResourceBase | (bits & 0xffff) << 48;
      case 12: return bits & 0xffffffff;
      default: return bits;
    }
  }
  static void put(std::uint32_t& lo, std::uint32_t& hi, std::uint64_t bits) {
    lo = static_cast<std::uint32_t>(bits);
    hi = static_cast<std::uint32_t>(bits >> 32);
  }
  void fill_pair(std::uint32_t* pair) {
    const std::uint64_t base = value(), stride = random() % 4 * (random() % 12);
    const bool wild = random() % 4 == 0;
    for (unsigned l = 0; l < kLanes; ++l) put(pair[l], pair[kLanes + l], wild ? value() : base + stride * l);
  }

  Target target_;
  unsigned agprs_;
  std::unique_ptr<std::uint32_t[]> v_, a_;
  std::unique_ptr<std::byte[]> scratch_, data_, constant_;
  std::unique_ptr<CodePage> page_;
  std::unique_ptr<Wave> wave_;
  HostMemory memory_;
  Dispatch dispatch_{};
  Workgroup group_;
  AddressCache cache_;
  CodeCache code_;
};

// Words that are likely to be an instruction: leading bits and opcode of a table row, everything else at random, register
// numbers mostly small enough for the sandbox.
class WordGenerator {
 public:
  explicit WordGenerator(Target target) : gfx9_(family(target) == Family::gfx9), gfx12_(family(target) == Family::gfx12) {
    const auto add = [&](std::span<const Row> rows) {
      for (const Row& row : rows) {
        const std::uint16_t op = opcode_of(row, target);
        if (op != kNoOpcode && row.handler) choices_.push_back({row.format, op});
      }
    };
    add(scalar_rows());
    add(memory_rows());
    for (const std::span<const Row> table : valu_tables()) add(table);
  }
  std::size_t rows() const { return choices_.size(); }

  // Writes up to four words of an instruction of row `number` (any number).
  void make(std::mt19937_64& random, std::size_t number, std::uint32_t* words) {
    for (unsigned i = 0; i < 4; ++i) words[i] = static_cast<std::uint32_t>(random());
    const auto [format, op] = choices_[number % choices_.size()];
    std::uint32_t& w = words[0];
    const auto set = [&w](unsigned high, unsigned low, std::uint32_t value) {
      const std::uint32_t mask = (high - low == 31 ? ~0u : (1u << (high - low + 1)) - 1) << low;
      w = (w & ~mask) | (value << low & mask);
    };
    const auto op32 = std::uint32_t{op};
    const bool small = random() % 8 != 0;
    switch (format) {
      case Format::sop1: set(31, 23, 0b101111101); set(15, 8, op32); break;
      case Format::sopc: set(31, 23, 0b101111110); set(22, 16, op32); break;
      case Format::sopp: set(31, 23, 0b101111111); set(22, 16, op32); break;
      case Format::sopk: set(31, 28, 0b1011); set(27, 23, op32); break;
      case Format::sop2: set(31, 30, 2); set(29, 23, op32); break;
      case Format::smem: set(31, 26, gfx9_ ? 0b110000 : 0b111101); gfx12_ ? set(18, 13, op32) : set(25, 18, op32); break;
      case Format::vop1: case Format::vop2: case Format::vopc: short_or_long(random, format, op32, small, words); break;
      case Format::vop3: set(31, 26, gfx9_ ? 0b110100 : 0b110101); set(25, 16, op32); long_form(random, small, words); break;
      case Format::vop3p: case Format::vop3p_mai:
        set(31, 23, gfx9_ ? 0b110100111 : 0b110011000);
        set(22, 16, op32);
        if (small) set(7, 0, static_cast<std::uint32_t>(random() % 24));
        sources(random, small, words[1]);
        break;
      case Format::vopd:
        set(31, 26, 0b110010);
        if (random() & 1 || op > 15) set(21, 17, op32); else set(25, 22, op32);
        if (small) words[0] &= ~0x1e000u, words[1] &= 0x0f1e0fffu, words[0] = (words[0] & ~0xe0u), words[1] &= ~0xe0u;
        break;
      case Format::ds: set(31, 26, 0b110110); gfx9_ ? set(24, 17, op32) : set(25, 18, op32); gfx9_ ? set(16, 16, 0) : set(17, 17, 0);
        memory_registers(small, words[1], 0x0f0f0f0f); if (random() & 1) set(15, 8, 0);
        break;
      case Format::flat: case Format::global: case Format::scratch: {
        const std::uint32_t segment = format == Format::flat ? 0 : format == Format::scratch ? 1 : 2;
        if (gfx12_) {
          set(31, 26, 0b111011); set(25, 24, segment); set(21, 14, op32);
          three_words(random, small, words);
          break;
        }
        set(31, 26, 0b110111); set(24, 18, op32); gfx9_ ? set(15, 14, segment) : set(17, 16, segment);
        if (random() % 4) set(12, 3, 0);
        memory_registers(small, words[1], 0x0fff0f0f);
        break;
      }
      case Format::mubuf: case Format::mtbuf:
        if (gfx12_) {
          set(31, 26, 0b110001); set(21, 14, op32 | (format == Format::mtbuf ? 0x80 : 0)); set(22, 22, 0);
          three_words(random, small, words);
          if (small) words[1] &= ~0x3f000u, words[2] &= 0x0000ffffu;
          break;
        }
        if (format == Format::mtbuf) {
          set(31, 26, 0b111010); set(18, 15, op32);
          memory_registers(small, words[1], 0xffff0f0f);
          break;
        }
        set(31, 26, 0b111000); gfx9_ ? set(24, 18, op32) : set(25, 18, op32);
        memory_registers(small, words[1], 0xffff0f0f);
        break;
      default: break;
    }
  }

 private:
  struct Choice { Format format; std::uint16_t op; };

  // VFLAT and VBUFFER: registers that exist, often no saddr, a short offset.
  static void three_words(std::mt19937_64& random, bool small, std::uint32_t* words) {
    if (random() & 1) words[0] = (words[0] & ~0x7fu) | 124;
    if (!small) return;
    words[1] &= ~0x780000f0u;
    words[2] &= random() % 4 ? 0x00000fffu & ~0xf0u : ~0xf0u;
  }
  static void memory_registers(bool small, std::uint32_t& w1, std::uint32_t mask) { if (small) w1 &= mask; }
  void sources(std::mt19937_64& random, bool small, std::uint32_t& w1) {
    if (!small) return;
    for (unsigned i = 0; i < 3; ++i)
      if (random() % 4) w1 = (w1 & ~(0x1ffu << 9 * i)) | (256 + static_cast<std::uint32_t>(random() % 20)) << 9 * i;
  }
  void long_form(std::mt19937_64& random, bool small, std::uint32_t* words) {
    if (small) words[0] = (words[0] & ~0xffu) | static_cast<std::uint32_t>(random() % 22);
    if (random() % 4) words[0] &= ~0xff00u, words[1] &= ~0xf8000000u;  // no modifiers
    sources(random, small, words[1]);
    if (small && random() % 8 == 0) extra_dword(random, words[2]), words[1] = (words[1] & ~0x1ffu) | (random() & 1 ? 250 : 233);
  }
  // The extra dword of DPP or SDWA with registers that exist.
  static void extra_dword(std::mt19937_64& random, std::uint32_t& word) {
    word &= ~0xf0u;
    if (random() & 1) word &= ~0x00300000u;
  }
  void short_or_long(std::mt19937_64& random, Format format, std::uint32_t op, bool small, std::uint32_t* words) {
    std::uint32_t& w = words[0];
    if (random() % 3 == 0) {  // the long form
      const std::uint32_t base = format == Format::vopc ? 0 : format == Format::vop2 ? 0x100 : gfx9_ ? 0x140 : 0x180;
      w = (w & 0xffffu) | (base + op) << 16 | (gfx9_ ? 0b110100u : 0b110101u) << 26;
      return long_form(random, small, words);
    }
    if (format == Format::vop1) w = (w & 0x01fe01ffu) | 0b0111111u << 25 | op << 9;
    else if (format == Format::vopc) w = (w & 0x0001ffffu) | 0b0111110u << 25 | op << 17;
    else w = (w & 0x01ffffffu) | op << 25;
    if (!small) return;
    w &= ~0x01e00000u | (format == Format::vopc ? 0x01ffffffu : 0);   // dst
    if (format != Format::vop1) w &= ~0x0001e000u;                     // src1
    const auto kind = random() % 8;
    if (kind < 4) w = (w & ~0x1ffu) | (256 + static_cast<std::uint32_t>(random() % 22));
    else if (kind == 4) w = (w & ~0x1ffu) | 250, extra_dword(random, words[1]);
    else if (kind == 5) w = (w & ~0x1ffu) | (gfx9_ ? 249 : 233), extra_dword(random, words[1]);
  }

  bool gfx9_, gfx12_;
  std::vector<Choice> choices_;
};

}  // namespace kerncap::vgpu::isa::test
