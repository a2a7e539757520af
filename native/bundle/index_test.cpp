// The index reader against hostile documents, and the round trip.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "base/error.hpp"
#include "bundle/index.hpp"

namespace kerncap {
namespace {

const std::string kHex(64, 'a');

Json fill_chunk(std::uint64_t length) { return {{"l", length}, {"k", "fill"}, {"v", 7}, {"h", kHex}}; }
Json zstd_chunk(std::uint64_t length, std::uint64_t offset, std::uint64_t stored) {
  return {{"l", length}, {"k", "zstd"}, {"h", kHex}, {"b", 0}, {"o", offset}, {"n", stored}};
}
Json with_at(Json chunk, std::uint64_t at) {
  chunk["at"] = at;
  return chunk;
}

Json region(std::uint64_t va, const std::vector<std::uint64_t>& lengths) {
  Json pre = Json::array();
  std::uint64_t size = 0;
  for (const std::uint64_t length : lengths) {
    pre.push_back(fill_chunk(length));
    size += length;
  }
  return {{"va", va},         {"size", size},      {"kind", "pool"}, {"segment", "device"}, {"flags", Json::array({"coarse-grained"})},
          {"symbol", nullptr}, {"agent", 0}, {"pre", pre},    {"post", Json::array()}};
}

Json document() {
  Json first = region(0x10000, {4096, 4096, 100});
  first["pre"][1] = zstd_chunk(4096, 100, 50);
  first["post"] = Json::array({with_at(zstd_chunk(4096, 0, 100), 4096), with_at(fill_chunk(100), 8192)});
  Json variable = region(0x20000, {64});
  variable["kind"] = "variable";
  variable["symbol"] = "weights";
  return {{"schema", "kerncap.index/1"},
          {"blobs", Json::array({Json{{"digest", "sha256:" + kHex}, {"size", 150}}})},
          {"regions", Json::array({first, variable})}};
}

// As a reader sees it: numbers from text, not from C++ literals.
Index read(const Json& value) { return index_from_json(parse_json(value.dump(), "bundle.malformed", "test")); }

std::string code_after(const std::function<void(Json&)>& change) {
  Json changed = document();
  change(changed);
  try {
    read(changed);
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), ExitCode::bundle) << error.what();
    return error.code();
  }
  return "no error";
}

TEST(Index, RoundTrip) {
  const Index index = read(document());
  ASSERT_EQ(index.regions.size(), 2u);
  EXPECT_EQ(index.regions[0].size, 8292u);
  EXPECT_EQ(index.regions[0].pre[2].at, 8192u);
  EXPECT_EQ(index.regions[0].post[0].at, 4096u);
  EXPECT_EQ(index.regions[1].symbol, "weights");
  EXPECT_EQ(read(to_json(index)), index);
}

TEST(Index, WidthOfShuffledWords) {
  Json changed = document();
  EXPECT_EQ(read(changed).regions[0].pre[1].width, 1u);
  EXPECT_FALSE(to_json(read(changed))["regions"][0]["pre"][1].contains("w"));  // as before there were widths
  for (const unsigned width : {1u, 2u, 4u, 8u}) {
    changed["regions"][0]["pre"][1]["w"] = width;
    EXPECT_EQ(read(changed).regions[0].pre[1].width, width);
    EXPECT_EQ(read(to_json(read(changed))), read(changed));
  }
  for (const std::uint64_t width : {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{16}, (std::uint64_t{1} << 32) + 2}) {
    EXPECT_EQ(code_after([&](Json& d) { d["regions"][0]["pre"][1]["w"] = width; }), "bundle.unknown-kind") << width;
  }
}

