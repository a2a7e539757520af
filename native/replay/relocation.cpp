#include "replay/relocation.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "bundle/elf_symbols.hpp"

namespace kerncap::replay {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);
// Words that are looked at together: hardly any block holds an address of code.
constexpr std::size_t kBlockWords = 64;

std::uint64_t word_at(const std::byte* bytes) noexcept {
  std::uint64_t value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

std::vector<ElfSymbol> numbered_symbols(std::span<const std::byte> code) {
  auto symbols = elf_symbols(code, SymbolTable::Whole);
  if (symbols.empty()) symbols = elf_symbols(code, SymbolTable::Dynamic);  // stripped
  number_names(symbols);
  return symbols;
}

}  // namespace

std::vector<Moved> moved_symbols(std::span<const std::byte> captured, std::uint64_t captured_va, std::span<const std::byte> variant,
                                 std::uint64_t variant_va) {
  std::map<std::string, ElfSymbol> theirs;
  for (auto& symbol : numbered_symbols(variant)) theirs.emplace(symbol.name, symbol);
  const std::uint64_t captured_delta = captured_va - first_loaded_address(captured);
  const std::uint64_t variant_delta = variant_va - first_loaded_address(variant);
  std::vector<Moved> moved;
  for (const auto& symbol : numbered_symbols(captured)) {
    const auto found = theirs.find(symbol.name);
    if (found == theirs.end() || found->second.type != symbol.type) continue;
    // Nobody points into the middle of a function; of an object, only what both have is the same.
    const std::uint64_t size = symbol.type == STT_FUNC ? 1 : std::min(symbol.size, found->second.size);
    moved.push_back({symbol.address + captured_delta, found->second.address + variant_delta, size});
  }
  return moved;
}

Relocation::Relocation(std::vector<Moved> pieces) {
  // Both directions translate the same pieces, so that what goes out comes back.
  const auto reversed = [](std::vector<Moved> list) {
    for (Moved& piece : list) std::swap(piece.captured_va, piece.device_va);
    return list;
  };
  to_captured_ = Direction(reversed(Direction(std::move(pieces)).pieces));
  to_device_ = Direction(reversed(to_captured_.pieces));
}

Relocation::Direction::Direction(std::vector<Moved> all) {
  std::ranges::sort(all, {}, &Moved::captured_va);
  for (const Moved& piece : all) {
    if (piece.size == 0) continue;
    if (!pieces.empty() && piece.captured_va - pieces.back().captured_va < pieces.back().size) continue;
    pieces.push_back(piece);
  }
  if (pieces.empty()) return;
  low = pieces.front().captured_va;
  size = pieces.back().captured_va + pieces.back().size - low;
}

const Moved* Relocation::Direction::find(std::uint64_t value) const noexcept {
  const auto after = std::ranges::upper_bound(pieces, value, {}, &Moved::captured_va);
  if (after == pieces.begin()) return nullptr;
  const Moved& piece = *std::prev(after);
  return value - piece.captured_va < piece.size ? &piece : nullptr;
}

std::size_t Relocation::Direction::apply(std::uint64_t va, std::span<std::byte> bytes) const noexcept {
  const std::size_t skip = (kWord - va % kWord) % kWord;
  if (size == 0 || bytes.size() < skip + kWord) return 0;
  std::byte* const first = bytes.data() + skip;
  const std::size_t words = (bytes.size() - skip) / kWord;
  std::size_t translated = 0;
  for (std::size_t block = 0; block < words; block += kBlockWords) {
    const std::size_t n = std::min(kBlockWords, words - block);
    std::byte* const at = first + block * kWord;
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) any |= word_at(at + i * kWord) - low < size;
    for (std::size_t i = 0; any && i < n; ++i) {
      const std::uint64_t value = word_at(at + i * kWord);
      const Moved* const piece = value - low < size ? find(value) : nullptr;
      if (piece == nullptr) continue;
      const std::uint64_t other = piece->device_va + (value - piece->captured_va);
      std::memcpy(at + i * kWord, &other, sizeof other);
      ++translated;
    }
  }
  return translated;
}

}  // namespace kerncap::replay
