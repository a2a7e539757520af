#include "base/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "base/error.hpp"

namespace kerncap {

UniqueFd& UniqueFd::operator=(UniqueFd&& other) noexcept {
  reset(other.release());
  return *this;
}

void UniqueFd::reset(int fd) noexcept {
  if (fd_ >= 0 && fd_ != fd) ::close(fd_);
  fd_ = fd;
}

UniqueFd open_file(const std::filesystem::path& path, int flags, unsigned mode) {
  for (;;) {
    UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC, static_cast<mode_t>(mode)));
    if (fd) return fd;
    if (errno != EINTR) throw system_error("cannot open " + printable(path.native()), errno);
  }
}

UniqueFd open_regular(const std::filesystem::path& path) {
  // O_NONBLOCK so that opening a FIFO returns; it means nothing for a regular file.
  UniqueFd fd = open_file(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) throw system_error("cannot stat " + printable(path.native()), errno);
  if (!S_ISREG(status.st_mode)) throw Error("host.io", "not a regular file: " + printable(path.native()));
  return fd;
}

std::uint64_t file_size(int fd, const std::filesystem::path& path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw system_error("cannot stat " + printable(path.native()), errno);
  return static_cast<std::uint64_t>(status.st_size);
}

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      throw system_error("cannot write " + printable(path.native()), errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

bool read_at(int fd, std::uint64_t offset, std::span<std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n < 0) {
      if (errno == EINTR) continue;
      throw system_error("cannot read " + printable(path.native()), errno);
    }
    if (n == 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += static_cast<std::uint64_t>(n);
  }
  return true;
}

std::vector<std::byte> read_file(const std::filesystem::path& path, std::uint64_t limit) {
  const UniqueFd fd = open_regular(path);
  const std::uint64_t size = file_size(fd.get(), path);
  if (size > limit) {
    throw Error("host.io", printable(path.native()) + " has " + std::to_string(size) + " bytes, more than the " +
                               std::to_string(limit) + " that can be right");
  }
  std::vector<std::byte> bytes(size);
  if (!read_at(fd.get(), 0, bytes, path)) throw Error("host.io", "file shrank while it was read: " + printable(path.native()));
  return bytes;
}

void write_file_atomic(const std::filesystem::path& path, std::span<const std::byte> bytes, Durable durable) {
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  std::string temporary = (parent / (".tmp-" + path.filename().native() + "-XXXXXX")).native();
  UniqueFd fd(::mkostemp(temporary.data(), O_CLOEXEC));
  if (!fd) throw system_error("cannot create a file in " + printable(parent.native()), errno);
  try {
    write_all(fd.get(), bytes, temporary);
    if (::fchmod(fd.get(), 0644) != 0 || (durable == Durable::yes && ::fsync(fd.get()) != 0)) {
      throw system_error("cannot write " + printable(path.native()), errno);
    }
    if (::rename(temporary.c_str(), path.c_str()) != 0) {
      throw system_error("cannot rename to " + printable(path.native()), errno);
    }
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  if (durable == Durable::yes) sync_directory(parent);
}

void write_file_atomic(const std::filesystem::path& path, std::string_view text, Durable durable) {
  write_file_atomic(path, std::as_bytes(std::span(text)), durable);
}

void sync_directory(const std::filesystem::path& directory) {
  const UniqueFd fd = open_file(directory, O_RDONLY | O_DIRECTORY);
  // Some file systems cannot sync a directory and say EINVAL: nothing more can be done there.
  if (::fsync(fd.get()) != 0 && errno != EINVAL) throw system_error("cannot sync " + printable(directory.native()), errno);
}

}  // namespace kerncap
