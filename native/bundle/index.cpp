#include "bundle/index.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "bundle/chunk_codec.hpp"
#include "bundle/shuffle.hpp"

namespace kerncap {
namespace {

constexpr std::string_view kMalformed = "bundle.malformed";

constexpr std::array<std::pair<const char*, RegionKind>, 5> kKinds{{{"pool", RegionKind::pool},
                                                                     {"vmem", RegionKind::vmem},
                                                                     {"lock", RegionKind::lock},
                                                                     {"svm", RegionKind::svm},
                                                                     {"variable", RegionKind::variable}}};
constexpr std::array<std::pair<const char*, Segment>, 3> kSegments{
    {{"device", Segment::device}, {"host", Segment::host}, {"kernarg", Segment::kernarg}}};

template <typename Enum, std::size_t N>
const char* name_of(const std::array<std::pair<const char*, Enum>, N>& table, Enum value) noexcept {
  for (const auto& [name, entry] : table) {
    if (entry == value) return name;
  }
  return "?";
}

template <typename Enum, std::size_t N>
Enum value_of(const std::array<std::pair<const char*, Enum>, N>& table, const Fields& fields, const char* member) {
  const std::string& text = fields.string(member);
  for (const auto& [name, entry] : table) {
    if (text == name) return entry;
  }
  throw Error("bundle.unknown-kind", std::string("index: unknown region ") + member + " \"" + printable(text) + "\"");
}

[[noreturn]] void fail(const std::string& where, const std::string& what) {
  throw Error(std::string(kMalformed), where + ": " + what);
}

Json chunk_to_json(const Chunk& chunk, bool with_at) {
  Json out = Json::object();
  if (with_at) out["at"] = chunk.at;
  out["l"] = chunk.length;
  out["h"] = to_hex(chunk.raw_digest);
  if (chunk.kind == Chunk::Kind::fill) {
    out["k"] = "fill";
    out["v"] = chunk.fill_value;
  } else {
    out["k"] = "zstd";
    out["b"] = chunk.blob;
    out["o"] = chunk.offset;
    out["n"] = chunk.stored;
    if (chunk.width != 1) out["w"] = chunk.width;
  }
  return out;
}

Json changed_to_json(const std::vector<Chunk>& chunks) {
  Json out = Json::array();
  for (const Chunk& chunk : chunks) out.push_back(chunk_to_json(chunk, true));
  return out;
}

// What is known while an index is read.
struct Reading {
  std::vector<Blob> blobs;
  std::size_t chunks = 0;
};

// Refused before anything is made of it.
void check_count(const std::string& where, std::size_t count, std::size_t most) {
  if (count > most) throw Error("bundle.limit", where + ": " + std::to_string(count) + " entries, at most " + std::to_string(most));
}

const Json& list_of(const Fields& fields, const std::string& where, const char* member, std::size_t most) {
  const Json& list = fields.array(member, std::numeric_limits<std::size_t>::max());
  check_count(where + "." + member, list.size(), most);
  return list;
}

Chunk chunk_from_json(const Json& value, const std::string& where, Reading& reading) {
  check_count("index: chunks", ++reading.chunks, limits::kChunks);
  const std::vector<Blob>& blobs = reading.blobs;
  const Fields fields(value, where, kMalformed);
  Chunk chunk;
  chunk.length = fields.u64("l", limits::kChunkBytes);
  if (chunk.length == 0) fields.fail("l", "is 0");
  const auto digest = sha256_from_hex(fields.string("h"));
  if (!digest) fields.fail("h", "is not 64 lower-case hexadecimal digits");
  chunk.raw_digest = *digest;
  const std::string& kind = fields.string("k");
  if (kind == "fill") {
    chunk.kind = Chunk::Kind::fill;
    chunk.fill_value = fields.u64("v");
    if (fields.has("w")) fields.fail("w", "a fill is not shuffled");
    return chunk;
  }
  if (kind != "zstd") throw Error("bundle.unknown-kind", where + ": unknown chunk kind \"" + printable(kind) + "\"");
  chunk.kind = Chunk::Kind::zstd;
  chunk.blob = fields.u32("b");
  if (chunk.blob >= blobs.size()) fields.fail("b", "there is no blob " + std::to_string(chunk.blob));
  chunk.offset = fields.u64("o");
  chunk.stored = fields.u64("n", max_frame_bytes(chunk.length));
  const std::uint64_t blob_bytes = blobs[chunk.blob].size;
  if (chunk.stored == 0 || chunk.offset > blob_bytes || chunk.stored > blob_bytes - chunk.offset) {
    fields.fail("n", "the frame does not lie within its blob of " + std::to_string(blob_bytes) + " bytes");
  }
  if (fields.has("w")) {
    const std::uint64_t width = fields.u64("w");
    if (!is_shuffle_width(width)) throw Error("bundle.unknown-kind", where + ": unknown width of shuffled words " + std::to_string(width));
    chunk.width = static_cast<std::uint32_t>(width);
  }
  return chunk;
}

std::vector<Chunk> pre_from_json(const Fields& region, const std::string& where, std::uint64_t size,
                                 Reading& reading) {
  const Json& list = list_of(region, where, "pre", limits::kChunks);
  std::vector<Chunk> chunks;
  chunks.reserve(list.size());
  std::uint64_t at = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    Chunk chunk = chunk_from_json(list[i], where + ".pre[" + std::to_string(i) + "]", reading);
    chunk.at = at;
    if (chunk.length > size - at) fail(where, "the chunks of pre are longer than the region");
    at += chunk.length;
    chunks.push_back(chunk);
  }
  if (at != size) fail(where, "the chunks of pre cover " + std::to_string(at) + " of " + std::to_string(size) + " bytes");
  return chunks;
}

std::vector<Chunk> changed_from_json(const Json& list, const std::string& list_where, const std::vector<Chunk>& pre,
                                     Reading& reading) {
  std::vector<Chunk> chunks;
  chunks.reserve(list.size());
  auto base = pre.begin();
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string chunk_where = list_where + "[" + std::to_string(i) + "]";
    Chunk chunk = chunk_from_json(list[i], chunk_where, reading);
    chunk.at = Fields(list[i], chunk_where, kMalformed).u64("at");
    while (base != pre.end() && base->at < chunk.at) ++base;
    if (base == pre.end() || base->at != chunk.at || base->length != chunk.length) {
      fail(chunk_where, "is not the whole of a later chunk of pre");
    }
    ++base;  // each chunk of pre at most once, in order
    chunks.push_back(chunk);
  }
  return chunks;
}

