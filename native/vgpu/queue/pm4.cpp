#include "vgpu/queue/pm4.hpp"

#include <cstdio>
#include <vector>

namespace kerncap::vgpu::pm4 {
namespace {

// Source: amdgpu soc15d.h, nvd.h: PACKET3 opcodes and fields.
constexpr std::uint32_t kType2 = 2, kType3 = 3;
constexpr std::uint32_t kNop = 0x10, kIndirectBuffer = 0x3f, kAcquireMem = 0x58, kPfpSyncMe = 0x42;

std::uint32_t type_of(std::uint32_t header) { return header >> 30; }
std::uint32_t opcode_of(std::uint32_t header) { return (header >> 8) & 0xff; }
// A NOP whose count is all ones is one dword long.
std::uint32_t body_dwords(std::uint32_t header) {
  const std::uint32_t count = (header >> 16) & 0x3fff;
  return opcode_of(header) == kNop && count == 0x3fff ? 0 : count + 1;
}

std::string named(const char* what, std::uint32_t header) {
  char text[80];
  std::snprintf(text, sizeof text, "%s 0x%02x (header %08x)", what, opcode_of(header), header);
  return text;
}

}  // namespace

std::optional<Fault> check_indirect(const PageTable& pages, const std::byte* packet, std::string& unknown) {
  std::uint32_t words[16];
  std::memcpy(words, packet, sizeof words);
  // Dwords 1..4: INDIRECT_BUFFER, address low, address high, length.
  if (type_of(words[1]) != kType3 || opcode_of(words[1]) != kIndirectBuffer) {
    unknown = named("PM4 command in a vendor packet", words[1]);
    return std::nullopt;
  }
  const std::uint64_t va = (std::uint64_t{words[3] & 0xffff} << 32) | (words[2] & ~3u);
  const std::uint32_t count = words[4] & 0xfffff;
  std::vector<std::uint32_t> buffer(count);
  if (const auto fault = pages.read(va, buffer.data(), buffer.size() * sizeof(std::uint32_t))) return fault;
  for (std::size_t i = 0; i < buffer.size();) {
    const std::uint32_t header = buffer[i];
    if (type_of(header) == kType2) {
      ++i;
      continue;
    }
    const std::uint32_t opcode = opcode_of(header);
    if (type_of(header) != kType3 || (opcode != kNop && opcode != kAcquireMem && opcode != kPfpSyncMe)) {
      unknown = named("PM4 command", header);
      return std::nullopt;
    }
    i += 1 + body_dwords(header);
  }
  return std::nullopt;
}

}  // namespace kerncap::vgpu::pm4
