// What the kernels of the matrix share: buffers, launches by name from a code object, comparisons, registration of
// cases.
//
// A .hip file here is compiled twice: for the host, into the program (main.cpp), with the cases and their references;
// and for a target with the options under test, alone, into a code object that the program loads. Functions marked
// SHARED are the same source on both sides.
#pragma once

#ifdef MATRIX_WAVE64
#define __GFX7__ 1  // HIP's header refuses wave64 on gfx11; compiler and device do not
#include <hip/hip_runtime.h>
#undef __GFX7__
#else
#include <hip/hip_runtime.h>
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#define KERNEL extern "C" __global__
#define SHARED __host__ __device__ inline

// Which device code this is; on the host none.
#if defined(__gfx90a__) || defined(__gfx942__) || defined(__gfx9_4_generic__)
#define ON_GFX9 1
#endif
#if defined(__gfx942__) || defined(__gfx9_4_generic__)
#define ON_GFX942 1
#endif
#if defined(__gfx1201__) || defined(__gfx12_generic__)
#define ON_GFX12 1
#endif
#if defined(__gfx1100__) || defined(__gfx11_generic__) || ON_GFX12
#define ON_RDNA 1
#endif

#if !defined(__HIP_DEVICE_COMPILE__)
#define WAVE_WIDTH 1
#elif __has_builtin(__builtin_amdgcn_wavefrontsize)
#define WAVE_WIDTH static_cast<int>(__builtin_amdgcn_wavefrontsize())
#else
#define WAVE_WIDTH __AMDGCN_WAVEFRONT_SIZE
#endif

#if ON_RDNA && !defined(MATRIX_WAVE64)
#define ON_WAVE32 1
#endif

