#include "base/byte_reader.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

namespace verbena {
namespace {

std::array<std::byte, 16> CountingBytes() {
  std::array<std::byte, 16> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(0xF0 + i);
  return bytes;
}

TEST(ByteReaderTest, RefusesTooFewBytes) {
  const auto bytes = CountingBytes();
  EXPECT_FALSE(ByteReader<8>::From({}).has_value());
  EXPECT_FALSE(ByteReader<8>::From(std::span(bytes).first(7)).has_value());
  EXPECT_TRUE(ByteReader<8>::From(std::span(bytes).first(8)).has_value());
  EXPECT_TRUE(ByteReader<0>::From({}).has_value());
}

TEST(ByteReaderTest, LoadsBigEndian) {
  const auto bytes = CountingBytes();
  const auto reader = ByteReader<16>::From(bytes);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->Load8<0>(), 0xF0u);
  EXPECT_EQ(reader->Load16<0>(), 0xF0F1u);
  EXPECT_EQ(reader->Load24<0>(), 0xF0F1F2u);
  EXPECT_EQ(reader->Load32<0>(), 0xF0F1F2F3u);
  EXPECT_EQ(reader->Load48<0>(), 0xF0F1F2F3F4F5u);
  EXPECT_EQ(reader->Load64<0>(), 0xF0F1F2F3F4F5F6F7u);
}

TEST(ByteReaderTest, LoadsFromOddOffsets) {
  const auto bytes = CountingBytes();
  const auto reader = ByteReader<16>::From(bytes);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->Load16<3>(), 0xF3F4u);
  EXPECT_EQ(reader->Load24<5>(), 0xF5F6F7u);
  EXPECT_EQ(reader->Load32<7>(), 0xF7F8F9FAu);
  EXPECT_EQ(reader->Load48<9>(), 0xF9FAFBFCFDFEu);
  EXPECT_EQ(reader->Load64<1>(), 0xF1F2F3F4F5F6F7F8u);
}

TEST(ByteReaderTest, LoadsTheLastBytes) {
  const auto bytes = CountingBytes();
  const auto reader = ByteReader<16>::From(bytes);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->Load8<15>(), 0xFFu);
  EXPECT_EQ(reader->Load24<13>(), 0xFDFEFFu);
  EXPECT_EQ(reader->Load64<8>(), 0xF8F9FAFBFCFDFEFFu);
}

TEST(ByteReaderTest, RestIsBehindTheHeader) {
  const auto bytes = CountingBytes();
  const auto reader = ByteReader<12>::From(bytes);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->rest().data(), bytes.data() + 12);
  EXPECT_EQ(reader->rest().size(), 4u);
  EXPECT_TRUE(ByteReader<16>::From(bytes)->rest().empty());
}

}  // namespace
}  // namespace verbena
