// libFuzzer target: what kerncap-replay and the tool library read of a stranger's bundle. Byte 0 chooses the reader, the rest is its
// input. Each comes back or throws an Error with a code, and nothing else. Run by `make fuzz-readers`.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "bundle/chunk_reader.hpp"
#include "bundle/code_object.hpp"
#include "bundle/index.hpp"
#include "replay/capture_info.hpp"
#include "replay/request.hpp"

using namespace kerncap;

namespace {

constexpr std::size_t kMostRawBytes = 1u << 20;

Json parsed(std::string_view text) { return parse_json(text, "input", "bundle.malformed"); }

void read_request(std::string_view text) {
  replay::Request request = replay::request_from_json(parsed(text));
  Index index;
  index.regions.resize(2);
  for (Region& region : index.regions) region.size = 4096;
  replay::check_ranges(request, index);
}

// The input is a blob, a frame of which is said to hold some raw bytes: the first two bytes say how many.
void read_frame(std::string_view bytes) {
  if (bytes.size() < 4) return;
  Index index;
  Chunk chunk;
  chunk.kind = Chunk::Kind::zstd;
  chunk.length = 1 + static_cast<unsigned char>(bytes[0]) + 256u * static_cast<unsigned char>(bytes[1]);
  chunk.length = std::min<std::uint64_t>(chunk.length, kMostRawBytes);
  bytes.remove_prefix(2);
  chunk.stored = bytes.size();
  index.blobs.push_back({{}, bytes.size()});
  index.regions.resize(1);
  index.regions[0].size = chunk.length;
  index.regions[0].pre.push_back(chunk);
  const int fd = memfd_create("blob", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  std::vector<std::byte> out(chunk.length);
  try {
    const ChunkReader reader(index, {{digest_text(index.blobs[0].digest), {path, 0, bytes.size()}}});
    reader.read(chunk, out, ChunkReader::Check::checksum);
  } catch (const Error&) {
    close(fd);
    throw;
  }
  close(fd);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  try {
    switch (data[0] % 5) {
      case 0:
        to_json(index_from_json(parsed(text)));
        break;
      case 1:
        replay::capture_from_json(parsed(text));
        break;
      case 2:
        read_request(text);
        break;
      case 3:
        parse_code_object(std::as_bytes(std::span(text)));
        break;
      default:
        read_frame(text);
    }
  } catch (const Error& error) {
    if (std::string_view(error.code()).empty()) std::abort();
  }
  return 0;
}
