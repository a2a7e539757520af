// What a replay is asked to do: the request document of docs/interfaces.md, checked. In: REQUEST.json, written by Kerncap's
// Python side. Out: a Request, or usage.bad-request. Called by main.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "bundle/chunk_reader.hpp"
#include "bundle/index.hpp"

namespace kerncap::replay {

// `bits16`: floats of 2, 4 or 8 bytes, nobody knows which. `pair32`, `pair64`: two neighbours of 4 or 8
// bytes of any type.
// The floats of 8 bits: OCP's two, and AMD's of the gfx94x processors, which have no negative zero ("fnuz").
enum class ElementType : std::uint8_t {
  f64, f32, f16, bf16, f8e4m3, f8e5m2, f8e4m3fnuz, f8e5m2fnuz, i64, i32, i16, i8, bits16, pair32, pair64
};
std::size_t size_of(ElementType type) noexcept;

// Bytes of a region whose initial state is not the captured one.
struct InitialRange {
  std::uint32_t region = 0;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
  ElementType type = ElementType::i8;  // of `perturbed` only
  std::uint64_t end() const noexcept { return offset + length; }
  bool operator==(const InitialRange&) const = default;
};

struct InitialState {
  enum class Kind : std::uint8_t { captured, poisoned, perturbed };
  Kind kind = Kind::captured;
  std::uint64_t seed = 0;
  std::vector<InitialRange> ranges;  // sorted by region and offset, not overlapping, inside their regions
  bool operator==(const InitialState&) const = default;
};

struct Expectation {
  enum class Kind : std::uint8_t { none, post, dump };
  Kind kind = Kind::none;
  std::filesystem::path dump;
};

// How a variant is launched that needs another launch than the captured one (another tuning of the same kernel).
struct LaunchRequest {
  std::array<std::uint32_t, 3> grid{1, 1, 1};  // workitems
  std::array<std::uint32_t, 3> workgroup{1, 1, 1};
  std::uint32_t dynamic_group_segment_bytes = 0;
};

struct RunRequest {
  std::optional<std::filesystem::path> hsaco;  // none: the captured code object
  std::optional<std::string> kernel;           // of whose code object `hsaco` takes the place; none: of the first dispatch's
  std::uint32_t iterations = 1;
  std::uint32_t warmup = 0;
  std::optional<LaunchRequest> launch;         // of `hsaco`; none: the captured launch
  bool dispatch = true;  // else what a code object would leave that does nothing
  InitialState initial;
  Json initial_document;  // as written in the request: a dump remembers from which initial state it comes
  Expectation expect;
  std::optional<std::filesystem::path> dump;
  std::optional<std::filesystem::path> mismatch_dump;
  std::uint64_t mismatch_limit = 0;  // bytes of the dump beyond which no more are added; 0: none
};

struct Request {
  std::filesystem::path capture;
  std::filesystem::path index;
  BlobLocations blobs;
  std::optional<std::filesystem::path> arriving;  // the marker of whoever still brings the chunk blobs; none: all are there
  std::uint32_t agent = 0;
  double timeout_s = 60;
  std::uint32_t max_mismatches = 16;
  bool withhold_variables = false;
  std::vector<RunRequest> runs;
};

// Everything but the ranges of the initial states, which need the index.
Request request_from_json(const Json& document);
// Sorts each run's ranges and checks them against the regions.
void check_ranges(Request& request, const Index& index);

}  // namespace kerncap::replay