namespace matrix {

inline void check(hipError_t status, const char* what) {
  if (status != hipSuccess) throw std::runtime_error(std::string(what) + ": " + hipGetErrorString(status));
}
#define HIP_OK(call) ::matrix::check((call), #call)

template <class T, class Values>
std::vector<T> drawn(std::size_t count, unsigned seed, Values values) {
  std::mt19937_64 engine(seed);
  std::vector<T> out(count);
  for (T& v : out) v = static_cast<T>(values(engine));
  return out;
}
template <class T>
std::vector<T> random(std::size_t count, double low, double high, unsigned seed) {
  return drawn<T>(count, seed, std::uniform_real_distribution<double>(low, high));
}
// Whole numbers, whose sums and products stay exact in any order and with or without contraction.
template <class T>
std::vector<T> whole(std::size_t count, long low, long high, unsigned seed) {
  return drawn<T>(count, seed, std::uniform_int_distribution<long>(low, high));
}
template <class T>
std::vector<T> any_bits(std::size_t count, unsigned seed) {
  std::mt19937_64 engine(seed);
  std::vector<T> out(count);
  for (T& v : out) {
    const std::uint64_t bits = engine();
    std::memcpy(&v, &bits, sizeof v);
  }
  return out;
}

template <class T>
class Device {
 public:
  explicit Device(const std::vector<T>& values) : count_(values.size()) {
    HIP_OK(hipMalloc(&at_, count_ * sizeof(T)));
    HIP_OK(hipMemcpy(at_, values.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
  }
  explicit Device(std::size_t count, T value = T()) : Device(std::vector<T>(count, value)) {}
  Device(const Device&) = delete;
  ~Device() { (void)hipFree(at_); }
  operator T*() const { return at_; }
  std::vector<T> read() const {
    std::vector<T> out(count_);
    HIP_OK(hipMemcpy(out.data(), at_, count_ * sizeof(T), hipMemcpyDeviceToHost));
    return out;
  }

 private:
  T* at_ = nullptr;
  std::size_t count_;
};

// How far a value may be from its reference: relative to it, or in absolute terms.
struct Bound {
  double relative, absolute;
};
// What -ffast-math may do to a value that is otherwise exact: other orders, reciprocals, approximate functions.
constexpr Bound kFast{4e-6, 1e-6}, kFastHalf{4e-3, 1e-3};

struct Setting {
  std::string target;
  bool fast = false;     // built with -ffast-math
  bool flush = false;    // built to flush denormals
  bool partial = false;  // built for grids that end inside a workgroup
  bool generic = false;  // built for a generic target
  bool wave64 = false;   // built for waves of 64 lanes where 32 are usual
  std::vector<hipModule_t> modules;
};

// One case while it runs.
class Case {
 public:
  Case(const Setting& setting) : setting_(setting) {}
  const Setting& setting() const { return setting_; }
  const std::string& complaints() const { return complaints_; }
  bool rdna() const { return setting_.target == "gfx1100" || setting_.target == "gfx1201"; }
  int wave();

  hipFunction_t function(const char* name) const;
  template <class T>
  void set_symbol(const char* name, const std::vector<T>& values) const {
    const auto [at, bytes] = symbol(name);
    if (bytes != values.size() * sizeof(T)) complain(std::string(name) + " has another size");
    HIP_OK(hipMemcpyHtoD(at, const_cast<T*>(values.data()), bytes));
  }
  template <class T>
  T symbol_value(const char* name) const {
    T out;
    HIP_OK(hipMemcpyDtoH(&out, symbol(name).first, sizeof out));
    return out;
  }

  template <class... P, class... A>
  void launch(const char* name, void (*)(P...), dim3 groups, dim3 items, unsigned lds, const A&... arguments) {
    std::tuple<std::remove_cv_t<P>...> converted{static_cast<P>(arguments)...};
    std::apply(
        [&](auto&... each) {
          void* pointers[] = {&each..., nullptr};
          HIP_OK(hipModuleLaunchKernel(function(name), groups.x, groups.y, groups.z, items.x, items.y, items.z, lds,
                                       nullptr, pointers, nullptr));
        },
        converted);
    HIP_OK(hipDeviceSynchronize());
  }

  void complain(const std::string& text) const;
  // Equal to the bit (NaNs are one value); floats within `fast` of their reference where -ffast-math changed them.
  template <class T>
  void same(const char* what, const std::vector<T>& got, const std::vector<T>& want, Bound fast = kFast) const {
    const bool floating = !std::is_integral_v<T>;
    compare(what, got, want, floating && setting_.fast ? fast : Bound{0, 0});
  }
  template <class T>
  void close(const char* what, const std::vector<T>& got, const std::vector<T>& want, Bound bound) const {
    if (setting_.fast) bound = {std::max(bound.relative, kFast.relative), std::max(bound.absolute, kFast.absolute)};
    compare(what, got, want, bound);
  }

 private:
  template <class T>
  void compare(const char* what, const std::vector<T>& got, const std::vector<T>& want, Bound bound) const {
    if (got.size() != want.size()) return complain(std::string(what) + ": another size");
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0) continue;
      const double g = static_cast<double>(got[i]), w = static_cast<double>(want[i]);
      if (std::isnan(g) && std::isnan(w)) continue;
      if (std::abs(g - w) <= bound.relative * std::abs(w) + bound.absolute &&
          (bound.relative > 0 || bound.absolute > 0))
        continue;
      if (wrong++ == 0) first_difference(what, i, g, w);
    }
    if (wrong)
      complain(std::string(what) + ": " + std::to_string(wrong) + " of " + std::to_string(got.size()) + " differ");
  }
  void first_difference(const char* what, std::size_t at, double got, double want) const;
  std::pair<hipDeviceptr_t, std::size_t> symbol(const char* name) const;

  const Setting& setting_;
  mutable std::string complaints_;
};
#define LAUNCH(kernel, ...) launch(#kernel, kernel, __VA_ARGS__)

struct Registered {
  const char* name;
  const char* targets;  // of these alone; empty: all
  void (*run)(Case&);
};
std::vector<Registered>& cases();
struct Registration {
  Registration(const char* name, const char* targets, void (*run)(Case&)) { cases().push_back({name, targets, run}); }
};
// CASE(name) { ... t ... } and CASE_ON(name, "gfx942 gfx90a") { ... }
#define CASE_ON(name, targets)                                                      \
  static void case_##name(::matrix::Case& t);                                       \
  static const ::matrix::Registration register_##name(#name, targets, case_##name); \
  static void case_##name([[maybe_unused]] ::matrix::Case& t)
#define CASE(name) CASE_ON(name, "")

}  // namespace matrix

using namespace matrix;
