// The byte shuffle against its definition, and which width the encoder takes for which numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "bundle/chunk_codec.hpp"
#include "bundle/shuffle.hpp"

namespace kerncap {
namespace {

using Bytes = std::vector<std::byte>;

Bytes counting(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + i / 256);
  return bytes;
}

TEST(Shuffle, IsWhatTheSpecificationSays) {
  for (const unsigned width : kShuffleWidths) {
    for (const std::size_t size : {0u, 1u, 7u, 8u, 15u, 16u, 31u, 33u, 64u, 127u, 128u, 129u, 255u, 1023u, 4096u, 65537u}) {
      const Bytes raw = counting(size);
      const std::size_t words = size / width;
      Bytes expected = raw;
      for (std::size_t i = 0; i < words * width; ++i) expected[i % width * words + i / width] = raw[i];
      Bytes shuffled(size), back(size);
      shuffle_bytes(raw, width, shuffled);
      EXPECT_EQ(shuffled, expected) << width << " " << size;
      unshuffle_bytes(shuffled, width, back);
      EXPECT_EQ(back, raw) << width << " " << size;
    }
  }
}

TEST(Shuffle, KnowsItsWidths) {
  for (const unsigned width : {1u, 2u, 4u, 8u}) EXPECT_TRUE(is_shuffle_width(width));
  for (const unsigned long long width : {0ull, 3ull, 16ull, (1ull << 32) + 2}) EXPECT_FALSE(is_shuffle_width(width));
}

template <typename T>
Bytes bytes_of(std::size_t count, T (*value)(double noise, std::size_t i)) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> noise;
  Bytes bytes(count * sizeof(T));
  for (std::size_t i = 0; i < count; ++i) {
    const T v = value(noise(generator), i);
    std::memcpy(bytes.data() + i * sizeof(T), &v, sizeof v);
  }
  return bytes;
}

// A width that is not 1 must have made the frame smaller, and the chunk comes back.
unsigned chosen(const Bytes& raw, double least_ratio) {
  Frame frame;
  FrameEncoder encoder(1);
  const unsigned width = encoder.encode(raw, frame);
  EXPECT_GE(static_cast<double>(raw.size()) / static_cast<double>(frame.size()), least_ratio);
  Bytes back(raw.size());
  FrameDecoder().decode(frame.bytes(), width, back);
  EXPECT_EQ(back, raw);
  return width;
}

TEST(FrameEncoder, TakesTheWidthOfTheNumbers) {
  for (const std::size_t count : {std::size_t{1000}, std::size_t{1} << 18}) {
    const double some = count > 1000 ? 1.0 : 0.7;  // short chunks do not compress as well
    EXPECT_EQ(chosen(bytes_of<std::uint16_t>(count, [](double n, std::size_t) {
                const auto f = static_cast<float>(n * 0.02);  // bf16: the upper half of a float
                std::uint32_t bits;
                std::memcpy(&bits, &f, sizeof bits);
                return static_cast<std::uint16_t>(bits >> 16);
              }), 1.4 * some), 2u);
    EXPECT_EQ(chosen(bytes_of<float>(count, [](double n, std::size_t i) {
                return std::sin(static_cast<float>(i) * 1e-3f) + 1e-4f * static_cast<float>(n);
              }), 1.2 * some), 4u);
    EXPECT_EQ(chosen(bytes_of<double>(count, [](double, std::size_t i) { return std::sin(static_cast<double>(i) * 1e-4); }), 1.15 * some), 8u);
    EXPECT_GE(chosen(bytes_of<std::uint32_t>(count, [](double n, std::size_t i) {
                return static_cast<std::uint32_t>(i * 16 + static_cast<std::uint32_t>(std::abs(n) * 8));
              }), 3.0 * some), 4u);
  }
}

TEST(FrameEncoder, LeavesBytesAndNoiseAlone) {
  EXPECT_EQ(chosen(bytes_of<std::uint8_t>(1u << 20, [](double n, std::size_t) { return static_cast<std::uint8_t>(std::abs(n) * 9); }), 1.2), 1u);
  EXPECT_EQ(chosen(bytes_of<std::uint64_t>(1u << 17, [](double n, std::size_t i) {
              return static_cast<std::uint64_t>(n * 1e18) * 0x9e3779b97f4a7c15u + i * 0xd1342543de82ef95u;
            }), 0.99), 1u);
}

}  // namespace
}  // namespace kerncap
