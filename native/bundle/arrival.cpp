#include "bundle/arrival.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <thread>

#include "base/error.hpp"
#include "base/file.hpp"

namespace kerncap {
namespace {

constexpr std::chrono::milliseconds kLookAgain{10};

bool is_there(const std::filesystem::path& path) {
  struct stat status{};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

void Arrival::wait_for(const std::filesystem::path& blob) const {
  for (;;) {
    // In this order: what was brought last is there before the marker is given up.
    const bool underway = is_underway();
    if (is_there(blob)) return;
    if (!underway) throw Error("bundle.missing-blob", printable(blob.native()) + " is not there, and nobody brings it any more");
    std::this_thread::sleep_for(kLookAgain);
  }
}

bool Arrival::is_underway() const {
  const UniqueFd fd(::open(marker_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd) return false;
  if (::flock(fd.get(), LOCK_SH | LOCK_NB) == 0) return false;  // nobody holds it; closing gives it up again
  return errno == EWOULDBLOCK;
}

}  // namespace kerncap
