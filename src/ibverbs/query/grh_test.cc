#include "ibverbs/query/grh.h"

#include <array>
#include <bit>

#include <gtest/gtest.h>

namespace verbena::ibverbs {
namespace {

using Bytes = std::array<uint8_t, 40>;

TEST(GrhTest, ReadsAnIpv6Header) {
  Bytes bytes{};
  bytes[0] = 0x6A;  // version 6, class 0xAB, label 0xC1234
  bytes[1] = 0xBC;
  bytes[2] = 0x12;
  bytes[3] = 0x34;
  bytes[8] = 0xFD;
  bytes[23] = 1;
  bytes[24] = 0xFD;
  bytes[39] = 2;
  const Grh grh = Grh::Of(std::bit_cast<ibv_grh>(bytes));
  EXPECT_EQ(grh.source, *ParseGid("fd00::1"));
  EXPECT_EQ(grh.destination, *ParseGid("fd00::2"));
  EXPECT_EQ(grh.traffic_class, 0xAB);
  EXPECT_EQ(grh.flow_label, 0xC1234U);
}

TEST(GrhTest, ReadsAnIpv4HeaderInTheSecondHalf) {
  Bytes bytes{};
  bytes[20] = 0x45;
  bytes[21] = 0x68;
  bytes[32] = bytes[36] = 10;
  bytes[35] = 1;
  bytes[39] = 2;
  const Grh grh = Grh::Of(std::bit_cast<ibv_grh>(bytes));
  EXPECT_EQ(grh.source, *ParseGid("10.0.0.1"));
  EXPECT_EQ(grh.destination, *ParseGid("10.0.0.2"));
  EXPECT_EQ(grh.traffic_class, 0x68);
  EXPECT_EQ(grh.flow_label, 0U);
}

}  // namespace
}  // namespace verbena::ibverbs
