#include "replay/runner.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

#include "base/error.hpp"
#include "base/log.hpp"
#include "bundle/chunk_reader.hpp"
#include "replay/changes.hpp"
#include "replay/device.hpp"
#include "replay/device_memory.hpp"
#include "replay/dispatcher.hpp"
#include "replay/kernarg.hpp"
#include "replay/memory_image.hpp"
#include "replay/modules.hpp"
#include "replay/relocation.hpp"

namespace kerncap::replay {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

// `60`, `0.5`.
std::string seconds(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

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
      : input_(input), device_(device), result_(result), abandon_(abandon), modules_(device, input.capture, input.index, input.request) {
    check_runs();
  }

  // After the device memory is there.
  void run(MemoryImage& image, Dispatcher& dispatcher) {
    for (const RunRequest& run : input_.request.runs) {
      result_["runs"].push_back(Json::object());
      run_one(run, image, dispatcher, result_["runs"].back());
    }
  }

 private:
  // Refused here if it does not fit, before any data moves.
  void check_runs() {
    std::vector<RunRequest> runs = input_.request.runs;
    runs.emplace_back();  // the captured code objects
    for (const RunRequest& run : runs) {
      for (std::size_t step = 0; step < input_.capture.steps(); ++step) {
        const StepKernel kernel = modules_.kernel(run, step);
        launch_sizes(dispatch_of(run, kernel, step), *kernel.captured.description, *kernel.target.description);
        kernarg_of(dispatch_of(run, kernel, step), kernel, 0);
      }
      modules_.variables(run);
    }
  }

  bool in_closure(std::uint64_t va) const {
    const auto& regions = input_.index.regions;
    const auto it = std::ranges::upper_bound(regions, va, {}, &Region::va);
    return it != regions.begin() && va < std::prev(it)->end();
  }

  // As captured, or as the run wants its variant launched.
  DispatchInfo dispatch_of(const RunRequest& run, const StepKernel& kernel, std::size_t step) const {
    DispatchInfo dispatch = input_.capture.step(step);
    if (!run.launch || kernel.target.description == kernel.captured.description) return dispatch;
    dispatch.grid = run.launch->grid;
    dispatch.workgroup = run.launch->workgroup;
    for (std::uint16_t axis = dispatch.dims; axis < 3; ++axis) {
      if (dispatch.grid[axis] > 1 || dispatch.workgroup[axis] > 1) dispatch.dims = static_cast<std::uint16_t>(axis + 1);
    }
    dispatch.group_segment_bytes = kernel.captured.description->group_segment_bytes + run.launch->dynamic_group_segment_bytes;
    return dispatch;
  }

  Kernarg kernarg_of(const DispatchInfo& dispatch, const StepKernel& kernel, std::uint64_t queue_va) const {
    return build_kernarg({dispatch, *kernel.captured.description, *kernel.target.description, queue_va,
                          [this](std::uint64_t va) { return in_closure(va); }});
  }

  // A kernarg segment at its captured address when that is captured memory and the segment is no larger, else elsewhere.
  std::uint64_t place_kernarg(Kernarg kernarg, const DispatchInfo& dispatch, const Relocation& relocation, std::vector<Overlay>& overlays) {
    const std::uint64_t va = dispatch.kernarg_va;
    if (kernarg.bytes.empty()) return 0;
    if (kernarg.bytes.size() <= dispatch.kernarg.size() && in_closure(va) && in_closure(va + kernarg.bytes.size() - 1)) {
      overlays.push_back({va, std::move(kernarg.bytes)});
      return va;
    }
    PinnedBuffer& buffer = kernarg_buffers_.emplace_back(device_, device_.kernarg_pool, kernarg.bytes.size());
    relocation.to_device(va, kernarg.bytes);
    std::ranges::copy(kernarg.bytes, buffer.bytes().begin());
    return reinterpret_cast<std::uint64_t>(buffer.bytes().data());
  }

  std::vector<Launch> launches_of(const RunRequest& run, MemoryImage& image, const Relocation& relocation, std::uint64_t queue_va) {
    std::vector<Launch> launches;
    std::vector<Overlay> overlays;
    kernarg_buffers_.clear();
    for (std::size_t step = 0; step < input_.capture.steps(); ++step) {
      const StepKernel kernel = modules_.kernel(run, step);
      const DispatchInfo dispatch = dispatch_of(run, kernel, step);
      const LaunchSizes sizes = launch_sizes(dispatch, *kernel.captured.description, *kernel.target.description);
      const std::uint64_t kernarg_va = place_kernarg(kernarg_of(dispatch, kernel, queue_va), dispatch, relocation, overlays);
      launches.push_back({kernel.target.object_va, kernarg_va, dispatch.dims, dispatch.grid, dispatch.workgroup, sizes.group_segment_bytes,
                          sizes.private_segment_bytes, step == 0 || dispatch.ordered,
                          step == 0 ? std::vector<BarrierInfo>() : input_.capture.later[step - 1].barriers_before});
    }
    image.set_overlays(std::move(overlays));
    return launches;
  }

  void run_one(const RunRequest& run, MemoryImage& image, Dispatcher& dispatcher, Json& out) {
    const auto variables = modules_.variables(run);
    image.place_variables(input_.request.withhold_variables ? decltype(variables)(variables.size()) : variables);
    const Relocation relocation = modules_.relocation(run);
    image.set_relocation(relocation);
    const std::vector<Launch> launches = launches_of(run, image, relocation, dispatcher.queue_va());
    out = {{"iterations", run.iterations}, {"kernel_object_va", launches.front().kernel_object_va}, {"bytes_compared", 0}, {"changed_bytes", 0},
           {"mismatch_bytes", 0}, {"mismatches", Json::array()}, {"iterations_agree", true}, {"noise", Json::array()},
           {"variables", Json::array()}, {"fault", nullptr}, {"timing_ns", Json::array()}};
    if (launches.size() > 1) {
      for (const Launch& launch : launches) out["steps"].push_back({{"kernel_object_va", launch.kernel_object_va}, {"timing_ns", Json::array()}});
    }
    for (std::size_t r = 0; r < variables.size(); ++r) {
      if (variables[r]) out["variables"].push_back({r, *variables[r]});
    }

    std::optional<ChangeLog> expected;
    if (run.expect.kind == Expectation::Kind::dump) expected = ChangeLog::load(run.expect.dump, input_.index, run.initial_document);
    ChangeLog first;
    ChangeLog expected_words;
    ChangeLog actual_words;
    bool dump_is_complete = true;
    RangeList noise;
    const std::uint64_t total = std::uint64_t{run.warmup} + run.iterations;
    for (std::uint64_t i = 0; i < total; ++i) {
      image.restore(run.initial);
      if (run.dispatch) dispatch(launches, dispatcher, i >= run.warmup, out);
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
          scan.max_words_bytes = run.mismatch_limit;
        }
      }
      const ScanResult found = image.scan(scan);
      dump_is_complete = found.words_complete;
      if (!found.iterations_agree) out["iterations_agree"] = false;
      if (is_last) report(found, out);
    }
    out["noise"] = ranges_to_json(noise.sorted());
    if (run.dump) first.save(*run.dump, run.initial_document);
    if (run.mismatch_dump) {
      expected_words.save_content(*run.mismatch_dump / "expected.bin");
      actual_words.save_content(*run.mismatch_dump / "actual.bin");
      write_json_atomic(*run.mismatch_dump / "mismatch.json", {{"schema", "kerncap.mismatch/1"}, {"complete", dump_is_complete}, {"ranges", actual_words.ranges()}});
    }
  }

  void dispatch(const std::vector<Launch>& launches, Dispatcher& dispatcher, bool timed, Json& out) {
    const auto limit = std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>(input_.request.timeout_s));
    const DispatchOutcome outcome = dispatcher.run(launches, limit);
    const auto stop = [&](const char* status, const char* code, const std::string& message, Json hint) {
      result_["status"] = status;
      result_["error"] = {{"code", code}, {"message", message}, {"hint", std::move(hint)}};
      abandon_();
    };
    switch (outcome.kind) {
      case DispatchOutcome::Kind::completed:
        if (timed) add_times(outcome, out);
        return;
      case DispatchOutcome::Kind::memory_fault:
        out["fault"] = {{"va", outcome.fault_va}, {"kind", "memory"}};
        if (input_.capture.steps() > 1) out["fault"]["step"] = outcome.step;
        if (calls_host(outcome.fault_va)) {
          return stop("error", "replay.hostcall",
                      who(outcome) + " calls the application's host side (printf, a failed assertion, malloc), which a replay has not",
                      "capture a dispatch that does not call it, or build the kernel without it (-DNDEBUG)");
        }
        if (!input_.capture.faulted && in_captured_code(outcome.fault_va)) {
          return stop("error", "replay.code-address",
                      who(outcome) + " follows an address of the application's code object (a virtual function, a function pointer or a "
                      "variable, stored in memory) that leads nowhere in the code object that is replayed",
                      "a variant must keep the functions and variables whose addresses are stored, under their names");
        }
        return stop("fault", "replay.memory-fault",
                    who(outcome) + " accessed " + hex(outcome.fault_va) + " (" + outcome.text + ")" +
                        (in_closure(outcome.fault_va) ? "" : ", which is not captured memory") +
                        (input_.capture.faulted ? "; the captured dispatch faulted as well" : ""),
                    nullptr);
      case DispatchOutcome::Kind::queue_error:
        return stop("error", "replay.queue-error", "the device stopped the queue" + (input_.capture.steps() > 1 ? " at " + who(outcome) : "") + ": " + outcome.text, nullptr);
      case DispatchOutcome::Kind::timeout:
        // The limit is that of all dispatches together.
        return stop("timeout", "replay.timeout",
                    who(outcome) + " did not end within " +
                        seconds(input_.request.timeout_s * static_cast<double>(input_.capture.steps())) + " s",
                    "--timeout " + seconds(4 * input_.request.timeout_s));
    }
  }

  static void add_times(const DispatchOutcome& outcome, Json& out) {
    out["timing_ns"].push_back(outcome.duration_ns);
    if (!out.contains("steps")) return;
    for (std::size_t i = 0; i < outcome.step_ns.size(); ++i) out["steps"][i]["timing_ns"].push_back(outcome.step_ns[i]);
  }

  std::string who(const DispatchOutcome& outcome) const {
    if (input_.capture.steps() == 1) return "the kernel";
    return "dispatch " + std::to_string(outcome.step) + " of the sequence, " + printable(input_.capture.step(outcome.step).kernel_name) + ",";
  }

  bool in_captured_code(std::uint64_t va) const {
    for (std::size_t step = 0; step < input_.capture.steps(); ++step) {
      const DispatchInfo& dispatch = input_.capture.step(step);
      // The runtime maps code in whole pages.
      if (va >= dispatch.code_va / kPageBytes * kPageBytes && va < dispatch.code_va + dispatch.code_bytes) return true;
    }
    return false;
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
  Json& result_;
  const std::function<void()>& abandon_;
  Modules modules_;
  std::vector<PinnedBuffer> kernarg_buffers_;
};

}  // namespace

