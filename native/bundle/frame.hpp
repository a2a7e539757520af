// The bytes of a stored chunk while it is made. Keeps its memory from one chunk to the next, and does not clear it first,
// as a vector would: a frame is some MiB, and there are many.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace kerncap {

class Frame {
 public:
  Frame() = default;
  Frame(Frame&& other) noexcept { *this = std::move(other); }
  Frame& operator=(Frame&& other) noexcept {
    data_ = std::move(other.data_);
    capacity_ = std::exchange(other.capacity_, 0);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }

  // Room for `bytes`, uninitialised; what was in it is lost.
  std::span<std::byte> room(std::size_t bytes) {
    if (bytes > capacity_) {
      data_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
      capacity_ = bytes;
    }
    size_ = 0;
    return {data_.get(), bytes};
  }
  // That many of them are the frame.
  void set_size(std::size_t bytes) noexcept { size_ = bytes; }
  void clear() noexcept { size_ = 0; }

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  std::span<const std::byte> bytes() const noexcept { return {data_.get(), size_}; }

 private:
  std::unique_ptr<std::byte[]> data_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
};

}  // namespace kerncap
