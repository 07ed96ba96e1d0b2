#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "base/random.h"

namespace verbena::wire {

// Parses hexadecimal text; skips blanks and line ends.
inline std::vector<std::byte> FromHex(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != ' ' && c != '\n') digits += c;
  }
  CHECK(digits.size() % 2 == 0);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoul(digits.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

inline std::vector<std::byte> RandomBytes(Random& random, std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random.Below(256));
  return bytes;
}

// Serializes over bytes of all ones, which reveals fields and reserved bits that are not written.
template <class Header>
std::vector<std::byte> Written(const Header& header) {
  std::vector<std::byte> bytes(Header::kSize, std::byte{0xFF});
  header.Serialize(bytes);
  return bytes;
}

// Checks Serialize and Parse; that no shorter prefix parses; and that bytes after the header do not
// matter.
template <class Header>
void ExpectBytes(const Header& header, std::string_view hex) {
  std::vector<std::byte> bytes = FromHex(hex);
  ASSERT_EQ(bytes.size(), Header::kSize);
  EXPECT_EQ(Written(header), bytes);
  for (std::size_t size = 0; size < Header::kSize; ++size) {
    EXPECT_EQ(Header::Parse(std::span(bytes).first(size)), std::nullopt) << size;
  }
  EXPECT_EQ(Header::Parse(bytes), header);
  bytes.resize(Header::kSize + 5, std::byte{0xFF});
  EXPECT_EQ(Header::Parse(bytes), header);
}

// `make` draws a random header.
template <class Make>
void ExpectRoundTrips(Make make) {
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const auto header = make(random);
    EXPECT_EQ(decltype(header)::Parse(Written(header)), header);
  }
}

}  // namespace verbena::wire
