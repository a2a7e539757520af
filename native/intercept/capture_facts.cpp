// What a capture's worker finds out about its dispatches before they run: kernels, code objects, memory, arguments.
#include "intercept/capture.hpp"

#include <filesystem>
#include <set>
#include <span>

#include "bundle/chunk_writer.hpp"
#include "intercept/tool.hpp"

namespace kerncap::intercept {

CaptureFacts Capture::describe_target() {
  CaptureFacts facts;
  facts.packet = job_.packet;
  facts.match_index = job_.match_index;
  facts.trigger = job_.trigger;
  facts.trial = job_.trial;
  facts.queue_index = job_.queue_index;
  facts.kernel = job_.kernel;
  describe_code(facts);
  if (sequence_) describe_later(facts);
  ask_runtime(facts, tool_.topology());
  return facts;
}

void Capture::describe_code(DispatchFacts& facts) const {
  auto code = tool_.kernels.code_of(*facts.kernel);
  if (!code) {
    throw Error("capture.code-object",
                "the code object of " + facts.kernel->demangled + " was loaded where the tool could not see it");
  }
  facts.code = std::move(*code);
  const auto object = parse_code_object(*facts.code.bytes);
  facts.isa = object.isa;
  if (const auto* description = object.find_symbol(facts.kernel->symbol)) facts.description = *description;
}

void Capture::describe_later(CaptureFacts& facts) const {
  facts.each_state = control_.sequence->each_state;
  for (const SequenceStep& step : std::span(sequence_->steps()).subspan(1)) {
    DispatchFacts later;
    later.packet = step.packet;
    later.queue_index = step.queue_index;
    later.kernel = step.kernel;
    later.barriers_before = step.barriers_before;
    describe_code(later);
    facts.later.push_back(std::move(later));
  }
}

std::filesystem::path Capture::partial() const { return control_.work_dir / "capture.partial"; }

// A new directory for what is captured, with the code objects in it.
void Capture::start_partial(CaptureFacts& facts) const {
  remove_quietly(partial());  // of a process that was killed
  const auto blobs = partial() / "blobs/sha256";
  std::filesystem::create_directories(blobs);
  const auto write = [&](DispatchFacts& dispatch) { dispatch.code_blob = ChunkWriter::write_blob(blobs, *dispatch.code.bytes); };
  write(facts);
  for (DispatchFacts& later : facts.later) write(later);
}

// Everything that the dispatches can reach.
std::vector<Allocation> Capture::closure_of(CaptureFacts& facts) const {
  auto regions = tool_.memory.closure(job_.kernel->agent);
  std::set<std::uint64_t> seen;  // loaded code objects
  const auto add = [&](const DispatchFacts& dispatch, std::uint32_t step) {
    if (!seen.insert(dispatch.code.loaded.handle).second) return;
    for (auto variables : {module_variables(*dispatch.kernel), unnamed_variables(dispatch, facts.unreadable)}) {
      for (Allocation& variable : variables) variable.step = step;
      add_variables(regions, std::move(variables));
    }
  };
  add(facts, 0);
  for (std::size_t i = 0; i < facts.later.size(); ++i) add(facts.later[i], static_cast<std::uint32_t>(i + 1));
  return regions;
}

std::vector<std::byte> Capture::kernarg_of(const DispatchFacts& facts, Snapshot& snapshot) const {
  const auto size = kernarg_size(facts);
  if (size == 0) return {};
  auto bytes = snapshot.read(reinterpret_cast<std::uint64_t>(as_dispatch(facts.packet).kernarg_address), size);
  if (!bytes) throw Error("capture.kernarg", "the kernarg segment could not be read");
  return std::move(*bytes);
}

void Capture::read_kernarg(CaptureFacts& facts, Snapshot& snapshot) const {
  std::vector<std::uint64_t> segments;
  std::vector<std::uint64_t> pointers;
  const auto read = [&](DispatchFacts& dispatch) {
    dispatch.kernarg = kernarg_of(dispatch, snapshot);
    if (dispatch.kernarg.empty()) return;
    segments.push_back(reinterpret_cast<std::uint64_t>(as_dispatch(dispatch.packet).kernarg_address));
    const auto values = pointer_values(dispatch);
    pointers.insert(pointers.end(), values.begin(), values.end());
  };
  read(facts);
  for (DispatchFacts& later : facts.later) read(later);
  if (!segments.empty()) snapshot.holds_kernarg(segments, pointers);
}

}  // namespace kerncap::intercept
