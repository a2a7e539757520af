// Single instructions against data/isa_vectors.txt, whose results were computed from the ISA manuals (tests/isa/model/), and
// data/isa_vectors_by_hand.txt.
// Every vector runs in one lane of a full wave; then with half of EXEC, where the other lanes must keep their registers and
// give no mask bit; then with EXEC zero, where nothing may change.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "isa_coverage.hpp"
#include "valu_machine.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

struct Vector {
  bool carry = false;
  std::uint64_t old = 0;
  std::vector<std::uint64_t> sources;
  std::optional<std::uint64_t> dst;
  bool nan = false;
  std::optional<bool> bit;
  std::string line;
};
using Vectors = std::map<std::string, std::vector<Vector>>;

Vectors read_vectors() {
  Vectors out;
  std::stringstream files;
  for (const char* path : {KERNCAP_TEST_DATA "/isa_vectors.txt", KERNCAP_TEST_DATA "/isa_vectors_by_hand.txt"}) {
    const std::ifstream file(path);
    EXPECT_TRUE(file) << path;
    files << file.rdbuf();
  }
  for (std::string line; std::getline(files, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string name, carry, old, sources, arrow, dst, bit;
    words >> name >> carry >> old >> sources >> arrow >> dst >> bit;
    Vector v;
    v.carry = carry == "1";
    v.old = std::stoull(old, nullptr, 16);
    std::istringstream parts(sources);
    for (std::string part; std::getline(parts, part, ',');) v.sources.push_back(std::stoull(part, nullptr, 16));
    v.nan = dst == "nan";
    if (dst != "-" && !v.nan) v.dst = std::stoull(dst, nullptr, 16);
    if (bit != "-") v.bit = bit == "1";
    v.line = line;
    out[name].push_back(std::move(v));
  }
  return out;
}

bool quiet_nan(Type type, std::uint64_t bits) {
  switch (type) {
    case Type::f16: return (bits & 0x7e00) == 0x7e00;
    case Type::f32: return (bits & 0x7fc00000) == 0x7fc00000;
    case Type::f64: return (bits & 0x7ff8000000000000) == 0x7ff8000000000000;
    default: return false;
  }
}
// Bits of the destination that the vector speaks about: 16-bit results keep or clear the other half, tested elsewhere.
std::uint64_t result_mask(Type type) {
  switch (type) {
    case Type::f16: case Type::bf16: case Type::u16: case Type::i16: case Type::b16: return 0xffff;
    default: return dwords(type, 64) == 2 ? ~std::uint64_t{0} : 0xffffffff;
  }
}

bool right(const Row& row, const Vector& v, std::uint64_t actual) {
  if (v.nan) return quiet_nan(row.dst, actual);
  return !v.dst || (actual & result_mask(row.dst)) == (*v.dst & result_mask(row.dst));
}

class ValuVectors {
 public:
  ValuVectors(Target target, const Row& row, std::string_view name) : machine_(target), row_(row), name_(name) {}

  // Up to a wave of vectors at once, one a lane.
  void run(std::span<const Vector> vectors) {
    const std::uint64_t all = machine_.wave.size == 32 ? 0xffffffff : ~std::uint64_t{0};
    for (const std::uint64_t exec : {all, all & 0x5555555555555555, std::uint64_t{0}}) once(vectors, exec);
  }

 private:
  const Vector& of(std::span<const Vector> vectors, unsigned lane) const { return vectors[lane % vectors.size()]; }
  void set(unsigned r, unsigned lane, std::uint64_t value) {
    machine_.reg(r, lane) = static_cast<std::uint32_t>(value);
    machine_.reg(r + 1, lane) = static_cast<std::uint32_t>(value >> 32);
  }

  void once(std::span<const Vector> vectors, std::uint64_t exec) {
    Wave& w = machine_.wave;
    const bool literal = row_.flags & kLiteralK;
    std::uint64_t carries = 0;
    for (unsigned l = 0; l < w.size; ++l) {
      const Vector& v = of(vectors, l);
      set(2, l, v.old);
      for (unsigned i = 0; i < v.sources.size(); ++i) set(10 + 2 * i, l, v.sources[i]);
      carries |= std::uint64_t{v.carry} << l;
    }
    w.set_exec(exec);
    w.set_mask(kVccLo, carries);
    w.set_mask(20, ~std::uint64_t{0});
    const Type sources[] = {row_.src0, row_.src1, row_.src2};
    Inst inst = machine_.build(name_, v(2), {});
    for (unsigned i = 0; i < 3; ++i) {
      if (sources[i] == Type::none) continue;
      inst.src[i] = sources[i] == Type::mask ? vcc : v(10 + 2 * i);
      inst.src[i].type = sources[i];
    }
    if (inst.sdst.kind != OperandKind::none) inst.sdst = s(20);
    inst.sdst.type = Type::mask;
    if (literal) inst.literal = static_cast<std::uint32_t>(vectors[0].sources.back());
    ASSERT_EQ(vet_valu(inst, w.target), nullptr) << name_;
    inst.handler(w, inst);
    exercised(w.target, row_);
    check(vectors, exec, inst);
  }

  void check(std::span<const Vector> vectors, std::uint64_t exec, const Inst& inst) {
    const Wave& w = machine_.wave;
    const std::uint64_t bits = row_.flags & kExecDst && family(w.target) != Family::gfx9 ? w.exec() : w.mask(20);
    for (unsigned l = 0; l < w.size; ++l) {
      const Vector& v = of(vectors, l);
      const std::uint64_t actual = machine_.wide(2, l);
      const std::string where = std::string(isa::name(w.target)) + " lane " + std::to_string(l) + ": " + v.line;
      if (!(exec >> l & 1)) {
        ASSERT_EQ(actual, v.old) << where << " (lane is off)";
        if (exec && inst.sdst.kind != OperandKind::none) {
          ASSERT_FALSE(bits >> l & 1) << where << " (lane is off)";
        }
        continue;
      }
      ASSERT_TRUE(right(row_, v, actual)) << where << std::hex << ", got " << actual;
      if (v.bit && inst.sdst.kind != OperandKind::none) {
        ASSERT_EQ(bits >> l & 1, std::uint64_t{*v.bit}) << where;
      }
    }
  }

  Machine machine_;
  const Row& row_;
  std::string name_;
};

const Row* find_scalar_row(Target target, std::string_view mnemonic) {
  for (const Row& row : scalar_rows()) {
    const char* name = name_of(row, target);
    const bool has = opcode_of(row, target) != kNoOpcode;
    if (has && row.handler && mnemonic == name) return &row;
  }
  return nullptr;
}

void run_scalar(Target target, const Row& row, const Vector& v) {
  Machine machine(target);
  Wave& w = machine.wave;
  const auto put = [&w](unsigned r, std::uint64_t value) {
    w.s[r] = static_cast<std::uint32_t>(value);
    w.s[r + 1] = static_cast<std::uint32_t>(value >> 32);
  };
  put(4, v.old);
  Inst inst;
  inst.row = &row;
  inst.format = row.format;
  inst.dst = s(4);
  inst.dst.type = row.dst;
  const Type sources[] = {row.src0, row.src1};
  for (unsigned i = 0; i < v.sources.size() && i < 2; ++i) {
    put(10 + 2 * i, v.sources[i]);
    inst.src[i] = s(10 + 2 * i);
    inst.src[i].type = sources[i];
  }
  if (row.flags & kLiteralK) inst.literal = static_cast<std::uint32_t>(v.sources.back());
  w.scc = v.carry;
  row.handler(w, inst);
  exercised(target, row);
  const std::uint64_t actual = w.s[4] | std::uint64_t{w.s[5]} << 32;
  EXPECT_TRUE(right(row, v, actual)) << name(target) << ": " << v.line << std::hex << ", got " << actual;
  if (v.bit) {
    EXPECT_EQ(w.scc, *v.bit) << name(target) << ": " << v.line;
  }
}

// 8-bit floats are OCP's on all targets but gfx942: lines of NAME@ocp take the place of those of NAME.
Vectors lines_for(Target target, Vectors lines) {
  constexpr std::string_view ocp = "@ocp";
  for (auto at = lines.begin(); at != lines.end();) {
    const auto own = at++;
    if (!own->first.ends_with(ocp)) continue;
    if (target != Target::gfx942) lines[own->first.substr(0, own->first.size() - ocp.size())] = own->second;
    lines.erase(own);
  }
  return lines;
}

TEST(Vectors, EveryLineOnEveryTargetThatHasIt) {
  const Vectors all = read_vectors();
  ASSERT_GT(all.size(), 600u);
  for (const Target target : kTargetList)
    for (const auto& [name, vectors] : lines_for(target, all)) {
      if (const Row* row = find_scalar_row(target, name)) {
        for (const Vector& v : vectors) run_scalar(target, *row, v);
        continue;
      }
      const Row* row = find_row(target, name);
      if (!row) continue;
      // A literal is one for all lanes.
      const std::size_t batch = row->flags & kLiteralK ? 1 : contains(kRdna, target) ? 32 : 64;
      ValuVectors runner(target, *row, name);
      for (std::size_t at = 0; at < vectors.size(); at += batch)
        runner.run(std::span(vectors).subspan(at, std::min(batch, vectors.size() - at)));
    }
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