TEST(Index, RefusesHostileDocuments) {
  using Change = std::function<void(Json&)>;
  const std::vector<std::pair<const char*, Change>> cases = {
      {"not an object", [](Json& d) { d = Json::array(); }},
      {"no schema", [](Json& d) { d.erase("schema"); }},
      {"another schema", [](Json& d) { d["schema"] = "kerncap.capture/1"; }},
      {"path as digest", [](Json& d) { d["blobs"][0]["digest"] = "sha256:../../../../../../etc/shadow"; }},
      {"huge blob", [](Json& d) { d["blobs"][0]["size"] = ~std::uint64_t{0}; }},
      {"va 0", [](Json& d) { d["regions"][0]["va"] = 0; }},
      {"negative va", [](Json& d) { d["regions"][0]["va"] = -4096; }},
      {"fractional va", [](Json& d) { d["regions"][0]["va"] = 4096.0; }},
      {"kernel va", [](Json& d) { d["regions"][1]["va"] = 0xffff800000000000u; }},
      {"va + size overflows", [](Json& d) { d["regions"][0]["size"] = ~std::uint64_t{0}; }},
      {"size without chunks", [](Json& d) { d["regions"][0]["size"] = std::uint64_t{1} << 40; }},
      {"size too small", [](Json& d) { d["regions"][0]["size"] = 8000; }},
      {"empty region", [](Json& d) { d["regions"][0]["size"] = 0, d["regions"][0]["pre"] = Json::array(); }},
      {"overlap", [](Json& d) { d["regions"][1]["va"] = 0x10000 + 8291; }},
      {"unsorted", [](Json& d) { d["regions"][1]["va"] = 0x1000; }},
      {"chunk of 0 bytes", [](Json& d) { d["regions"][0]["pre"][0]["l"] = 0; }},
      {"huge chunk", [](Json& d) { d["regions"][0]["pre"][0]["l"] = std::uint64_t{1} << 62; }},
      {"lengths that wrap", [](Json& d) {
         d["regions"][0]["pre"][0]["l"] = std::uint64_t{1} << 63, d["regions"][0]["pre"][1]["l"] = std::uint64_t{1} << 63;
       }},
      {"bad hex", [](Json& d) { d["regions"][0]["pre"][0]["h"] = "xyz"; }},
      {"no such blob", [](Json& d) { d["regions"][0]["pre"][1]["b"] = 1; }},
      {"frame behind the end", [](Json& d) { d["regions"][0]["pre"][1]["n"] = 51; }},
      {"offset wraps", [](Json& d) { d["regions"][0]["pre"][1]["o"] = ~std::uint64_t{0}; }},
      {"longer than a frame can be", [](Json& d) { d["blobs"][0]["size"] = 9000, d["regions"][0]["pre"][1]["n"] = 4096 + 16 + 129; }},
      {"blob of 0 bytes", [](Json& d) { d["blobs"].push_back({{"digest", "sha256:" + kHex}, {"size", 0}}); }},
      {"frame of 0 bytes", [](Json& d) { d["regions"][0]["pre"][1]["n"] = 0; }},
      {"negative width", [](Json& d) { d["regions"][0]["pre"][1]["w"] = -2; }},
      {"width of no number", [](Json& d) { d["regions"][0]["pre"][1]["w"] = nullptr; }},
      {"width of a fill", [](Json& d) { d["regions"][0]["pre"][0]["w"] = 2; }},
      {"post off the chunk grid", [](Json& d) { d["regions"][0]["post"][0]["at"] = 4095; }},
      {"post outside", [](Json& d) { d["regions"][0]["post"][1]["at"] = 1 << 20; }},
      {"post twice", [](Json& d) { d["regions"][0]["post"][1] = d["regions"][0]["post"][0]; }},
      {"post of another length", [](Json& d) { d["regions"][0]["post"][1]["l"] = 99; }},
      {"more post than pre", [](Json& d) {
         for (int i = 0; i < 3; ++i) d["regions"][0]["post"].push_back(d["regions"][0]["post"][1]);
       }},
      {"variable without symbol", [](Json& d) { d["regions"][1]["symbol"] = nullptr; }},
      {"symbol of a pool", [](Json& d) { d["regions"][0]["symbol"] = "x"; }},
      {"symbol with a NUL", [](Json& d) { d["regions"][1]["symbol"] = std::string("a\0b", 3); }},
      {"flags of numbers", [](Json& d) { d["regions"][0]["flags"] = {1, 2}; }},
  };
  for (const auto& [name, change] : cases) EXPECT_EQ(code_after(change), "bundle.malformed") << name;
}

