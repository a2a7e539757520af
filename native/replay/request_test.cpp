// Requests, captures and targets: what is refused, and by which name.
#include "replay/request.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "base/error.hpp"
#include "replay/capture_info.hpp"
#include "replay/target.hpp"

namespace kerncap::replay {
namespace {

// As a reader sees it: numbers from text, not from C++ literals.
Json parsed(const Json& value) { return parse_json(value.dump(), "test", "test"); }

std::string code_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return "no error";
}

Json request() {
  return Json::parse(R"({"schema": "kerncap.replay-request/1", "capture": "/c", "index": "/i", "blobs": {}, "agent": 0,
    "timeout_s": 1.5, "runs": [{"hsaco": null, "iterations": 2, "warmup": 1, "expect": {"kind": "post"}, "dump": null,
    "initial": {"kind": "perturbed", "seed": 9, "ranges": [[1, 8, 8, "f64"], [0, 4, 4, "f32"], [1, 0, 8, "i8"]]}}]})");
}

Json launch() { return {{"grid", {128, 2, 1}}, {"workgroup", {64, 1, 1}}, {"dynamic_group_segment_bytes", 512}}; }

Json& of_variant(Json& document) {
  Json& run = document["runs"][0];
  run["hsaco"] = "/v.hsaco";
  run["launch"] = launch();
  return run;
}

TEST(Request, LaunchOfAVariant) {
  Json document = request();
  EXPECT_FALSE(request_from_json(parsed(document)).runs.at(0).launch);
  of_variant(document)["mismatch_limit"] = 77;
  const RunRequest run = request_from_json(parsed(document)).runs.at(0);
  ASSERT_TRUE(run.launch);
  EXPECT_EQ(run.launch->grid, (std::array<std::uint32_t, 3>{128, 2, 1}));
  EXPECT_EQ(run.launch->workgroup[0], 64u);
  EXPECT_EQ(run.launch->dynamic_group_segment_bytes, 512u);
  EXPECT_EQ(run.mismatch_limit, 77u);
}

Index index() {
  Index out;
  out.regions.resize(2);
  out.regions[0].size = 8;
  out.regions[1].size = 16;
  return out;
}

TEST(Request, RangesAreSortedAndTyped) {
  Request read = request_from_json(request());
  check_ranges(read, index());
  const InitialState& initial = read.runs.at(0).initial;
  EXPECT_EQ(read.timeout_s, 1.5);
  EXPECT_EQ(initial.seed, 9u);
  EXPECT_TRUE(read.runs.at(0).dispatch);
  ASSERT_EQ(initial.ranges.size(), 3u);
  EXPECT_EQ(initial.ranges[0].region, 0u);
  EXPECT_EQ(initial.ranges[1].offset, 0u);
  EXPECT_EQ(initial.ranges[2].type, ElementType::f64);
}

TEST(Request, RefusesByName) {
  using Change = std::function<void(Json&)>;
  const std::vector<std::pair<const char*, Change>> cases = {
      {"no runs", [](Json& d) { d["runs"] = Json::array(); }},
      {"no time", [](Json& d) { d["timeout_s"] = 0; }},
      {"endless", [](Json& d) { d["timeout_s"] = 1e30; }},
      {"blob name", [](Json& d) { d["blobs"]["../x"] = {{"path", "/x"}, {"offset", 0}, {"size", 1}}; }},
      {"iterations", [](Json& d) { d["runs"][0]["iterations"] = 0; }},
      {"initial", [](Json& d) { d["runs"][0]["initial"]["kind"] = "random"; }},
      {"launch of nothing", [](Json& d) { d["runs"][0]["launch"] = launch(); }},
      {"launch without grid", [](Json& d) { of_variant(d)["launch"].erase("grid"); }},
      {"launch of nobody", [](Json& d) { of_variant(d)["launch"]["grid"][1] = 0; }},
      {"launch too wide", [](Json& d) { of_variant(d)["launch"]["workgroup"][0] = 65536; }},
      {"launch with all LDS", [](Json& d) { of_variant(d)["launch"]["dynamic_group_segment_bytes"] = 1u << 31; }},
      {"dump limit", [](Json& d) { d["runs"][0]["mismatch_limit"] = -1; }},
      {"dispatch", [](Json& d) { d["runs"][0]["dispatch"] = 0; }},
      {"expect", [](Json& d) { d["runs"][0]["expect"]["kind"] = "luck"; }},
      {"type", [](Json& d) { d["runs"][0]["initial"]["ranges"][0][3] = "f8"; }},
      {"untyped", [](Json& d) { d["runs"][0]["initial"]["ranges"][0].erase(3); }},
      {"negative", [](Json& d) { d["runs"][0]["initial"]["ranges"][0][1] = -8; }},
      {"no region", [](Json& d) { d["runs"][0]["initial"]["ranges"][0][0] = 2; }},
      {"beyond", [](Json& d) { d["runs"][0]["initial"]["ranges"][0][2] = 9; }},
      {"wraps", [](Json& d) { d["runs"][0]["initial"]["ranges"][0][1] = ~std::uint64_t{0}; }},
      {"overlap", [](Json& d) { d["runs"][0]["initial"]["ranges"][2][2] = 9; }},
  };
  for (const auto& [name, change] : cases) {
    Json changed = request();
    change(changed);
    const std::string code = code_of([&] {
      Request read = request_from_json(parsed(changed));
      check_ranges(read, index());
    });
    EXPECT_EQ(code, "usage.bad-request") << name;
  }
}

