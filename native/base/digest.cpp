#include "base/digest.hpp"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <cstring>

#include "base/error.hpp"

namespace kerncap {
namespace {

constexpr std::string_view kPrefix = "sha256:";

int nibble(char c, bool upper_too) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (upper_too && c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// A capture may end while the application is already in exit(): libcrypto's own atexit handler would take SHA-256 away then.
void keep_until_the_end() noexcept {
  [[maybe_unused]] static const int once = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
}

void start(EVP_MD_CTX* context) {
  if (EVP_DigestInit_ex(context, EVP_sha256(), nullptr) != 1) {
    throw Error("host.crypto", "libcrypto has no SHA-256");
  }
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

Sha256::Sha256() {
  keep_until_the_end();
  context_.reset(EVP_MD_CTX_new());
  if (!context_) throw std::bad_alloc();
  start(context_.get());
}

void Sha256::update(std::span<const std::byte> bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1) {
    throw Error("host.crypto", "SHA-256 update failed");
  }
}

Sha256Digest Sha256::finish() {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned size = 0;
  if (EVP_DigestFinal_ex(context_.get(), out.data(), &size) != 1 || size != 32) {
    throw Error("host.crypto", "SHA-256 failed");
  }
  start(context_.get());
  Sha256Digest digest;
  std::memcpy(digest.data(), out.data(), digest.size());
  return digest;
}

Sha256Digest sha256(std::span<const std::byte> bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.finish();
}

std::string to_hex(std::span<const std::byte> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const std::byte byte : bytes) {
    out += digits[std::to_integer<unsigned>(byte) >> 4];
    out += digits[std::to_integer<unsigned>(byte) & 15];
  }
  return out;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> out(text.size() / 2);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = nibble(text[2 * i], true);
    const int low = nibble(text[2 * i + 1], true);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<std::byte>(high * 16 + low);
  }
  return out;
}

std::optional<Sha256Digest> sha256_from_hex(std::string_view text) noexcept {
  if (text.size() != 64) return std::nullopt;
  Sha256Digest out;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int high = nibble(text[2 * i], false);
    const int low = nibble(text[2 * i + 1], false);
    if (high < 0 || low < 0) return std::nullopt;
    out[i] = static_cast<std::byte>(high * 16 + low);
  }
  return out;
}

std::string digest_text(const Sha256Digest& digest) { return std::string(kPrefix) + to_hex(digest); }

std::optional<Sha256Digest> digest_from_text(std::string_view text) noexcept {
  if (!text.starts_with(kPrefix)) return std::nullopt;
  return sha256_from_hex(text.substr(kPrefix.size()));
}

}  // namespace kerncap
