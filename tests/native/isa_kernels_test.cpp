// Whole kernels, compiled by the image's hipcc for every target at three optimisation levels, against host results.
#include <gtest/gtest.h>

#include <cstdlib>
#include <numeric>
#include <random>

#include "isa_harness.hpp"

namespace kerncap::vgpu::isa::test {
namespace {

class Kernels : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  Kernels()
      : code_(folder() + "/isa_kernels." + std::get<0>(GetParam()) + "." + std::get<1>(GetParam()) +
              ".hsaco") {
    launch_.target = *target_from_name(std::get<0>(GetParam()));
  }
  // KERNCAP_ISA_OBJECTS names objects of another compiler.
  static std::string folder() {
    const char* other = std::getenv("KERNCAP_ISA_OBJECTS");
    return other ? other : KERNCAP_ISA_OBJECTS;
  }
  template <class T>
  void map(std::vector<T>& v) { memory_.add(v.data(), v.size() * sizeof(T)); }
  Outcome launch(const std::string& kernel, const Arguments& arguments, std::vector<std::uint32_t> grid,
                 std::vector<std::uint32_t> workgroup) {
    grid.resize(3, 1);
    workgroup.resize(3, 1);
    std::copy(grid.begin(), grid.end(), launch_.grid);
    std::copy(workgroup.begin(), workgroup.end(), launch_.workgroup);
    return run(launch_, code_, kernel, arguments, memory_);
  }
  void completes(const std::string& kernel, const Arguments& arguments, std::vector<std::uint32_t> grid,
                 std::vector<std::uint32_t> workgroup) {
    const Outcome outcome = launch(kernel, arguments, std::move(grid), std::move(workgroup));
    ASSERT_EQ(outcome.kind, Outcome::Kind::completed)
        << outcome.text << "; text section at " << std::hex << code_.text_va() << ", section address " << code_.text_offset();
    EXPECT_GT(outcome.work.instructions, 0u);
  }
  template <class T>
  std::vector<T> random(std::size_t n, int low, int high) {
    std::uniform_int_distribution<int> distribution(low, high);
    std::vector<T> v(n);
    for (T& x : v) x = static_cast<T>(distribution(engine_));
    return v;
  }
  std::mt19937 engine_{42};
  HostMemory memory_;
  CodeObject code_;
  Launch launch_;
};

TEST_P(Kernels, VectorAdd) {
  const int n = 1000;  // the last workgroup is partly masked
  std::vector<float> a(1024), b(1024), c(1024, -1.0f);
  for (int i = 0; i < 1024; ++i) a[static_cast<size_t>(i)] = static_cast<float>(i) * 0.5f, b[static_cast<size_t>(i)] = 3.0f - static_cast<float>(i);
  map(a), map(b), map(c);
  completes("vector_add", Arguments().add(a.data()).add(b.data()).add(c.data()).add(n), {1024}, {256});
  for (std::size_t i = 0; i < 1024; ++i) ASSERT_EQ(c[i], i < 1000 ? a[i] + b[i] : -1.0f) << i;
}

TEST_P(Kernels, PartialWorkgroup) {
  std::vector<std::uint32_t> out(400, 0);
  map(out);
  completes("partial_groups", Arguments().add(out.data()), {300}, {128});
  for (std::uint32_t i = 0; i < 400; ++i) ASSERT_EQ(out[i], i < 300 ? i + 1 : 0) << i;
}

TEST_P(Kernels, VectorScale) {
  std::vector<float> x(1000);
  std::iota(x.begin(), x.end(), 0.0f);
  map(x);
  completes("vector_scale", Arguments().add(x.data()).add(2.5f).add(1000), {256}, {64});
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], static_cast<float>(i) * 2.5f);
}

TEST_P(Kernels, BiasRelu) {
  std::vector<float> x = random<float>(37 * 53, -100, 100), bias = random<float>(53, -20, 20), before = x;
  map(x), map(bias);
  completes("bias_relu", Arguments().add(x.data()).add(bias.data()).add(37).add(53), {64, 40}, {16, 8});
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(x[i], std::max(0.0f, before[i] + bias[i % 53])) << i;
}

TEST_P(Kernels, Histogram) {
  std::vector<std::uint8_t> data = random<std::uint8_t>(5000, 0, 255);
  std::vector<std::uint32_t> bins(256, 1), expected(256, 1);
  for (std::uint8_t d : data) ++expected[d];
  map(data), map(bins);
  completes("histogram", Arguments().add(data.data()).add(bins.data()).add(5000), {1024}, {256});
  EXPECT_EQ(bins, expected);
}

TEST_P(Kernels, LdsReduce) {
  std::vector<float> in = random<float>(1024, -50, 50), out(4, 0.0f);
  map(in), map(out);
  completes("lds_reduce", Arguments().add(in.data()).add(out.data()), {1024}, {256});
  for (std::size_t g = 0; g < 4; ++g)
    EXPECT_EQ(out[g], std::accumulate(in.begin() + static_cast<long>(g) * 256, in.begin() + static_cast<long>(g + 1) * 256, 0.0f));
}

