// Arithmetic of compiled kernels against the host: the same source for integers, floats, doubles and halves (equal to the
// bit), the math library within a few ULP.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "isa_harness.hpp"
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#include "kernels/isa_valu_sweep.hpp"
#pragma GCC diagnostic pop

namespace kerncap::vgpu::isa::test {
namespace {

using Body = void (*)(std::uint64_t, std::uint64_t, std::uint64_t, sweep::Sink&);
constexpr std::uint64_t kUntouched = 0x5a5a5a5a5a5a5a5aull;

class ValuKernels : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  // KERNCAP_ISA_OBJECTS names objects of another compiler.
  static std::string objects() {
    const char* other = std::getenv("KERNCAP_ISA_OBJECTS");
    return other ? other : KERNCAP_ISA_OBJECTS;
  }
  ValuKernels()
      : code_(objects() + "/isa_valu_sweep." + std::get<0>(GetParam()) + "." + std::get<1>(GetParam()) + ".hsaco") {
    launch_.target = *target_from_name(std::get<0>(GetParam()));
  }
  void run_kernel(const std::string& name, const void* in, void* out, int n) {
    launch_.grid[0] = (static_cast<std::uint32_t>(n) + 63) / 64 * 64;
    launch_.workgroup[0] = 64;
    launch_.private_bytes = 16384;  // call stacks of the math library
    const Outcome outcome = run(launch_, code_, name, Arguments().add(in).add(out).add(n), memory_);
    ASSERT_EQ(outcome.kind, Outcome::Kind::completed) << outcome.text << " " << std::hex << outcome.fault_va << " in " << in << " out " << out;
  }
  // `inputs` holds three numbers a lane.
  void same(const std::string& kernel, Body body, std::vector<std::uint64_t> inputs) {
    const std::size_t n = inputs.size() / 3;
    std::vector<std::uint64_t> out(n * 80, kUntouched), want(n * 80, kUntouched);
    memory_.add(inputs.data(), inputs.size() * 8);
    memory_.add(out.data(), out.size() * 8);
    run_kernel(kernel, inputs.data(), out.data(), static_cast<int>(n));
    if (HasFatalFailure()) return;
    unsigned wrong = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sweep::Sink s{want.data() + i, n};
      body(inputs[3 * i], inputs[3 * i + 1], inputs[3 * i + 2], s);
      for (std::size_t k = 0; k < 80; ++k)
        if (out[k * n + i] != want[k * n + i] && ++wrong < 12)
          ADD_FAILURE() << kernel << " result " << k << " of " << std::hex << inputs[3 * i] << ' ' << inputs[3 * i + 1] << ' '
                        << inputs[3 * i + 2] << ": " << out[k * n + i] << ", want " << want[k * n + i];
    }
    EXPECT_EQ(wrong, 0u);
    EXPECT_NE(want[0], kUntouched);
  }
  // Every triple of the special numbers, then random ones.
  std::vector<std::uint64_t> inputs(const std::vector<std::uint64_t>& special, std::uint64_t mask, std::size_t random_sets) {
    std::vector<std::uint64_t> v;
    for (auto a : special)
      for (auto b : special) v.insert(v.end(), {a, b, special[(v.size() / 3) % special.size()]});
    for (std::size_t i = 0; i < 3 * random_sets; ++i) v.push_back(engine_() & mask);
    return v;
  }
  std::mt19937_64 engine_{5};
  HostMemory memory_;
  CodeObject code_;
  Launch launch_;
};

const std::vector<std::uint64_t> kIntegers = {0, 1, 2, 3, 7, 31, 32, 127, 128, 255, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff,
                                              0x80000000, 0xffffffff, 0x100000000, 0x7fffffffffffffff, 0x8000000000000000,
                                              0xffffffffffffffff};

TEST_P(ValuKernels, Integers) {
  const auto v = inputs(kIntegers, ~0ull, 300);
  same("sweep_i8", &sweep::integers<std::uint8_t, std::int8_t>, v);
  same("sweep_i16", &sweep::integers<std::uint16_t, std::int16_t>, v);
  same("sweep_i32", &sweep::integers<std::uint32_t, std::int32_t>, v);
  same("sweep_i64", &sweep::integers<std::uint64_t, std::int64_t>, v);
  same("sweep_bits", &sweep::bit_tricks, v);
}

TEST_P(ValuKernels, Floats) {
  std::vector<std::uint64_t> special;
  for (std::uint32_t b : {0u, 1u, 0x007fffffu, 0x00800000u, 0x3effffffu, 0x3f000000u, 0x3f800000u, 0x3f800001u, 0x40200000u,
                          0x4effffffu, 0x4f000000u, 0x7e800000u, 0x7f7fffffu, 0x7f800000u, 0x7fc00000u})
    special.insert(special.end(), {b, b | 0x80000000u});
  auto v = inputs(special, 0xffffffffu, 500);
  same("sweep_f32", &sweep::floats<float>, v);
  std::vector<std::uint64_t> near;
  for (int i = 0; i < 900; ++i) near.push_back(0x3f000000u + (engine_() & 0x81ffffffu));
  same("sweep_f32", &sweep::floats<float>, near);
}

