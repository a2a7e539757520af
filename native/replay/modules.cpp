#include "replay/modules.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/file.hpp"

namespace kerncap::replay {
namespace {

constexpr std::uint64_t kMaxCodeObjectBytes = std::uint64_t{1} << 30;

}  // namespace

Modules::Modules(const Device& device, const CaptureInfo& capture, const Index& index, const Request& request)
    : capture_(capture), index_(index) {
  load_captured(device, request.blobs);
  for (const RunRequest& run : request.runs) {
    if (run.hsaco) load_variant(device, run);
  }
}

void Modules::load_captured(const Device& device, const BlobLocations& blobs) {
  for (std::size_t step = 0; step < capture_.steps(); ++step) {
    const DispatchInfo& dispatch = capture_.step(step);
    std::size_t module = 0;
    const auto same = [&](const Module& known) {
      const DispatchInfo& first = capture_.step(known.steps.front());
      return first.code_object == dispatch.code_object && known.code_va == dispatch.code_va;
    };
    while (module < modules_.size() && !same(modules_[module])) ++module;
    if (module == modules_.size()) {
      auto program = std::make_unique<Program>(device, read_blob(blobs, dispatch.code_object, kMaxCodeObjectBytes), dispatch.kernel_name);
      modules_.push_back({std::move(program), dispatch.code_va, dispatch.code_bytes, {}});
    }
    modules_[module].captured->kernel(dispatch.kernel_name);
    modules_[module].steps.push_back(step);
    module_of_step_.push_back(module);
  }
}

// What is wrong with a variant is never the bundle's fault.
void Modules::load_variant(const Device& device, const RunRequest& run) {
  const std::filesystem::path& path = *run.hsaco;
  const Module& module = modules_[replaced_module(run)];
  const std::string kernel = run.kernel.value_or(capture_.kernel_name);
  try {
    auto& program = variants_[path];
    if (!program) program = std::make_unique<Program>(device, read_file(path, kMaxCodeObjectBytes), kernel);
    const bool variables = std::ranges::any_of(index_.regions, [&](const Region& region) {
      return region.kind == RegionKind::variable && &modules_[module_of_step_[region.step]] == &module;
    });
    for (const std::size_t step : module.steps) {
      // Two copies of a variable cannot both be the one that the kernels share.
      if (variables) program->kernel(capture_.step(step).kernel_name);
    }
  } catch (const Error& error) {
    const bool malformed = error.code().starts_with("bundle.");
    throw Error(malformed ? "usage.bad-variant" : error.code(), "variant " + printable(path.native()) + ": " + error.what(),
                "hipcc --cuda-device-only --no-gpu-bundle-output --offload-arch=" + device.name + " -o VARIANT.hsaco SOURCE.hip");
  }
}

std::size_t Modules::replaced_module(const RunRequest& run) const {
  if (!run.kernel) return 0;
  for (std::size_t step = 0; step < capture_.steps(); ++step) {
    if (capture_.step(step).kernel_name == *run.kernel) return module_of_step_[step];
  }
  throw Error("usage.bad-request", "no captured dispatch is of kernel " + printable(*run.kernel));
}

const Program* Modules::variant(const RunRequest& run, std::size_t module) const {
  return run.hsaco && replaced_module(run) == module ? variants_.at(*run.hsaco).get() : nullptr;
}

bool Modules::has_all_kernels(const Program& program, const Module& module) const {
  return std::ranges::all_of(module.steps, [&](std::size_t step) { return program.has_kernel(capture_.step(step).kernel_name); });
}

StepKernel Modules::kernel(const RunRequest& run, std::size_t step) const {
  const std::string& name = capture_.step(step).kernel_name;
  const std::size_t module = module_of_step_[step];
  const LoadedKernel captured = modules_[module].captured->kernel(name);
  const Program* const program = variant(run, module);
  return {captured, program != nullptr && program->has_kernel(name) ? program->kernel(name) : captured};
}

std::vector<std::optional<std::uint64_t>> Modules::variables(const RunRequest& run) const {
  std::vector<std::optional<std::uint64_t>> out(index_.regions.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const Region& region = index_.regions[i];
    if (region.kind != RegionKind::variable) continue;
    const std::size_t module = module_of_step_[region.step];
    const Program* const replaced = variant(run, module);
    const auto variable = (replaced != nullptr ? *replaced : *modules_[module].captured).find_variable(*region.symbol);
    if (variable && variable->size == region.size) {
      out[i] = variable->va;
      continue;
    }
    // A variant may do without a variable that its kernel does not use, unless the captured kernel changed it.
    if (!variable && replaced != nullptr && region.post.empty()) continue;
    throw Error("replay.missing-symbol", variable ? "variable " + printable(*region.symbol) + " has " + std::to_string(variable->size) +
                                                        " bytes, " + std::to_string(region.size) + " were captured"
                                                  : "the code object has no variable " + printable(*region.symbol));
  }
  return out;
}

Relocation Modules::relocation(const RunRequest& run) const {
  std::vector<Moved> pieces;
  for (std::size_t m = 0; m < modules_.size(); ++m) {
    const Module& module = modules_[m];
    if (module.code_va == 0 || module.code_bytes == 0) continue;
    const Program* const replaced = variant(run, m);
    if (replaced != nullptr && has_all_kernels(*replaced, module)) {
      const auto va = replaced->load_va();
      if (!va) continue;
      const auto moved = moved_symbols(module.captured->code(), module.code_va, replaced->code(), *va);
      pieces.insert(pieces.end(), moved.begin(), moved.end());
    } else if (const auto va = module.captured->load_va()) {
      pieces.push_back({module.code_va, *va, module.code_bytes});
    }
  }
  return Relocation(std::move(pieces));
}

}  // namespace kerncap::replay
