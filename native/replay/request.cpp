#include "replay/request.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/error.hpp"
#include "replay/capture_info.hpp"

namespace kerncap::replay {
namespace {

constexpr std::string_view kCode = "usage.bad-request";
constexpr std::size_t kMaxRuns = 1000;
constexpr std::size_t kMaxRanges = 1u << 22;
constexpr std::uint32_t kMaxIterations = 1'000'000;
constexpr std::uint32_t kMaxGroupSegmentBytes = 1u << 20;

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(std::string(kCode), "request: " + where + ": " + what);
}

ElementType element_type(const Json& value, const std::string& where) {
  constexpr std::pair<const char*, ElementType> names[] = {
      {"f64", ElementType::f64}, {"f32", ElementType::f32}, {"f16", ElementType::f16}, {"bf16", ElementType::bf16},
      {"f8e4m3", ElementType::f8e4m3}, {"f8e5m2", ElementType::f8e5m2}, {"f8e4m3fnuz", ElementType::f8e4m3fnuz},
      {"f8e5m2fnuz", ElementType::f8e5m2fnuz},
      {"i64", ElementType::i64}, {"i32", ElementType::i32}, {"i16", ElementType::i16}, {"i8", ElementType::i8},
      {"bits16", ElementType::bits16}, {"pair32", ElementType::pair32}, {"pair64", ElementType::pair64}};
  if (value.is_string()) {
    for (const auto& [name, type] : names) {
      if (value.get_ref<const std::string&>() == name) return type;
    }
  }
  fail(where, "unknown element type " + printable(value.dump()));
}

InitialRange range_from_json(const Json& value, const std::string& where, bool typed) {
  if (!value.is_array() || value.size() != (typed ? 4u : 3u)) fail(where, "is not [region, offset, length" + std::string(typed ? ", type]" : "]"));
  for (std::size_t i = 0; i < 3; ++i) {
    if (!value[i].is_number_unsigned()) fail(where, "holds something else than unsigned integers");
  }
  InitialRange range;
  const auto region = value[0].get<std::uint64_t>();
  if (region > limits::kRegions) fail(where, "there is no region " + std::to_string(region));
  range.region = static_cast<std::uint32_t>(region);
  range.offset = value[1].get<std::uint64_t>();
  range.length = value[2].get<std::uint64_t>();
  if (typed) range.type = element_type(value[3], where);
  return range;
}

InitialState initial_from_json(const Fields& fields, const std::string& where) {
  InitialState initial;
  const std::string& kind = fields.string("kind");
  if (kind == "captured") return initial;
  if (kind == "poisoned") {
    initial.kind = InitialState::Kind::poisoned;
  } else if (kind == "perturbed") {
    initial.kind = InitialState::Kind::perturbed;
    initial.seed = fields.u64("seed");
  } else {
    fields.fail("kind", "unknown initial state \"" + printable(kind) + "\"");
  }
  for (const Json& value : fields.array("ranges", kMaxRanges)) {
    initial.ranges.push_back(range_from_json(value, where + ".ranges[" + std::to_string(initial.ranges.size()) + "]",
                                             initial.kind == InitialState::Kind::perturbed));
  }
  return initial;
}

LaunchRequest launch_from_json(const Fields& fields) {
  return {grid_from_json(fields), workgroup_from_json(fields), fields.u32("dynamic_group_segment_bytes", kMaxGroupSegmentBytes)};
}

RunRequest run_from_json(const Json& value, const std::string& where) {
  const Fields fields(value, where, kCode);
  RunRequest run;
  run.hsaco = fields.string_or_null("hsaco");
  run.kernel = fields.string_or_null("kernel");
  run.iterations = fields.has("iterations") ? fields.u32("iterations", kMaxIterations) : 1;
  run.warmup = fields.has("warmup") ? fields.u32("warmup", kMaxIterations) : 0;
  if (run.iterations == 0) fields.fail("iterations", "is 0");
  if (fields.has("launch") && !fields.is_null("launch")) run.launch = launch_from_json(fields.object("launch"));
  if (run.launch && !run.hsaco) fields.fail("launch", "is of a variant, and there is none");
  if (fields.has("dispatch")) run.dispatch = fields.boolean("dispatch");
  run.initial = initial_from_json(fields.object("initial"), where + ".initial");
  run.initial_document = value["initial"];
  if (!fields.is_null("expect")) {
    const Fields expect = fields.object("expect");
    const std::string& kind = expect.string("kind");
    if (kind == "post") {
      run.expect.kind = Expectation::Kind::post;
    } else if (kind == "dump") {
      run.expect.kind = Expectation::Kind::dump;
      run.expect.dump = expect.string("path");
    } else {
      expect.fail("kind", "unknown expectation \"" + printable(kind) + "\"");
    }
  }
  run.dump = fields.string_or_null("dump");
  run.mismatch_dump = fields.string_or_null("mismatch_dump");
  if (fields.has("mismatch_limit")) run.mismatch_limit = fields.u64("mismatch_limit");
  return run;
}

}  // namespace

