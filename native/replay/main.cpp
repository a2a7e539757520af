// kerncap-replay REQUEST.json RESULT.json [--resident]: replays one captured dispatch at its captured addresses (docs/replay.md).
// In: the request (docs/interfaces.md). Out: RESULT.json, written at once; exit status 0 when every run was executed and
// compared, else by who must act. Called by Kerncap's Python side, on the host or in a container.
//
// --resident: after the first request, whose runs must succeed, each line ["REQUEST.json", "RESULT.json"] on standard input is one
// more for the same capture, whose memory stays on the device; each answer is announced by a line on standard output. Ends when
// standard input does, or at a dispatch that makes the device unusable.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "replay/capture_info.hpp"
#include "replay/preload.hpp"
#include "replay/request.hpp"
#include "replay/reservation.hpp"
#include "replay/runner.hpp"

namespace {

using kerncap::Error;
using kerncap::ExitCode;
using kerncap::Json;
namespace replay = kerncap::replay;

constexpr std::uint64_t kMaxIndexBytes = 64u << 20;  // a capture of 30 GB has about 1 MiB
constexpr std::uint64_t kMaxCaptureBytes = 16u << 20;
constexpr std::uint64_t kMaxRequestBytes = 256u << 20;  // ranges of poisoned bytes

Json empty_result() {
  return {{"schema", "kerncap.replay-result/1"}, {"status", "error"}, {"error", nullptr}, {"device", nullptr}, {"runs", Json::array()}};
}

void put_error(Json& result, const Error& error) {
  result["status"] = error.code() == "replay.timeout" ? "timeout" : "error";
  result["error"] = {{"code", error.code()}, {"message", error.what()}, {"hint", error.hint() ? Json(*error.hint()) : Json(nullptr)}};
  kerncap::log::error(error.code() + ": " + error.what());
}

class Replay {
 public:
  explicit Replay(char** argv) : argv_(argv) {}

  int run(const std::filesystem::path& request, const std::filesystem::path& result, bool resident) {
    const int status = answer(request, result);
    if (status != 0 || !resident) return status;
    announce();
    for (std::string line; std::getline(std::cin, line);) {
      const auto paths = Json::parse(line, nullptr, false);
      if (!paths.is_array() || paths.size() != 2 || !paths[0].is_string() || !paths[1].is_string()) {
        kerncap::log::error("usage.bad-request: a line that is not [\"REQUEST.json\", \"RESULT.json\"]");
        return static_cast<int>(ExitCode::usage);
      }
      answer(paths[0].get<std::string>(), paths[1].get<std::string>());
      announce();
    }
    return 0;
  }

 private:
  // Returns the exit status that this request alone would have.
  int answer(const std::filesystem::path& request, const std::filesystem::path& result_path) {
    start_ = std::chrono::steady_clock::now();
    result_path_ = result_path;
    result_ = empty_result();
    int status = 0;
    try {
      replay(request);
    } catch (const Error& error) {
      put_error(result_, error);
      status = static_cast<int>(error.exit_code());
    } catch (const std::exception& error) {
      put_error(result_, Error("internal", error.what()));
      status = static_cast<int>(ExitCode::internal);
    }
    return write_result() ? status : static_cast<int>(ExitCode::host);
  }

  void replay(const std::filesystem::path& path) {
    replay::preload_and_run_again(argv_);
    replay::Request request = replay::request_from_json(kerncap::read_json_file(path, "usage.bad-request", kMaxRequestBytes));
    if (!replayer_) {
      load(request);
    } else if (request.capture != first_.capture || request.index != first_.index || request.agent != first_.agent) {
      throw Error("usage.bad-request", "a resident replay has one capture, on one device");
    }
    replay::check_ranges(request, index_);
    if (!replayer_) {
      reserve();
      replayer_.emplace(*reservation_);
      first_ = request;
    }
    replayer_->run({request, capture_, index_, spans_}, result_, [this] { abandon(); });
  }

  void load(const replay::Request& request) {
    index_ = kerncap::index_from_json(kerncap::read_json_file(request.index, "bundle.malformed", kMaxIndexBytes));
    capture_ = replay::capture_from_json(kerncap::read_json_file(request.capture, "bundle.malformed", kMaxCaptureBytes));
    replay::check_steps(capture_, index_);
    spans_ = replay::spans_of(index_.regions, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
  }

  void reserve() {
    try {
      reservation_.emplace(spans_);
      // What follows a stale address of code finds nothing there, and is told by where it faults; not some other memory.
      for (std::size_t step = 0; step < capture_.steps(); ++step) {
        reservation_->keep_empty(capture_.step(step).code_va, capture_.step(step).code_bytes);
      }
    } catch (const Error&) {
      replay::run_again(argv_);
      throw;
    }
  }

  // The device does not answer any more: no destructor may run, since HSA's would wait for it.
  [[noreturn]] void abandon() {
    const std::string code = result_["error"]["code"];
    kerncap::log::error(code + ": " + result_["error"]["message"].get<std::string>());
    const bool written = write_result();
    ::_exit(written ? static_cast<int>(kerncap::exit_code_of(code)) : static_cast<int>(ExitCode::host));
  }

  bool write_result() noexcept {
    try {
      result_["duration_s"] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
      kerncap::write_json_atomic(result_path_, result_);
      return true;
    } catch (const std::exception& error) {
      kerncap::log::error(std::string("cannot write the result: ") + error.what());
      return false;
    }
  }

  static void announce() {
    std::puts("answered");
    std::fflush(stdout);
  }

  char** argv_;
  std::filesystem::path result_path_;
  Json result_;
  std::chrono::steady_clock::time_point start_;
  kerncap::Index index_;
  replay::CaptureInfo capture_;
  std::vector<replay::Span> spans_;
  replay::Request first_;
  std::optional<replay::Reservation> reservation_;
  std::optional<replay::Replayer> replayer_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--version") {
    std::puts("kerncap-replay " KERNCAP_VERSION);
    return 0;
  }
  const bool resident = argc == 4 && std::string(argv[3]) == "--resident";
  if (argc != 3 && !resident) {
    kerncap::log::error("usage: kerncap-replay REQUEST.json RESULT.json [--resident]");
    return static_cast<int>(ExitCode::usage);
  }
  return Replay(argv).run(argv[1], argv[2], resident);
}
