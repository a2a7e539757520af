#include "replay/capture_info.hpp"

#include <limits>

#include "base/error.hpp"

namespace kerncap::replay {
namespace {

constexpr std::string_view kCode = "bundle.malformed";
constexpr std::uint64_t kMaxKernargBytes = 1u << 20;

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

CaptureInfo capture_from_json(const Json& document) {
  require_schema(document, "kerncap.capture/1", kCode);
  const Fields fields(document, "capture", kCode);
  CaptureInfo info;
  const Fields kernel = fields.object("kernel");
  info.kernel_name = kernel.string("name");
  info.kernel_symbol = kernel.string("symbol");

  const Fields dispatch = fields.object("dispatch");
  info.dims = static_cast<std::uint16_t>(dispatch.u32("dims", 3));
  if (info.dims == 0) dispatch.fail("dims", "is 0");
  info.grid = three(dispatch, "grid", std::numeric_limits<std::uint32_t>::max());
  info.workgroup = three(dispatch, "workgroup", std::numeric_limits<std::uint16_t>::max());
  info.group_segment_bytes = dispatch.u32("group_segment_bytes");
  info.private_segment_bytes = dispatch.u32("private_segment_bytes");
  info.kernarg_va = dispatch.u64("kernarg_va");

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
  if (!fields.is_null("outcome")) info.faulted = fields.object("outcome").string("status") != "completed";
  return info;
}

}  // namespace kerncap::replay
