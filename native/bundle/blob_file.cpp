#include "bundle/blob_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.hpp"
#include "bundle/frame.hpp"

namespace kerncap {
namespace {

void put_u32(std::vector<std::byte>& out, std::uint64_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift));
}

}  // namespace

BlobFile::BlobFile(const std::filesystem::path& directory)
    : directory_(directory), temporary_((directory / ".tmp-XXXXXX").native()) {
  fd_ = UniqueFd(::mkostemp(temporary_.data(), O_CLOEXEC));
  if (!fd_) throw system_error("cannot create a file in " + printable(directory.native()), errno);
}

BlobFile::~BlobFile() {
  if (!named_) ::unlink(temporary_.c_str());
}

std::uint64_t BlobFile::append_frame(std::span<const std::byte> frame, std::uint64_t raw_bytes) {
  const std::uint64_t offset = size_;
  append(frame);
  frames_.push_back({frame.size(), raw_bytes});
  raw_bytes_ += raw_bytes;
  return offset;
}

void BlobFile::append(std::span<const std::byte> bytes) {
  write_all(fd_.get(), bytes, temporary_);
  size_ += bytes.size();
}

void BlobFile::append_seek_table() {
  std::vector<std::byte> table;
  put_u32(table, 0x184D2A5E);
  put_u32(table, 8 * frames_.size() + 9);
  for (const FrameSize& frame : frames_) {
    put_u32(table, frame.stored);
    put_u32(table, frame.raw);
  }
  put_u32(table, frames_.size());
  table.push_back(std::byte{0});
  put_u32(table, 0x8F92EAB1);
  append(table);
}

void BlobFile::close() {
  if (::fchmod(fd_.get(), 0644) != 0) throw system_error("cannot write " + printable(directory_.native()), errno);
  fd_.reset();
}

Blob BlobFile::name(const std::function<void(std::span<const std::byte> frame)>& visit) {
  const UniqueFd fd = open_file(temporary_, O_RDONLY);
  Sha256 hash;
  Frame frame;
  std::uint64_t at = 0;
  const auto read = [&](std::uint64_t bytes) {
    const auto room = frame.room(bytes);
    if (!read_at(fd.get(), at, room, temporary_)) throw Error("host.io", "file shrank while it was read: " + printable(temporary_));
    at += bytes;
    hash.update(room);
    return std::span<const std::byte>(room);
  };
  for (const FrameSize& size : frames_) visit(read(size.stored));
  read(size_ - at);  // the seek table
  return name(hash.finish());
}

Blob BlobFile::name(const Sha256Digest& digest) {
  const Blob blob{digest, size_};
  const std::filesystem::path path = directory_ / to_hex(blob.digest);
  if (::rename(temporary_.c_str(), path.c_str()) != 0) throw system_error("cannot rename to " + printable(path.native()), errno);
  named_ = true;
  return blob;
}

}  // namespace kerncap
