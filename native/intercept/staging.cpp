#include "intercept/staging.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "intercept/hsa_api.hpp"

namespace kerncap::intercept {
namespace {

constexpr auto copy_limit = std::chrono::seconds(60);
constexpr auto settle_limit = std::chrono::seconds(5);  // for a copy whose bytes nobody wants any more
constexpr std::size_t reader_bytes = 4096;

bool never() { return false; }

// write(2) from an address that is not mapped fails with EFAULT where a load would end the process.
bool write_from(int fd, std::uint64_t offset, std::uint64_t host_ptr, std::size_t size) {
  while (size > 0) {
    const auto done = ::pwrite(fd, reinterpret_cast<const void*>(host_ptr), size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done < 0 && errno == EFAULT) return false;
    if (done <= 0) throw system_error("cannot stage host memory", done < 0 ? errno : EIO);
    const auto count = static_cast<std::size_t>(done);
    offset += count;
    host_ptr += count;
    size -= count;
  }
  return true;
}

UniqueFd memory_file(std::size_t bytes) {
  UniqueFd fd(::memfd_create("kerncap-staging", MFD_CLOEXEC));
  if (!fd) throw system_error("memfd_create", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) throw system_error("ftruncate", errno);
  return fd;
}

}  // namespace

void StagingBuffer::start(const Allocation& region, std::uint64_t at, std::size_t size, hsa_agent_t reader, hsa_agent_t host) {
  size_ = size;
  failure_.clear();
  device_ = region.segment == Segment::device || region.host_ptr == 0;
  if (device_) {
    start_device(region.va + at, reader, host);
  } else {
    start_host(region.host_ptr + at);
  }
}

void StagingBuffer::start_device(std::uint64_t va, hsa_agent_t reader, hsa_agent_t host) {
  done_.set(1);
  const auto status = hsa().amd.hsa_amd_memory_async_copy_fn(pinned_, host, reinterpret_cast<const void*>(va), reader, size_, 0,
                                                             nullptr, done_.handle());
  in_flight_ = status == HSA_STATUS_SUCCESS;
  if (!in_flight_) failure_ = "copy refused: " + status_text(status);
}

void StagingBuffer::start_host(std::uint64_t host_ptr) {
  if (!write_from(fd_, fd_offset_, host_ptr, size_)) failure_ = "host memory is no longer mapped";
}

std::span<const std::byte> StagingBuffer::finish(std::string& failure) {
  if (device_ && failure_.empty()) {
    if (wait_done(done_, Clock::now() + copy_limit, never) != Waited::Done) {
      // The buffer stays the copy engine's: nothing more may be read through it.
      throw Error("capture.copy-timeout", "a copy from device memory did not end within 60 s");
    }
    in_flight_ = false;
    if (done_.value() < 0) failure_ = "copy failed";
  }
  failure = failure_;
  return {device_ ? pinned_ : mapped_, size_};
}

std::span<const std::byte> StagingBuffer::join(std::span<const std::byte> before, std::span<const std::byte> bytes) {
  if (before.empty()) return bytes;
  if (bytes.data() == pinned_) {
    std::memcpy(pinned_ - before.size(), before.data(), before.size());
  } else if (!write_from(fd_, fd_offset_ - before.size(), reinterpret_cast<std::uint64_t>(before.data()), before.size())) {
    throw Error("internal", "staging: a buffer is gone");
  }
  return {bytes.data() - before.size(), before.size() + bytes.size()};
}

void StagingBuffer::release() {
  for (const ChunkTicket& ticket : std::exchange(tickets_, {})) ticket.wait();
}

// In front of each buffer is room for what the one before it left.
Staging::Staging(const Topology& topology, std::size_t buffer_bytes, std::size_t count)
    : buffer_bytes_(buffer_bytes), total_bytes_(2 * buffer_bytes * count), file_(memory_file(total_bytes_)) {
  void* mapped = ::mmap(nullptr, total_bytes_, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED) throw system_error("mmap", errno);
  mapped_ = static_cast<std::byte*>(mapped);
  const auto pool = topology.staging_pool();
  void* pinned = nullptr;
  check(hsa().amd.hsa_amd_memory_pool_allocate_fn(pool, total_bytes_, 0, &pinned), "staging: hsa_amd_memory_pool_allocate");
  pinned_ = static_cast<std::byte*>(pinned);
  const auto& gpus = topology.gpus();
  check(hsa().amd.hsa_amd_agents_allow_access_fn(static_cast<std::uint32_t>(gpus.size()), gpus.data(), nullptr, pinned),
        "staging: hsa_amd_agents_allow_access");
  for (std::size_t i = 0; i < count; ++i) {
    const auto offset = (2 * i + 1) * buffer_bytes;
    buffers_.push_back(std::make_unique<StagingBuffer>(pinned_ + offset, mapped_ + offset, file_.get(), offset));
  }
}

bool StagingBuffer::settle() const { return !in_flight_ || wait_done(done_, Clock::now() + settle_limit, never) == Waited::Done; }

Staging::~Staging() {
  // After an error copies may be on their way: memory that an engine still writes is not given back.
  const bool settled = std::ranges::all_of(buffers_, [](const auto& buffer) { return buffer->settle(); });
  if (pinned_ != nullptr && settled) hsa().amd.hsa_amd_memory_pool_free_fn(pinned_);
  if (mapped_ != nullptr) ::munmap(mapped_, total_bytes_);
}

StagingBuffer& Staging::next() {
  StagingBuffer& buffer = *buffers_[turn_];
  turn_ = (turn_ + 1) % buffers_.size();
  buffer.release();
  return buffer;
}

HostReader::HostReader() : file_(memory_file(reader_bytes)) {
  void* mapped = ::mmap(nullptr, reader_bytes, PROT_READ, MAP_SHARED, file_.get(), 0);
  if (mapped == MAP_FAILED) throw system_error("mmap", errno);
  mapped_ = static_cast<const std::byte*>(mapped);
}

HostReader::~HostReader() { ::munmap(const_cast<std::byte*>(mapped_), reader_bytes); }

std::optional<std::span<const std::byte>> HostReader::read(std::uint64_t host_ptr, std::size_t size) {
  if (size > reader_bytes || !write_from(file_.get(), 0, host_ptr, size)) return std::nullopt;
  return std::span(mapped_, size);
}

std::optional<std::vector<std::byte>> read_host(std::uint64_t host_ptr, std::size_t size) {
  const auto file = memory_file(size);
  if (!write_from(file.get(), 0, host_ptr, size)) return std::nullopt;
  std::vector<std::byte> bytes(size);
  if (!read_at(file.get(), 0, bytes, "staging")) throw Error("capture.copy", "staging file is short");
  return bytes;
}

}  // namespace kerncap::intercept
