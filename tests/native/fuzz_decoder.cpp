// libFuzzer target: any bytes as code, decoded, printed and executed on the sandbox wave. Run by `make fuzz-decoder`.
// Byte 0 chooses target and wave size, byte 1 the registers' contents, the rest is code.
#include <cstdlib>

#include "isa_sandbox.hpp"

using namespace kerncap::vgpu::isa;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  if (bytes < 6) return 0;
  const Target target = kTargetList[data[0] % kTargetList.size()];
  const unsigned wave_size = contains(kRdna, target) && (data[0] & 0x80) == 0 ? 32 : 64;
  std::vector<std::uint32_t> words(std::min<std::size_t>((bytes - 2) / 4, 64));
  std::memcpy(words.data(), data + 2, words.size() * 4);
  test::Sandbox sandbox(target, wave_size, data[1]);
  sandbox.scramble();
  sandbox.load(words);
  for (std::size_t at = 0; at < words.size(); ++at) {
    const Decoded decoded = decode(target, wave_size, std::span(words).subspan(at), 0);
    if (decoded.status == Decoded::Status::ok && !test::out_of_range(decoded.inst, wave_size).empty()) std::abort();
    if (print(decoded, target, wave_size).empty()) std::abort();
    if (!sandbox.step(at).empty()) std::abort();
  }
  return 0;
}
