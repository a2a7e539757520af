// What a capture says about its dispatch: capture.json, checked as hostile input. In: the document. Out: a CaptureInfo, or
// bundle.malformed. Called by main.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "base/json.hpp"

namespace kerncap::replay {

struct CaptureInfo {
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
  bool faulted = false;  // the captured dispatch itself ended in a fault
};

CaptureInfo capture_from_json(const Json& document);

}  // namespace kerncap::replay