TEST_P(Kernels, PrivateArray) {
  std::vector<int> in = random<int>(200, 0, 1000), out(200, 0);
  map(in), map(out);
  launch_.private_bytes = 1024;
  completes("private_array", Arguments().add(in.data()).add(out.data()).add(200), {256}, {128});
  for (std::size_t i = 0; i < in.size(); ++i) {
    int values[32], sum = 0;
    for (int k = 0; k < 32; ++k) values[k] = in[i] * k + 7;
    for (int k = 0; k < 32; ++k) sum += values[(in[i] + k * 5) & 31] * (k + 1);
    values[in[i] & 31] = sum;
    ASSERT_EQ(out[i], values[(in[i] + 1) & 31] + values[in[i] & 31]) << i;
  }
}

TEST_P(Kernels, BatchedScale) {
  std::vector<std::vector<float>> rows(3, std::vector<float>(100, 2.0f));
  std::vector<float*> batch;
  for (auto& row : rows) map(row), batch.push_back(row.data());
  map(batch);
  completes("batched_scale", Arguments().add(batch.data()).add(1.5f).add(100), {128, 3}, {64, 1});
  for (std::size_t r = 0; r < 3; ++r)
    for (float v : rows[r]) ASSERT_EQ(v, 3.0f * static_cast<float>(r + 1));
}

TEST_P(Kernels, NoArguments) { completes("no_arguments", Arguments(), {256}, {64}); }

TEST_P(Kernels, TrapStops) {
  std::vector<int> x(64, 0);
  map(x);
  completes("trap_now", Arguments().add(x.data()), {64}, {64});
  x[17] = 3;
  const Outcome outcome = launch("trap_now", Arguments().add(x.data()), {64}, {64});
  EXPECT_EQ(outcome.kind, Outcome::Kind::trapped) << outcome.text;
  EXPECT_NE(outcome.text.find("s_trap 2"), std::string::npos) << outcome.text;
}

TEST_P(Kernels, PageFaultNamesTheAddress) {
  std::vector<float> a(1024), b(1024), c(512);
  map(a), map(b), map(c);
  const Outcome outcome = launch("vector_add", Arguments().add(a.data()).add(b.data()).add(c.data()).add(1024), {1024}, {64});
  EXPECT_EQ(outcome.kind, Outcome::Kind::page_fault) << outcome.text;
  EXPECT_EQ(outcome.fault_va, reinterpret_cast<std::uintptr_t>(c.data() + 512));
  EXPECT_TRUE(outcome.fault_write);
}

TEST_P(Kernels, FlatPointers) {
  std::vector<int> in = random<int>(64, 0, 20), out(64, 0);
  map(in), map(out);
  launch_.private_bytes = 1024;
  completes("flat_pointers", Arguments().add(in.data()).add(out.data()), {64}, {64});
  const int shared = 2 * (in[0] + in[1] + in[2] + in[3]), global = in[0] + in[1] + in[2];
  for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(out[i], 8 * in[i] + 28 + 1000 * shared + 1000000 * global) << i;
}

TEST_P(Kernels, SubDword) {
  std::vector<std::int8_t> b = random<std::int8_t>(100, -128, 127), bo(100, 0);
  std::vector<std::int16_t> h = random<std::int16_t>(100, -32768, 32767);
  std::vector<std::uint16_t> ho(100, 0);
  map(b), map(bo), map(h), map(ho);
  completes("sub_dword", Arguments().add(b.data()).add(h.data()).add(bo.data()).add(ho.data()).add(100), {128}, {64});
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(bo[i], static_cast<std::int8_t>(b[i] + 3));
    ASSERT_EQ(ho[i], static_cast<std::uint16_t>(h[i] * 2 + b[i]));
  }
}

TEST_P(Kernels, WideCopy) {
  struct alignas(16) F4 { float x, y, z, w; };
  struct alignas(16) D2 { double x, y; };
  std::vector<F4> in(128), out(128);
  std::vector<D2> din(128), dout(128);
  for (std::size_t i = 0; i < 128; ++i) {
    const auto f = static_cast<float>(i);
    in[i] = {f, f + 0.25f, f + 0.5f, f + 0.75f};
    din[i] = {f * 3.0, f - 1.0};
  }
  map(in), map(out), map(din), map(dout);
  completes("wide_copy", Arguments().add(in.data()).add(out.data()).add(din.data()).add(dout.data()), {128}, {64});
  for (std::size_t i = 0; i < 128; ++i) {
    ASSERT_EQ(out[i].y, in[i].y);
    ASSERT_EQ(out[i].w, in[i].w + in[i].x);
    ASSERT_EQ(dout[i].x, din[i].x * 0.5 + din[i].y);
    ASSERT_EQ(dout[i].y, din[i].y);
  }
}

