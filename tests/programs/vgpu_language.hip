// What HIP's language and device library ask of a device, one section each: `vgpu_language [SECTION...]`, all that come
// back by default. Every section checks its own results; used by tests/e2e/test_vgpu_language.py.
#include "program.hpp"  // first: HIP's header of cooperative groups needs its runtime header

#include <hip/hip_cooperative_groups.h>

#include <cassert>
#include <map>
#include <string>
#include <vector>

namespace cg = cooperative_groups;

namespace {

template <class T>
T* device(std::size_t count) {
  T* p = nullptr;
  HIP_CHECK(hipMalloc(&p, count * sizeof(T)));
  HIP_CHECK(hipMemset(p, 0, count * sizeof(T)));
  return p;
}
template <class T>
std::vector<T> download(const T* p, std::size_t count) {
  std::vector<T> v(count);
  HIP_CHECK(hipMemcpy(v.data(), p, count * sizeof(T), hipMemcpyDeviceToHost));
  return v;
}
void finished() {
  HIP_CHECK(hipGetLastError());
  HIP_CHECK(hipDeviceSynchronize());
}

// Every workgroup reads what the one before it wrote, `rounds` times: wrong unless all meet at each grid barrier.
__global__ void ring(int* values, int rounds) {
  cg::grid_group grid = cg::this_grid();
  const unsigned group = blockIdx.x, groups = gridDim.x;
  for (int round = 0; round < rounds; ++round) {
    const int from = values[(group + groups - 1) % groups];
    grid.sync();
    if (threadIdx.x == 0) values[group] = from + 1;
    grid.sync();
  }
}

bool ring_of(unsigned groups, unsigned workitems, int rounds) {
  int* values = device<int>(groups);
  std::vector<int> want(groups);
  for (unsigned i = 0; i < groups; ++i) want[i] = static_cast<int>(i) * 100;
  HIP_CHECK(hipMemcpy(values, want.data(), groups * sizeof(int), hipMemcpyHostToDevice));
  void* arguments[] = {&values, &rounds};
  HIP_CHECK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(ring), dim3(groups), dim3(workitems), arguments, 0, nullptr));
  finished();
  for (int round = 0; round < rounds; ++round) {
    const std::vector<int> before = want;
    for (unsigned i = 0; i < groups; ++i) want[i] = before[(i + groups - 1) % groups] + 1;
  }
  return download(values, groups) == want;
}

bool cooperative() {
  int supported = 0;
  HIP_CHECK(hipDeviceGetAttribute(&supported, hipDeviceAttributeCooperativeLaunch, 0));
  return supported == 1 && ring_of(7, 96, 5) && ring_of(1, 1, 3) && ring_of(600, 64, 2);
}

// More workgroups than the device holds at once could never meet.
bool cooperative_too_large() {
  int* values = device<int>(1);
  int rounds = 1;
  void* arguments[] = {&values, &rounds};
  const auto kernel = reinterpret_cast<void*>(ring);
  return hipLaunchCooperativeKernel(kernel, dim3(1 << 20), dim3(1024), arguments, 0, nullptr) ==
         hipErrorCooperativeLaunchTooLarge;
}

__global__ void tiles(int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int sum = static_cast<int>(threadIdx.x);
  for (int step = 8; step > 0; step /= 2) sum += tile.shfl_down(sum, step);
  if (threadIdx.x % 16 == 0) out[threadIdx.x / 16] = sum;
}
bool tiled() {
  int* out = device<int>(12);
  tiles<<<1, 192>>>(out);
  finished();
  const std::vector<int> got = download(out, 12);
  bool right = true;
  for (int t = 0; t < 12; ++t) right = right && got[t] == 16 * (16 * t) + 120;
  return right;
}

