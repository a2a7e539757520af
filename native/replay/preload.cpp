#include "replay/preload.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

constexpr const char* kLibraryVariable = "KERNCAP_REPLAY_PRELOAD";
constexpr const char* kPreloadVariable = "LD_PRELOAD";

}  // namespace

void preload_and_run_again(char** argv) {
  const char* const named = std::getenv(kLibraryVariable);
  if (named == nullptr || *named == '\0') return;
  std::string libraries = named;
  if (const char* const others = std::getenv(kPreloadVariable); others != nullptr && *others != '\0') libraries += std::string(":") + others;
  if (::setenv(kPreloadVariable, libraries.c_str(), 1) == 0 && ::unsetenv(kLibraryVariable) == 0) ::execv("/proc/self/exe", argv);
  throw Error("host.no-preload", system_message("kerncap-replay cannot start itself again with " + libraries, errno));
}

}  // namespace kerncap::replay