Json with_alias() {
  Json changed = document();
  Json original = region(0x30000, {8192}), alias = region(0x40000, {});
  original["kind"] = alias["kind"] = "vmem";
  alias["size"] = 4096;
  alias["alias_of"] = 2;
  changed["regions"].push_back(original);
  changed["regions"].push_back(alias);
  return changed;
}

TEST(Index, Alias) {
  const Index index = read(with_alias());
  EXPECT_EQ(index.regions[3].alias_of, 2u);
  EXPECT_FALSE(index.regions[2].alias_of);
  EXPECT_EQ(read(to_json(index)), index);
  using Change = std::function<void(Json&)>;
  const std::vector<std::pair<const char*, Change>> cases = {
      {"of nothing", [](Json& d) { d["regions"][3]["alias_of"] = 4; }},
      {"of itself", [](Json& d) { d["regions"][3]["alias_of"] = 3; }},
      {"of a pool", [](Json& d) { d["regions"][3]["alias_of"] = 0; }},
      {"larger", [](Json& d) { d["regions"][3]["size"] = 8193; }},
      {"chunks", [](Json& d) { d["regions"][3]["pre"] = Json::array({fill_chunk(4096)}); }},
      {"no number", [](Json& d) { d["regions"][3]["alias_of"] = "2"; }},
  };
  for (const auto& [name, change] : cases) {
    Json changed = with_alias();
    change(changed);
    EXPECT_THROW(read(changed), Error) << name;
  }
}

TEST(Index, NamesAnUnknownMajorVersion) {
  EXPECT_EQ(code_after([](Json& d) { d["schema"] = "kerncap.index/2"; }), "bundle.unsupported-version");
}

Json many_regions(std::size_t count) {
  Json changed = document();
  changed["regions"] = Json::array();
  for (std::size_t i = 0; i < count; ++i) changed["regions"].push_back(region(0x10000 + 4096 * i, {4096}));
  return changed;
}

TEST(Index, TakesAsManyRegionsAsTheSpecificationAllows) {
  EXPECT_EQ(read(many_regions(limits::kRegions)).regions.size(), limits::kRegions);
  try {
    read(many_regions(limits::kRegions + 1));
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), "bundle.limit");
  }
}

TEST(Index, CountsTheChunksOfAllRegions) {
  Json one = region(0x10000, std::vector<std::uint64_t>(limits::kChunks / 2, 8));
  Json other = one;
  other["va"] = std::uint64_t{1} << 40;
  Json changed = document();
  changed["regions"] = Json::array({one, other});
  EXPECT_EQ(read(changed).regions[1].pre.size(), limits::kChunks / 2);
  changed["regions"][1]["post"] = Json::array({with_at(fill_chunk(8), 0)});
  EXPECT_EQ(code_after([&](Json& d) { d = changed; }), "bundle.limit");
  EXPECT_EQ(code_after([&](Json& d) { d["regions"][0]["flags"] = std::vector<std::string>(33, "x"); }), "bundle.limit");
}

TEST(Index, NamesUnknownKinds) {
  EXPECT_EQ(code_after([](Json& d) { d["regions"][0]["kind"] = "texture"; }), "bundle.unknown-kind");
  EXPECT_EQ(code_after([](Json& d) { d["regions"][0]["segment"] = "lds"; }), "bundle.unknown-kind");
  EXPECT_EQ(code_after([](Json& d) { d["regions"][0]["pre"][0]["k"] = "delta"; }), "bundle.unknown-kind");
}

}  // namespace
}  // namespace kerncap