// Ends in the opposite order.
struct Replayer::Opened {
  explicit Opened(const ReplayInput& input)
      : device(open_device(input.request.agent)), reader(input.index, input.request.blobs, arrival_of(input.request)) {}

  static std::optional<Arrival> arrival_of(const Request& request) {
    return request.arriving ? std::optional<Arrival>(*request.arriving) : std::nullopt;
  }

  Runtime runtime;
  Device device;
  ChunkReader reader;
  std::optional<DeviceMemory> memory;
  std::optional<Dispatcher> dispatcher;
  std::optional<MemoryImage> image;
};

Replayer::Replayer(Reservation& reservation) : reservation_(reservation) {}
Replayer::~Replayer() = default;

void Replayer::run(const ReplayInput& input, Json& result, const std::function<void()>& abandon) {
  if (!opened_) opened_ = std::make_unique<Opened>(input);
  const Device& device = opened_->device;
  result["device"] = {{"agent", device.name}, {"isa", device.isa}, {"product", device.product}};
  check_target(device, input.capture.isa);
  std::uint64_t closure_bytes = 0;
  for (const Span& span : input.spans) closure_bytes += span.original == 0 ? span.size() : 0;
  for (std::size_t step = 0; step < input.capture.steps(); ++step) check_capacity(device, input.capture.step(step), closure_bytes);
  std::uint64_t host_bytes = 0;
  for (const Region& region : input.index.regions) {
    if (region.segment != Segment::device && region.kind != RegionKind::variable) host_bytes += region.size;
  }
  result["memory"] = {{"closure_bytes", closure_bytes}, {"host_segment_bytes", host_bytes}, {"backing", "device"}};
  result["runs"] = Json::array();

  Runner runner(input, device, result, abandon);  // loads every code object
  if (!opened_->image) {
    opened_->memory.emplace(device, input.spans, reservation_);
    std::size_t packets = input.capture.steps();
    for (const StepInfo& step : input.capture.later) packets += step.barriers_before.size();
    opened_->dispatcher.emplace(device, packets);
    opened_->image.emplace(device, input.index, opened_->reader);
  }
  runner.run(*opened_->image, *opened_->dispatcher);
  result["status"] = "ok";
}

}  // namespace kerncap::replay
