#include "intercept/control.hpp"

#include "base/error.hpp"
#include "base/json.hpp"
#include "bundle/index.hpp"

namespace kerncap::intercept {
namespace {

constexpr const char* error_code = "capture.control";
constexpr unsigned max_threads = 64;

std::optional<Dim3> dimensions(const Fields& fields, const char* name) {
  if (fields.is_null(name)) return std::nullopt;
  const Json& list = fields.array(name, 3);
  if (list.size() != 3) fields.fail(name, "three numbers");
  Dim3 value{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!list[i].is_number_unsigned()) fields.fail(name, "three numbers");
    value[i] = list[i].get<std::uint32_t>();
  }
  return value;
}

Mode parse_mode(const Fields& fields) {
  const auto& word = fields.string("mode");
  if (word == "capture") return Mode::Capture;
  if (word == "list") return Mode::List;
  if (word == "profile") return Mode::Profile;
  if (word == "attach") return Mode::Attach;
  fields.fail("mode", "\"capture\", \"list\", \"profile\" or \"attach\"");
}

SequenceControl sequence_of(const Fields& fields) {
  SequenceControl sequence;
  if (!fields.is_null("count")) sequence.count = fields.u64("count", limits::kSteps);
  sequence.last_kernel = fields.string_or_null("last_kernel");
  if (fields.has("last_match")) sequence.last_match = parse_match_mode(fields.string("last_match"));
  if (sequence.count.has_value() == sequence.last_kernel.has_value()) fields.fail("count", "or last_kernel, one of them");
  if (sequence.count && *sequence.count < 2) fields.fail("count", "2 or more");
  if (fields.has("per_queue")) sequence.per_queue = fields.boolean("per_queue");
  const auto& states = fields.string("states");
  if (states != "each" && states != "end") fields.fail("states", "\"each\" or \"end\"");
  sequence.each_state = states == "each";
  return sequence;
}

Ranks parse_ranks(const Fields& fields, const Json& document) {
  if (!fields.has("ranks")) return {};
  const Json& value = document.at("ranks");
  if (value == "first") return {};
  if (value == "all") return {true, std::nullopt};
  if (value.is_number_unsigned()) return {false, fields.u32("ranks")};
  fields.fail("ranks", "\"first\", \"all\" or a number");
}

}  // namespace

Control read_control(const std::filesystem::path& path) {
  const Json document = read_json_file(path, error_code, 1u << 20);
  require_schema(document, "kerncap.capture-control/1", error_code);
  const Fields fields(document, "", error_code);
  Control control;
  control.work_dir = fields.string("work_dir");
  if (fields.has("mode")) control.mode = parse_mode(fields);
  control.kernel = fields.string_or_null("kernel");
  if (fields.has("match")) control.match = parse_match_mode(fields.string("match"));
  if (fields.has("dispatch")) control.dispatch = fields.u64("dispatch");
  control.launch = {dimensions(fields, "grid"), dimensions(fields, "workgroup")};
  if (!fields.is_null("when")) control.when = read_predicates(document.at("when"), error_code);
  if (!fields.is_null("sequence")) control.sequence = sequence_of(fields.object("sequence"));
  if (!fields.is_null("budget_bytes")) control.budget_bytes = fields.u64("budget_bytes");
  if (fields.has("trials")) control.trials = fields.boolean("trials");
  if (fields.has("after")) {
    const auto& after = fields.string("after");
    if (after != "continue" && after != "stop") fields.fail("after", "\"continue\" or \"stop\"");
    control.stop_after = after == "stop";
  }
  control.ranks = parse_ranks(fields, document);
  if (fields.has("after_ms")) control.after_ms = fields.number("after_ms");
  if (fields.has("timeout_s")) control.timeout_s = fields.number("timeout_s");
  if (fields.has("threads")) control.threads = fields.u32("threads", max_threads);
  if (fields.has("zstd_level")) {
    const Json& level = document.at("zstd_level");
    if (!level.is_number_integer() || level < -7 || level > 19) fields.fail("zstd_level", "an integer from -7 to 19");
    control.zstd_level = level.get<int>();
  }
  if (control.timeout_s <= 0) fields.fail("timeout_s", "a positive number");
  if (control.after_ms < 0) fields.fail("after_ms", "0 or more");
  if (control.threads == 0) fields.fail("threads", "a positive number");
  if (!control.work_dir.is_absolute()) fields.fail("work_dir", "an absolute path");
  return control;
}

std::optional<std::filesystem::path> work_dir_of(const std::filesystem::path& path) noexcept {
  try {
    std::filesystem::path dir = read_json_file(path, error_code, 1u << 20).at("work_dir").get<std::string>();
    if (dir.is_absolute()) return dir;
  } catch (...) {  // unreadable: there is no place to write to
  }
  return std::nullopt;
}

}  // namespace kerncap::intercept