std::size_t size_of(ElementType type) noexcept {
  switch (type) {
    case ElementType::pair64:
      return 16;
    case ElementType::f64:
    case ElementType::i64:
    case ElementType::pair32:
      return 8;
    case ElementType::f32:
    case ElementType::i32:
      return 4;
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::i16:
    case ElementType::bits16:
      return 2;
    case ElementType::i8:
    case ElementType::f8e4m3:
    case ElementType::f8e5m2:
    case ElementType::f8e4m3fnuz:
    case ElementType::f8e5m2fnuz:
      return 1;
  }
  return 1;
}

Request request_from_json(const Json& document) {
  require_schema(document, "kerncap.replay-request/1", kCode);
  const Fields fields(document, "request", kCode);
  Request request;
  request.capture = fields.string("capture");
  request.index = fields.string("index");
  const Fields blobs = fields.object("blobs");
  for (const auto& [digest, value] : document["blobs"].items()) {
    if (!digest_from_text(digest)) blobs.fail(printable(digest), "is not a digest");
    const Fields location(value, "request.blobs." + digest, kCode);
    request.blobs[digest] = {location.string("path"), location.u64("offset"), location.u64("size")};
  }
  request.arriving = fields.string_or_null("arriving");
  if (fields.has("agent")) request.agent = fields.u32("agent", 1024);
  if (fields.has("timeout_s")) request.timeout_s = fields.number("timeout_s");
  if (!(request.timeout_s > 0 && request.timeout_s <= 7 * 86400.0)) fields.fail("timeout_s", "is not between 0 and a week");
  if (fields.has("max_mismatches")) request.max_mismatches = fields.u32("max_mismatches", 1u << 20);
  if (fields.has("withhold_variables")) request.withhold_variables = fields.boolean("withhold_variables");
  for (const Json& run : fields.array("runs", kMaxRuns)) {
    request.runs.push_back(run_from_json(run, "runs[" + std::to_string(request.runs.size()) + "]"));
  }
  if (request.runs.empty()) fields.fail("runs", "is empty");
  return request;
}

void check_ranges(Request& request, const Index& index) {
  for (std::size_t i = 0; i < request.runs.size(); ++i) {
    std::vector<InitialRange>& ranges = request.runs[i].initial.ranges;
    std::ranges::sort(ranges, {}, [](const InitialRange& range) { return std::pair(range.region, range.offset); });
    const InitialRange* before = nullptr;
    for (const InitialRange& range : ranges) {
      const std::string where = "runs[" + std::to_string(i) + "], range at region " + std::to_string(range.region) + " offset " +
                                std::to_string(range.offset);
      if (range.region >= index.regions.size()) fail(where, "there is no such region");
      const std::uint64_t size = index.regions[range.region].size;
      if (range.offset > size || range.length > size - range.offset) fail(where, "does not lie within its region");
      if (before != nullptr && before->region == range.region && before->end() > range.offset) fail(where, "overlaps another range");
      before = &range;
    }
  }
}

}  // namespace kerncap::replay