using Unary = float (*)(float);
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ Unary functions[] = {twice, square};
__global__ void call_through_table(const int* which, float* data, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) data[i] = functions[which[i]](data[i]);
}
bool function_pointers() {
  const int n = 200;
  std::vector<int> which(n);
  std::vector<float> data(n), want(n);
  for (int i = 0; i < n; ++i) {
    which[i] = i * 5 % 7 % 2;
    data[i] = sample(i);
    want[i] = which[i] ? data[i] * data[i] : 2 * data[i];
  }
  int* w = device<int>(n);
  float* d = device<float>(n);
  HIP_CHECK(hipMemcpy(w, which.data(), n * sizeof(int), hipMemcpyHostToDevice));
  HIP_CHECK(hipMemcpy(d, data.data(), n * sizeof(float), hipMemcpyHostToDevice));
  call_through_table<<<2, 128>>>(w, d, n);
  finished();
  return download(d, n) == want;
}

struct Shape {
  __device__ virtual ~Shape() {}
  __device__ virtual int area() const = 0;
};
struct Square : Shape {
  int a;
  __device__ explicit Square(int side) : a(side) {}
  __device__ int area() const override { return a * a; }
};
struct Rectangle : Shape {
  int a, b;
  __device__ Rectangle(int width, int height) : a(width), b(height) {}
  __device__ int area() const override { return a * b; }
};
union Storage {
  alignas(8) char square[sizeof(Square)];
  alignas(8) char rectangle[sizeof(Rectangle)];
};
__global__ void construct(Storage* shapes, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  if (i % 3) new (&shapes[i]) Square(i);
  else new (&shapes[i]) Rectangle(i, 2);
}
__global__ void measure(const Storage* shapes, int* areas, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) areas[i] = reinterpret_cast<const Shape*>(&shapes[i])->area();
}
bool virtual_functions() {
  const int n = 100;
  Storage* shapes = device<Storage>(n);
  int* areas = device<int>(n);
  construct<<<2, 64>>>(shapes, n);
  measure<<<2, 64>>>(shapes, areas, n);
  finished();
  const std::vector<int> got = download(areas, n);
  bool right = true;
  for (int i = 0; i < n; ++i) right = right && got[i] == (i % 3 ? i * i : 2 * i);
  return right;
}

__device__ __attribute__((noinline)) unsigned ackermann(unsigned m, unsigned n) {
  if (m == 0) return n + 1;
  if (n == 0) return ackermann(m - 1, 1);
  return ackermann(m - 1, ackermann(m, n - 1));
}
__global__ void recurse(unsigned* out) { out[threadIdx.x] = ackermann(threadIdx.x % 3, threadIdx.x % 4); }
bool recursion() {
  unsigned* out = device<unsigned>(64);
  recurse<<<1, 64>>>(out);
  finished();
  const std::vector<unsigned> got = download(out, 64);
  bool right = true;
  for (unsigned i = 0; i < 64; ++i) {
    const unsigned m = i % 3, n = i % 4, want = m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3;
    right = right && got[i] == want;
  }
  return right;
}

__global__ void three_dimensions(unsigned* out, uint3 size) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
                 z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < size.x && y < size.y && z < size.z)
    atomicAdd(&out[(z * size.y + y) * size.x + x], 1 + x + 1000 * y + 1000000 * z);
}
bool grids() {
  const uint3 size = {19, 7, 5};
  const std::size_t count = std::size_t{size.x} * size.y * size.z;
  unsigned* out = device<unsigned>(count);
  three_dimensions<<<dim3(3, 2, 3), dim3(8, 4, 2)>>>(out, size);
  finished();
  const std::vector<unsigned> got = download(out, count);
  bool right = true;
  for (unsigned i = 0; i < count; ++i)
    right = right && got[i] == 1 + i % 19 + 1000 * (i / 19 % 7) + 1000000 * (i / 19 / 7);
  return right;
}

