// kerncap-replay REQUEST.json RESULT.json: replays one captured dispatch at its captured addresses (docs/replay.md).
// In: the request (docs/interfaces.md). Out: RESULT.json, written at once; exit status 0 when every run was executed and
// compared, else by who must act. Called by Kerncap's Python side, on the host or in a container.
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "replay/capture_info.hpp"
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
  Replay(char** argv, std::filesystem::path request, std::filesystem::path result)
      : argv_(argv), request_path_(std::move(request)), result_path_(std::move(result)), result_(empty_result()) {}

  int run() {
    int status = 0;
    try {
      replay();
    } catch (const Error& error) {
      put_error(result_, error);
      status = static_cast<int>(error.exit_code());
    } catch (const std::exception& error) {
      put_error(result_, Error("internal", error.what()));
      status = static_cast<int>(ExitCode::internal);
    }
    return write_result() ? status : static_cast<int>(ExitCode::host);
  }

 private:
  void replay() {
    replay::Request request =
        replay::request_from_json(kerncap::read_json_file(request_path_, "usage.bad-request", kMaxRequestBytes));
    const kerncap::Index index =
        kerncap::index_from_json(kerncap::read_json_file(request.index, "bundle.malformed", kMaxIndexBytes));
    const replay::CaptureInfo capture =
        replay::capture_from_json(kerncap::read_json_file(request.capture, "bundle.malformed", kMaxCaptureBytes));
    replay::check_steps(capture, index);
    replay::check_ranges(request, index);
    const auto spans = replay::spans_of(index.regions, static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE)));
    replay::Reservation reservation;
    try {
      reservation = replay::Reservation(spans);
    } catch (const Error&) {
      replay::run_again(argv_);
      throw;
    }
    replay::run_all({request, capture, index, spans}, reservation, result_, [this] { abandon(); });
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

  char** argv_;
  std::filesystem::path request_path_;
  std::filesystem::path result_path_;
  Json result_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--version") {
    std::puts("kerncap-replay " KERNCAP_VERSION);
    return 0;
  }
  if (argc != 3) {
    kerncap::log::error("usage: kerncap-replay REQUEST.json RESULT.json");
    return static_cast<int>(ExitCode::usage);
  }
  return Replay(argv, argv[1], argv[2]).run();
}
