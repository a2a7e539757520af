#include "replay/reservation.hpp"

#include <sys/mman.h>
#include <sys/personality.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "base/error.hpp"
#include "base/log.hpp"

namespace kerncap::replay {
namespace {

constexpr const char* kAttemptVariable = "KERNCAP_REPLAY_ATTEMPT";
// A random layout collides with 30 GiB of captured addresses in about 1 run of 20: five tries leave 1 in 10^6. The sixth, with
// a fixed layout, is for ranges that random layouts always touch (around the stack).
constexpr int kRandomAttempts = 5;

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

void* pointer(std::uint64_t va) noexcept { return reinterpret_cast<void*>(va); }

}  // namespace

std::vector<Span> spans_of(std::span<const Region> regions, std::uint64_t page_bytes) {
  std::vector<Span> spans;
  const auto whole_pages = [&](const Region& region) { return region.va % page_bytes == 0 && region.size % page_bytes == 0; };
  for (const Region& region : regions) {
    if (region.kind == RegionKind::variable) continue;
    if (region.alias_of) {
      const Region& original = regions[*region.alias_of];
      if (!whole_pages(region) || !whole_pages(original)) {
        throw Error("bundle.malformed", "the region at " + hex(region.va) + " is an alias, but not of whole pages");
      }
      spans.push_back({region.va, region.end(), original.va});
      continue;
    }
    const std::uint64_t begin = region.va & ~(page_bytes - 1);
    const std::uint64_t end = (region.end() + page_bytes - 1) & ~(page_bytes - 1);
    if (!spans.empty() && spans.back().original == 0 && begin < spans.back().end) {
      spans.back().end = std::max(spans.back().end, end);
    } else {
      spans.push_back({begin, end, 0});
    }
  }
  return spans;
}

Reservation::Reservation(std::span<const Span> spans) {
  held_.reserve(spans.size());
  for (const Span& span : spans) {
    void* const at = ::mmap(pointer(span.begin), span.size(), PROT_NONE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (at == pointer(span.begin)) {
      held_.push_back(span);
      continue;
    }
    const int error = errno;
    // Kernels before 4.17 take the address for a hint.
    if (at != MAP_FAILED) ::munmap(at, span.size());
    const std::string mappings = conflicting_mappings(span);
    for (const Span& held : held_) ::munmap(pointer(held.begin), held.size());
    held_.clear();
    throw Error("replay.address-taken",
                "the captured addresses " + hex(span.begin) + ".." + hex(span.end) +
                    (mappings.empty() ? system_message(" cannot be reserved", error) : " are in use here by " + mappings),
                "kerncap replay BUNDLE  # again: addresses are chosen anew for each process");
  }
}

Reservation::~Reservation() {
  for (const Span& span : held_) ::munmap(pointer(span.begin), span.size());
}

void Reservation::keep_empty(std::uint64_t begin, std::uint64_t size) noexcept {
  constexpr std::uint64_t most = 256u << 20;
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const Span span{begin & ~(page - 1), (begin + size + page - 1) & ~(page - 1)};
  if (begin == 0 || size == 0 || size > most || span.end <= span.begin) return;
  void* const at = ::mmap(pointer(span.begin), span.size(), PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (at == pointer(span.begin)) {
    held_.push_back(span);
  } else if (at != MAP_FAILED) {
    ::munmap(at, span.size());
  }
}

void Reservation::give_up(std::uint64_t begin, std::uint64_t end) noexcept {
  const auto it = std::ranges::find_if(held_, [&](const Span& span) { return span.begin <= begin && end <= span.end; });
  if (it == held_.end()) return;
  ::munmap(pointer(begin), end - begin);
  const Span rest{end, it->end, it->original};
  it->end = begin;
  const bool nothing_before = it->size() == 0;
  if (nothing_before) {
    if (rest.size() != 0) {
      *it = rest;
    } else {
      held_.erase(it);
    }
  } else if (rest.size() != 0) {
    held_.insert(it + 1, rest);
  }
}

std::string conflicting_mappings(const Span& span) {
  std::ifstream maps("/proc/self/maps");
  std::string out;
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    const char* const last = line.data() + line.size();
    const auto first = std::from_chars(line.data(), last, begin, 16);
    if (first.ec != std::errc() || first.ptr == last || *first.ptr != '-') continue;
    if (std::from_chars(first.ptr + 1, last, end, 16).ec != std::errc()) continue;
    if (begin >= span.end || end <= span.begin) continue;
    const std::size_t path = line.find_first_of("/[");
    if (++count > 3) return out + " and others";
    if (!out.empty()) out += ", ";
    out += hex(begin) + ".." + hex(end) + " " + (path == std::string::npos ? "(anonymous)" : printable(line.substr(path)));
  }
  return out;
}

void run_again(char** argv) {
  const char* text = std::getenv(kAttemptVariable);
  int attempt = 0;
  if (text != nullptr) std::from_chars(text, text + std::char_traits<char>::length(text), attempt);
  if (attempt < 0 || attempt > kRandomAttempts) return;
  ++attempt;
  if (attempt > kRandomAttempts) {
    // Container run times forbid personality(2) by seccomp, with EPERM (docker) or ENOSYS (podman).
    const int now = ::personality(0xffffffff);
    if (now == -1 || ::personality(static_cast<unsigned long>(now) | ADDR_NO_RANDOMIZE) == -1) {
      log::info(system_message("address randomisation cannot be switched off", errno));
      return;
    }
  }
  if (::setenv(kAttemptVariable, std::to_string(attempt).c_str(), 1) != 0) return;
  log::info("captured addresses are taken, starting again (" + std::to_string(attempt) + ")");
  ::execv("/proc/self/exe", argv);
  log::warning(system_message("cannot start again", errno));
}

}  // namespace kerncap::replay
