#include "intercept/manifest.hpp"

#include <hsa/hsa_ven_amd_loader.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/digest.hpp"
#include "base/error.hpp"
#include "bundle/hidden_variables.hpp"
#include "intercept/hsa_api.hpp"
#include "intercept/rank.hpp"

namespace kerncap::intercept {
namespace {

std::string hex_of(const void* data, std::size_t size) {
  return to_hex({static_cast<const std::byte*>(data), size});
}

std::string agent_text(hsa_agent_t agent, std::uint32_t attribute) {
  std::array<char, 256> text{};
  check(hsa().core.hsa_agent_get_info_fn(agent, static_cast<hsa_agent_info_t>(attribute), text.data()), "hsa_agent_get_info");
  return text.data();
}

std::string agent_isa(hsa_agent_t agent) {
  hsa_isa_t isa{};
  check(hsa().core.hsa_agent_get_info_fn(agent, HSA_AGENT_INFO_ISA, &isa), "hsa_agent_get_info");
  std::uint32_t length = 0;
  check(hsa().core.hsa_isa_get_info_alt_fn(isa, HSA_ISA_INFO_NAME_LENGTH, &length), "hsa_isa_get_info_alt");
  std::string name(length, '\0');
  check(hsa().core.hsa_isa_get_info_alt_fn(isa, HSA_ISA_INFO_NAME, name.data()), "hsa_isa_get_info_alt");
  while (!name.empty() && name.back() == '\0') name.pop_back();
  return name;
}

LoadRange load_range(hsa_loaded_code_object_t loaded) {
  hsa_ven_amd_loader_1_01_pfn_t loader{};
  const auto get = hsa().core.hsa_system_get_major_extension_table_fn;
  LoadRange range;
  if (get == nullptr || get(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader, &loader) != HSA_STATUS_SUCCESS) return range;
  const auto info = loader.hsa_ven_amd_loader_loaded_code_object_get_info;
  if (info == nullptr) return range;
  info(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_BASE, &range.va);
  info(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_SIZE, &range.size);
  std::int64_t delta = 0;
  if (info(loaded, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_LOAD_DELTA, &delta) == HSA_STATUS_SUCCESS) range.delta = delta;
  return range;
}

std::optional<std::size_t> region_holding(const Index& index, std::uint64_t va) {
  const auto after = std::upper_bound(index.regions.begin(), index.regions.end(), va,
                                      [](std::uint64_t value, const Region& region) { return value < region.va; });
  if (after == index.regions.begin()) return std::nullopt;
  const auto& region = *std::prev(after);
  if (va >= region.end()) return std::nullopt;
  return static_cast<std::size_t>(std::prev(after) - index.regions.begin());
}

bool is_pointer(const KernelArgument& argument) {
  constexpr std::array<std::string_view, 5> kinds = {"global_buffer", "hidden_hostcall_buffer", "hidden_heap_v1",
                                                     "hidden_printf_buffer", "hidden_multigrid_sync_arg"};
  return argument.size == sizeof(std::uint64_t) && std::find(kinds.begin(), kinds.end(), argument.value_kind) != kinds.end();
}

std::optional<std::uint64_t> pointer_value(const KernelArgument& argument, const DispatchFacts& facts) {
  if (!is_pointer(argument) || argument.offset + sizeof(std::uint64_t) > facts.kernarg.size()) return std::nullopt;
  std::uint64_t va = 0;
  std::memcpy(&va, facts.kernarg.data() + argument.offset, sizeof va);
  return va;
}

Json argument_document(const KernelArgument& argument, const DispatchFacts& facts, std::vector<Unreadable>& unreadable,
                       const Index& index) {
  Json entry = {{"offset", argument.offset}, {"size", argument.size},      {"kind", argument.value_kind},
                {"name", argument.name},     {"type", argument.type_name}, {"region", nullptr},
                {"region_offset", nullptr}};
  const auto pointer = pointer_value(argument, facts);
  if (!pointer || *pointer == 0) return entry;
  const auto va = *pointer;
  if (const auto region = region_holding(index, va)) {
    const Region& held = index.regions[*region];
    entry["region"] = held.alias_of.value_or(static_cast<std::uint32_t>(*region));
    entry["region_offset"] = va - held.va;
  } else if (!argument.hidden()) {
    unreadable.push_back({va, 0, "argument " + (argument.name.empty() ? "at offset " + std::to_string(argument.offset)
                                                                             : argument.name) +
                                           " points to memory that is not in the closure"});
  }
  return entry;
}

Json dispatch_document(const DispatchFacts& facts) {
  const auto dispatch = as_dispatch(facts.packet);
  const auto dims = (dispatch.setup >> HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS) &
                    ((1 << HSA_KERNEL_DISPATCH_PACKET_SETUP_WIDTH_DIMENSIONS) - 1);
  Json document = {{"queue_index", facts.queue_index},
                   {"dims", dims},
                   {"grid", {dispatch.grid_size_x, dispatch.grid_size_y, dispatch.grid_size_z}},
                   {"workgroup", {dispatch.workgroup_size_x, dispatch.workgroup_size_y, dispatch.workgroup_size_z}},
                   {"group_segment_bytes", dispatch.group_segment_size},
                   {"private_segment_bytes", dispatch.private_segment_size},
                   {"kernarg_va", reinterpret_cast<std::uint64_t>(dispatch.kernarg_address)},
                   {"kernel_object_va", dispatch.kernel_object},
                   {"header", dispatch.header},
                   {"packet", hex_of(&facts.packet, sizeof facts.packet)}};
  if (facts.match_index) document["match_index"] = *facts.match_index;
  if (facts.trial) document["trial"] = true;
  return document;
}

// What every dispatch of a capture has.
Json step_document(const DispatchFacts& facts, std::vector<Unreadable>& unreadable, const Index& index) {
  return {{"kernel", {{"name", facts.kernel->name}, {"demangled", facts.kernel->demangled}, {"symbol", facts.kernel->symbol}}},
          {"dispatch", dispatch_document(facts)},
          {"kernarg", kernarg_document(facts, unreadable, index)},
          {"code_object",
           {{"digest", digest_text(facts.code_blob.digest)},
            {"size", facts.code_blob.size},
            {"isa", facts.isa},
            {"load_va", facts.load.va},
            {"load_size", facts.load.size}}}};
}

Json sequence_document(CaptureFacts& facts, const Index& index) {
  Json later = Json::array();
  for (const DispatchFacts& step : facts.later) {
    Json barriers = Json::array();
    for (const BarrierFacts& barrier : step.barriers_before) {
      barriers.push_back({{"type", barrier.type}, {"barrier", barrier.ordered}, {"waits_for", barrier.waits_for}});
    }
    later.push_back(step_document(step, facts.unreadable, index));
    later.back()["barriers_before"] = std::move(barriers);
  }
  return {{"states", facts.each_state ? "each" : "end"}, {"later", std::move(later)}};
}

Json device_document(hsa_agent_t agent, const Topology& topology) {
  std::uint32_t compute_units = 0;
  check(hsa().core.hsa_agent_get_info_fn(agent, static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT),
                                         &compute_units),
        "hsa_agent_get_info");
  return {{"agent", agent_text(agent, HSA_AGENT_INFO_NAME)},
          {"isa", agent_isa(agent)},
          {"product", agent_text(agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME)},
          {"memory_bytes", topology.memory_bytes(agent)},
          {"compute_units", compute_units}};
}

Json runtime_document() {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
  check(hsa().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MAJOR, &major), "hsa_system_get_info");
  check(hsa().core.hsa_system_get_info_fn(HSA_SYSTEM_INFO_VERSION_MINOR, &minor), "hsa_system_get_info");
  return {{"hsa_version", std::to_string(major) + "." + std::to_string(minor)},
          {"api_table", std::to_string(hsa().table_major) + "." + std::to_string(hsa().table_minor)},
          {"tool", "kerncap " KERNCAP_VERSION},
          {"libzstd", ZSTD_versionString()}};
}

