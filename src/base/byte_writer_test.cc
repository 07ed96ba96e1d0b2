#include "base/byte_writer.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <gtest/gtest.h>

#include "base/byte_reader.h"

namespace verbena {
namespace {

using Bytes = std::array<std::byte, 16>;

TEST(ByteWriterTest, StoresBigEndian) {
  Bytes bytes{};
  ByteWriter<16> writer(bytes);
  writer.Store64<0>(0x0102030405060708);
  writer.Store48<8>(0x090A0B0C0D0E);
  writer.Store16<14>(0x0F10);
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], std::byte(i + 1)) << i;
}

TEST(ByteWriterTest, StoresAtOddOffsetsAndNothingBeside) {
  Bytes bytes{};
  ByteWriter<16> writer(bytes);
  writer.Store8<1>(0xA1);
  writer.Store24<3>(0xB1B2B3);
  writer.Store32<7>(0xC1C2C3C4);
  const std::array<int, 16> expected = {0,    0xA1, 0,    0xB1, 0xB2, 0xB3, 0, 0xC1,
                                        0xC2, 0xC3, 0xC4, 0,    0,    0,    0, 0};
  for (std::size_t i = 0; i < bytes.size(); ++i) EXPECT_EQ(bytes[i], std::byte(expected[i])) << i;
}

TEST(ByteWriterTest, RoundTripsThroughTheReader) {
  Bytes bytes{};
  ByteWriter<15> writer(bytes);
  writer.Store24<0>(0xFFFFFF);
  writer.Store48<3>(0xFFFFFFFFFFFF);
  writer.Store32<9>(0x80000001);
  writer.Store16<13>(0xFFFE);
  const auto reader = ByteReader<15>::From(bytes);
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(reader->Load24<0>(), 0xFFFFFFu);
  EXPECT_EQ(reader->Load48<3>(), 0xFFFFFFFFFFFFu);
  EXPECT_EQ(reader->Load32<9>(), 0x80000001u);
  EXPECT_EQ(reader->Load16<13>(), 0xFFFEu);
}

TEST(ByteWriterTest, RestIsBehindTheHeader) {
  Bytes bytes{};
  const ByteWriter<12> writer(bytes);
  EXPECT_EQ(writer.rest().data(), bytes.data() + 12);
  EXPECT_EQ(writer.rest().size(), 4u);
}

TEST(ByteWriterTest, TakesASpanOfFixedSize) {
  Bytes bytes{};
  const std::span<std::byte, 4> header = std::span(bytes).first<4>();
  ByteWriter<4> writer(header);
  writer.Store8<3>(7);
  EXPECT_EQ(bytes[3], std::byte(7));
}

TEST(ByteWriterDeathTest, RefusesTooFewBytes) {
  Bytes bytes{};
  EXPECT_DEATH(ByteWriter<8>(std::span(bytes).first(7)), "CHECK failed");
}

TEST(ByteWriterDeathTest, RefusesValuesThatDoNotFit) {
  Bytes bytes{};
  ByteWriter<16> writer(bytes);
  EXPECT_DEATH(writer.Store24<0>(0x1000000), "CHECK failed");
  EXPECT_DEATH(writer.Store48<0>(uint64_t{1} << 48), "CHECK failed");
}

}  // namespace
}  // namespace verbena
