#include "adapter/cm/forwarded_mad.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

namespace verbena::adapter {
namespace {

ForwardedMad Example() {
  ForwardedMad mad{.service = {wire::IpCmProtocol::kUdp, 0x1234},
                   .source = IpAddress::FromIpv4(10, 0, 0, 1),
                   .destination = IpAddress::FromIpv4(10, 0, 0, 2),
                   .source_qp = QpNumber(0xABCDEF),
                   .source_port = 0x5678};
  for (size_t i = 0; i < mad.mad.size(); ++i) mad.mad[i] = static_cast<std::byte>(i);
  return mad;
}

std::vector<std::byte> BytesOf(const ForwardedMad& mad) {
  std::vector<std::byte> bytes(ForwardedMad::kSize, std::byte{0xEE});
  mad.Serialize(bytes);
  return bytes;
}

TEST(ForwardedMad, SurvivesARoundTrip) {
  EXPECT_EQ(ForwardedMad::Parse(BytesOf(Example())), Example());
}

// Pins the format, because processes with other versions of the library read it.
TEST(ForwardedMad, EveryByteHasItsPlace) {
  const std::vector<std::byte> bytes = BytesOf(Example());
  const std::array<uint8_t, 48> header = {
      'V', 'B', 'C', 'M', 1, 17, 0x12, 0x34, 0x56, 0x78, 0,    0,    0,  0xAB, 0xCD, 0xEF,
      0,   0,   0,   0,   0, 0,  0,    0,    0,    0,    0xFF, 0xFF, 10, 0,    0,    1,
      0,   0,   0,   0,   0, 0,  0,    0,    0,    0,    0xFF, 0xFF, 10, 0,    0,    2};
  for (size_t i = 0; i < header.size(); ++i) {
    EXPECT_EQ(std::to_integer<int>(bytes[i]), header[i]) << i;
  }
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(std::to_integer<size_t>(bytes[48 + i]), i);
}

TEST(ForwardedMad, MalformedDatagramsAreRefused) {
  std::vector<std::byte> bytes = BytesOf(Example());
  for (const size_t changed : {0U, 1U, 2U, 3U, 4U, 10U, 11U, 12U}) {
    bytes[changed] ^= std::byte{0x80};
    EXPECT_FALSE(ForwardedMad::Parse(bytes).has_value()) << changed;
    bytes[changed] ^= std::byte{0x80};
  }
  EXPECT_TRUE(ForwardedMad::Parse(bytes).has_value());
  for (const size_t size : {size_t{0}, size_t{47}, size_t{48}, bytes.size() - 1}) {
    EXPECT_FALSE(ForwardedMad::Parse(std::span(bytes).first(size)).has_value()) << size;
  }
  bytes.push_back({});
  EXPECT_FALSE(ForwardedMad::Parse(bytes).has_value());
}

}  // namespace
}  // namespace verbena::adapter
