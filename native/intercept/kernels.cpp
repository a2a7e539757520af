#include "intercept/kernels.hpp"

#include "bundle/code_object.hpp"
#include "intercept/hsa_api.hpp"

namespace kerncap::intercept {
namespace {

constexpr std::size_t first_table_size = 1024;

template <class T>
T symbol_info(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t attribute) {
  T value{};
  check(hsa().core.hsa_executable_symbol_get_info_fn(symbol, attribute, &value), "hsa_executable_symbol_get_info");
  return value;
}

std::string symbol_name(hsa_executable_symbol_t symbol) {
  std::string name(symbol_info<std::uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH), '\0');
  check(hsa().core.hsa_executable_symbol_get_info_fn(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name.data()),
        "hsa_executable_symbol_get_info");
  // Some runtimes count a terminating zero, some do not.
  while (!name.empty() && name.back() == '\0') name.pop_back();
  return name;
}

std::string without_descriptor_suffix(const std::string& symbol) {
  constexpr std::string_view suffix = ".kd";
  return symbol.ends_with(suffix) ? symbol.substr(0, symbol.size() - suffix.size()) : symbol;
}

}  // namespace

KernelTable::KernelTable() {
  generations_.push_back(std::make_unique<Slots>(first_table_size));
  current_.store(generations_.back().get(), std::memory_order_release);
}

std::size_t KernelTable::home(std::uint64_t kernel_object, std::size_t count) noexcept {
  // Descriptors are 64-byte aligned; Fibonacci hashing spreads what is left over the table (count is a power of two).
  return static_cast<std::size_t>((kernel_object >> 6) * 0x9E3779B97F4A7C15ULL >> 20) & (count - 1);
}

KernelEntry* KernelTable::find(std::uint64_t kernel_object) const noexcept {
  const Slots* slots = current_.load(std::memory_order_acquire);
  const auto count = slots->entries.size();
  for (auto at = home(kernel_object, count);; at = (at + 1) & (count - 1)) {
    KernelEntry* entry = slots->entries[at].load(std::memory_order_acquire);
    if (entry == nullptr || entry->kernel_object == kernel_object) return entry;
  }
}

void KernelTable::place(Slots& slots, KernelEntry* entry) noexcept {
  const auto count = slots.entries.size();
  for (auto at = home(entry->kernel_object, count);; at = (at + 1) & (count - 1)) {
    auto& slot = slots.entries[at];
    const KernelEntry* there = slot.load(std::memory_order_relaxed);
    // The same address again: the old executable is gone, its place is taken by another kernel.
    if (there == nullptr || there->kernel_object == entry->kernel_object) {
      slot.store(entry, std::memory_order_release);
      return;
    }
  }
}

void KernelTable::put(KernelEntry* entry) {
  Slots* slots = generations_.back().get();
  if ((used_ + 1) * 2 > slots->entries.size()) {
    auto bigger = std::make_unique<Slots>(slots->entries.size() * 2);
    for (const auto& slot : slots->entries) {
      if (KernelEntry* old = slot.load(std::memory_order_relaxed)) place(*bigger, old);
    }
    generations_.push_back(std::move(bigger));
    slots = generations_.back().get();
    current_.store(slots, std::memory_order_release);
  }
  place(*slots, entry);
  ++used_;
}

void KernelRegistry::reader_created(hsa_code_object_reader_t reader, CodeBytes bytes) {
  const std::scoped_lock lock(mutex_);
  readers_[reader.handle] = std::move(bytes);
}

void KernelRegistry::reader_destroyed(hsa_code_object_reader_t reader) {
  const std::scoped_lock lock(mutex_);
  readers_.erase(reader.handle);
}

void KernelRegistry::code_loaded(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                                 hsa_loaded_code_object_t loaded) {
  const std::scoped_lock lock(mutex_);
  const auto bytes = readers_.find(reader.handle);
  loaded_.emplace(executable.handle, LoadedCode{executable, agent, loaded, reader, bytes == readers_.end() ? nullptr : bytes->second});
}

bool KernelRegistry::add(hsa_executable_t executable, hsa_executable_symbol_t symbol) {
  if (symbol_info<hsa_symbol_kind_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE) != HSA_SYMBOL_KIND_KERNEL) return false;
  auto entry = std::make_unique<KernelEntry>();
  entry->kernel_object = symbol_info<std::uint64_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT);
  entry->symbol = symbol_name(symbol);
  entry->name = without_descriptor_suffix(entry->symbol);
  entry->demangled = demangle(entry->name);
  entry->executable = executable;
  entry->agent = symbol_info<hsa_agent_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_AGENT);
  entry->kernarg_size_attribute =
      symbol_info<std::uint32_t>(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE);
  const std::scoped_lock lock(mutex_);
  const bool matched = selector_.matches(entry->name, entry->demangled);
  entry->matched = matched;
  entries_.push_back(std::move(entry));
  table_.put(entries_.back().get());
  return matched;
}

void KernelRegistry::executable_frozen(hsa_executable_t executable) {
  std::vector<hsa_executable_symbol_t> symbols;
  check(hsa().core.hsa_executable_iterate_symbols_fn(
            executable,
            [](hsa_executable_t, hsa_executable_symbol_t symbol, void* data) {
              static_cast<std::vector<hsa_executable_symbol_t>*>(data)->push_back(symbol);
              return HSA_STATUS_SUCCESS;
            },
            &symbols),
        "hsa_executable_iterate_symbols");
  bool meant = false;
  for (const auto symbol : symbols) meant = add(executable, symbol) || meant;
  if (meant || keep_code_) return;
  const std::scoped_lock lock(mutex_);
  const auto [first, last] = loaded_.equal_range(executable.handle);
  for (auto code = first; code != last; ++code) {
    code->second.bytes.reset();
    // Runtimes keep a reader as long as the module: its copy goes, too. What is meant is told by names, so that nothing which
    // is loaded from it later can be.
    if (const auto reader = readers_.find(code->second.reader.handle); reader != readers_.end()) reader->second.reset();
  }
}

void KernelRegistry::executable_destroyed(hsa_executable_t executable) {
  const std::scoped_lock lock(mutex_);
  loaded_.erase(executable.handle);
  // Its kernels stay in the table for the list of what was seen; a kernel loaded later at the same address replaces them.
}

void KernelRegistry::symbol_resolved(hsa_executable_symbol_t symbol, std::uint64_t kernel_object) {
  if (table_.find(kernel_object) == nullptr) add(hsa_executable_t{0}, symbol);
}

void KernelRegistry::select(KernelSelector selector) {
  const std::scoped_lock lock(mutex_);
  selector_ = std::move(selector);
  for (const auto& entry : entries_) {
    entry->dispatches.store(0, std::memory_order_relaxed);
    entry->trials.store(0, std::memory_order_relaxed);
    entry->matched = selector_.matches(entry->name, entry->demangled);
  }
}

std::optional<LoadedCode> KernelRegistry::code_of(const KernelEntry& kernel) const {
  const std::scoped_lock lock(mutex_);
  const auto [first, last] = loaded_.equal_range(kernel.executable.handle);
  for (auto code = first; code != last; ++code) {
    const auto& candidate = code->second;
    if (candidate.agent.handle != kernel.agent.handle || !candidate.bytes) continue;
    if (parse_code_object(*candidate.bytes).find_symbol(kernel.symbol) != nullptr) return candidate;
  }
  return std::nullopt;
}

}  // namespace kerncap::intercept
