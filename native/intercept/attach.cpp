#include "intercept/attach.hpp"

#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <mutex>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/json.hpp"
#include "base/log.hpp"
#include "intercept/guard.hpp"
#include "intercept/reports.hpp"
#include "intercept/threads.hpp"
#include "intercept/tool.hpp"

namespace kerncap::intercept {
namespace {

namespace fs = std::filesystem;

struct Requests {
  Tool& tool;
  fs::path request, cancel, taken;
  UniqueFd watch;

  explicit Requests(Tool& owner)
      : tool(owner),
        request(owner.control.work_dir / ("request-" + std::to_string(getpid()) + ".json")),
        cancel(owner.control.work_dir / ("cancel-" + std::to_string(getpid()))),
        taken(owner.control.work_dir / ("taken-" + std::to_string(getpid()) + ".json")),
        watch(::inotify_init1(IN_CLOEXEC)) {
    if (watch.get() < 0 || ::inotify_add_watch(watch.get(), owner.control.work_dir.c_str(), IN_MOVED_TO) < 0) {
      throw system_error("the work directory cannot be watched for requests", errno);
    }
  }

  // What came before the watch, too.
  void serve() noexcept {
    for (;;) {
      take();
      alignas(inotify_event) std::array<char, 4096> events;
      const ssize_t length = ::read(watch.get(), events.data(), events.size());
      if (length < 0 && errno != EINTR) return log::error(system_message("requests are no longer seen", errno));
    }
  }

  void take() noexcept {
    std::error_code ignored;
    if (fs::remove(cancel, ignored)) tool.disarm();
    // Out of the way before it is answered: whoever reads the answer may ask again at once.
    std::error_code nothing;
    fs::rename(request, taken, nothing);
    if (nothing) return;
    const auto where = work_dir_of(taken);
    try {
      Control wanted = read_control(taken);
      if (!wanted.kernel || wanted.mode != Mode::Capture) throw Error("capture.control", "a request names a kernel to capture");
      tool.arm(std::move(wanted));
    } catch (const Error& error) {
      report_error(where, error);
    } catch (const std::exception& error) {
      report_error(where, Error("capture.internal", error.what()));
    }
    fs::remove(taken, ignored);
  }
};

}  // namespace

void watch_requests(Tool& tool) {
  static std::once_flag once;
  std::call_once(once, [&tool] {
    auto* const requests = new Requests(tool);
    start_quietly([requests] {
      const Inside inside;
      requests->serve();
    }).detach();
    write_json_atomic(tool.control.work_dir / ("attached-" + std::to_string(getpid()) + ".json"),
                      {{"schema", "kerncap.attached/1"}, {"pid", getpid()}});
  });
}

}  // namespace kerncap::intercept
