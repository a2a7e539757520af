#include "intercept/trials.hpp"

namespace kerncap::intercept {

void Trials::begin(const std::string& kernel) {
  const std::scoped_lock lock(mutex_);
  ++kernels_[kernel];
  any_.store(static_cast<std::uint32_t>(kernels_.size()), std::memory_order_release);
}

void Trials::end(const std::string& kernel) {
  const std::scoped_lock lock(mutex_);
  const auto found = kernels_.find(kernel);
  if (found != kernels_.end() && --found->second == 0) kernels_.erase(found);
  any_.store(static_cast<std::uint32_t>(kernels_.size()), std::memory_order_release);
}

bool Trials::is_tried(const std::string& kernel) {
  if (any_.load(std::memory_order_acquire) == 0) return false;
  const std::scoped_lock lock(mutex_);
  return kernels_.contains(kernel);
}

Trials& trials() noexcept {
  static Trials* const all = new Trials;  // never destroyed: the application's threads may outlive its static objects
  return *all;
}

}  // namespace kerncap::intercept
