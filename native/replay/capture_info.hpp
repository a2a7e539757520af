// What a capture says about its dispatches: capture.json, checked as hostile input. In: the document. Out: a CaptureInfo, or
// bundle.malformed. Called by main.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/json.hpp"
#include "bundle/index.hpp"

namespace kerncap::replay {

struct DispatchInfo {
  std::string kernel_name;    // mangled
  std::string kernel_symbol;  // "<name>.kd"
  std::uint16_t dims = 1;
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // workitems
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  std::uint32_t group_segment_bytes = 0;
  std::uint32_t private_segment_bytes = 0;
  std::uint64_t kernarg_va = 0;
  std::vector<std::byte> kernarg;
  Sha256Digest code_object{};
  std::string isa;
  std::uint64_t code_va = 0;  // where the application had the code object; 0: not known
  std::uint64_t code_bytes = 0;
  bool ordered = true;  // its packet's barrier bit: it waits for everything before it
};

// A barrier packet of a sequence.
struct BarrierInfo {
  bool any = false;  // barrier-OR: one dependency is enough
  bool ordered = true;
  std::vector<std::uint32_t> waits_for;  // dispatches before it, by number
};

struct StepInfo : DispatchInfo {
  std::vector<BarrierInfo> barriers_before;
};

// The first dispatch, and those behind it in a sequence.
struct CaptureInfo : DispatchInfo {
  bool faulted = false;  // the captured dispatch itself ended in a fault
  std::vector<StepInfo> later;
  bool each_state = false;  // the index has the states between the dispatches

  std::size_t steps() const noexcept { return later.size() + 1; }
  const DispatchInfo& step(std::size_t number) const { return number == 0 ? *this : static_cast<const DispatchInfo&>(later.at(number - 1)); }
};

CaptureInfo capture_from_json(const Json& document);
// Workitems of a member `grid` or `workgroup`, within what a packet can say.
std::array<std::uint32_t, 3> grid_from_json(const Fields& fields);
std::array<std::uint32_t, 3> workgroup_from_json(const Fields& fields);
// The index must speak of the dispatches that the capture has. Throws bundle.inconsistent.
void check_steps(const CaptureInfo& capture, const Index& index);

}  // namespace kerncap::replay
