#include "bundle/blob_file.hpp"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/error.hpp"

namespace kerncap {
namespace {

constexpr std::uint64_t write_out_bytes = 4u << 20;
constexpr std::uint64_t read_back_bytes = 1u << 20;

void put_u32(std::vector<std::byte>& out, std::uint64_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(static_cast<std::byte>(value >> shift));
}

Sha256Digest digest_of(const std::string& path, std::uint64_t size) {
  const UniqueFd fd = open_file(path, O_RDONLY);
  Sha256 hash;
  std::vector<std::byte> bytes(std::min<std::uint64_t>(size, read_back_bytes));
  for (std::uint64_t at = 0; at < size; at += bytes.size()) {
    bytes.resize(std::min<std::uint64_t>(size - at, read_back_bytes));
    if (!read_at(fd.get(), at, bytes, path)) throw Error("host.io", "file shrank while it was read: " + printable(path));
    hash.update(bytes);
  }
  return hash.finish();
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
  put_u32(seek_table_, frame.size());
  put_u32(seek_table_, raw_bytes);
  ++frames_;
  raw_bytes_ += raw_bytes;
  if (size_ - written_out_ >= write_out_bytes) start_writing_out();
  return offset;
}

void BlobFile::append(std::span<const std::byte> bytes) {
  write_all(fd_.get(), bytes, temporary_);
  size_ += bytes.size();
}

// So that whoever syncs the file finds little left to wait for. Only a hint: file systems that know nothing of it write when
// they are told to.
void BlobFile::start_writing_out() {
  ::sync_file_range(fd_.get(), static_cast<off64_t>(written_out_), static_cast<off64_t>(size_ - written_out_), SYNC_FILE_RANGE_WRITE);
  written_out_ = size_;
}

void BlobFile::append_seek_table() {
  std::vector<std::byte> table;
  put_u32(table, 0x184D2A5E);
  put_u32(table, seek_table_.size() + 9);
  table.insert(table.end(), seek_table_.begin(), seek_table_.end());
  put_u32(table, frames_);
  table.push_back(std::byte{0});
  put_u32(table, 0x8F92EAB1);
  append(table);
}

void BlobFile::close() {
  if (::fchmod(fd_.get(), 0644) != 0) throw system_error("cannot write " + printable(directory_.native()), errno);
  start_writing_out();
  fd_.reset();
  seek_table_ = {};
}

Blob BlobFile::name() { return name(digest_of(temporary_, size_)); }

Blob BlobFile::name(const Sha256Digest& digest) {
  const Blob blob{digest, size_};
  const std::filesystem::path path = directory_ / to_hex(blob.digest);
  if (::rename(temporary_.c_str(), path.c_str()) != 0) throw system_error("cannot rename to " + printable(path.native()), errno);
  named_ = true;
  return blob;
}

}  // namespace kerncap
