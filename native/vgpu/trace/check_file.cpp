#include "vgpu/trace/check_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "vgpu/kfd/next.hpp"
#include "vgpu/report.hpp"

namespace kerncap::vgpu {
namespace {

using Json = nlohmann::ordered_json;
using isa::check::Finding;
using isa::check::Site;

// The interposed open would take the path for a device's.
int open_file(const std::string& path, int flags) {
  static const auto next_open = next<int (*)(const char*, int, ...)>("open");
  return next_open(path.c_str(), flags | O_CLOEXEC, 0644);
}

std::vector<isa::check::Region> read_regions(const std::string& path) {
  std::vector<isa::check::Region> out;
  if (path.empty()) return out;
  const int fd = open_file(path, O_RDONLY);
  const std::unique_ptr<FILE, int (*)(FILE*)> file(fd < 0 ? nullptr : ::fdopen(fd, "r"), &std::fclose);
  if (!file) throw std::invalid_argument("KERNCAP_VGPU: check-regions=" + path + ": " + std::strerror(errno));
  unsigned long long va = 0, size = 0;
  int fields = 0;
  while ((fields = std::fscanf(file.get(), "%llu %llu", &va, &size)) == 2) out.push_back({va, size});
  if (fields != EOF) throw std::invalid_argument("KERNCAP_VGPU: check-regions=" + path + ": expected 'va size' lines");
  return out;
}

Json site_json(const Site& site) {
  Json json = {{"pc", site.pc}, {"text", site.text}, {"workgroup", site.workgroup}, {"wave", site.wave}};
  json["lane"] = site.lane ? Json(*site.lane) : Json(nullptr);
  return json;
}

Json finding_json(const Finding& f) {
  Json json = {{"check", f.check}, {"kind", f.kind}, {"benign", f.benign}, {"count", f.count}, {"message", f.message}};
  json["site"] = site_json(f.site);
  json["other"] = f.other ? site_json(*f.other) : Json(nullptr);
  json["space"] = f.space;
  json["address"] = f.address ? Json(*f.address) : Json(nullptr);
  json["size_bytes"] = f.size_bytes;
  return json;
}

}  // namespace

CheckFile::CheckFile(isa::check::Checks checks, std::string path, const std::string& regions_path)
    : checks_(checks), path_(std::move(path)), regions_(read_regions(regions_path)) {}

std::string CheckFile::line(std::uint64_t kernel_object, std::uint64_t pid, std::uint64_t dispatch,
                            const isa::check::Report& report, const isa::Outcome& outcome) {
  Json json = {{"kernel_object", kernel_object}, {"pid", pid}, {"dispatch", dispatch}};
  json["checks"] = isa::check::names(report.checks);
  json["findings"] = Json::array();
  for (const Finding& f : report.findings) json["findings"].push_back(finding_json(f));
  json["limits"] = report.limits;
  json["instructions"] = outcome.work.instructions;
  if (outcome.kind != isa::Outcome::Kind::completed) json["stopped"] = outcome.text;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void CheckFile::append(std::uint64_t kernel_object, const isa::check::Report& report, const isa::Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  if (path_.empty()) {
    for (const Finding& f : report.findings) {
      char at[32];
      std::snprintf(at, sizeof at, " at pc 0x%llx: ", static_cast<unsigned long long>(f.site.pc));
      report::stopped(std::string("check.") + f.kind,
                      f.site.text + at + f.message + " (" + std::to_string(f.count) + " times)");
    }
    return;
  }
  const std::string text = line(kernel_object, static_cast<std::uint64_t>(::getpid()), dispatches_++, report, outcome);
  if (fd_ < 0) fd_ = open_file(path_, O_WRONLY | O_CREAT | O_APPEND);
  // One write a line: several processes may append to one file.
  if (fd_ < 0 || ::write(fd_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    report::stopped("vgpu.check-report-not-written", path_ + ": " + std::strerror(errno));
}

isa::Outcome CheckFile::run(isa::Target target, const isa::Dispatch& dispatch, const isa::Memory& memory, isa::Trace* trace,
                            const std::atomic<bool>& cancel) {
  isa::check::Report report;
  const isa::check::Known known{regions_, written()};
  const isa::Outcome outcome = isa::check::execute_checked(target, dispatch, memory, trace, cancel, checks_, known, report);
  append(dispatch.packet.kernel_object, report, outcome);
  return outcome;
}

}  // namespace kerncap::vgpu
