// The checked mode of the interpreter: a second run loop that watches every instruction of a dispatch.
// In: what execute() gets, which checks are on, exact sizes of memory regions. Out: the same Outcome, and findings. Called by
// queue/ when KERNCAP_VGPU has check=...; the fast run loop of launch/ knows nothing of it. docs/checks.md says what is found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vgpu/isa/executor.hpp"

namespace kerncap::vgpu::isa::check {

struct Checks {
  bool memory = false, race = false, hazards = false;
  bool any() const { return memory || race || hazards; }
};
// "memory", "race", "hazards" joined by '+', or "all"; nothing for any other text.
std::optional<Checks> parse_checks(std::string_view text);
std::vector<std::string> names(const Checks& checks);

// Bytes that the application asked for, as the capture knows them; the page table only knows whole pages.
struct Region {
  std::uint64_t va = 0, size = 0;
};

class WrittenBytes;  // written.hpp

// What is known of memory beside the page table.
struct Known {
  const std::vector<Region>& regions;
  WrittenBytes* written = nullptr;   // nullptr: all memory counts as written
};

// An instruction at work: one side of a finding.
struct Site {
  std::uint64_t pc = 0;
  std::string text;                  // disassembly
  std::uint32_t workgroup[3] = {};
  unsigned wave = 0;
  std::optional<unsigned> lane;
};

struct Finding {
  const char* check = "";            // memory, race, hazards
  const char* kind = "";             // missing-wait, ...
  bool benign = false;               // worth knowing, not an error
  Site site;
  std::optional<Site> other;         // the other access of a race, the load that was not waited for, ...
  const char* space = "";            // lds, global, scratch, register
  std::optional<std::uint64_t> address;
  std::uint32_t size_bytes = 0;
  std::string message;
  std::uint64_t count = 1;           // how often this pair of instructions did it
};

struct Report {
  Checks checks;
  std::vector<Finding> findings;     // in the order of their first occurrence
  std::vector<std::string> limits;   // what was not looked at, and why
};

// One workgroup after the other in this thread; others are let in when one waits long. `report` is filled whatever happens.
Outcome execute_checked(Target target, const Dispatch& dispatch, const Memory& memory, Trace* trace,
                        const std::atomic<bool>& cancel, const Checks& checks, const Known& known, Report& report);

}  // namespace kerncap::vgpu::isa::check
