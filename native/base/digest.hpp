// SHA-256 and hexadecimal. In: bytes. Out: digests. Called by the chunk writer and reader, and wherever a digest is checked.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct evp_md_ctx_st;  // OpenSSL's EVP_MD_CTX

namespace kerncap {

using Sha256Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  Sha256();
  void update(std::span<const std::byte> bytes);
  // The digest of everything so far; the object then starts again from nothing.
  Sha256Digest finish();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

Sha256Digest sha256(std::span<const std::byte> bytes);

// Lower case.
std::string to_hex(std::span<const std::byte> bytes);
// Nothing unless `text` is an even number of hexadecimal digits.
std::optional<std::vector<std::byte>> from_hex(std::string_view text);
// Nothing unless `text` is 64 lower-case hexadecimal digits.
std::optional<Sha256Digest> sha256_from_hex(std::string_view text) noexcept;

// "sha256:<hex>"
std::string digest_text(const Sha256Digest& digest);
// Nothing unless `text` is "sha256:" and 64 lower-case hexadecimal digits: safe as a file name afterwards.
std::optional<Sha256Digest> digest_from_text(std::string_view text) noexcept;

}  // namespace kerncap