Json unreadable_document(const std::vector<Unreadable>& list) {
  Json document = Json::array();
  for (const auto& item : list) document.push_back({{"va", item.va}, {"size", item.size}, {"reason", item.reason}});
  return document;
}

}  // namespace

std::uint32_t kernarg_size(const DispatchFacts& facts) {
  if (facts.description) return facts.description->kernarg_bytes;
  if (facts.kernel->kernarg_size_attribute > 0) return facts.kernel->kernarg_size_attribute;
  throw Error("capture.kernarg-size", "the size of the kernarg segment of " + facts.kernel->demangled + " is not known",
              "neither the code object's metadata nor the runtime says it; rebuild with code object version 4 or later");
}

std::vector<Allocation> module_variables(const KernelEntry& kernel) {
  struct Visit {
    hsa_agent_t agent;
    std::vector<Allocation> variables;
  } visit{kernel.agent, {}};
  const auto each = [](hsa_executable_t, hsa_executable_symbol_t symbol, void* data) {
    auto& found = *static_cast<Visit*>(data);
    const auto info = hsa().core.hsa_executable_symbol_get_info_fn;
    hsa_symbol_kind_t kind{};
    info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
    if (kind != HSA_SYMBOL_KIND_VARIABLE) return HSA_STATUS_SUCCESS;
    hsa_agent_t agent{};
    info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_AGENT, &agent);
    if (agent.handle != found.agent.handle) return HSA_STATUS_SUCCESS;
    Allocation variable;
    std::uint32_t size = 0;
    std::uint32_t length = 0;
    info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &variable.va);
    info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &size);
    info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &length);
    variable.symbol.resize(length);
    info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, variable.symbol.data());
    while (!variable.symbol.empty() && variable.symbol.back() == '\0') variable.symbol.pop_back();
    variable.size = size;
    variable.kind = RegionKind::variable;
    variable.owner = agent;
    if (variable.size > 0 && variable.va != 0) found.variables.push_back(std::move(variable));
    return HSA_STATUS_SUCCESS;
  };
  check(hsa().core.hsa_executable_iterate_symbols_fn(kernel.executable, each, &visit), "hsa_executable_iterate_symbols");
  return visit.variables;
}

