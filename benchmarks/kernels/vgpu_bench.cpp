// vgpu_bench TARGET OBJECT [KERNEL...]: each kernel on the interpreter (one thread, then two) and on the host, in one process.
// Out: one JSON line a kernel. Called by benchmarks/vgpu.py. Times of one thread are its CPU time: the machine may be busy.
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "isa_harness.hpp"

using namespace kerncap::vgpu::isa;
using test::Arguments;

extern "C" {
void fma_peak(unsigned, unsigned, float*, int);
void vector_add(unsigned, unsigned, const float*, const float*, float*, int);
void sgemm_tiled(unsigned, unsigned, const float*, const float*, float*, int);
void sgemm_blocked(unsigned, unsigned, const float*, const float*, float*, int);
void nbody(unsigned, unsigned, const float*, float*, int);
void mandelbrot(unsigned, unsigned, int*, int, int);
void lds_reduce(unsigned, unsigned, const float*, float*);
void layernorm(unsigned, unsigned, const float*, const float*, const float*, float*);
void flash_attention(unsigned, unsigned, const _Float16*, const _Float16*, const _Float16*, _Float16*, int);
void quantised_matvec(unsigned, unsigned, const signed char*, const _Float16*, const float*, float*, int);
void mfma_gemm(unsigned, unsigned, const _Float16*, const _Float16*, float*, int);
}

