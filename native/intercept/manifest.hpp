// capture.json: everything about the dispatch that is not memory. In: packet, kernel, code object, agent, the snapshot's outcome.
// Out: the JSON document of docs/interfaces.md, "Capture directory". Called by capture_worker.cpp.
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
#include "intercept/sequence.hpp"
#include "intercept/snapshot.hpp"

namespace kerncap::intercept {

struct LoadRange {
  std::uint64_t va = 0;
  std::uint64_t size = 0;
  std::optional<std::int64_t> delta;  // what the loader adds to the file's addresses
};

struct DispatchFacts {
  Packet packet{};
  std::optional<std::uint64_t> match_index;
  std::uint64_t queue_index = 0;
  Json trigger;  // what made this the target; null without conditions
  bool trial = false;  // of an autotuner
  const KernelEntry* kernel = nullptr;
  LoadedCode code;
  std::optional<KernelDescription> description;
  std::string isa;
  LoadRange load;
  std::vector<std::byte> kernarg;
  Blob code_blob;
  std::vector<BarrierFacts> barriers_before;  // of a later dispatch of a sequence
};

// Of the first dispatch, and of everything together.
struct CaptureFacts : DispatchFacts {
  std::vector<DispatchFacts> later;
  bool each_state = false;
  Json device;
  Json runtime;
  std::vector<std::string> reasons;  // none: the cut is consistent
  std::string outcome = "completed";
  std::optional<std::uint64_t> fault_va;
  std::optional<std::uint32_t> fault_step;  // of a sequence
  std::optional<std::uint64_t> dispatch_ns;
  double dispatch_wall_s = 0;
  double snapshot_s = 0;
  double post_s = 0;  // of that
  std::uint64_t raw_bytes = 0;
  std::uint64_t stored_bytes = 0;
  std::vector<Unreadable> unreadable;
};

// Fills in what only the runtime knows. Called while the application still waits for its dispatch: once it goes on, it may destroy
// its executable or shut the runtime down before the capture is sealed.
void ask_runtime(CaptureFacts& facts, const Topology& topology);

// Size of the kernarg segment: metadata, then the runtime's attribute, else Error("capture.kernarg-size").
std::uint32_t kernarg_size(const DispatchFacts& facts);

// Module variables of the kernel's executable on its agent, as regions.
std::vector<Allocation> module_variables(const KernelEntry& kernel);

// Variables of the code object that its executable does not name. Where the loader does not say where it put the code object, they
// are added to `unreadable`.
std::vector<Allocation> unnamed_variables(const DispatchFacts& facts, std::vector<Unreadable>& unreadable);

// Puts them between the regions, in order. One that lies in memory that is a region already stays part of that.
void add_variables(std::vector<Allocation>& regions, std::vector<Allocation> variables);

// Values of the dispatch's pointer arguments, hidden ones too.
std::vector<std::uint64_t> pointer_values(const DispatchFacts& facts);

// Pointer arguments into memory that is not in the closure are added to `unreadable`.
Json kernarg_document(const DispatchFacts& facts, std::vector<Unreadable>& unreadable, const Index& index);

Json capture_document(CaptureFacts& facts, const Index& index);

}  // namespace kerncap::intercept
