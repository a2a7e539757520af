#include "intercept/reports.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <string>

#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "base/quiet_writes.hpp"
#include "intercept/rank.hpp"

namespace kerncap::intercept {
namespace {

// How often a library was loaded under this process id in this work directory, this one included: a runtime that was shut down and is
// initialised again unloads its tools and loads them anew, execve() starts another program.
std::atomic<unsigned> times_loaded{1};

std::filesystem::path own_file(const std::filesystem::path& work_dir, const char* stem) {
  const unsigned times = times_loaded.load(std::memory_order_relaxed);
  return work_dir / (std::string(stem) + "-" + std::to_string(getpid()) + (times > 1 ? "-" + std::to_string(times) : "") + ".json");
}

// True after execve in the middle of a capture: the program that took the claim is gone, the process is not.
bool claimed_by_this_process(const std::filesystem::path& path) {
  std::ifstream file(path);
  long pid = 0;
  return file >> pid && pid == getpid();
}

// A link needs no descriptor, and of a disk hardly a block. Its target is text of a limited length.
void link_document(const std::filesystem::path& path, Json document) {
  constexpr std::size_t most = 4000;
  if (dump(document).size() > most) document["message"] = printable(document["message"].get<std::string>(), most / 8);
  if (::symlink(dump(document).c_str(), path.c_str()) != 0) throw system_error("cannot create " + path.string(), errno);
}

}  // namespace

void write_seen(const std::filesystem::path& work_dir, const KernelRegistry& kernels, const LaunchLog& launches,
                std::uint64_t queues, std::uint64_t dispatches, Json when) {
  Json list = Json::array();
  kernels.for_each([&](const KernelEntry& kernel) {
    list.push_back({{"name", kernel.name},
                    {"demangled", kernel.demangled},
                    {"dispatches", kernel.dispatches.load(std::memory_order_relaxed)},
                    {"trials", kernel.trials.load(std::memory_order_relaxed)},
                    {"matched", kernel.matched.load()}});
  });
  Json geometries = Json::array();
  for (const Launch& launch : launches.list()) {
    geometries.push_back({{"name", launch.kernel->name},
                          {"demangled", launch.kernel->demangled},
                          {"grid", launch.grid},
                          {"workgroup", launch.workgroup},
                          {"dispatches", launch.dispatches},
                          {"first", launch.first}});
  }
  const QuietWrites quiet;
  write_json_atomic(own_file(work_dir, "seen"), {{"schema", "kerncap.seen/1"},
                                                  {"pid", getpid()},
                                                  {"rank", own_rank_document()},
                                                  {"queues", queues},
                                                  {"dispatches", dispatches},
                                                  {"kernels", std::move(list)},
                                                  {"when", std::move(when)},
                                                  {"launches", std::move(geometries)},
                                                  {"launches_whole", launches.whole()}}, Durable::no);
}

void write_profile(const std::filesystem::path& work_dir, const std::map<const KernelEntry*, KernelTimes>& times,
                   std::uint64_t queues, std::uint64_t dispatches, bool whole) {
  Json list = Json::array();
  for (const auto& [kernel, time] : times) {
    list.push_back({{"name", kernel->name},
                    {"demangled", kernel->demangled},
                    {"calls", time.calls},
                    {"timed", time.timed},
                    {"total_ns", time.total},
                    {"min_ns", time.least},
                    {"max_ns", time.most},
                    {"squares_ns2", time.squares}});
  }
  const QuietWrites quiet;
  write_json_atomic(own_file(work_dir, "profile"),
                    {{"schema", "kerncap.profile-part/1"}, {"pid", getpid()}, {"queues", queues},
                     {"dispatches", dispatches}, {"whole", whole}, {"kernels", std::move(list)}}, Durable::no);
}

void report_error(const std::optional<std::filesystem::path>& work_dir, const Error& error) noexcept {
  try {
    if (!work_dir) return log::error(error.what());
    if (!std::filesystem::exists(*work_dir)) return log::info(std::string(error.what()) + "; who asked is gone");
    log::error(error.what());
    Json document = {{"schema", "kerncap.error/1"}, {"code", error.code()}, {"message", error.what()}, {"hint", nullptr}};
    if (error.hint()) document["hint"] = *error.hint();
    const auto path = own_file(*work_dir, "error");
    const QuietWrites quiet;
    try {
      write_json_atomic(path, document, Durable::no);
    } catch (const Error&) {
      link_document(path, std::move(document));
    }
  } catch (const std::exception& failure) {
    log::error(std::string("cannot report ") + error.what() + ": " + failure.what());
  }
}

void say_loaded(const std::filesystem::path& work_dir) noexcept {
  const QuietWrites quiet;
  try {
    const auto text = dump({{"schema", "kerncap.loaded/1"}, {"pid", getpid()}}) + "\n";
    for (times_loaded = 1;; ++times_loaded) {
      const auto path = own_file(work_dir, "loaded");
      const UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
      if (fd) return write_all(fd.get(), std::as_bytes(std::span(text)), path);
      if (errno != EEXIST) throw system_error("cannot create " + path.string(), errno);
    }
  } catch (const std::exception& error) {
    log::info(std::string("the library is loaded, and cannot say so: ") + error.what());
  }
}

bool take_claim(const std::filesystem::path& work_dir) {
  const auto path = work_dir / "claim";
  const UniqueFd fd(::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644));
  if (!fd) {
    if (errno == EEXIST) return claimed_by_this_process(path) && !std::filesystem::exists(work_dir / "capture");
    throw system_error("cannot create " + path.string(), errno);
  }
  const auto text = std::to_string(getpid()) + "\n";
  const QuietWrites quiet;
  write_all(fd.get(), std::as_bytes(std::span(text)), path);
  return true;
}

}  // namespace kerncap::intercept
