// Dispatches on several host threads: every workgroup runs once, workgroups that wait for each other finish, memory is as
// coherent as a device's, and what stops one ends all.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "access_trace.hpp"
#include "isa_harness.hpp"

#ifdef __SANITIZE_THREAD__
// The child of a fork runs a dispatch, with threads of its own.
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }
#endif

namespace kerncap::vgpu::isa::test {
namespace {

using namespace std::chrono_literals;
using std::uint32_t;
using Words = std::vector<uint32_t>;

// Threads of the pool, by name: a sanitizer has threads of its own.
std::size_t workers_of_this_process() {
  std::size_t workers = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(task.path() / "comm") >> name;
    workers += name.starts_with("vgpu-worker-");
  }
  return workers;
}

// Target and number of threads: fewer than, as many as, and more than the machine has.
class Parallel : public ::testing::TestWithParam<std::tuple<std::string, unsigned>> {
 protected:
  Parallel() : code_(std::string(KERNCAP_ISA_OBJECTS) + "/isa_parallel." + std::get<0>(GetParam()) + ".O2.hsaco") {
    launch_.target = *target_from_name(std::get<0>(GetParam()));
    launch_.threads = std::get<1>(GetParam());
  }
  template <class T>
  void map(std::vector<T>& v) { memory_.add(v.data(), v.size() * sizeof(T)); }
  Outcome start(const std::string& kernel, const Arguments& arguments, uint32_t groups) {
    launch_.workgroup[0] = 64;
    launch_.grid[0] = groups * 64;
    return run(launch_, code_, kernel, arguments, memory_);
  }
  void completes(const std::string& kernel, const Arguments& arguments, uint32_t groups) {
    const Outcome outcome = start(kernel, arguments, groups);
    ASSERT_EQ(outcome.kind, Outcome::Kind::completed) << outcome.text;
  }
  HostMemory memory_;
  CodeObject code_;
  Launch launch_;
};

uint32_t churn(uint32_t x, int rounds) {
  for (int i = 0; i < rounds; ++i) x = x * 1664525u + 1013904223u;
  return x;
}

TEST_P(Parallel, EveryWorkgroupRunsOnceAndAllAreCounted) {
  Words out(1000 * 64);
  map(out);
  const Arguments arguments = Arguments().add(out.data()).add(50);
  const Outcome many = start("churned", arguments, 1000);
  ASSERT_EQ(many.kind, Outcome::Kind::completed) << many.text;
  for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], churn(i, 50)) << i;
  launch_.threads = 1;
  const Outcome one = start("churned", arguments, 1000);
  EXPECT_EQ(one.work.instructions, many.work.instructions);
  EXPECT_EQ(one.work.cycles, many.work.cycles);
  EXPECT_EQ(one.work.bytes, many.work.bytes);
  // Once more, and as a trace and the checks run it: the cost model says the same each time.
  check::Report report;
  report.checks = *check::parse_checks("all");
  AccessTrace trace;
  for (int way = 0; way < 3; ++way) {
    launch_.trace = way == 1 ? &trace : nullptr;
    launch_.report = way == 2 ? &report : nullptr;
    const Outcome again = start("churned", arguments, 1000);
    EXPECT_EQ(one.work.instructions, again.work.instructions);
    EXPECT_EQ(one.work.cycles, again.work.cycles);
    EXPECT_EQ(one.work.bytes, again.work.bytes);
  }
  // Every instruction takes a cycle at least; every workgroup stores 64 dwords.
  EXPECT_GE(one.work.cycles, one.work.instructions);
  EXPECT_GE(one.work.bytes, out.size() * 4);
}

TEST_P(Parallel, FewerWorkgroupsThanThreads) {
  for (const uint32_t groups : {1u, 2u, 3u}) {
    Words out(groups * 64 + 64, 7);
    map(out);
    completes("churned", Arguments().add(out.data()).add(2000), groups);
    for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i < groups * 64 ? churn(i, 2000) : 7) << i;
  }
}

TEST_P(Parallel, AtomicsAreExact) {
  Words counters(8), largest(1);
  std::vector<std::uint64_t> sum(1);
  map(counters), map(largest), map(sum);
  const uint32_t n = 500 * 64;
  completes("count_up", Arguments().add(counters.data()).add(sum.data()).add(largest.data()), 500);
  EXPECT_EQ(counters[0], n);
  for (uint32_t k = 0; k < 7; ++k) EXPECT_EQ(counters[1 + k], 3 * ((n - k + 6) / 7)) << k;
  EXPECT_EQ(sum[0], std::uint64_t{n} * (n - 1) / 2);
  EXPECT_EQ(largest[0], n - 1);
}