__global__ void reduce(const int* x, long long* sum, int n) {
  extern __shared__ long long partial[];
  long long mine = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  partial[threadIdx.x] = mine;
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    __syncthreads();
    if (threadIdx.x < width) partial[threadIdx.x] += partial[threadIdx.x + width];
  }
  if (threadIdx.x == 0) atomicAdd(reinterpret_cast<unsigned long long*>(sum), static_cast<unsigned long long>(partial[0]));
}
bool dynamic_lds() {
  const int n = 5000;
  std::vector<int> x(n);
  long long want = 0;
  for (int i = 0; i < n; ++i) want += x[i] = i * 7919 % 2003 - 1000;
  int* dx = device<int>(n);
  long long* sum = device<long long>(1);
  HIP_CHECK(hipMemcpy(dx, x.data(), n * sizeof(int), hipMemcpyHostToDevice));
  for (const unsigned workitems : {64u, 256u, 1024u}) {
    HIP_CHECK(hipMemset(sum, 0, sizeof *sum));
    // 1024 sums take 8 KiB; the last launch takes all 64 KiB that a workgroup can have.
    reduce<<<3, workitems, workitems == 1024 ? 65536 : workitems * sizeof(long long)>>>(dx, sum, n);
    finished();
    if (download(sum, 1)[0] != want) return false;
  }
  return true;
}

__global__ void add_up(float* f, double* d, unsigned long long* u, int* least, int* most) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(f, 0.5f);
  unsafeAtomicAdd(f + 1, 0.25f);
  atomicAdd(d, 0.125);
  unsafeAtomicAdd(d + 1, 2.0);
  atomicAdd(u, 1ull << 33);
  atomicXor(u + 1, 1ull << (i % 64));
  atomicMin(least, -i);
  atomicMax(most, i);
  atomicCAS(most + 1, i, i + 1);
}
bool atomics() {
  const int n = 512;
  float* f = device<float>(2);
  double* d = device<double>(2);
  auto* u = device<unsigned long long>(2);
  int *least = device<int>(1), *most = device<int>(2);
  add_up<<<4, 128>>>(f, d, u, least, most);
  finished();
  const int compared = download(most, 2)[1];
  return download(f, 2) == std::vector<float>{n * 0.5f, n * 0.25f} && download(d, 2) == std::vector<double>{n * 0.125, n * 2.0} &&
         download(u, 2) == std::vector<unsigned long long>{n * (1ull << 33), 0} && download(least, 1)[0] == 1 - n &&
         download(most, 1)[0] == n - 1 && compared >= 1 && compared <= n;
}

__managed__ int managed_total = 5;
__global__ void count_managed(int* array, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    array[i] *= 3;
    atomicAdd(&managed_total, 1);
  }
}
bool managed() {
  const int n = 300;
  int* array = nullptr;
  HIP_CHECK(hipMallocManaged(&array, n * sizeof(int)));
  for (int i = 0; i < n; ++i) array[i] = i;
  count_managed<<<3, 128>>>(array, n);
  finished();
  bool right = managed_total == 5 + n;
  for (int i = 0; i < n; ++i) right = right && array[i] == 3 * i;
  HIP_CHECK(hipFree(array));
  return right;
}

__global__ void speak(int n) {
  const unsigned lane = threadIdx.x, group = blockIdx.x;
  if (lane % 64 == 5) printf("lane %u of group %u: %d %s %.3f %lld\n", lane, group, n, "words", 2.5, 1ll << 40);
}
bool prints() {
  speak<<<2, 128>>>(-7);
  finished();
  return true;
}

__global__ void insist(int n) { assert(n == 3 && "it is three"); }
bool asserts() {
  insist<<<1, 64>>>(3);
  finished();
  insist<<<1, 64>>>(4);
  (void)hipDeviceSynchronize();  // the runtime ends the process
  return false;
}

using Section = bool (*)();
const std::map<std::string, Section> sections = {
    {"cooperative", cooperative}, {"cooperative_too_large", cooperative_too_large}, {"tiled", tiled},
    {"function_pointers", function_pointers}, {"virtual_functions", virtual_functions}, {"recursion", recursion},
    {"grids", grids}, {"dynamic_lds", dynamic_lds}, {"atomics", atomics}, {"managed", managed}, {"prints", prints},
    {"asserts", asserts}};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty())
    for (const auto& [name, run] : sections)
      if (name != "asserts") names.push_back(name);
  bool right = true;
  for (const std::string& name : names) {
    const auto found = sections.find(name);
    if (found == sections.end()) {
      std::fprintf(stderr, "no section %s\n", name.c_str());
      return 2;
    }
    const bool good = found->second();
    std::printf("%s: %s\n", name.c_str(), good ? "right" : "WRONG");
    right = right && good;
  }
  return finish(right);
}
