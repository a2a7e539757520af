// Kernels that an autotuner is trying out: their dispatches are not what the application computes with.
// In: names, from Triton's shim in the application (kerncap/triton/shim), before the first trial of each and after the last one
// has ended. Out: whether a kernel is being tried, for the packet callback. Valid before the runtime loads the tool.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace kerncap::intercept {

class Trials {
 public:
  // Once for each end(); from any thread.
  void begin(const std::string& kernel);
  void end(const std::string& kernel);
  bool is_tried(const std::string& kernel);

 private:
  std::atomic<std::uint32_t> any_{0};
  std::mutex mutex_;
  std::map<std::string, std::uint32_t> kernels_;
};

Trials& trials() noexcept;

}  // namespace kerncap::intercept
