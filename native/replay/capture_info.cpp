#include "replay/capture_info.hpp"

#include <limits>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

constexpr std::string_view kCode = "bundle.malformed";
constexpr std::uint64_t kMaxKernargBytes = 64u << 10;
constexpr std::size_t kMaxNameBytes = 64u << 10;
constexpr std::size_t kPacketBytes = 64;
constexpr std::size_t kMaxDependencies = 5;  // of a barrier packet
constexpr std::size_t kMaxBarriers = 1024;   // between two dispatches
constexpr std::uint32_t kBarrierBit = 1u << 8;  // Source: HSA system architecture 1.2, 2.9.1

std::array<std::uint32_t, 3> three(const Fields& fields, const char* name, std::uint64_t max) {
  const Json& list = fields.array(name, 3);
  if (list.size() != 3) fields.fail(name, "has not 3 entries");
  std::array<std::uint32_t, 3> out{};
  for (std::size_t i = 0; i < 3; ++i) {
    if (!list[i].is_number_unsigned()) fields.fail(name, "holds something else than unsigned integers");
    const auto value = list[i].get<std::uint64_t>();
    if (value == 0 || value > max) fields.fail(name, std::to_string(value) + " is not in 1.." + std::to_string(max));
    out[i] = static_cast<std::uint32_t>(value);
  }
  return out;
}

}  // namespace

std::array<std::uint32_t, 3> grid_from_json(const Fields& fields) { return three(fields, "grid", std::numeric_limits<std::uint32_t>::max()); }
std::array<std::uint32_t, 3> workgroup_from_json(const Fields& fields) {
  return three(fields, "workgroup", std::numeric_limits<std::uint16_t>::max());
}

namespace {

void read_dispatch(const Fields& fields, DispatchInfo& info) {
  const Fields kernel = fields.object("kernel");
  info.kernel_name = kernel.string("name");
  if (info.kernel_name.empty() || info.kernel_name.size() > kMaxNameBytes) kernel.fail("name", "has not 1 to 65536 bytes");
  info.kernel_symbol = kernel.string("symbol");

  const Fields dispatch = fields.object("dispatch");
  info.dims = static_cast<std::uint16_t>(dispatch.u32("dims", 3));
  if (info.dims == 0) dispatch.fail("dims", "is 0");
  info.grid = grid_from_json(dispatch);
  info.workgroup = workgroup_from_json(dispatch);
  info.group_segment_bytes = dispatch.u32("group_segment_bytes");
  info.private_segment_bytes = dispatch.u32("private_segment_bytes");
  info.kernarg_va = dispatch.u64("kernarg_va");
  const auto packet = from_hex(dispatch.string("packet"));
  if (!packet || packet->size() != kPacketBytes) dispatch.fail("packet", "is not 64 bytes in hexadecimal");
  if (dispatch.has("header")) info.ordered = (dispatch.u32("header", 0xffff) & kBarrierBit) != 0;

  const Fields kernarg = fields.object("kernarg");
  const std::uint64_t size = kernarg.u64("size", kMaxKernargBytes);
  auto bytes = from_hex(kernarg.string("bytes"));
  if (!bytes || bytes->size() != size) kernarg.fail("bytes", "is not " + std::to_string(size) + " bytes in hexadecimal");
  info.kernarg = std::move(*bytes);

  const Fields code = fields.object("code_object");
  const auto digest = digest_from_text(code.string("digest"));
  if (!digest) code.fail("digest", "is not a digest");
  info.code_object = *digest;
  info.isa = code.string("isa");
  if (!code.is_null("load_va") && !code.is_null("load_size")) {
    info.code_va = code.u64("load_va");
    info.code_bytes = code.u64("load_size");
  }
}

BarrierInfo read_barrier(const Json& value, const std::string& where, std::size_t number) {
  const Fields fields(value, where, kCode);
  BarrierInfo barrier;
  const auto& type = fields.string("type");
  if (type != "and" && type != "or" && type != "value") fields.fail("type", "is none of and, or, value");
  barrier.any = type == "or";
  barrier.ordered = fields.boolean("barrier");
  for (const Json& step : fields.array("waits_for", kMaxDependencies)) {
    if (!step.is_number_unsigned() || step.get<std::uint64_t>() >= number) fields.fail("waits_for", "is not a dispatch before this one");
    barrier.waits_for.push_back(step.get<std::uint32_t>());
  }
  return barrier;
}

// "amdgcn-amd-amdhsa--gfx942" of any features: whether code runs is checked when it is loaded.
std::string_view processor_of(std::string_view isa) { return isa.substr(0, isa.find(':')); }

void read_sequence(const Fields& sequence, CaptureInfo& info) {
  const auto& states = sequence.string("states");
  if (states != "each" && states != "end") sequence.fail("states", "is neither each nor end");
  info.each_state = states == "each";
  const Json& later = sequence.array("later", limits::kSteps - 1);
  if (later.empty()) sequence.fail("later", "is empty");
  for (const Json& value : later) {
    const std::string where = "capture.sequence.later[" + std::to_string(info.later.size()) + "]";
    const Fields fields(value, where, kCode);
    StepInfo step;
    read_dispatch(fields, step);
    if (processor_of(step.isa) != processor_of(info.isa)) throw Error("bundle.inconsistent", where + ": the code object is for " + printable(step.isa) + ", the first one for " + printable(info.isa));
    for (const Json& barrier : fields.array("barriers_before", kMaxBarriers))
      step.barriers_before.push_back(read_barrier(barrier, where + ".barriers_before", info.steps()));
    info.later.push_back(std::move(step));
  }
}

}  // namespace

CaptureInfo capture_from_json(const Json& document) {
  require_schema(document, "kerncap.capture/1", kCode);
  const Fields fields(document, "capture", kCode);
  CaptureInfo info;
  read_dispatch(fields, info);
  const Fields outcome = fields.object("outcome");
  const std::string& status = outcome.string("status");
  if (status != "completed" && status != "fault") outcome.fail("status", "is neither completed nor fault");
  info.faulted = status == "fault";
  if (fields.has("sequence")) read_sequence(fields.object("sequence"), info);
  return info;
}

void check_steps(const CaptureInfo& capture, const Index& index) {
  const std::size_t states = capture.each_state ? capture.later.size() : 0;
  for (std::size_t i = 0; i < index.regions.size(); ++i) {
    const Region& region = index.regions[i];
    const auto fail = [&](const std::string& what) { throw Error("bundle.inconsistent", "index.regions[" + std::to_string(i) + "]: " + what); };
    if (region.step > capture.later.size()) fail("belongs to dispatch " + std::to_string(region.step) + ", which does not exist");
    if (region.between.size() != (region.alias_of ? 0 : states)) {
      fail("has " + std::to_string(region.between.size()) + " states between dispatches, not " + std::to_string(states));
    }
  }
}

}  // namespace kerncap::replay