namespace {

void locate_code(DispatchFacts& facts) {
  facts.load = load_range(facts.code.loaded);
  if (facts.isa.empty()) facts.isa = agent_isa(facts.kernel->agent);
}

}  // namespace

void ask_runtime(CaptureFacts& facts, const Topology& topology) {
  locate_code(facts);
  for (DispatchFacts& step : facts.later) locate_code(step);
  facts.device = device_document(facts.kernel->agent, topology);
  facts.runtime = runtime_document();
}

std::vector<Allocation> unnamed_variables(const DispatchFacts& facts, std::vector<Unreadable>& unreadable) {
  const auto& range = facts.load;
  std::vector<Allocation> variables;
  for (const auto& hidden : hidden_variables(*facts.code.bytes)) {
    if (!range.delta) {
      unreadable.push_back({0, 0, "variable " + hidden.name + " of the code object is not exported: its contents are not captured"});
      continue;
    }
    Allocation variable;
    variable.va = hidden.address + static_cast<std::uint64_t>(*range.delta);
    variable.size = hidden.size;
    variable.symbol = hidden.name;
    variable.kind = RegionKind::variable;
    variable.owner = facts.kernel->agent;
    variables.push_back(std::move(variable));
  }
  return variables;
}

void add_variables(std::vector<Allocation>& regions, std::vector<Allocation> variables) {
  for (auto& variable : variables) {
    const bool overlaps = std::any_of(regions.begin(), regions.end(), [&](const Allocation& region) {
      return variable.va < region.end() && region.va < variable.end();
    });
    if (!overlaps) regions.push_back(std::move(variable));
  }
  std::sort(regions.begin(), regions.end(), [](const Allocation& a, const Allocation& b) { return a.va < b.va; });
}

std::vector<std::uint64_t> pointer_values(const DispatchFacts& facts) {
  std::vector<std::uint64_t> values;
  if (!facts.description) return values;
  for (const KernelArgument& argument : facts.description->arguments)
    if (const auto pointer = pointer_value(argument, facts)) values.push_back(*pointer);
  return values;
}

Json kernarg_document(const DispatchFacts& facts, std::vector<Unreadable>& unreadable, const Index& index) {
  Json arguments = Json::array();
  if (facts.description) {
    for (const auto& argument : facts.description->arguments) arguments.push_back(argument_document(argument, facts, unreadable, index));
  }
  return {{"size", facts.kernarg.size()}, {"bytes", to_hex(facts.kernarg)}, {"args", std::move(arguments)}};
}

Json capture_document(CaptureFacts& facts, const Index& index) {
  Json document = step_document(facts, facts.unreadable, index);
  if (!facts.later.empty()) document["sequence"] = sequence_document(facts, index);
  Json outcome = {{"status", facts.outcome}, {"fault_va", nullptr}};
  if (facts.fault_va) outcome["fault_va"] = *facts.fault_va;
  if (facts.fault_step) outcome["step"] = *facts.fault_step;
  document["schema"] = "kerncap.capture/1";
  document["device"] = facts.device;
  document["runtime"] = facts.runtime;
  document["consistency"] = {{"state", facts.reasons.empty() ? "consistent" : "best-effort"}, {"reasons", facts.reasons}};
  document["outcome"] = std::move(outcome);
  document["trigger"] = facts.trigger;
  document["rank"] = own_rank_document();
  document["unreadable"] = unreadable_document(facts.unreadable);  // complete by now
  document["timing"] = {{"dispatch_ns", facts.dispatch_ns ? Json(*facts.dispatch_ns) : Json(nullptr)},
                        {"dispatch_wall_s", facts.dispatch_wall_s},
                        {"snapshot_s", facts.snapshot_s},
                        {"post_s", facts.post_s},
                        {"raw_bytes", facts.raw_bytes},
                        {"stored_bytes", facts.stored_bytes}};
  return document;
}

}  // namespace kerncap::intercept
