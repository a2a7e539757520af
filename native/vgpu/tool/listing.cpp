#include "vgpu/tool/listing.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "base/error.hpp"
#include "bundle/code_object.hpp"
#include "vgpu/isa/print/printer.hpp"
#include "vgpu/isa/rows.hpp"
#include "vgpu/tool/code_object.hpp"

namespace kerncap::vgpu::tool {
namespace {

using Json = nlohmann::ordered_json;
using namespace isa;

bool begins(std::string_view text, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view prefix) { return text.starts_with(prefix); });
}

// By the unit that works on it.
const char* group_of(const Inst& inst, std::string_view mnemonic) {
  if (begins(mnemonic, {"v_mfma", "v_smfmac", "v_wmma", "v_swmmac"})) return "matrix";
  switch (inst.row->format) {
    case Format::sop1: case Format::sop2: case Format::sopk: case Format::sopc:
      return inst.row->flags & kBranch ? "branch" : "salu";
    case Format::sopp:
      if (inst.row->flags & kBranch || begins(mnemonic, {"s_endpgm"})) return "branch";
      return begins(mnemonic, {"s_wait", "s_barrier"}) ? "wait" : "other";
    case Format::smem: return "smem";
    case Format::ds: return "lds";
    case Format::scratch: return "scratch";
    case Format::flat: case Format::global: case Format::mubuf: case Format::mtbuf: case Format::mimg: return "vmem";
    default: return "valu";
  }
}

// Where a branch with a distance in it leads, from the function's start.
std::optional<std::int64_t> target_of(const Inst& inst, std::string_view mnemonic, std::size_t offset) {
  const bool has_distance = begins(mnemonic, {"s_branch", "s_cbranch", "s_call_b64"});
  if (!has_distance || !(inst.row->flags & kBranch)) return std::nullopt;
  return static_cast<std::int64_t>(offset) + inst.size_bytes + std::int64_t{inst.simm} * 4;
}

Json instructions_of(const Function& function, const CodeObject& object) {
  Json out = Json::array();
  each_instruction(function, object, [&](const Decoded& decoded, std::size_t offset) {
    std::string text = print(decoded, object.target, object.wave_size);
    const std::string mnemonic = text.substr(0, text.find(' '));
    if (mnemonic == "s_code_end") return;  // behind the end of a function, for the prefetcher
    const bool known = decoded.status == Decoded::Status::ok;
    out.push_back({{"offset", offset}, {"group", known ? group_of(decoded.inst, mnemonic) : "unknown"}, {"text", std::move(text)}});
    if (const auto to = known ? target_of(decoded.inst, mnemonic, offset) : std::nullopt) out.back()["to"] = *to;
  });
  return out;
}

Json resources_of(const std::string& bytes, const std::string& name) {
  const std::span<const char> chars(bytes);
  const auto code = parse_code_object(std::as_bytes(chars));
  const KernelDescription* const kernel = code.find(name);
  if (kernel == nullptr) return nullptr;
  return {{"sgprs", kernel->sgprs}, {"vgprs", kernel->vgprs}, {"agprs", kernel->agprs}, {"sgpr_spills", kernel->sgpr_spills},
          {"vgpr_spills", kernel->vgpr_spills}, {"lds_bytes", kernel->group_segment_bytes}, {"scratch_bytes", kernel->private_segment_bytes},
          {"dynamic_stack", kernel->dynamic_stack}, {"kernarg_bytes", kernel->kernarg_bytes}, {"wavefront_size", kernel->wavefront_size},
          {"max_workgroup_workitems", kernel->max_workgroup_workitems}};
}

}  // namespace

Json listing_document(const std::string& bytes, const std::string& function) {
  const CodeObject object = read_code_object(bytes);
  if (!object.known_target) throw std::runtime_error("the target is not known here: " + object.target_name);
  const auto found = std::ranges::find(object.functions, function, &Function::name);
  if (found == object.functions.end()) throw std::runtime_error("no function " + function);
  Json resources;
  try {
    resources = resources_of(bytes, function);
  } catch (const Error& error) {
    throw std::runtime_error(error.what());
  }
  return {{"schema", "kerncap.isa-listing/1"}, {"target", object.target_name}, {"wave_size", object.wave_size}, {"name", found->name},
          {"kernel", found->kernel}, {"resources", std::move(resources)}, {"instructions", instructions_of(*found, object)}};
}

}  // namespace kerncap::vgpu::tool
