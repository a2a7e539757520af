// kerncap-isa: what the virtual GPU's interpreter knows, as JSON on stdout.
//   kerncap-isa rows        every instruction row of every target (schema kerncap.isa-rows/1)
//   kerncap-isa code FILE   instructions of a code object by fidelity (schema kerncap.isa-code/1)
//   kerncap-isa listing FILE FUNCTION   one function, instruction by instruction (schema kerncap.isa-listing/1)
// Exit: 0, 2 usage, 4 the file is no code object that can be read. Called by `kerncap inspect --fidelity`, `kerncap loop` and
// scripts/.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>

#include "vgpu/isa/decode/decoder.hpp"
#include "vgpu/isa/fidelity.hpp"
#include "vgpu/isa/print/printer.hpp"
#include "vgpu/isa/rows.hpp"
#include "vgpu/tool/code_object.hpp"
#include "vgpu/tool/listing.hpp"

namespace kerncap::vgpu::tool {
namespace {

using Json = nlohmann::ordered_json;
using namespace isa;


const char* text(Format f) {
  static constexpr const char* names[] = {"sop1", "sop2", "sopk", "sopc", "sopp", "smem", "vop1", "vop2", "vopc", "vop3", "vop3p",
                                          "vop3p-mai", "vopd", "vinterp", "ds", "flat", "global", "scratch", "mubuf", "mtbuf", "mimg"};
  return names[static_cast<unsigned>(f)];
}
const char* text(Type t) {
  static constexpr const char* names[] = {"none", "b16", "b32", "b64", "b96", "b128", "b192", "b256", "b512", "b1024", "u16", "i16", "u32",
                                          "i32", "u64", "i64", "f16", "bf16", "f32", "f64", "pk16", "pkf16", "pkf32", "pk32", "f64x4",
                                          "mask", "simm"};
  return names[static_cast<unsigned>(t)];
}

Json flags_of(const Row& row) {
  static constexpr std::pair<std::uint32_t, const char*> names[] = {
      {kReadsDst, "reads-dst"}, {kVccCarryIn, "carry-in"}, {kVccCarryOut, "carry-out"}, {kMaskDst, "mask-dst"},
      {kExecDst, "exec-dst"}, {kLiteralK, "literal"}, {kScalarDst, "scalar-dst"}, {kIgnoresExec, "ignores-exec"},
      {kBranch, "branch"}, {kFloatMods, "float-modifiers"}, {kIntClamp, "integer-clamp"}, {kKeepsHalf, "keeps-half"},
      {kOwnOperands, "own-operands"}, {kOwnOpSel, "own-op-sel"}, {kTwoAddress, "two-address"}, {kReturns, "returns"},
      {kVectorSources, "vector-sources"}, {kPackedDpp, "packed-dpp"}, {kScalarSources, "scalar-sources"}};
  Json out = Json::array();
  for (const auto& [bit, flag] : names)
    if (row.flags & bit) out.push_back(flag);
  return out;
}

Json bound_json(const Bound& bound) { return {{"kind", isa::name(bound.kind)}, {"value", bound.value}, {"source", bound.source}}; }

void add_rows(Json& out, std::span<const Row> rows, Target target) {
  for (const Row& row : rows) {
    const std::uint16_t op = opcode_of(row, target);
    if (op == kNoOpcode) continue;
    Json json{{"name", name_of(row, target)}, {"format", text(row.format)}, {"opcode", op}, {"dst", text(row.dst)},
              {"src", {text(row.src0), text(row.src1), text(row.src2)}}, {"flags", flags_of(row)},
              {"fidelity", !row.handler ? "unsupported" : bound_of(row) ? "approximate" : "exact"}};
    if (const Bound* bound = bound_of(row); bound && row.handler) json["bound"] = bound_json(*bound);
    out.push_back(std::move(json));
  }
}

Json rows_document() {
  Json targets = Json::object();
  for (const Target target : kTargetList) {
    Json rows = Json::array();
    add_rows(rows, scalar_rows(), target);
    add_rows(rows, memory_rows(), target);
    for (const std::span<const Row> table : valu_tables()) add_rows(rows, table, target);
    std::stable_sort(rows.begin(), rows.end(), [](const Json& a, const Json& b) {
      return std::pair(a["name"].get<std::string>(), a["format"].get<std::string>()) <
             std::pair(b["name"].get<std::string>(), b["format"].get<std::string>());
    });
    targets[std::string(isa::name(target))] = std::move(rows);
  }
  return {{"schema", "kerncap.isa-rows/1"}, {"targets", std::move(targets)}};
}

struct Tally {
  std::uint64_t count = 0;
  std::uint64_t first_va = 0;
  std::string reason;
  const Bound* bound = nullptr;
};

// Counts what runs exactly, and the rest by name.
struct Counted {
  std::uint64_t exact = 0;
  std::map<std::string, Tally> approximate, unsupported;

