// rocPRIM from its headers: scan, reduction, sort, selection and partition of 3,000 integers, each compared with the C++ library's.
// Built and run by test_rocprim.py, for gfx942, which its packages carry no code for, and for gfx1100 without true16.
#include <hip/hip_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>
#include <rocprim/rocprim.hpp>
#include <vector>

using Values = std::vector<unsigned>;

static void require(hipError_t error, const char* what) {
  if (error == hipSuccess) return;
  std::printf("%s: %s\n", what, hipGetErrorString(error));
  std::exit(1);
}

struct Device {
  unsigned* data = nullptr;
  std::size_t count;

  explicit Device(const Values& values) : count(values.size()) {
    require(hipMalloc(&data, count * sizeof(unsigned)), "hipMalloc");
    require(hipMemcpy(data, values.data(), count * sizeof(unsigned), hipMemcpyHostToDevice), "copy to the device");
  }
  ~Device() { (void)hipFree(data); }
  Values get() const {
    Values values(count);
    require(hipMemcpy(values.data(), data, count * sizeof(unsigned), hipMemcpyDeviceToHost), "copy from the device");
    return values;
  }
};

// rocPRIM's calls are made twice: for the size of their scratch memory, then to do the work.
template <class Call>
static void run(const char* name, Call call) {
  std::size_t bytes = 0;
  require(call(nullptr, bytes), name);
  void* scratch = nullptr;
  require(hipMalloc(&scratch, std::max<std::size_t>(bytes, 1)), "hipMalloc");
  require(call(scratch, bytes), name);
  require(hipDeviceSynchronize(), name);
  require(hipFree(scratch), "hipFree");
}

static void check(const char* name, bool equal) {
  std::printf("%s %s\n", name, equal ? "equal" : "DIFFERS");
  if (!equal) std::exit(1);
}

int main() {
  constexpr std::size_t count = 3000;
  std::mt19937 random(5);
  Values values(count), expected(count);
  for (unsigned& value : values) value = random();
  const Device in(values);

  Device scanned(Values(count, 0));
  run("inclusive_scan", [&](void* scratch, std::size_t& bytes) {
    return rocprim::inclusive_scan(scratch, bytes, in.data, scanned.data, count, rocprim::plus<unsigned>());
  });
  std::partial_sum(values.begin(), values.end(), expected.begin());
  check("inclusive_scan", scanned.get() == expected);

  Device largest(Values(1, 0));
  run("reduce", [&](void* scratch, std::size_t& bytes) {
    return rocprim::reduce(scratch, bytes, in.data, largest.data, 0u, count, rocprim::maximum<unsigned>());
  });
  check("reduce", largest.get()[0] == *std::max_element(values.begin(), values.end()));

  Device sorted(Values(count, 0));
  run("radix_sort_keys", [&](void* scratch, std::size_t& bytes) {
    return rocprim::radix_sort_keys(scratch, bytes, in.data, sorted.data, count);
  });
  expected = values;
  std::sort(expected.begin(), expected.end());
  check("radix_sort_keys", sorted.get() == expected);

  Device chosen(Values(count, 0)), chosen_count(Values(1, 0));
  const auto odd = [] __device__(unsigned value) { return (value & 1) != 0; };
  run("select", [&](void* scratch, std::size_t& bytes) {
    return rocprim::select(scratch, bytes, in.data, chosen.data, chosen_count.data, count, odd);
  });
  expected.clear();
  std::copy_if(values.begin(), values.end(), std::back_inserter(expected), [](unsigned value) { return value & 1; });
  Values got = chosen.get();
  got.resize(chosen_count.get()[0]);
  check("select", got == expected);

  // By flags of their own, as in rocThrust's tests with a stencil; what is not chosen stands in reverse at the end.
  Device parted(Values(count, 0));
  const auto flags = rocprim::make_transform_iterator(in.data, odd);
  run("partition", [&](void* scratch, std::size_t& bytes) {
    return rocprim::partition(scratch, bytes, sorted.data, flags, parted.data, chosen_count.data, count);
  });
  const Values by_size = sorted.get();
  expected.clear();
  for (std::size_t i = 0; i < count; ++i)
    if (values[i] & 1) expected.push_back(by_size[i]);
  for (std::size_t i = count; i-- > 0;)
    if (!(values[i] & 1)) expected.push_back(by_size[i]);
  check("partition", parted.get() == expected);
  std::puts("EXIT-SUCCESS");
}