std::vector<std::vector<Chunk>> between_from_json(const Fields& region, const std::string& where, const std::vector<Chunk>& pre,
                                                  Reading& reading) {
  std::vector<std::vector<Chunk>> between;
  const Json& steps = list_of(region, where, "between", limits::kSteps - 1);
  if (steps.empty()) region.fail("between", "is empty");
  for (const Json& step : steps) {
    const std::string step_where = where + ".between[" + std::to_string(between.size()) + "]";
    if (!step.is_array() || step.size() > pre.size()) fail(step_where, "is not a list of at most as many chunks as pre has");
    between.push_back(changed_from_json(step, step_where, pre, reading));
  }
  return between;
}

Region region_from_json(const Json& value, const std::string& where, Reading& reading) {
  const Fields fields(value, where, kMalformed);
  Region region;
  region.va = fields.u64("va", limits::kVaEnd - 1);
  region.size = fields.u64("size", std::min(limits::kVaEnd - region.va, limits::kRegionBytes));
  if (region.va == 0) fields.fail("va", "is 0");
  if (region.size == 0) fields.fail("size", "is 0");
  region.kind = value_of(kKinds, fields, "kind");
  region.segment = value_of(kSegments, fields, "segment");
  for (const Json& flag : list_of(fields, where, "flags", limits::kFlags)) {
    if (!flag.is_string()) fields.fail("flags", "holds something else than strings");
    region.flags.push_back(flag.get<std::string>());
  }
  region.symbol = fields.string_or_null("symbol");
  if ((region.kind == RegionKind::variable) != region.symbol.has_value()) {
    fields.fail("symbol", "a variable has one, nothing else does");
  }
  if (region.symbol && (region.symbol->empty() || region.symbol->size() > limits::kSymbolBytes ||
                        region.symbol->find('\0') != std::string::npos)) {
    fields.fail("symbol", "is not a symbol name");
  }
  region.agent = fields.u32("agent");
  if (fields.has("alias_of")) {
    region.alias_of = fields.u32("alias_of");
    for (const char* list : {"pre", "post"})
      if (!fields.array(list, 0).empty()) fields.fail(list, "an alias has no chunks");
    if (fields.has("between")) fields.fail("between", "an alias has no chunks");
    return region;
  }
  region.pre = pre_from_json(fields, where, region.size, reading);
  region.post = changed_from_json(fields.array("post", region.pre.size()), where + ".post", region.pre, reading);
  if (fields.has("between")) region.between = between_from_json(fields, where, region.pre, reading);
  if (fields.has("step")) {
    region.step = fields.u32("step", limits::kSteps - 1);
    if (region.step == 0) fields.fail("step", "is 0");
    if (region.kind != RegionKind::variable) fields.fail("step", "only a variable belongs to a dispatch");
  }
  return region;
}

