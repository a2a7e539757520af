#include "replay/runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "base/log.hpp"
#include "bundle/chunk_reader.hpp"
#include "replay/changes.hpp"
#include "replay/device.hpp"
#include "replay/device_memory.hpp"
#include "replay/dispatcher.hpp"
#include "replay/kernarg.hpp"
#include "replay/memory_image.hpp"
#include "replay/program.hpp"
#include "replay/relocation.hpp"

namespace kerncap::replay {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kMaxCodeObjectBytes = std::uint64_t{1} << 30;

std::string hex(std::uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

Json ranges_to_json(const std::vector<ByteRange>& ranges) {
  Json out = Json::array();
  for (const ByteRange& range : ranges) out.push_back({range.region, range.offset, range.length});
  return out;
}

class Runner {
 public:
  Runner(const ReplayInput& input, const Device& device, Json& result, const std::function<void()>& abandon)
      : input_(input), device_(device), reader_(input.index, input.request.blobs), result_(result), abandon_(abandon) {
    load_programs();
  }

  // After the device memory is there.
  void run(Dispatcher& dispatcher) {
    MemoryImage image(device_, input_.index, reader_);
    for (const RunRequest& run : input_.request.runs) {
      result_["runs"].push_back(Json::object());
      run_one(run, image, dispatcher, result_["runs"].back());
    }
  }

 private:
  void load_programs() {
    const std::string& kernel = input_.capture.kernel_name;
    captured_ = std::make_unique<Program>(device_, read_blob(input_.request.blobs, input_.capture.code_object, kMaxCodeObjectBytes), kernel);
    for (const RunRequest& run : input_.request.runs) {
      if (!run.hsaco || variants_.contains(*run.hsaco)) continue;
      const auto& program = variants_[*run.hsaco] = load_variant(*run.hsaco, kernel);
      // Refused here if it does not fit, before any data moves.
      launch_sizes(input_.capture, captured_->kernel(), program->kernel());
      kernarg_of(*program, 0);
      variables_of(*program);
    }
    kernarg_of(*captured_, 0);
    variables_of(*captured_);
  }

  // What is wrong with a variant is never the bundle's fault.
  std::unique_ptr<Program> load_variant(const std::filesystem::path& path, const std::string& kernel) const {
    try {
      return std::make_unique<Program>(device_, read_file(path, kMaxCodeObjectBytes), kernel);
    } catch (const Error& error) {
      const bool malformed = error.code().starts_with("bundle.");
      throw Error(malformed ? "usage.bad-variant" : error.code(), "variant " + printable(path.native()) + ": " + error.what(),
                  "hipcc --cuda-device-only --no-gpu-bundle-output --offload-arch=" + device_.name + " -o VARIANT.hsaco SOURCE.hip");
    }
  }

  const Program& program_of(const RunRequest& run) const { return run.hsaco ? *variants_.at(*run.hsaco) : *captured_; }

  bool in_closure(std::uint64_t va) const {
    const auto& regions = input_.index.regions;
    const auto it = std::ranges::upper_bound(regions, va, {}, &Region::va);
    return it != regions.begin() && va < std::prev(it)->end();
  }

  Kernarg kernarg_of(const Program& program, std::uint64_t queue_va) const {
    return build_kernarg({input_.capture, captured_->kernel(), program.kernel(), queue_va, [this](std::uint64_t va) { return in_closure(va); }});
  }

  std::vector<std::optional<std::uint64_t>> variables_of(const Program& program) const {
    std::vector<std::optional<std::uint64_t>> out(input_.index.regions.size());
    for (std::size_t i = 0; i < out.size(); ++i) {
      const Region& region = input_.index.regions[i];
      if (region.kind != RegionKind::variable) continue;
      const auto variable = program.find_variable(*region.symbol);
      if (variable && variable->size == region.size) {
        out[i] = variable->va;
        continue;
      }
      // A variant may do without a variable that its kernel does not use, unless the captured kernel changed it.
      if (!variable && &program != captured_.get() && region.post.empty()) continue;
      throw Error("replay.missing-symbol", variable ? "variable " + printable(*region.symbol) + " has " + std::to_string(variable->size) +
                                                          " bytes, " + std::to_string(region.size) + " were captured"
                                                    : "the code object has no variable " + printable(*region.symbol));
    }
    return out;
  }

  Relocation relocation_of(const Program& program) const {
    const auto va = program.load_va();
    const CaptureInfo& capture = input_.capture;
    if (!va || capture.code_va == 0 || capture.code_bytes == 0) return Relocation();
    if (&program == captured_.get()) return Relocation({{capture.code_va, *va, capture.code_bytes}});
    return Relocation(moved_symbols(captured_->code(), capture.code_va, program.code(), *va));
  }

  // The kernarg segment at its captured address when that is captured memory and the segment is no larger, else elsewhere.
  std::uint64_t place_kernarg(const Program& program, MemoryImage& image, const Relocation& relocation, std::uint64_t queue_va) {
    Kernarg kernarg = kernarg_of(program, queue_va);
    const std::uint64_t va = input_.capture.kernarg_va;
    const bool fits = kernarg.bytes.size() <= input_.capture.kernarg.size();
    if (!kernarg.bytes.empty() && fits && in_closure(va) && in_closure(va + kernarg.bytes.size() - 1)) {
      image.set_overlay({va, std::move(kernarg.bytes)});
      return va;
    }
    image.set_overlay({});
    if (kernarg.bytes.empty()) return 0;
    kernarg_buffer_ = PinnedBuffer(device_, device_.kernarg_pool, kernarg.bytes.size());
    relocation.to_device(va, kernarg.bytes);
    std::ranges::copy(kernarg.bytes, kernarg_buffer_.bytes().begin());
    return reinterpret_cast<std::uint64_t>(kernarg_buffer_.bytes().data());
  }

  void run_one(const RunRequest& run, MemoryImage& image, Dispatcher& dispatcher, Json& out) {
    const Program& program = program_of(run);
    const CaptureInfo& capture = input_.capture;
    const LaunchSizes sizes = launch_sizes(capture, captured_->kernel(), program.kernel());
    const auto variables = variables_of(program);
    image.place_variables(input_.request.withhold_variables ? decltype(variables)(variables.size()) : variables);
    const Relocation relocation = relocation_of(program);
    image.set_relocation(relocation);
    const Launch launch{program.kernel_object_va(), place_kernarg(program, image, relocation, dispatcher.queue_va()),
                        capture.dims, capture.grid, capture.workgroup, sizes.group_segment_bytes, sizes.private_segment_bytes};
    out = {{"iterations", run.iterations}, {"kernel_object_va", launch.kernel_object_va}, {"bytes_compared", 0}, {"changed_bytes", 0},
           {"mismatch_bytes", 0}, {"mismatches", Json::array()}, {"iterations_agree", true}, {"noise", Json::array()},
           {"variables", Json::array()}, {"fault", nullptr}, {"timing_ns", Json::array()}};
    for (std::size_t r = 0; r < variables.size(); ++r) {
      if (variables[r]) out["variables"].push_back({r, *variables[r]});
    }

    std::optional<ChangeLog> expected;
    if (run.expect.kind == Expectation::Kind::dump) expected = ChangeLog::load(run.expect.dump, input_.index, run.initial_document);
    ChangeLog first;
    ChangeLog expected_words;
    ChangeLog actual_words;
    RangeList noise;
    const std::uint64_t total = std::uint64_t{run.warmup} + run.iterations;
    for (std::uint64_t i = 0; i < total; ++i) {
      image.restore(run.initial);
      if (run.dispatch) dispatch(launch, dispatcher, i >= run.warmup, out);
      const bool is_first = i == run.warmup;
      const bool is_last = i + 1 == total;
      ScanRequest scan{run.initial};
      scan.max_mismatches = input_.request.max_mismatches;
      scan.noise = &noise;
      if (is_first && (run.iterations > 1 || run.dump)) scan.record = &first;
      if (i > run.warmup) scan.reference_changes = &first;
      if (is_last) {
        scan.expect = run.expect.kind;
        scan.expected_changes = expected ? &*expected : nullptr;
        if (run.mismatch_dump) {
          scan.expected_words = &expected_words;
          scan.actual_words = &actual_words;
        }
      }
      const ScanResult found = image.scan(scan);
      if (!found.iterations_agree) out["iterations_agree"] = false;
      if (is_last) report(found, out);
    }
    out["noise"] = ranges_to_json(noise.sorted());
    if (run.dump) first.save(*run.dump, run.initial_document);
    if (run.mismatch_dump) {
      expected_words.save_content(*run.mismatch_dump / "expected.bin");
      actual_words.save_content(*run.mismatch_dump / "actual.bin");
      write_json_atomic(*run.mismatch_dump / "mismatch.json", {{"schema", "kerncap.mismatch/1"}, {"ranges", actual_words.ranges()}});
    }
  }

  void dispatch(const Launch& launch, Dispatcher& dispatcher, bool timed, Json& out) {
    const auto limit = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(input_.request.timeout_s));
    const DispatchOutcome outcome = dispatcher.run(launch, limit);
    const auto stop = [&](const char* status, const char* code, const std::string& message, Json hint) {
      result_["status"] = status;
      result_["error"] = {{"code", code}, {"message", message}, {"hint", std::move(hint)}};
      abandon_();
    };
    switch (outcome.kind) {
      case DispatchOutcome::Kind::completed:
        if (timed) out["timing_ns"].push_back(outcome.duration_ns);
        return;
      case DispatchOutcome::Kind::memory_fault:
        out["fault"] = {{"va", outcome.fault_va}, {"kind", "memory"}};
        if (calls_host(outcome.fault_va)) {
          return stop("error", "replay.hostcall",
                      "the kernel calls the application's host side (printf, a failed assertion, malloc), which a replay has not",
                      "capture a dispatch that does not call it, or build the kernel without it (-DNDEBUG)");
        }
        // The runtime maps code in whole pages.
        if (!input_.capture.faulted && outcome.fault_va >= input_.capture.code_va / kPageBytes * kPageBytes &&
            outcome.fault_va < input_.capture.code_va + input_.capture.code_bytes) {
          return stop("error", "replay.code-address",
                      "the kernel follows an address of the application's code object (a virtual function, a function pointer or a "
                      "variable, stored in memory) that leads nowhere in the code object that is replayed",
                      "a variant must keep the functions and variables whose addresses are stored, under their names");
        }
        return stop("fault", "replay.memory-fault",
                    "the kernel accessed " + hex(outcome.fault_va) + " (" + outcome.text + ")" +
                        (in_closure(outcome.fault_va) ? "" : ", which is not captured memory") +
                        (input_.capture.faulted ? "; the captured dispatch faulted as well" : ""),
                    nullptr);
      case DispatchOutcome::Kind::queue_error:
        return stop("error", "replay.queue-error", "the device stopped the queue: " + outcome.text, nullptr);
      case DispatchOutcome::Kind::timeout:
        return stop("timeout", "replay.timeout", "the kernel did not end within " + std::to_string(input_.request.timeout_s) + " s",
                    "--timeout allows more");
    }
  }

  void report(const ScanResult& found, Json& out) const {
    out["bytes_compared"] = found.bytes_compared;
    out["changed_bytes"] = found.changed_bytes;
    out["mismatch_bytes"] = found.mismatch_bytes;
    for (const Mismatch& mismatch : found.mismatches) {
      out["mismatches"].push_back({{"region", mismatch.region},
                                   {"region_va", input_.index.regions[mismatch.region].va},
                                   {"offset", mismatch.offset},
                                   {"length", mismatch.expected.size()},
                                   {"expected", to_hex(mismatch.expected)},
                                   {"actual", to_hex(mismatch.actual)}});
    }
  }

  const ReplayInput& input_;
  const Device& device_;
  ChunkReader reader_;
  Json& result_;
  const std::function<void()>& abandon_;
  std::unique_ptr<Program> captured_;
  std::map<std::filesystem::path, std::unique_ptr<Program>> variants_;
  PinnedBuffer kernarg_buffer_;
};

}  // namespace

void run_all(const ReplayInput& input, Reservation& reservation, Json& result, const std::function<void()>& abandon) {
  const Runtime runtime;
  const Device device = open_device(input.request.agent);
  result["device"] = {{"agent", device.name}, {"isa", device.isa}, {"product", device.product}};
  check_target(device, input.capture.isa);
  std::uint64_t closure_bytes = 0;
  for (const Span& span : input.spans) closure_bytes += span.original == 0 ? span.size() : 0;
  check_capacity(device, input.capture, closure_bytes);
  std::uint64_t host_bytes = 0;
  for (const Region& region : input.index.regions) {
    if (region.segment != Segment::device && region.kind != RegionKind::variable) host_bytes += region.size;
  }
  result["memory"] = {{"closure_bytes", closure_bytes}, {"host_segment_bytes", host_bytes}, {"backing", "device"}};
  result["runs"] = Json::array();

  Runner runner(input, device, result, abandon);  // opens every blob and loads every code object
  const DeviceMemory memory(device, input.spans, reservation);
  Dispatcher dispatcher(device);
  runner.run(dispatcher);
  result["status"] = "ok";
}

}  // namespace kerncap::replay
