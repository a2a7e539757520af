// Which code object each captured dispatch runs: one of the captured, or a variant in the place of one. In: the capture, the
// runs of the request. Out: loaded programs, kernels, where variables lie, how addresses of code move. Called by the runner.
//
// A variant takes the place of the code object that holds the kernel which the run names, by default that of the first
// dispatch. Kernels of the same code object that the variant has not stay the captured ones.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "bundle/chunk_reader.hpp"
#include "bundle/index.hpp"
#include "replay/capture_info.hpp"
#include "replay/program.hpp"
#include "replay/relocation.hpp"
#include "replay/request.hpp"

namespace kerncap::replay {

struct StepKernel {
  LoadedKernel captured;
  LoadedKernel target;  // the same description where the captured code object runs
};

class Modules {
 public:
  // Loads every code object. Throws what Program throws; usage.bad-variant, usage.bad-request.
  Modules(const Device& device, const CaptureInfo& capture, const Index& index, const Request& request);

  StepKernel kernel(const RunRequest& run, std::size_t step) const;
  // Of each region of kind `variable`; none: the variant does without it. Throws replay.missing-symbol.
  std::vector<std::optional<std::uint64_t>> variables(const RunRequest& run) const;
  Relocation relocation(const RunRequest& run) const;

 private:
  // One code object as the application had it loaded.
  struct Module {
    std::unique_ptr<Program> captured;
    std::uint64_t code_va = 0;
    std::uint64_t code_bytes = 0;
    std::vector<std::size_t> steps;
  };
  void load_captured(const Device& device, const BlobLocations& blobs);
  void load_variant(const Device& device, const RunRequest& run);
  std::size_t replaced_module(const RunRequest& run) const;
  const Program* variant(const RunRequest& run, std::size_t module) const;  // null: this module stays
  bool has_all_kernels(const Program& program, const Module& module) const;

  const CaptureInfo& capture_;
  const Index& index_;
  std::vector<Module> modules_;
  std::vector<std::size_t> module_of_step_;
  std::map<std::filesystem::path, std::unique_ptr<Program>> variants_;
};

}  // namespace kerncap::replay
