// Files: a descriptor that closes itself, whole reads with a limit, whole writes that appear at once or not at all.
// In: paths. Out: bytes; kerncap::Error on every failure. Called by all native parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace kerncap {

class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  explicit UniqueFd(int fd) noexcept : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  int get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }
  int release() noexcept { return std::exchange(fd_, -1); }
  void reset(int fd = -1) noexcept;

 private:
  int fd_ = -1;
};

// open(2) with O_CLOEXEC; throws.
UniqueFd open_file(const std::filesystem::path& path, int flags, unsigned mode = 0644);
// A regular file for reading; throws if it is anything else (a FIFO would block, a device never end).
UniqueFd open_regular(const std::filesystem::path& path);

std::uint64_t file_size(int fd, const std::filesystem::path& path);
// All of `bytes`; throws. `path` is for the message.
void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);
// Exactly bytes.size() bytes from `offset`; false if the file ends before.
bool read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes, const std::filesystem::path& path);

// A whole regular file of at most `limit` bytes.
std::vector<std::byte> read_file(const std::filesystem::path& path, std::uint64_t limit);
// `no`: whole whenever it is seen, and lost with the machine.
enum class Durable { yes, no };
// Temporary file beside `path`, fsync, rename, fsync of the directory. On failure nothing stays behind.
void write_file_atomic(const std::filesystem::path& path, std::span<const std::byte> bytes, Durable durable = Durable::yes);
void write_file_atomic(const std::filesystem::path& path, std::string_view text, Durable durable = Durable::yes);
void sync_directory(const std::filesystem::path& directory);

}  // namespace kerncap