TEST_P(Parallel, TheLastBlockSeesWhatAllOthersStored) {
  Words in(300 * 64);
  std::iota(in.begin(), in.end(), 5u);
  uint32_t expected = 0;
  for (const uint32_t x : in) expected += churn(x, 20);
  for (int repeat = 0; repeat < 5; ++repeat) {
    Words partial(300), done(1), total(1);
    map(in), map(partial), map(done), map(total);
    completes("last_block", Arguments().add(in.data()).add(partial.data()).add(done.data()).add(total.data()), 300);
    ASSERT_EQ(total[0], expected);
  }
}

TEST_P(Parallel, GroupsThatWaitForTheOneBefore) {
  Words flags(200), values(200);
  map(flags), map(values);
  completes("chain", Arguments().add(flags.data()).add(values.data()).add(-1), 200);
  for (uint32_t g = 0; g < 200; ++g) ASSERT_EQ(values[g], g + 1);
}

TEST_P(Parallel, GroupsThatWaitForTheOneBehind) {
  Words flags(24), values(24);
  map(flags), map(values);
  completes("chain", Arguments().add(flags.data()).add(values.data()).add(1), 24);
  for (uint32_t g = 0; g < 24; ++g) ASSERT_EQ(values[g], 24 - g);
}

TEST_P(Parallel, DecoupledLookBackScan) {
  Words in(400 * 64), out(400 * 64), state(400), ticket(1);
  for (uint32_t i = 0; i < in.size(); ++i) in[i] = churn(i, 3) % 100;
  map(in), map(out), map(state), map(ticket);
  completes("scan", Arguments().add(in.data()).add(out.data()).add(state.data()).add(ticket.data()), 400);
  Words expected(in.size());
  std::partial_sum(in.begin(), in.end(), expected.begin());
  EXPECT_EQ(out, expected);
}

TEST_P(Parallel, AlignedWordsAreNeverTorn) {
  std::vector<std::uint64_t> words(64);
  Words bad(1);
  map(words), map(bad);
  completes("torn", Arguments().add(words.data()).add(bad.data()).add(3000), 8);
  EXPECT_EQ(bad[0], 0u);
}

TEST_P(Parallel, SequentiallyConsistentStoresAndLoads) {
  const int rounds = 20'000;
  Words flags(2 * rounds), saw(2 * rounds);
  map(flags), map(saw);
  completes("dekker", Arguments().add(flags.data()).add(saw.data()).add(rounds), 2);
  for (std::size_t r = 0; r < rounds; ++r) ASSERT_TRUE(saw[2 * r] == 1 || saw[2 * r + 1] == 1) << r;
}

TEST_P(Parallel, AFaultOfOneGroupEndsAllOthers) {
  Words x(64);
  map(x);
  for (const uint32_t bad : {0u, 5u, 19u}) {
    // The fault is described, with the address of its first lane.
    const Outcome outcome = start("one_faults", Arguments().add(x.data()).add(std::uint64_t{0x123450000}).add(bad), 20);
    ASSERT_EQ(outcome.kind, Outcome::Kind::page_fault) << outcome.text;
    EXPECT_EQ(outcome.fault_va, 0x123450000u);
    EXPECT_TRUE(outcome.fault_write);
    EXPECT_NE(outcome.text.find("store"), std::string::npos) << outcome.text;
    EXPECT_GT(outcome.work.instructions, 0u);
  }
}

TEST_P(Parallel, CancelEndsAllWorkers) {
  Words x(64);
  map(x);
  std::atomic<bool> cancel{false};
  launch_.cancel = &cancel;
  std::thread later([&] {
    std::this_thread::sleep_for(30ms);
    cancel.store(true);
  });
  const Outcome outcome = start("one_faults", Arguments().add(x.data()).add(x.data()).add(1000u), 20);
  later.join();
  EXPECT_EQ(outcome.kind, Outcome::Kind::cancelled) << outcome.text;
}

TEST_P(Parallel, AKernelThatNeverEndsLeavesOthersTheirThread) {
  Words x(64), out(64 * 64);
  map(x), map(out);
  code_.map(memory_);
  std::atomic<bool> cancel{false};
  launch_.cancel = &cancel;
  Launch other = launch_;
  other.cancel = nullptr;
  other.workgroup[0] = 64, other.grid[0] = 64 * 64;
  Outcome endless;
  std::thread spinning([&] { endless = start("one_faults", Arguments().add(x.data()).add(x.data()).add(1000u), 50); });
  // Its helpers have long come when the second dispatch starts.
  std::this_thread::sleep_for(50ms);
  HostMemory memory;
  memory.add(out.data(), out.size() * sizeof out[0]);
  const Outcome outcome = run(other, code_, "churned", Arguments().add(out.data()).add(500), memory);
  EXPECT_EQ(outcome.kind, Outcome::Kind::completed) << outcome.text;
  for (uint32_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], churn(i, 500)) << i;
  cancel.store(true);
  spinning.join();
  EXPECT_EQ(endless.kind, Outcome::Kind::cancelled) << endless.text;
}