void check_alias(const Index& index, const Region& region, const std::string& where) {
  if (*region.alias_of >= index.regions.size()) fail(where, "is an alias of a region that does not exist");
  const Region& original = index.regions[*region.alias_of];
  if (original.alias_of) fail(where, "is an alias of an alias");
  if (region.kind != RegionKind::vmem || original.kind != RegionKind::vmem) fail(where, "only vmem regions are mapped twice");
  if (region.size > original.size) fail(where, "is larger than the region that it is an alias of");
}

}  // namespace

const char* to_string(RegionKind kind) noexcept { return name_of(kKinds, kind); }
const char* to_string(Segment segment) noexcept { return name_of(kSegments, segment); }

Json to_json(const Index& index) {
  Json blobs = Json::array();
  for (const Blob& blob : index.blobs) blobs.push_back({{"digest", digest_text(blob.digest)}, {"size", blob.size}});
  Json regions = Json::array();
  for (const Region& region : index.regions) {
    Json pre = Json::array();
    for (const Chunk& chunk : region.pre) pre.push_back(chunk_to_json(chunk, false));
    regions.push_back({{"va", region.va},
                       {"size", region.size},
                       {"kind", to_string(region.kind)},
                       {"segment", to_string(region.segment)},
                       {"flags", region.flags},
                       {"symbol", region.symbol ? Json(*region.symbol) : Json(nullptr)},
                       {"agent", region.agent},
                       {"pre", std::move(pre)},
                       {"post", changed_to_json(region.post)}});
    if (region.alias_of) regions.back()["alias_of"] = *region.alias_of;
    if (region.step != 0) regions.back()["step"] = region.step;
    for (const auto& changed : region.between) regions.back()["between"].push_back(changed_to_json(changed));
  }
  return {{"schema", "kerncap.index/1"}, {"blobs", std::move(blobs)}, {"regions", std::move(regions)}};
}

Index index_from_json(const Json& document) {
  require_schema(document, "kerncap.index/1", kMalformed);
  const Fields fields(document, "index", kMalformed);
  Index index;
  Reading reading;
  const std::string top = "index";
  for (const Json& value : list_of(fields, top, "blobs", limits::kBlobs)) {
    const Fields blob(value, "index.blobs[" + std::to_string(reading.blobs.size()) + "]", kMalformed);
    const auto digest = digest_from_text(blob.string("digest"));
    if (!digest) blob.fail("digest", "is not sha256: and 64 lower-case hexadecimal digits");
    reading.blobs.push_back({*digest, blob.u64("size", limits::kBlobBytes)});
    if (reading.blobs.back().size == 0) blob.fail("size", "is 0");
  }
  std::uint64_t end = 0;
  for (const Json& value : list_of(fields, top, "regions", limits::kRegions)) {
    const std::string where = "index.regions[" + std::to_string(index.regions.size()) + "]";
    Region region = region_from_json(value, where, reading);
    if (region.va < end) fail(where, "overlaps the region before it, or is not sorted by va");
    end = region.end();
    index.regions.push_back(std::move(region));
  }
  for (std::size_t i = 0; i < index.regions.size(); ++i)
    if (index.regions[i].alias_of) check_alias(index, index.regions[i], "index.regions[" + std::to_string(i) + "]");
  index.blobs = std::move(reading.blobs);
  return index;
}

}  // namespace kerncap