  void add(const Row& row, Target target) {
    const Bound* bound = bound_of(row);
    if (!bound) {
      ++exact;
      return;
    }
    Tally& tally = approximate[name_of(row, target)];
    ++tally.count;
    tally.bound = bound;
  }
  Json json() const {
    Json out{{"exact", exact}, {"approximate", Json::array()}, {"unsupported", Json::array()}};
    for (const auto& [mnemonic, t] : approximate)
      out["approximate"].push_back({{"name", mnemonic}, {"count", t.count}, {"bound", bound_json(*t.bound)}});
    for (const auto& [mnemonic, t] : unsupported)
      out["unsupported"].push_back({{"name", mnemonic}, {"count", t.count}, {"va", t.first_va}, {"reason", t.reason}});
    return out;
  }
};

Counted count(const Function& function, const CodeObject& object) {
  Counted out;
  each_instruction(function, object, [&](const Decoded& decoded, std::size_t offset) {
    if (decoded.status == Decoded::Status::ok) {
      if (decoded.inst.dual) out.add(*decoded.dual->row, object.target);
      out.add(*decoded.inst.row, object.target);
      return;
    }
    const std::string shown = print(decoded, object.target, object.wave_size);
    std::string mnemonic = shown.substr(0, shown.find(' '));
    if (mnemonic.empty()) mnemonic = "?";
    // Behind the end of a function for the prefetcher; never executed.
    if (mnemonic == "s_code_end") return;
    Tally& tally = out.unsupported[mnemonic];
    if (tally.count++ == 0) tally.first_va = function.va + offset, tally.reason = decoded.reason;
  });
  return out;
}

std::string bytes_of(const std::string& path) {
  if (!std::filesystem::is_regular_file(path)) throw std::runtime_error("not a regular file");  // a FIFO would be waited for
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot be opened");
  return {std::istreambuf_iterator<char>(in), {}};
}

Json code_document(const std::string& path) {
  const CodeObject object = read_code_object(bytes_of(path));
  Json out{{"schema", "kerncap.isa-code/1"}, {"target", object.target_name}, {"known_target", object.known_target}, {"functions", Json::array()}};
  if (!object.known_target) return out;
  for (const Function& function : object.functions) {
    Json json{{"name", function.name}, {"kernel", function.kernel}};
    json.update(count(function, object).json());
    out["functions"].push_back(std::move(json));
  }
  return out;
}

int run(int argc, char** argv) {
  const std::string command = argc > 1 ? argv[1] : "";
  Json out;
  if (command == "rows" && argc == 2) {
    out = rows_document();
  } else if ((command == "code" && argc == 3) || (command == "listing" && argc == 4)) {
    try {
      out = command == "code" ? code_document(argv[2]) : listing_document(bytes_of(argv[2]), argv[3]);
    } catch (const std::runtime_error& error) {
      std::cerr << "kerncap-isa: " << argv[2] << ": " << error.what() << "\n";
      return 4;
    }
  } else {
    std::cerr << "usage: kerncap-isa rows | kerncap-isa code FILE | kerncap-isa listing FILE FUNCTION\n";
    return 2;
  }
  // Names in a code object may hold any bytes.
  std::cout << out.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
  return std::cout.flush() ? 0 : 70;
}

}  // namespace
}  // namespace kerncap::vgpu::tool

int main(int argc, char** argv) {
  try {
    return kerncap::vgpu::tool::run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "kerncap-isa: " << error.what() << "\n";
    return 70;
  }
}
