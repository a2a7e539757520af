// capture.json: everything about the dispatch that is not memory. In: packet, kernel, code object, agent, the snapshot's outcome.
// Out: the JSON document of docs/interfaces.md, "Capture directory". Called by capture.cpp.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "bundle/code_object.hpp"
#include "bundle/index.hpp"
#include "intercept/kernels.hpp"
#include "intercept/memory.hpp"
#include "intercept/packets.hpp"
#include "intercept/snapshot.hpp"

namespace kerncap::intercept {

struct CaptureFacts {
  Packet packet{};
  std::uint64_t match_index = 0;
  std::uint64_t queue_index = 0;
  const KernelEntry* kernel = nullptr;
  LoadedCode code;
  std::optional<KernelDescription> description;
  std::string isa;
  std::vector<std::byte> kernarg;
  Blob code_blob;
  std::vector<std::string> reasons;  // none: the cut is consistent
  std::string outcome = "completed";
  std::optional<std::uint64_t> fault_va;
  std::optional<std::uint64_t> dispatch_ns;
  double snapshot_s = 0;
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::vector<Unreadable> unreadable;
};

// Size of the kernarg segment: metadata, then the runtime's attribute, else Error("capture.kernarg-size").
std::uint32_t kernarg_size(const CaptureFacts& facts);

// Module variables of the kernel's executable on its agent, as regions.
std::vector<Allocation> module_variables(const KernelEntry& kernel);

// Puts them between the regions, in order. One that lies in memory that is a region already stays part of that.
void add_variables(std::vector<Allocation>& regions, std::vector<Allocation> variables);

// Whether one of the dispatch's pointer arguments points into [va, end).
bool argument_points_into(const CaptureFacts& facts, std::uint64_t va, std::uint64_t end);

// Pointer arguments into memory that is not in the closure are added to facts.unreadable.
Json kernarg_document(CaptureFacts& facts, const Index& index);

Json capture_document(CaptureFacts& facts, const Index& index, const Topology& topology);

}  // namespace kerncap::intercept
