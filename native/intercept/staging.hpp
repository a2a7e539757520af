// How memory is read: device memory by the runtime's copy engine into pinned buffers, host memory by the kernel (a page that is
// gone is an error, not a crash). Never through a CPU pointer into device memory.
// In: a region and a range. Out: bytes in a buffer. Called by snapshot.cpp.
#pragma once

#include <hsa/hsa.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "bundle/chunk_writer.hpp"
#include "intercept/memory.hpp"
#include "intercept/signals.hpp"

namespace kerncap::intercept {

class StagingBuffer {
 public:
  StagingBuffer(std::byte* pinned, std::byte* mapped, int fd, std::uint64_t fd_offset)
      : done_(0), pinned_(pinned), mapped_(mapped), fd_(fd), fd_offset_(fd_offset) {}

  // Starts reading; the range must not exceed the buffer.
  void start(const Allocation& region, std::uint64_t at, std::size_t size, hsa_agent_t reader, hsa_agent_t host);
  // Waits for it. Absent bytes come with the reason.
  std::span<const std::byte> finish(std::string& failure);
  // A copy that was started and not finished has ended, which is waited for. False: it has not.
  bool settle() const;
  // For bytes that come from elsewhere.
  std::span<std::byte> room(std::size_t size) const { return {pinned_, size}; }
  // `bytes`, which are this buffer's, with the last ones of another buffer before them: at most as many as a buffer has.
  std::span<const std::byte> join(std::span<const std::byte> before, std::span<const std::byte> bytes);

  // A chunk was submitted whose bytes lie here.
  void holds(ChunkTicket ticket) { tickets_.push_back(std::move(ticket)); }
  // Waits until no chunk's bytes are needed here any more. Throws what went wrong with one.
  void release();

 private:
  void start_device(std::uint64_t va, hsa_agent_t reader, hsa_agent_t host);
  void start_host(std::uint64_t host_ptr);

  Signal done_;
  std::byte* pinned_;
  std::byte* mapped_;
  int fd_;
  std::uint64_t fd_offset_;
  std::size_t size_ = 0;
  bool device_ = false;
  bool in_flight_ = false;
  std::string failure_;
  std::vector<ChunkTicket> tickets_;
};

class Staging {
 public:
  Staging(const Topology& topology, std::size_t buffer_bytes, std::size_t count);
  ~Staging();
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  // Buffers in turn, released. One keeps its bytes until all others have had theirs.
  StagingBuffer& next();
  std::size_t buffer_bytes() const { return buffer_bytes_; }

 private:
  std::size_t buffer_bytes_;
  std::size_t total_bytes_;
  std::byte* pinned_ = nullptr;
  std::byte* mapped_ = nullptr;
  UniqueFd file_;
  std::vector<std::unique_ptr<StagingBuffer>> buffers_;
  std::size_t turn_ = 0;
};

// Small pieces of host memory, one after the other.
class HostReader {
 public:
  HostReader();
  ~HostReader();
  HostReader(const HostReader&) = delete;
  HostReader& operator=(const HostReader&) = delete;
  // At most a page; nothing when it is not mapped. Valid until the next call.
  std::optional<std::span<const std::byte>> read(std::uint64_t host_ptr, std::size_t size);

 private:
  UniqueFd file_;
  const std::byte* mapped_ = nullptr;
};

// `size` bytes of host memory, or nothing when it is not mapped.
std::optional<std::vector<std::byte>> read_host(std::uint64_t host_ptr, std::size_t size);

}  // namespace kerncap::intercept