TEST_P(ValuKernels, Doubles) {
  std::vector<std::uint64_t> special;
  for (double d : {0.0, 0x1p-1074, 0x1p-1022, 0.5, 1.0, 1.5, 2.5, 2147483647.5, 4503599627370497.5, 9e15, 0x1p1023,
                   std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    special.insert(special.end(), {std::bit_cast<std::uint64_t>(d), std::bit_cast<std::uint64_t>(-d)});
  same("sweep_f64", &sweep::floats<double>, inputs(special, ~0ull, 500));
}

TEST_P(ValuKernels, Halves) {
  std::vector<std::uint64_t> special;
  for (std::uint32_t b : {0u, 1u, 0x3ffu, 0x400u, 0x3800u, 0x3c00u, 0x3c01u, 0x7bffu, 0x7c00u, 0x7e00u})
    special.insert(special.end(), {b | 0x3f80u << 16, b | 0x8000u});
  same("sweep_f16", &sweep::halves, inputs(special, 0xffffffffu, 800));
}

// Distance in units of the last place of T.
template <class T>
double ulps(T got, long double exact) {
  const T rounded = static_cast<T>(exact);
  if (std::isnan(rounded)) return std::isnan(got) ? 0.0 : 1e30;
  if (std::isinf(rounded) || rounded == 0) return got == rounded ? 0.0 : 1e30;
  const int e = std::max(std::ilogb(rounded), std::numeric_limits<T>::min_exponent - 1);
  return static_cast<double>(std::abs(static_cast<long double>(got) - exact) /
                             std::ldexp(1.0L, e - std::numeric_limits<T>::digits + 1));
}
constexpr const char* kNames[16] = {"sin", "cos", "exp", "exp2", "log", "log2", "log10", "pow", "tanh", "atan", "cbrt", "rsqrt", "erf",
                                    "sinh", "rcp", "hypot"};
// What the device evaluates, in T arithmetic where it scales the argument.
template <class T>
std::vector<long double> exact_math(T v) {
  const long double x = v, a = std::abs(x), t = v * static_cast<T>(0.01);
  return {std::sin(x), std::cos(x), std::exp(t), std::exp2(t), std::log(a), std::log2(a), std::log10(a),
          std::pow(a, static_cast<long double>(static_cast<T>(0.37))), std::tanh(t), std::atan(x), std::cbrt(x),
          1.0L / std::sqrt(a), std::erf(t), std::sinh(t), 1.0L / x, std::hypot(x, 3.0L)};
}
template <class T>
void check_math(const std::vector<T>& in, const std::vector<T>& out) {
  double worst[16] = {};
  for (std::size_t i = 0; i < in.size(); ++i) {
    const auto exact = exact_math(in[i]);
    for (std::size_t k = 0; k < 16; ++k) {
      const double u = ulps(out[k * in.size() + i], exact[k]);
      if (u > 6 && worst[k] <= 6) ADD_FAILURE() << kNames[k] << '(' << in[i] << ") = " << out[k * in.size() + i] << ", off by " << u;
      worst[k] = std::max(worst[k], u);
    }
  }
}

TEST_P(ValuKernels, MathOfFloats) {
  std::vector<float> in = {1.0f, -1.0f, 0.5f, 3.14159265f, 1e-20f, 12345.678f, -98765.4f, 1e10f, 3e30f};
  std::uniform_real_distribution<float> some(-50.0f, 50.0f);
  while (in.size() < 320) in.push_back(some(engine_));
  std::vector<float> out(in.size() * 16);
  memory_.add(in.data(), in.size() * 4);
  memory_.add(out.data(), out.size() * 4);
  run_kernel("math_f32", in.data(), out.data(), static_cast<int>(in.size()));
  check_math(in, out);
}

TEST_P(ValuKernels, MathOfDoubles) {
  std::vector<double> in = {1.0, -1.0, 0.5, 3.141592653589793, 1e-20, 12345.678, -98765.4, 1e10, 1e22, 3e200};
  std::uniform_real_distribution<double> some(-50.0, 50.0);
  while (in.size() < 192) in.push_back(some(engine_));
  std::vector<double> out(in.size() * 16);
  memory_.add(in.data(), in.size() * 8);
  memory_.add(out.data(), out.size() * 8);
  run_kernel("math_f64", in.data(), out.data(), static_cast<int>(in.size()));
  check_math(in, out);
}

INSTANTIATE_TEST_SUITE_P(All, ValuKernels,
                         ::testing::Combine(::testing::ValuesIn(compiled_targets()), ::testing::Values("O2")),
                         [](const auto& p) { return std::get<0>(p.param) + std::get<1>(p.param); });

}  // namespace
}  // namespace kerncap::vgpu::isa::test