TEST_P(Kernels, Atomics) {
  std::vector<std::uint32_t> u(4, 0), cas(1, 5);
  std::vector<int> s(1, 1000);
  std::vector<std::uint64_t> w(1, 0);
  std::vector<float> f(1, 0.0f);
  map(u), map(s), map(w), map(f), map(cas);
  completes("atomics", Arguments().add(u.data()).add(s.data()).add(w.data()).add(f.data()).add(cas.data()), {256}, {128});
  std::uint32_t high = 0;
  for (std::uint32_t t = 0; t < 256; ++t) high = std::max(high, t * 7 % 1000);
  EXPECT_EQ(u[0], 255u * 256 / 2);
  EXPECT_EQ(u[1], high);
  EXPECT_EQ(u[2], 0xffffffffu);
  EXPECT_EQ(u[3], 0u);
  EXPECT_EQ(s[0], 500 - 255);
  EXPECT_EQ(w[0], 256 * 0x100000000ull + 255u * 256 / 2);
  EXPECT_EQ(f[0], 256.0f);
  EXPECT_EQ(cas[0], 5u + 512);
}

TEST_P(Kernels, Shuffles) {
  std::vector<int> in = random<int>(64, 0, 9), out(64, 0);
  std::vector<std::uint64_t> ballots(64, 0);
  map(in), map(out), map(ballots);
  completes("shuffles", Arguments().add(in.data()).add(out.data()).add(ballots.data()), {64}, {64});
  const bool wave32 = contains(kRdna, launch_.target);
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t half = i / 32 * 32;
    const int sum = std::accumulate(in.begin() + static_cast<long>(half), in.begin() + static_cast<long>(half + 32), 0);
    ASSERT_EQ(out[i], sum + 1000 * in[half + 5] + 100000 * in[i % 32 == 0 ? i : i - 1]) << i;
    std::uint64_t ballot = 0;
    for (std::size_t k = 0; k < 64; ++k)
      if (in[k] & 1) ballot |= std::uint64_t{1} << k;
    if (wave32) ballot = ballot >> half & 0xffffffff;
    ASSERT_EQ(ballots[i], ballot) << i;
  }
}

TEST_P(Kernels, IndirectCalls) {
  std::vector<int> in = random<int>(64, 0, 100), out(64, 0);
  map(in), map(out);
  launch_.private_bytes = 1024;
  completes("indirect", Arguments().add(in.data()).add(out.data()), {64}, {64});
  for (std::size_t i = 0; i < 64; ++i) {
    const int v = in[i];
    ASSERT_EQ(out[i], v % 3 == 0 ? v * 3 : v % 3 == 1 ? v - 9 : v * v) << i;
  }
}

TEST_P(Kernels, Integers) {
  std::uniform_int_distribution<std::int64_t> wide(INT64_MIN / 2, INT64_MAX / 2);
  std::vector<std::int64_t> a(100), b(100), out(100, 0);
  for (std::size_t i = 0; i < 100; ++i) a[i] = wide(engine_), b[i] = i % 3 ? wide(engine_) >> 40 : wide(engine_);
  b[7] = 0;
  map(a), map(b), map(out);
  launch_.private_bytes = 1024;
  completes("integers", Arguments().add(a.data()).add(b.data()).add(out.data()).add(100), {128}, {64});
  for (std::size_t i = 0; i < 100; ++i) {
    const std::int64_t x = a[i], y = b[i];
    auto r = static_cast<std::int64_t>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y) +
                                       static_cast<std::uint64_t>(x >> 3) - (static_cast<std::uint64_t>(y) << 2));
    r ^= y != 0 ? x / y : 17;
    r = static_cast<std::int64_t>(static_cast<std::uint64_t>(r) + static_cast<std::uint64_t>(y != 0 ? x % y : 5));
    r += std::popcount(static_cast<std::uint64_t>(x)) + std::countl_zero(static_cast<std::uint64_t>(y)) +
         (x == 0 ? 0 : std::countr_zero(static_cast<std::uint64_t>(x)) + 1);
    ASSERT_EQ(out[i], r) << i << ": " << x << ", " << y;
  }
}

TEST_P(Kernels, ThreeDimensions) {
  std::vector<int> out(10 * 6 * 4, -1);
  map(out);
  completes("three_dimensions", Arguments().add(out.data()).add(10).add(6), {12, 8, 4}, {4, 4, 2});
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 10; ++x) ASSERT_EQ(out[static_cast<std::size_t>((z * 6 + y) * 10 + x)], x + 100 * y + 10000 * z);
}

// clang 17 at -O0 reloads spilled registers before it restores EXEC behind a branch: lanes which did not take the branch go
// on with stale registers, on any device. Its -O0 objects are disassembled, not run.
std::vector<std::string> levels() {
  if (KERNCAP_LLVM_MAJOR < 19) return {"O2", "O3"};
  return {"O0", "O2", "O3"};
}

INSTANTIATE_TEST_SUITE_P(Targets, Kernels,
                         ::testing::Combine(::testing::ValuesIn(compiled_targets()), ::testing::ValuesIn(levels())),
                         [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

}  // namespace
}  // namespace kerncap::vgpu::isa::test
