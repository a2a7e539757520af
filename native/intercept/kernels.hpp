// Which kernel a kernel object is. In: code objects as they are read and loaded, executables as they are frozen. Out: a table
// from kernel_object to its entry that the packet callback probes without a lock. Called by hooks_code.cpp (writes),
// queues.cpp (hot path) and capture_worker.cpp (details of the target).
#pragma once

#include <hsa/hsa.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "intercept/selection.hpp"

namespace kerncap::intercept {

using CodeBytes = std::shared_ptr<const std::vector<std::byte>>;

// One code object in one executable.
struct LoadedCode {
  hsa_executable_t executable{};
  hsa_agent_t agent{};
  hsa_loaded_code_object_t loaded{};
  hsa_code_object_reader_t reader{};
  CodeBytes bytes;  // dropped when none of its kernels is meant
};

struct KernelEntry {
  std::uint64_t kernel_object = 0;
  std::string symbol;     // as in the executable, "<mangled>.kd"
  std::string name;       // mangled
  std::string demangled;
  hsa_executable_t executable{};
  hsa_agent_t agent{};
  std::uint32_t kernarg_size_attribute = 0;
  std::atomic<bool> matched{false};
  std::atomic<std::uint64_t> dispatches{0};
  std::atomic<std::uint64_t> trials{0};  // of these an autotuner's, which are not meant
};

// Insert under a lock, find without one. Grows by publishing a bigger table; old tables are kept (a reader may hold one).
class KernelTable {
 public:
  KernelTable();
  KernelEntry* find(std::uint64_t kernel_object) const noexcept;
  void put(KernelEntry* entry);

 private:
  struct Slots {
    explicit Slots(std::size_t count) : entries(count) {}
    std::vector<std::atomic<KernelEntry*>> entries;
  };
  static void place(Slots& slots, KernelEntry* entry) noexcept;
  static std::size_t home(std::uint64_t kernel_object, std::size_t count) noexcept;

  std::atomic<Slots*> current_{nullptr};
  std::vector<std::unique_ptr<Slots>> generations_;
  std::size_t used_ = 0;
};

class KernelRegistry {
 public:
  // `keep_code`: of every code object, since any kernel may be asked for later.
  KernelRegistry(KernelSelector selector, bool keep_code) : selector_(std::move(selector)), keep_code_(keep_code) {}

  // From now on these are meant, of what is loaded already and of what will be, and dispatches are counted.
  void select(KernelSelector selector);

  void reader_created(hsa_code_object_reader_t reader, CodeBytes bytes);
  void reader_destroyed(hsa_code_object_reader_t reader);
  void code_loaded(hsa_executable_t executable, hsa_agent_t agent, hsa_code_object_reader_t reader,
                   hsa_loaded_code_object_t loaded);
  // Registers every kernel of the executable and decides whether it is meant.
  void executable_frozen(hsa_executable_t executable);
  void executable_destroyed(hsa_executable_t executable);
  // A symbol asked for outside any frozen executable that the tool saw (a deprecated load path): named, without a code object.
  void symbol_resolved(hsa_executable_symbol_t symbol, std::uint64_t kernel_object);

  KernelEntry* find(std::uint64_t kernel_object) const noexcept { return table_.find(kernel_object); }
  // The code object that holds this kernel; absent when it was loaded where the tool could not see its bytes.
  std::optional<LoadedCode> code_of(const KernelEntry& kernel) const;

  template <class Visit>
  void for_each(Visit visit) const {
    const std::scoped_lock lock(mutex_);
    for (const auto& entry : entries_) visit(*entry);
  }

 private:
  // True when the symbol is a kernel that is meant.
  bool add(hsa_executable_t executable, hsa_executable_symbol_t symbol);

  KernelSelector selector_;
  const bool keep_code_;
  mutable std::mutex mutex_;
  KernelTable table_;
  std::vector<std::unique_ptr<KernelEntry>> entries_;  // never removed: the packet callback may hold one
  std::map<std::uint64_t, CodeBytes> readers_;  // null: what it read was loaded, and none of it is meant
  std::multimap<std::uint64_t, LoadedCode> loaded_;
};

}  // namespace kerncap::intercept