namespace {

double seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::mt19937 engine{7};
template <class T>
std::vector<T> random(std::size_t n, float low = -1, float high = 1) {
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<T> v(n);
  for (T& x : v) x = static_cast<T>(distribution(engine));
  return v;
}

struct Case {
  std::string name;
  bool compute_bound;
  unsigned groups_x, groups_y, threads;
  double operations;  // floating-point, in all
  double tolerance;   // relative, of a result against the host's
  std::function<void(test::HostMemory&)> map;
  std::function<Arguments()> arguments;
  std::function<void(unsigned, unsigned)> host;  // a workgroup
  std::function<std::vector<double>()> result;   // reads and clears what was computed
};

template <class T>
std::vector<double> take(std::vector<T>& v) {
  std::vector<double> out(v.begin(), v.end());
  std::fill(v.begin(), v.end(), T{});
  return out;
}
template <class... T>
std::function<void(test::HostMemory&)> mapped(std::vector<T>&... v) {
  return [&v...](test::HostMemory& m) { (m.add(v.data(), v.size() * sizeof(T)), ...); };
}

// Whatever else the machine does can only add to a time.
double best(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
// At least so many rounds, and so long: short dispatches need more of them.
constexpr int kRounds = 5;
constexpr double kSeconds = 1.0;

bool measure(const Case& c, Target target, test::CodeObject& code) {
  test::HostMemory memory;
  c.map(memory);
  test::Launch launch;
  launch.target = target;
  launch.workgroup[0] = c.threads;
  launch.grid[0] = c.groups_x * c.threads;
  launch.grid[1] = c.groups_y;
  std::vector<double> cpu, cpu_of_two, host, wall[2], pair;
  std::vector<double> of_device, of_host;
  std::uint64_t instructions = 0;
  const double begun = seconds(CLOCK_MONOTONIC);
  for (int round = 0; round < kRounds || seconds(CLOCK_MONOTONIC) - begun < kSeconds; ++round) {
    for (unsigned threads = 1; threads <= 2; ++threads) {
      launch.threads = threads;
      c.result();
      const double w = seconds(CLOCK_MONOTONIC), t = seconds(CLOCK_PROCESS_CPUTIME_ID);
      const Outcome outcome = run(launch, code, c.name, c.arguments(), memory);
      (threads == 1 ? cpu : cpu_of_two).push_back(seconds(CLOCK_PROCESS_CPUTIME_ID) - t);
      wall[threads - 1].push_back(seconds(CLOCK_MONOTONIC) - w);
      if (outcome.kind != Outcome::Kind::completed) {
        std::fprintf(stderr, "%s: %s\n", c.name.c_str(), outcome.text.c_str());
        return false;
      }
      instructions = outcome.work.instructions;
      of_device = c.result();
    }
    // What the machine itself gives: two dispatches that have nothing to do with each other, a thread each.
    launch.threads = 1;
    const double w = seconds(CLOCK_MONOTONIC);
    {
      std::jthread other([&] { run(launch, code, c.name, c.arguments(), memory); });
      run(launch, code, c.name, c.arguments(), memory);
    }
    pair.push_back(seconds(CLOCK_MONOTONIC) - w);
    int repeats = 0;
    const double t = seconds(CLOCK_THREAD_CPUTIME_ID);
    do {
      for (unsigned y = 0; y < c.groups_y; ++y)
        for (unsigned x = 0; x < c.groups_x; ++x) c.host(x, y);
      ++repeats;
    } while (seconds(CLOCK_THREAD_CPUTIME_ID) - t < 0.02);
    host.push_back((seconds(CLOCK_THREAD_CPUTIME_ID) - t) / repeats);
    of_host = c.result();
  }
  double worst = 0, scale = 0;
  for (const double v : of_host) scale = std::max(scale, std::abs(v));
  for (std::size_t i = 0; i < of_host.size(); ++i) worst = std::max(worst, std::abs(of_host[i] - of_device[i]) / scale);
  if (!(worst <= c.tolerance)) {
    std::fprintf(stderr, "%s: result differs from the host's by %g of the largest\n", c.name.c_str(), worst);
    return false;
  }
  std::printf("{\"kernel\": \"%s\", \"compute_bound\": %s, \"cpu_s\": %g, \"cpu2_s\": %g, \"host_s\": %g, \"wall1_s\": %g, \"wall2_s\": %g, "
              "\"pair_s\": %g, \"wave_instructions\": %llu, \"flop\": %g, \"lanes\": %u, \"groups\": %u}\n",
              c.name.c_str(), c.compute_bound ? "true" : "false", best(cpu), best(cpu_of_two), best(host), best(wall[0]),
              best(wall[1]), best(pair), static_cast<unsigned long long>(instructions), c.operations, target == Target::gfx1100 ? 32 : 64,
              c.groups_x * c.groups_y);
  std::fflush(stdout);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || !target_from_name(argv[1])) {
    std::fprintf(stderr, "usage: vgpu_bench TARGET OBJECT [KERNEL...]\n");
    return 2;
  }
  test::CodeObject code(argv[2]);
  using F = std::vector<float>;
  using H = std::vector<_Float16>;
  F peak(16 * 256), a = random<float>(1 << 20), b = random<float>(1 << 20), c(1 << 20);
  F ga = random<float>(256 * 256), gb = random<float>(256 * 256), gc(256 * 256);
  F bodies = random<float>(1024 * 4, 0, 1), pulls(1024 * 3);
  std::vector<int> escape(256 * 256);
  F reduced(512), weight = random<float>(1024), bias = random<float>(1024), normal(512 * 1024);
  H q = random<_Float16>(128 * 64), k = random<_Float16>(256 * 64), v = random<_Float16>(256 * 64), attended(128 * 64);
  std::vector<signed char> quantised = random<signed char>(256 * 4096, -127, 127);
  H scales = random<_Float16>(256 * 128, 0.001f, 0.01f);
  F x = random<float>(4096), y(256);
  H ma = random<_Float16>(256 * 256), mb = random<_Float16>(256 * 256);
  F mc(256 * 256);

  const Case cases[] = {
      {"fma_peak", true, 16, 1, 256, 2.0 * 16 * 16 * 256 * 2000, 1e-5, mapped(peak), [&] { return Arguments().add(peak.data()).add(2000); },
       [&](unsigned bx, unsigned by) { fma_peak(bx, by, peak.data(), 2000); }, [&] { return take(peak); }},
      {"vector_add", false, 4096, 1, 256, 1 << 20, 0, mapped(a, b, c), [&] { return Arguments().add(a.data()).add(b.data()).add(c.data()).add(1 << 20); },
       [&](unsigned bx, unsigned by) { vector_add(bx, by, a.data(), b.data(), c.data(), 1 << 20); }, [&] { return take(c); }},
      {"sgemm_tiled", true, 16, 16, 256, 2.0 * 256 * 256 * 256, 1e-5, mapped(ga, gb, gc), [&] { return Arguments().add(ga.data()).add(gb.data()).add(gc.data()).add(256); },
       [&](unsigned bx, unsigned by) { sgemm_tiled(bx, by, ga.data(), gb.data(), gc.data(), 256); }, [&] { return take(gc); }},
      {"sgemm_blocked", true, 4, 4, 256, 2.0 * 256 * 256 * 256, 1e-5, mapped(ga, gb, gc), [&] { return Arguments().add(ga.data()).add(gb.data()).add(gc.data()).add(256); },
       [&](unsigned bx, unsigned by) { sgemm_blocked(bx, by, ga.data(), gb.data(), gc.data(), 256); }, [&] { return take(gc); }},
      {"nbody", true, 4, 1, 256, 20.0 * 1024 * 1024, 1e-4, mapped(bodies, pulls), [&] { return Arguments().add(bodies.data()).add(pulls.data()).add(1024); },
       [&](unsigned bx, unsigned by) { nbody(bx, by, bodies.data(), pulls.data(), 1024); }, [&] { return take(pulls); }},
      // Points beside the border of the set may take another turn: the results are compared loosely.
      {"mandelbrot", true, 256, 1, 256, 0, 1, mapped(escape), [&] { return Arguments().add(escape.data()).add(256).add(200); },
       [&](unsigned bx, unsigned by) { mandelbrot(bx, by, escape.data(), 256, 200); }, [&] { return take(escape); }},
      {"lds_reduce", false, 512, 1, 256, 1 << 20, 1e-5, mapped(a, reduced), [&] { return Arguments().add(a.data()).add(reduced.data()); },
       [&](unsigned bx, unsigned by) { lds_reduce(bx, by, a.data(), reduced.data()); }, [&] { return take(reduced); }},
      {"layernorm", false, 512, 1, 256, 8.0 * 512 * 1024, 1e-5, mapped(a, weight, bias, normal), [&] { return Arguments().add(a.data()).add(weight.data()).add(bias.data()).add(normal.data()); },
       [&](unsigned bx, unsigned by) { layernorm(bx, by, a.data(), weight.data(), bias.data(), normal.data()); }, [&] { return take(normal); }},
      {"flash_attention", true, 2, 1, 64, 4.0 * 128 * 256 * 64, 2e-3, mapped(q, k, v, attended), [&] { return Arguments().add(q.data()).add(k.data()).add(v.data()).add(attended.data()).add(256); },
       [&](unsigned bx, unsigned by) { flash_attention(bx, by, q.data(), k.data(), v.data(), attended.data(), 256); }, [&] { return take(attended); }},
      {"quantised_matvec", false, 256, 1, 64, 2.0 * 256 * 4096, 1e-4, mapped(quantised, scales, x, y), [&] { return Arguments().add(quantised.data()).add(scales.data()).add(x.data()).add(y.data()).add(4096); },
       [&](unsigned bx, unsigned by) { quantised_matvec(bx, by, quantised.data(), scales.data(), x.data(), y.data(), 4096); }, [&] { return take(y); }},
      {"mfma_gemm", true, 8, 8, 64, 2.0 * 256 * 256 * 256, 1e-4, mapped(ma, mb, mc), [&] { return Arguments().add(ma.data()).add(mb.data()).add(mc.data()).add(256); },
       [&](unsigned bx, unsigned by) { mfma_gemm(bx, by, ma.data(), mb.data(), mc.data(), 256); }, [&] { return take(mc); }},
  };
  bool good = true;
  for (const Case& one : cases)
    if (argc == 3 || std::find(argv + 3, argv + argc, one.name) != argv + argc) good = measure(one, *target_from_name(argv[1]), code) && good;
  return good ? 0 : 1;
}