Json capture() {
  Json document = Json::parse(R"({"schema": "kerncap.capture/1", "kernel": {"name": "k", "symbol": "k.kd"},
    "dispatch": {"dims": 2, "grid": [100, 2, 1], "workgroup": [64, 1, 1], "group_segment_bytes": 0, "private_segment_bytes": 0, "kernarg_va": 4096},
    "kernarg": {"size": 2, "bytes": "01ff"}, "outcome": {"status": "completed"},
    "code_object": {"isa": "amdgcn-amd-amdhsa--gfx942", "digest": "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}})");
  document["dispatch"]["packet"] = std::string(128, '0');
  return document;
}

TEST(Capture, ReadsAndRefuses) {
  const CaptureInfo info = capture_from_json(capture());
  EXPECT_EQ(info.grid[0], 100u);
  EXPECT_EQ(info.kernarg.at(1), std::byte{255});
  EXPECT_FALSE(info.faulted);
  using Change = std::function<void(Json&)>;
  const std::vector<std::pair<const char*, Change>> cases = {
      {"dims 0", [](Json& d) { d["dispatch"]["dims"] = 0; }},
      {"dims 4", [](Json& d) { d["dispatch"]["dims"] = 4; }},
      {"empty workgroup", [](Json& d) { d["dispatch"]["workgroup"][1] = 0; }},
      {"huge workgroup", [](Json& d) { d["dispatch"]["workgroup"][1] = 65536; }},
      {"two sizes", [](Json& d) { d["dispatch"]["grid"].erase(2); }},
      {"huge grid", [](Json& d) { d["dispatch"]["grid"][0] = std::uint64_t{1} << 32; }},
      {"kernarg size", [](Json& d) { d["kernarg"]["size"] = 3; }},
      {"huge kernarg", [](Json& d) { d["kernarg"]["size"] = std::uint64_t{1} << 60; }},
      {"kernarg digits", [](Json& d) { d["kernarg"]["bytes"] = "zz"; }},
      {"kernarg of 64 KiB and a byte", [](Json& d) { d["kernarg"] = {{"size", 65537}, {"bytes", std::string(2 * 65537, '0')}}; }},
      {"no name", [](Json& d) { d["kernel"]["name"] = ""; }},
      {"no packet", [](Json& d) { d["dispatch"].erase("packet"); }},
      {"short packet", [](Json& d) { d["dispatch"]["packet"] = std::string(126, '0'); }},
      {"no outcome", [](Json& d) { d.erase("outcome"); }},
      {"unknown outcome", [](Json& d) { d["outcome"]["status"] = "perhaps"; }},
      {"digest", [](Json& d) { d["code_object"]["digest"] = "sha256:../../x"; }},
  };
  for (const auto& [name, change] : cases) {
    Json changed = capture();
    change(changed);
    EXPECT_EQ(code_of([&] { capture_from_json(parsed(changed)); }), "bundle.malformed") << name;
  }
}

TEST(Target, ProcessorAndNamedFeatures) {
  const std::string agent = "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-";
  EXPECT_TRUE(isa_matches(agent, agent));
  EXPECT_TRUE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx942"));
  EXPECT_TRUE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx942:xnack-"));
  EXPECT_FALSE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx942:xnack+"));
  EXPECT_FALSE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx90a"));
  EXPECT_FALSE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx94"));
  EXPECT_FALSE(isa_matches("amdgcn-amd-amdhsa--gfx1100", "amdgcn-amd-amdhsa--gfx1100:xnack-"));
  EXPECT_TRUE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx9-4-generic"));
  EXPECT_TRUE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx9-4-generic:xnack-"));
  EXPECT_FALSE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx9-4-generic:xnack+"));
  EXPECT_FALSE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx9-generic"));
  EXPECT_FALSE(isa_matches(agent, "amdgcn-amd-amdhsa--gfx9-5-generic"));
  EXPECT_TRUE(isa_matches("amdgcn-amd-amdhsa--gfx1100", "amdgcn-amd-amdhsa--gfx11-generic"));
}

}  // namespace
}  // namespace kerncap::replay