TEST_P(Parallel, TwoDispatchesAtOnce) {
  const int rounds = 300;
  const auto one = [this, rounds](Words& out, HostMemory& memory) {
    Launch launch = launch_;
    launch.workgroup[0] = 64, launch.grid[0] = static_cast<uint32_t>(out.size());
    return run(launch, code_, "churned", Arguments().add(out.data()).add(rounds), memory);
  };
  Words a(200 * 64), b(300 * 64);
  HostMemory first, second;
  first.add(a.data(), a.size() * sizeof a[0]);
  second.add(b.data(), b.size() * sizeof b[0]);
  Outcome of_b;
  std::thread other([&] { of_b = one(b, second); });
  const Outcome of_a = one(a, first);
  other.join();
  ASSERT_EQ(of_a.kind, Outcome::Kind::completed) << of_a.text;
  ASSERT_EQ(of_b.kind, Outcome::Kind::completed) << of_b.text;
  for (uint32_t i = 0; i < a.size(); ++i) ASSERT_EQ(a[i], churn(i, rounds)) << i;
  for (uint32_t i = 0; i < b.size(); ++i) ASSERT_EQ(b[i], churn(i, rounds)) << i;
}

// The order of accesses decides which bytes were read first: one thread, in the order of the workgroups.
class OrderOfStores final : public Trace {
 public:
  void load(std::uint64_t, uint32_t) noexcept override {}
  void store(std::uint64_t va, uint32_t) noexcept override {
    ascending &= va >= last;
    last = va;
    same_thread &= std::this_thread::get_id() == thread;
  }
  bool ascending = true, same_thread = true;
  std::uint64_t last = 0;
  std::thread::id thread = std::this_thread::get_id();
};
TEST_P(Parallel, ATraceKeepsToOneThread) {
  Words out(500 * 64);
  map(out);
  OrderOfStores trace;
  launch_.trace = &trace;
  completes("churned", Arguments().add(out.data()).add(50), 500);
  EXPECT_TRUE(trace.same_thread);
  EXPECT_TRUE(trace.ascending);
}

TEST_P(Parallel, AChildOfForkRunsDispatchesToo) {
  Words out(200 * 64);
  map(out);
  completes("churned", Arguments().add(out.data()).add(200), 200);
  const pid_t child = ::fork();
  if (child == 0) {
    std::fill(out.begin(), out.end(), 0u);
    bool right = start("churned", Arguments().add(out.data()).add(200), 200).kind == Outcome::Kind::completed;
    for (uint32_t i = 0; i < out.size(); ++i) right = right && out[i] == churn(i, 200);
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel,
                         ::testing::Combine(::testing::ValuesIn(compiled_targets()), ::testing::Values(1u, 2u, 5u)),
                         [](const auto& one) { return std::get<0>(one.param) + "_" + std::to_string(std::get<1>(one.param)); });

// Runs in a process of its own, which starts without helpers.
void small_dispatches_only() {
  CodeObject code(std::string(KERNCAP_ISA_OBJECTS) + "/isa_parallel.gfx942.O2.hsaco");
  Words out(4 * 64);
  HostMemory memory;
  memory.add(out.data(), out.size() * sizeof out[0]);
  Launch launch;
  launch.threads = 4, launch.workgroup[0] = 64, launch.grid[0] = 4 * 64;
  run(launch, code, "churned", Arguments().add(out.data()).add(3), memory);
  const std::size_t small = workers_of_this_process();
  Words large(1000 * 64);
  memory.add(large.data(), large.size() * sizeof large[0]);
  launch.grid[0] = 1000 * 64;
  run(launch, code, "churned", Arguments().add(large.data()).add(200), memory);
  // A thread has its name once it has run.
  for (int i = 0; i < 60'000 && workers_of_this_process() < 3; ++i) std::this_thread::sleep_for(1ms);
  std::fprintf(stderr, "small %zu large %zu\n", small, workers_of_this_process());
  std::exit(0);
}
TEST(ParallelDeathTest, SmallDispatchesStartNoThread) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(small_dispatches_only(), ::testing::ExitedWithCode(0), "small 0 large 3");
}

// A process ends while its helpers are inside a kernel.
void exit_during_a_kernel() {
  static auto& code = *new CodeObject(std::string(KERNCAP_ISA_OBJECTS) + "/isa_parallel.gfx942.O2.hsaco");
  static auto& x = *new Words(64);
  std::thread([] {
    HostMemory memory;
    memory.add(x.data(), x.size() * sizeof x[0]);
    Launch launch;
    launch.threads = 4, launch.workgroup[0] = 64, launch.grid[0] = 50 * 64;
    run(launch, code, "one_faults", Arguments().add(x.data()).add(x.data()).add(1000u), memory);
  }).detach();
  std::this_thread::sleep_for(50ms);
  std::exit(7);
}
TEST(ParallelDeathTest, AProcessMayExitDuringARun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(exit_during_a_kernel(), ::testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace kerncap::vgpu::isa::test
