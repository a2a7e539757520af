// The library as the runtime sees it, against synthetic tables: OnLoad, rocprofiler_configure, table sizes, and the protocol of a
// capture from the packet callback to the sealed directory. Every case runs in a process of its own: a process has one tool.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/digest.hpp"
#include "base/json.hpp"
#include "bundle/chunk_reader.hpp"
#include "bundle/index.hpp"
#include "intercept/newer_runtimes.hpp"
#include "intercept/tests/application.hpp"
#include "intercept/tests/fake_runtime.hpp"

namespace {

using namespace kerncap;
using namespace kerncap::intercept;
using namespace kerncap::intercept::fake;
namespace fs = std::filesystem;

using EnrollCallback = void (*)(int, std::uint64_t, std::uint64_t, void**, std::uint64_t, void*);
EnrollCallback enrolled = nullptr;

}  // namespace

// What rocprofiler-sdk exports; the library looks it up by name.
extern "C" __attribute__((visibility("default"))) int rocprofiler_at_intercept_table_registration(EnrollCallback callback, int libraries,
                                                                                                 void*) {
  if (libraries != 1) return 1;
  enrolled = callback;
  return 0;
}

namespace {

void capture_second_dispatch_of_a_batch() {
  Application application("twice");
  fake::Runtime runtime;
  application.load(runtime);
  application.start(runtime);
  hsa_signal_t done{};
  runtime.core.hsa_signal_create_fn(3, 0, nullptr, &done);
  const auto packet = application.launch(done);
  submit({packet, packet, packet});  // returns at once although the target cannot run yet
  EXPECT_EQ(fake::state().written.size(), 6u);
  std::thread processor([&] { runtime.run_queue({done}); });
  EXPECT_TRUE(wait_for(application.work_dir / "capture/capture.json"));
  processor.join();
  EXPECT_EQ(fake::value_of(done), 0);
  EXPECT_EQ(application.data[1], 8);  // all three ran, in order
  EXPECT_EQ(reinterpret_cast<amd_signal_t*>(done.handle)->end_ts, 3000u);

  const auto document = read(application.work_dir / "capture/capture.json");
  EXPECT_EQ(document["dispatch"]["match_index"], 1);
  EXPECT_EQ(document["kernel"]["demangled"], "twice(int*)");
  EXPECT_EQ(document["timing"]["dispatch_ns"], 2000);
  EXPECT_EQ(document["consistency"]["state"], "consistent") << document["consistency"].dump();
  const Index index = index_from_json(read(application.work_dir / "capture/index.json"));
  const auto va = reinterpret_cast<std::uint64_t>(application.data);
  for (const auto& region : index.regions) {
    const bool is_data = region.va == va;
    EXPECT_EQ(region.post.size(), is_data ? 1u : 0u) << region.va;
    if (!is_data) continue;
    int before[n];
    int after[n];
    for (int i = 0; i < n; ++i) {
      before[i] = 2 * i;
      after[i] = 4 * i;
    }
    EXPECT_EQ(region.pre.at(0).raw_digest, sha256(std::as_bytes(std::span(before))));
    EXPECT_EQ(region.post.at(0).raw_digest, sha256(std::as_bytes(std::span(after))));
  }
  const auto& argument = document["kernarg"]["args"][0];
  EXPECT_EQ(index.regions.at(argument["region"].get<std::size_t>()).va, va);
  EXPECT_EQ(application.unload(1), 0u);
  leave();
}

// It was in the runtime already when the snapshot began, and stays there: the snapshot cannot wait for ever.
void a_copy_that_does_not_get_under_way_is_a_reason() {
  Application application("twice");
  fake::Runtime runtime;
  application.load(runtime);
  application.start(runtime);
  std::atomic<bool> inside{false}, captured{false};
  int target = 0, source = 7;
  fake::state().before_copy = [&](void* to) {
    if (to != &target) return;
    inside = true;
    while (!captured) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  hsa_signal_t copied{}, done{};
  runtime.core.hsa_signal_create_fn(1, 0, nullptr, &copied);
  runtime.core.hsa_signal_create_fn(2, 0, nullptr, &done);
  std::thread copy([&] { runtime.amd.hsa_amd_memory_async_copy_fn(&target, cpu, &source, gpu, sizeof target, 0, nullptr, copied); });
  while (!inside) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto packet = application.launch(done);
  submit({packet, packet});
  std::thread processor([&] { runtime.run_queue({done}); });
  EXPECT_TRUE(wait_for(application.work_dir / "capture/capture.json"));
  captured = true;
  copy.join();
  processor.join();
  const auto consistency = read(application.work_dir / "capture/capture.json")["consistency"];
  EXPECT_EQ(consistency["state"], "best-effort");
  EXPECT_EQ(consistency["reasons"], Json({"a copy or a queue that the application was starting did not get under way in time"}));
  leave();
}

// What a runtime with hsa_amd_queue_create does itself: all that is asked of it, and it says so.
std::vector<newer::QueueDescriptor> made_by_runtime;
hsa_queue_t runtimes_queue;
std::vector<std::string> told;

hsa_status_t runtime_queue_create(hsa_agent_t, newer::QueueDescriptor* descriptors, std::uint32_t count) {
  for (newer::QueueDescriptor& one : std::span(descriptors, count)) {
    one.queue = one.engine == 1 ? &runtimes_queue : nullptr;
    made_by_runtime.push_back(one);
  }
  return descriptors->engine == 1 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
}

newer::QueueDescriptor described(std::uint8_t engine) {
  newer::QueueDescriptor one{};
  one.version = 1;
  one.engine = engine;
  one.ring_bytes = 4096;
  one.priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;
  one.type = HSA_QUEUE_TYPE_MULTI;
  one.private_bytes = UINT32_MAX;
  return one;
}

void queues_of_newer_runtimes_are_intercepted() {
  Application application("twice");
  fake::Runtime runtime(0, newer::place(91));
  newer::QueueCreate original = runtime_queue_create;
  std::memcpy(reinterpret_cast<std::byte*>(&runtime.amd) + newer::kQueueCreate, &original, sizeof original);
  runtime.amd.hsa_amd_queue_set_priority_fn = [](hsa_queue_t*, hsa_amd_queue_priority_t priority) {
    told.push_back("priority " + std::to_string(priority));
    return HSA_STATUS_SUCCESS;
  };
  runtime.amd.hsa_amd_queue_cu_set_mask_fn = [](const hsa_queue_t*, std::uint32_t bits, const std::uint32_t* mask) {
    told.push_back("mask " + std::to_string(bits) + " " + std::to_string(mask[0]));
    return bits == 32 ? HSA_STATUS_SUCCESS : HSA_STATUS_ERROR_INVALID_ARGUMENT;
  };
  application.load(runtime);
  application.start(runtime);
  runtime.core.hsa_queue_destroy_fn(runtime.queue);
  const auto create = newer::entry<newer::QueueCreate>(runtime.amd, newer::kQueueCreate);
  ASSERT_NE(create, original);
  const std::uint32_t mask = 5;
  std::vector<newer::QueueDescriptor> wanted = {described(1), described(0), described(0), described(0)};
  wanted[1].version = 2;  // the runtime's own business
  wanted[2].cu_mask = &mask;
  wanted[2].cu_mask_bits = 33;
  wanted[3].priority = HSA_AMD_QUEUE_PRIORITY_HIGH;
  wanted[3].cu_mask = &mask;
  wanted[3].cu_mask_bits = 32;
  EXPECT_EQ(create(gpu, wanted.data(), 4), HSA_STATUS_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(made_by_runtime.size(), 2u);
  EXPECT_EQ(wanted[0].queue, &runtimes_queue);
  EXPECT_EQ(wanted[1].queue, nullptr);
  EXPECT_EQ(wanted[2].queue, nullptr);
  ASSERT_NE(wanted[3].queue, nullptr);
  EXPECT_EQ(wanted[3].queue->size, 64u);
  const std::vector<std::string> all = {"mask 33 5", "priority " + std::to_string(HSA_AMD_QUEUE_PRIORITY_HIGH), "mask 32 5"};
  EXPECT_EQ(told, all);

  hsa_signal_t done{};
  runtime.core.hsa_signal_create_fn(2, 0, nullptr, &done);
  const auto packet = application.launch(done);
  submit({packet, packet});
  std::thread processor([&] { runtime.run_queue({done}); });
  EXPECT_TRUE(wait_for(application.work_dir / "capture/capture.json"));
  processor.join();
  // The one of version 2 is compute work that nobody follows.
  const auto document = read(application.work_dir / "capture/capture.json");
  EXPECT_EQ(document["consistency"]["reasons"], Json({"an allocation or a queue could not be followed"}));
  leave();
}

void a_dispatch_that_does_not_end_is_an_error_and_the_application_goes_on() {
  Application application("twice", 0.3);
  fake::Runtime runtime;
  application.load(runtime);
  application.start(runtime);
  hsa_signal_t done{};
  runtime.core.hsa_signal_create_fn(2, 0, nullptr, &done);
  const auto packet = application.launch(done);
  submit({packet, packet});
  // Nothing processes the queue: the packets before the target never end.
  std::ifstream claim(application.work_dir / "claim");
  EXPECT_TRUE(claim.good());
  const auto error = Application::said(application.work_dir, "error");
  EXPECT_TRUE(wait_for(error));
  EXPECT_EQ(read(error)["code"], "capture.timeout");
  EXPECT_FALSE(fs::exists(application.work_dir / "capture"));
  EXPECT_FALSE(fs::exists(application.work_dir / "capture.partial"));
  // The gates are open and the application's signal is completed once its dispatches do run.
  runtime.run_queue({done});
  EXPECT_EQ(fake::value_of(done), 0);
  EXPECT_EQ(application.data[1], 4);
  EXPECT_EQ(application.unload(1), 0u);
  leave();
}

void another_process_has_the_claim() {
  Application application("twice");
  fake::Runtime runtime;
  application.load(runtime);
  application.start(runtime);
  std::ofstream(application.work_dir / "claim") << "1\n";
  const auto packet = application.launch(hsa_signal_t{0});
  submit({packet, packet, packet});
  EXPECT_EQ(fake::state().written.size(), 3u);  // nothing of the tool's
  EXPECT_EQ(application.unload(0), 0u);
  leave();
}

// A packet that has not run yet still names them.
void signals_stay_while_packets_need_them() {
  Application application("twice", 0.3);
  fake::Runtime runtime;
  application.load(runtime);
  application.start(runtime);
  const auto packet = application.launch(hsa_signal_t{0});
  submit({packet, packet});
  EXPECT_TRUE(wait_for(Application::said(application.work_dir, "error")));
  EXPECT_GE(application.unload(0), 5u);
  runtime.run_queue({});
  EXPECT_EQ(application.data[1], 4);
  leave();
}

// Packets that are submitted when the application ends go on untouched.
void nothing_is_captured_after_the_end() {
  Application application("twice");
  fake::Runtime runtime;
  application.load(runtime);
  application.start(runtime);
  const auto packet = application.launch(hsa_signal_t{0});
  submit({packet});
  EXPECT_EQ(application.unload(0), 0u);
  submit({packet});
  EXPECT_EQ(fake::state().written.size(), 2u);
  leave();
}

void tables_are_used_by_the_sizes_of_the_runtime() {
  Application application("twice");
  // A runtime whose extension table ends before the lock functions.
  fake::Runtime runtime(0, offsetof(AmdExtTable, hsa_amd_memory_lock_fn));
  auto* const beyond = reinterpret_cast<decltype(runtime.amd.hsa_amd_memory_unlock_fn)>(0x1111);
  runtime.amd.hsa_amd_memory_unlock_fn = beyond;
  auto* const plain_free = runtime.amd.hsa_amd_memory_pool_free_fn;
  application.load(runtime);
  EXPECT_EQ(runtime.amd.hsa_amd_memory_unlock_fn, beyond);
  EXPECT_NE(runtime.amd.hsa_amd_memory_pool_free_fn, plain_free);
  leave();
}

void rocprofiler_register_hands_the_table_over() {
  Application application("twice");
  fake::Runtime runtime;
  auto* const plain = runtime.core.hsa_queue_create_fn;
  const auto configure = application.entry<void* (*)(std::uint32_t, const char*, std::uint32_t, void*)>("rocprofiler_configure");
  EXPECT_NE(configure(10000, "1.0.0", 0, nullptr), nullptr);
  ASSERT_NE(enrolled, nullptr);
  void* tables[] = {&runtime.table};
  enrolled(2, 10000, 0, tables, 1, nullptr);  // another library's table is left alone
  EXPECT_EQ(runtime.core.hsa_queue_create_fn, plain);
  enrolled(1, 10000, 0, tables, 1, nullptr);
  EXPECT_NE(runtime.core.hsa_queue_create_fn, plain);
  leave();
}

void a_control_file_that_is_wrong_changes_nothing() {
  Application application("twice");
  std::ofstream(application.work_dir / "control.json")
      << Json{{"schema", "kerncap.capture-control/1"}, {"work_dir", application.work_dir.string()}, {"kernel", "a("}, {"match", "regex"}}.dump();
  fake::Runtime runtime;
  auto* const plain = runtime.core.hsa_queue_create_fn;
  application.load(runtime);
  EXPECT_EQ(runtime.core.hsa_queue_create_fn, plain);
  EXPECT_EQ(read(Application::said(application.work_dir, "error"))["code"], "capture.pattern");
  leave();
}

// A file that appears whole, as kerncap trigger writes it.
void appear(const fs::path& path, const std::string& text) {
  std::ofstream(path.string() + ".partial") << text;
  fs::rename(path.string() + ".partial", path);
}

struct Attached : Application {
  Attached() : Application(nullptr, 20, "attach") {
    load(runtime);
    start(runtime);
    EXPECT_TRUE(wait_for(said(work_dir, "attached")));
  }
  // The directory of a request.
  fs::path ask(const std::string& name, const Json& kernel) {
    fs::create_directories(work_dir / name);
    const auto request = said(work_dir, "request");
    appear(request, control_for(work_dir / name, kernel).dump());
    for (int i = 0; i < 2000 && fs::exists(request); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // until it is armed
    return work_dir / name;
  }
  void dispatch(std::size_t times) {
    const auto packet = launch(hsa_signal_t{0});
    for (std::size_t i = 0; i < times; ++i) submit({packet});
  }
  fake::Runtime runtime;
};

void captures_on_demand_one_after_the_other() {
  Attached application;
  application.dispatch(3);
  EXPECT_EQ(fake::state().written.size(), 3u) << "nothing of the tool's";
  for (const char* name : {"first", "second"}) {
    const auto directory = application.ask(name, "twice");
    const auto before = fake::state().written.size();
    application.dispatch(3);
    EXPECT_EQ(fake::state().written.size(), before + 6) << "the second of them, between its barriers";
    std::thread processor([&] { application.runtime.run_queue({}); });
    EXPECT_TRUE(wait_for(application.said(directory, "seen")));
    processor.join();
    EXPECT_TRUE(fs::exists(directory / "capture/capture.json"));
    const auto document = read(directory / "capture/capture.json");
    EXPECT_EQ(document["dispatch"]["match_index"], 1);
    EXPECT_EQ(document["consistency"]["state"], "consistent") << document["consistency"].dump();
  }
  EXPECT_EQ(application.data[1], 1 << 9);  // all nine ran
  EXPECT_EQ(application.unload(0), 0u);
  leave();
}

void a_request_can_be_called_off() {
  Attached application;
  const auto directory = application.ask("first", "twice");
  application.dispatch(1);
  appear(application.work_dir / ("cancel-" + std::to_string(getpid())), "");
  EXPECT_TRUE(wait_for(application.said(directory, "seen")));
  EXPECT_EQ(read(application.said(directory, "seen"))["launches"][0]["dispatches"], 1);
  application.dispatch(3);
  EXPECT_EQ(fake::state().written.size(), 4u);
  leave();
}

void a_request_that_cannot_be_met_is_answered() {
  Attached application;
  const auto first = application.ask("first", "twice");
  const auto second = application.ask("second", "twice");
  EXPECT_TRUE(wait_for(application.said(second, "error")));
  EXPECT_EQ(read(application.said(second, "error"))["code"], "capture.busy");
  const auto third = application.ask("third", nullptr);
  EXPECT_TRUE(wait_for(application.said(third, "error")));
  EXPECT_EQ(read(application.said(third, "error"))["code"], "capture.control");
  application.dispatch(2);
  std::thread processor([&] { application.runtime.run_queue({}); });
  EXPECT_TRUE(wait_for(first / "capture/capture.json")) << "the first one is as it was";
  processor.join();
  leave();
}

class Entry : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(Entry, CapturesTheSecondDispatchOfABatch) { EXPECT_EXIT(capture_second_dispatch_of_a_batch(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, TimeOutIsAnErrorAndTheApplicationGoesOn) {
  EXPECT_EXIT(a_dispatch_that_does_not_end_is_an_error_and_the_application_goes_on(), testing::ExitedWithCode(0), "");
}
TEST_F(Entry, ACopyThatDoesNotGetUnderWayIsAReason) {
  EXPECT_EXIT(a_copy_that_does_not_get_under_way_is_a_reason(), testing::ExitedWithCode(0), "");
}
TEST_F(Entry, QueuesOfNewerRuntimesAreIntercepted) {
  EXPECT_EXIT(queues_of_newer_runtimes_are_intercepted(), testing::ExitedWithCode(0), "");
}
TEST_F(Entry, OneProcessHasTheClaim) { EXPECT_EXIT(another_process_has_the_claim(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, SignalsStayWhilePacketsNeedThem) { EXPECT_EXIT(signals_stay_while_packets_need_them(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, NothingIsCapturedAfterTheEnd) { EXPECT_EXIT(nothing_is_captured_after_the_end(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, CapturesOnDemandOneAfterTheOther) { EXPECT_EXIT(captures_on_demand_one_after_the_other(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, ARequestCanBeCalledOff) { EXPECT_EXIT(a_request_can_be_called_off(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, ARequestThatCannotBeMetIsAnswered) { EXPECT_EXIT(a_request_that_cannot_be_met_is_answered(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, TableSizesAreTheRuntimes) { EXPECT_EXIT(tables_are_used_by_the_sizes_of_the_runtime(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, RocprofilerRegister) { EXPECT_EXIT(rocprofiler_register_hands_the_table_over(), testing::ExitedWithCode(0), ""); }
TEST_F(Entry, WrongControlFile) { EXPECT_EXIT(a_control_file_that_is_wrong_changes_nothing(), testing::ExitedWithCode(0), ""); }

}  // namespace
